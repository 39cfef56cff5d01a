#include "tests/unit/keeper/shell/shell_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "core/base/unique_fd.hpp"
#include "core/keeper/shell/text.hpp"

namespace exechost::keeper::shell::test {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// The child, until exec.
[[noreturn]] void become_shell(std::vector<char*>& argv, std::vector<char*>& variables, const int (&ends)[5],
                               std::size_t count) {
  constexpr std::array places{0, 1, 2, kStateIn, kStateOut};
  std::array<int, 5> high{};
  for (std::size_t i = 0; i < high.size(); ++i) high[i] = ::fcntl(ends[i], F_DUPFD_CLOEXEC, 30);
  for (int fd = 3; fd < 1024; ++fd) {
    if (std::find(high.begin(), high.end(), fd) == high.end()) ::close(fd);
  }
  for (std::size_t i = 0; i < count; ++i) ::dup2(high[i], places[i]);
  static_cast<void>(::signal(SIGPIPE, SIG_DFL));
  ::execve(argv.front(), argv.data(), variables.data());
  ::_exit(121);
}

// Feeds the state and reads everything until the end of `out` and `err`; of the state what is there then.
void pump(UniqueFd state_in, const std::string& input, UniqueFd out, UniqueFd err, const UniqueFd& state_out,
          ShellEnd& end) {
  std::size_t written = 0;
  ::fcntl(state_in.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(state_out.get(), F_SETFL, O_NONBLOCK);
  const auto read_into = [](int fd, auto&& take) {
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0) take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    return count;
  };
  while (out || err) {
    pollfd fds[4] = {
        {out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}, {state_out.get(), POLLIN, 0}, {state_in.get(), POLLOUT, 0}};
    ASSERT_GT(::poll(fds, 4, 30'000), 0) << "the shell does nothing more";
    if (fds[0].revents != 0 && read_into(out.get(), [&](std::string_view bytes) { end.out += bytes; }) <= 0)
      out.reset();
    if (fds[1].revents != 0 && read_into(err.get(), [&](std::string_view bytes) { end.err += bytes; }) <= 0)
      err.reset();
    if ((fds[2].revents & POLLIN) != 0)
      read_into(state_out.get(), [&](std::string_view bytes) { end.handed.take(bytes); });
    if (fds[3].revents == 0) continue;
    const ssize_t count = ::write(state_in.get(), input.data() + written, input.size() - written);
    if (count > 0) written += static_cast<std::size_t>(count);
    if (count <= 0 || written == input.size()) state_in.reset();
  }
  while (read_into(state_out.get(), [&](std::string_view bytes) { end.handed.take(bytes); }) > 0) {
  }
}

ShellEnd start(const std::vector<std::string>& command, const Program& program) {
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
  auto argv = pointers(command);
  auto environment = pointers(program.variables);
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Pipe out;
  Pipe err;
  Pipe state_in;
  Pipe state_out;
  ShellEnd end;
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_shell(argv, environment,
                 {null.get(), out.write.get(), err.write.get(), state_in.read.get(), state_out.write.get()},
                 program.input.empty() ? 3 : 5);
  }
  out.write.reset();
  err.write.reset();
  state_in.read.reset();
  state_out.write.reset();
  pump(std::move(state_in.write), program.input, std::move(out.read), std::move(err.read), state_out.read, end);
  EXPECT_EQ(::waitpid(pid, &end.status, 0), pid);
  return end;
}

}  // namespace

ShellEnd Shells::operator()(const std::string& script) {
  run.script = script;
  const Program program = make_program(state, run, variables);
  const bool fallback = !bash_ && !program.fallback.empty();
  ShellEnd end = start(fallback ? program.fallback : program.argv, program);
  if (auto handed = end.handed.state()) state = std::move(handed);
  return end;
}

ShellEnd Shells::plain(const std::string& script) const {
  Program program;
  program.variables = variables;
  return start({bash_ ? "/bin/bash" : "/bin/sh", "-c", script}, program);
}

}  // namespace exechost::keeper::shell::test
