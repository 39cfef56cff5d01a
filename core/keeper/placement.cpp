#include "core/keeper/placement.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/keeper/detached_start.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/keeper_program.hpp"
#include "core/keeper/process_launcher.hpp"

namespace exechost::keeper {
namespace {

constexpr int kEndMilliseconds = 10'000;

Failure start_failure(std::string message, std::string step, int error, std::string hint = {}) {
  if (error != 0) message += fmt::format(": {}", std::strerror(error));
  return make_failure(FailureKind::unavailable, Phase::provision, std::move(message), std::move(step), error,
                      std::move(hint));
}

struct SocketPair {
  UniqueFd ours;
  UniqueFd keepers;
};

Result<SocketPair> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return unexpected(start_failure("no socket for the keeper", "socketpair", errno));
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class ThreadKeeper final : public RunningKeeper {
 public:
  ThreadKeeper(SocketPair sockets, const KeeperOptions& options) : socket_(std::move(sockets.ours)) {
    thread_ =
        std::thread([theirs = std::move(sockets.keepers), options]() mutable { serve(std::move(theirs), options); });
  }
  ~ThreadKeeper() override {
    socket_.reset();
    thread_.join();  // serve() is bounded by itself
  }
  ThreadKeeper(const ThreadKeeper&) = delete;
  ThreadKeeper& operator=(const ThreadKeeper&) = delete;
  UniqueFd take_socket() override { return std::move(socket_); }
  int pid() const override { return 0; }

 private:
  UniqueFd socket_;
  std::thread thread_;
};

class ChildKeeper final : public RunningKeeper {
 public:
  ChildKeeper(UniqueFd socket, pid_t pid, UniqueFd pidfd)
      : socket_(std::move(socket)), pid_(pid), pidfd_(std::move(pidfd)) {}
  ~ChildKeeper() override {
    socket_.reset();
    pollfd ended{pidfd_.get(), POLLIN, 0};
    int ready = 0;
    do {
      ready = ::poll(&ended, 1, kEndMilliseconds);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    // ECHILD: this process has SIGCHLD ignored, and the kernel has reaped it.
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0 && errno == EINTR) {
    }
  }
  ChildKeeper(const ChildKeeper&) = delete;
  ChildKeeper& operator=(const ChildKeeper&) = delete;
  UniqueFd take_socket() override { return std::move(socket_); }
  int pid() const override { return pid_; }

 private:
  UniqueFd socket_;
  pid_t pid_;
  UniqueFd pidfd_;
};

class JoinedKeeper final : public RunningKeeper {
 public:
  explicit JoinedKeeper(UniqueFd socket) : socket_(std::move(socket)) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  }
  UniqueFd take_socket() override { return std::move(socket_); }
  int pid() const override { return 0; }
  bool has_ended() const override {
    if (!pidfd_) return false;  // a request will tell
    pollfd ended{pidfd_.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  }

 private:
  UniqueFd socket_;
  UniqueFd pidfd_;
};

Result<std::unique_ptr<RunningKeeper>> start_child(const std::string& program, const KeeperOptions& options) {
  auto sockets = make_sockets();
  if (!sockets) return unexpected(sockets.error());
  auto started = spawn_keeper_program(program, {"--ledger", options.ledger_folder, "--guest", options.guest_path},
                                      sockets->keepers.get(), environ);
  if (!started) return unexpected(started.error());
  const pid_t pid = *started;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    const int open_error = errno;
    sockets->ours.reset();
    sockets->keepers.reset();
    // Ends by itself as its socket is closed.
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return unexpected(start_failure("the keeper can't be watched", "pidfd_open", open_error));
  }
  return std::make_unique<ChildKeeper>(std::move(sockets->ours), pid, std::move(pidfd));
}

Result<std::unique_ptr<RunningKeeper>> start_thread(const KeeperOptions& options) {
  if (child_statuses_are_discarded()) {
    return unexpected(start_failure("this process has SIGCHLD ignored, so the end of a child can't be learned",
                                    "SIGCHLD", 0,
                                    "use the child placement of the keeper, or restore SIGCHLD's default"));
  }
  auto sockets = make_sockets();
  if (!sockets) return unexpected(sockets.error());
  try {
    return std::make_unique<ThreadKeeper>(std::move(*sockets), options);
  } catch (const std::exception& error) {
    return unexpected(start_failure(fmt::format("no thread for the keeper: {}", error.what()), "thread", 0));
  }
}

}  // namespace

Result<std::unique_ptr<RunningKeeper>> start(KeeperPlacement placement, const std::string& keeper_program,
                                             const KeeperOptions& options) {
  return placement == KeeperPlacement::child ? start_child(keeper_program, options) : start_thread(options);
}

Result<std::unique_ptr<RunningKeeper>> join_detached(const DetachedPlace& place, const std::string& keeper_program,
                                                     const KeeperOptions& options) {
  auto socket = connect_detached(place, keeper_program, options);
  if (!socket) return unexpected(socket.error());
  return std::make_unique<JoinedKeeper>(std::move(*socket));
}

}  // namespace exechost::keeper
