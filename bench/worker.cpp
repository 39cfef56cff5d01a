#include "bench/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it under _GNU_SOURCE only

namespace exechost::bench {
namespace {

constexpr std::size_t kMiB = 1024UL * 1024;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Worker::Worker(const std::string& subject, std::size_t ballast_mib) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  socket_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  std::vector<std::string> texts{"exechost_bench", "--worker", subject, "--ballast-mib", std::to_string(ballast_mib)};
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "posix_spawn");
}

Worker::~Worker() {
  socket_.reset();  // end-of-file ends it
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

double Worker::once() const {
  if (::write(socket_.get(), "g", 1) != 1) fail("write to a worker");
  double took = 0;
  if (::read(socket_.get(), &took, sizeof took) != static_cast<ssize_t>(sizeof took) || took < 0) {
    throw std::runtime_error("a worker failed");
  }
  return took;
}

int serve_worker(const std::function<double()>& once, std::size_t ballast_mib) {
  const std::size_t size = ballast_mib * kMiB;
  if (size > 0) {
    void* ballast = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ballast == MAP_FAILED) fail("mmap");
    for (std::size_t at = 0; at < size; at += 4096) static_cast<volatile char*>(ballast)[at] = 1;
  }
  char go = 0;
  while (::read(STDIN_FILENO, &go, 1) == 1) {
    double took = -1;
    try {
      took = once();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    if (::write(STDOUT_FILENO, &took, sizeof took) != static_cast<ssize_t>(sizeof took)) return 1;
  }
  return 0;
}

}  // namespace exechost::bench
