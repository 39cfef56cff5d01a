#include "core/base/open_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost {
namespace {

std::string limit_text() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "too many open files (RLIMIT_NOFILE)";
  return fmt::format("too many open files: ulimit -n (RLIMIT_NOFILE) is {}", limit.rlim_cur);
}

// One look at the last numbers below the limit, which are rarely in use: poll(2) says which are not open.
bool last_numbers_are_free() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX || limit.rlim_cur <= kNeededOpenFiles)
    return false;
  std::array<pollfd, kNeededOpenFiles> entries{};
  int number = static_cast<int>(limit.rlim_cur);
  for (pollfd& entry : entries) entry.fd = --number;
  if (::poll(entries.data(), entries.size(), 0) < 0) return false;
  return std::all_of(entries.begin(), entries.end(),
                     [](const pollfd& entry) { return (entry.revents & POLLNVAL) != 0; });
}

}  // namespace

Result<void> check_open_files() {
  if (last_numbers_are_free()) return {};
  const UniqueFd first(::open("/", O_PATH | O_CLOEXEC));
  std::array<UniqueFd, kNeededOpenFiles - 1> others;
  bool enough = static_cast<bool>(first) || errno != EMFILE;
  for (std::size_t i = 0; enough && first && i < others.size(); ++i) {
    others[i].reset(::fcntl(first.get(), F_DUPFD_CLOEXEC, 0));
    enough = static_cast<bool>(others[i]) || errno != EMFILE;
  }
  if (enough) return {};
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "descriptors";
  failure.error_number = EMFILE;
  failure.message = limit_text();
  failure.hint = fmt::format("a command needs {} more; raise the limit: ulimit -n 1024", kNeededOpenFiles);
  return unexpected(std::move(failure));
}

void name_open_files_limit(Failure& failure) {
  if (failure.error_number == EMFILE && failure.message.find("RLIMIT_NOFILE") == std::string::npos)
    failure.hint = limit_text() + "; raise it";
}

}  // namespace exechost
