// exechost-keeper: the keeper as a child process of its host. Descriptor 3 is the socket.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/keeper/detached.hpp"
#include "core/keeper/keeper.hpp"
#include "core/keeper/keeper_program.hpp"

namespace {

constexpr rlim_t kWantedOpenFiles = 65536;
constexpr int kUsage = 2;

int usage() {
  fmt::print(stderr,
             "usage: exechost-keeper --ledger FOLDER --guest PROGRAM [--detached FOLDER --name NAME]\n"
             "Started by ExecHost with its socket as descriptor {}, or detached, for whoever connects to the socket\n"
             "NAME in FOLDER; not meant to be run by hand.\n",
             exechost::keeper::kKeeperSocket);
  return kUsage;
}

bool is_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

// The host made the socket pair, so its credentials are the host's.
int host_pidfd() {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(exechost::keeper::kKeeperSocket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
    return -1;
  return static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0));
}

// Many commands at a time need many descriptors; what is started gets the limit back as it was.
std::optional<rlimit> raise_open_files() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return std::nullopt;
  rlimit raised = before;
  raised.rlim_cur = std::max(before.rlim_cur, std::min(before.rlim_max, kWantedOpenFiles));
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? std::optional(before) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  exechost::keeper::KeeperOptions options;
  exechost::keeper::DetachedPlace place;
  for (int index = 1; index + 1 < argc; index += 2) {
    const std::string_view name = argv[index];
    if (name == "--ledger") {
      options.ledger_folder = argv[index + 1];
    } else if (name == "--guest") {
      options.guest_path = argv[index + 1];
    } else if (name == "--detached") {
      place.folder = argv[index + 1];
    } else if (name == "--name") {
      place.name = argv[index + 1];
    } else {
      return usage();
    }
  }
  const bool detached = !place.folder.empty() && !place.name.empty();
  if (argc % 2 == 0 || options.ledger_folder.empty()) return usage();
  if (!detached && !is_socket(exechost::keeper::kKeeperSocket)) return usage();
  // A host that ignores SIGCHLD would have us lose every exit status.
  for (int number = 1; number < NSIG; ++number) static_cast<void>(::signal(number, SIG_DFL));
  if (::chdir("/") != 0) return usage();
  options.child_open_files = raise_open_files();
  if (detached) return exechost::keeper::run_detached(place, options);
  ::fcntl(exechost::keeper::kKeeperSocket, F_SETFD, FD_CLOEXEC);
  options.host_pidfd = host_pidfd();
  const bool clean = exechost::keeper::serve(exechost::UniqueFd(exechost::keeper::kKeeperSocket), options);
  // A stuck plugin's thread must not run destructors against us.
  if (!clean) ::_exit(EXIT_FAILURE);
  return EXIT_SUCCESS;
}
