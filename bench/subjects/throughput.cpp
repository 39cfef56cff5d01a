// One gibibyte of standard output, and a command in an environment that is there.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"
#include "core/base/unique_fd.hpp"

namespace exechost::bench {
namespace {

constexpr std::uint64_t kBytes = 1024ULL * 1024 * 1024;
constexpr std::size_t kChunk = std::size_t{64} * 1024;

void pipe_into(UniqueFd& read, UniqueFd& write) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  read.reset(ends[0]);
  write.reset(ends[1]);
}

}  // namespace

Once output_through_pipe(const Place& place) {
  return [&place] {
    UniqueFd read, write;
    pipe_into(read, write);
    const Stopwatch watch;
    // What is spawned here has /dev/null as standard output, so the shell opens the pipe.
    UniqueFd inherited(::fcntl(write.get(), F_DUPFD, 3));
    const pid_t pid =
        spawn({"/bin/sh", "-c", fmt::format("exec head -c {} /dev/zero > /proc/self/fd/{}", kBytes, inherited.get())},
              place.environment(), place.workspace());
    write.reset();
    inherited.reset();
    std::vector<char> buffer(kChunk);
    std::uint64_t taken = 0;
    for (;;) {
      const ssize_t count = ::read(read.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      taken += static_cast<std::uint64_t>(count);
    }
    wait_for_success(pid, "head");
    if (taken != kBytes) throw std::runtime_error("not all of it arrived");
    return watch.microseconds();
  };
}

Once output_of_run(const Place& place, const std::string& backend) {
  auto host = std::make_shared<ExecHost>(place.host_options(KeeperPlacement::child));
  Request request;
  request.backend = backend;
  request.argv = {"head", "-c", std::to_string(kBytes), "/dev/zero"};
  return [host, request] {
    const Stopwatch watch;
    const ExecResult result = host->run(request);
    const double took = watch.microseconds();
    if (result.exit_code != 0 || result.out.total_bytes != kBytes) throw std::runtime_error(result.to_json());
    return took;
  };
}

}  // namespace exechost::bench
