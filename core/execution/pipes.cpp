#include "core/execution/pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace exechost::execution {
namespace {

struct Ends {
  UniqueFd read;
  UniqueFd write;
};

Result<Ends> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unexpected(preparation_failure("pipe", "a pipe could not be made", errno));
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<CommandPipe> with_ours_nonblocking(UniqueFd ours, UniqueFd commands) {
  if (!make_nonblocking(ours.get()))
    return unexpected(preparation_failure("pipe", "a pipe could not be set up", errno));
  return CommandPipe{std::move(ours), std::move(commands)};
}

}  // namespace

Failure preparation_failure(std::string_view step, std::string_view what, int error_number) {
  Failure failure;
  failure.kind = FailureKind::spawn_failed;
  failure.phase = Phase::spawn;
  failure.step = step;
  failure.error_number = error_number;
  failure.message = fmt::format("{}: {}", what, std::strerror(error_number));
  if (error_number == EMFILE || error_number == ENFILE) failure.hint = "raise the limit of open files (ulimit -n)";
  return failure;
}

bool make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

Result<CommandPipe> make_output_pipe() {
  auto ends = make_pipe();
  if (!ends) return unexpected(ends.error());
  return with_ours_nonblocking(std::move(ends->read), std::move(ends->write));
}

Result<CommandPipe> make_input_pipe() {
  auto ends = make_pipe();
  if (!ends) return unexpected(ends.error());
  return with_ours_nonblocking(std::move(ends->write), std::move(ends->read));
}

Result<UniqueFd> open_null() {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return unexpected(preparation_failure("stdin", "/dev/null could not be opened", errno));
  return null;
}

}  // namespace exechost::execution
