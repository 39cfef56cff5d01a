#include "core/keeper/detached.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "core/base/clock.hpp"
#include "core/cleanup/own_folder.hpp"
#include "core/keeper/codec.hpp"
#include "core/keeper/connection.hpp"
#include "core/keeper/detached_start.hpp"
#include "core/keeper/named_sessions.hpp"

namespace exechost::keeper {
namespace {

constexpr auto kLinger = std::chrono::seconds(10);  // without a host and without a session
constexpr auto kEndTime = std::chrono::seconds(6);
constexpr auto kCloseTime = std::chrono::seconds(3);
constexpr auto kWorkerPatience = std::chrono::seconds(1);
constexpr auto kNoDescriptors = std::chrono::milliseconds(100);  // until accept is tried again
constexpr std::size_t kMaxConnections = 512;
constexpr int kBacklog = 128;

// Whoever has the lock has the place, from before its socket is there until the process has ended.
UniqueFd take_place(int folder, const std::string& name) {
  // For reading only: that somebody closes it after writing tells those who wait that the keeper has ended (hold_open).
  UniqueFd file(::openat(folder, (name + ".lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return file;
}

// Closed only when the process ends, at the same moment as the lock, before or after it: IN_CLOSE_WRITE (inotify(7)).
UniqueFd hold_open(int folder, const std::string& name) {
  return UniqueFd(::openat(folder, (name + ".lock").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
}

// Under its name only when it listens already.
UniqueFd listen_at(int folder, const std::string& name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  const std::string hidden = name + ".new";
  ::unlinkat(folder, hidden.c_str(), 0);
  const auto address = address_in(folder, hidden);
  if (!address) return {};
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  ::umask(before);
  if (bound != 0 || ::listen(socket.get(), kBacklog) != 0) return {};
  if (::renameat(folder, hidden.c_str(), folder, (name + ".sock").c_str()) != 0) return {};
  return socket;
}

class DetachedKeeper {
 public:
  DetachedKeeper(const KeeperOptions& options, UniqueFd folder, std::string name, UniqueFd listener, UniqueFd signals)
      : core_(std::make_shared<Core>(options)),
        folder_(std::move(folder)),
        name_(std::move(name)),
        listener_(std::move(listener)),
        signals_(std::move(signals)),
        sessions_(std::in_place, core_, pool_, SessionMarks(folder_.get(), name_), [this] { look_whether_used(); }) {}

  int run() {
    listen();
    loop().watch(signals_.get(), POLLIN, [this](short) { end(); });
    watch_folder();
    look_whether_used();
    loop().run();
    const bool clean = pool_.finish(deadline_after(kWorkerPatience));
    // A plugin that never returned may still come back and ask for services: nothing is destroyed under it.
    if (!clean) ::_exit(EXIT_FAILURE);
    connections_.clear();
    sessions_.reset();
    core_->backends.clear();
    return EXIT_SUCCESS;
  }

 private:
  struct Connected {
    UniqueFd host;  // a pidfd
    std::unique_ptr<Connection> connection;
  };

  EventLoop& loop() { return core_->loop; }

  void listen() {
    loop().watch(listener_.get(), POLLIN, [this](short) { accept_all(); });
  }

  // One that nobody can find any more ends, with its sessions: a login's runtime folder goes with the login.
  void watch_folder() {
    const std::string path = fmt::format("/proc/self/fd/{}", folder_.get());
    constexpr std::uint32_t kGone = IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;
    struct stat mine {};
    if (::fstatat(folder_.get(), (name_ + ".sock").c_str(), &mine, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!changes_ || ::inotify_add_watch(changes_.get(), path.c_str(), kGone) < 0) return;
    loop().watch(changes_.get(), POLLIN, [this, mine](short) {
      std::array<char, 4096> events{};
      while (::read(changes_.get(), events.data(), events.size()) > 0) {
      }
      struct stat now {};
      const bool there = ::fstatat(folder_.get(), (name_ + ".sock").c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
      if (!there || now.st_ino != mine.st_ino || now.st_dev != mine.st_dev) end();
    });
  }

  void accept_all() {
    for (;;) {
      UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
      if (!socket && errno != EAGAIN && errno != EWOULDBLOCK) {
        // No descriptor, no memory: it stays readable, and must not be asked all the time.
        loop().unwatch(listener_.get());
        loop().at(deadline_after(kNoDescriptors), [this] {
          if (!ending_) listen();
        });
      }
      if (!socket) return;
      serve(std::move(socket));
    }
  }

  void serve(UniqueFd socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    // Only the folder's mode keeps others out, so they are looked at as well.
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid()) return;
    const bool full = connections_.size() >= kMaxConnections;
    if (!greet(socket.get(), full) || full) return;
    const std::uint64_t number = next_++;
    Connected& connected = connections_[number];
    connected.host.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
    connected.connection =
        std::make_unique<Connection>(core_, pool_, std::move(socket), connected.host ? connected.host.get() : -1,
                                     &*sessions_, [this, number](bool settled) {
                                       // What is stuck in it may still come back to it.
                                       if (settled) connections_.erase(number);
                                       look_whether_used();
                                     });
    connected.connection->start();
    look_whether_used();
  }

  // One that is turned away is told why: it would take silence for a keeper that ends.
  static bool greet(int socket, bool full) {
    Reply hello;
    hello.status = ReplyStatus::ok;
    hello.body = {{"protocol", kProtocolVersion}, {"full", full}};
    Packet packet;
    packet.body = encode(KeeperMessage{0, std::move(hello)});
    const auto encoded = encode_packet(std::move(packet));
    int error = 0;
    return encoded && send_packet(socket, *encoded, error) == SendResult::sent;
  }

  void look_whether_used() {
    const bool used = !connections_.empty() || !sessions_->empty();
    if (used) return loop().cancel(std::exchange(linger_, 0));
    if (ending_) return loop().stop();
    if (linger_ == 0) {
      linger_ = loop().at(deadline_after(kLinger), [this] {
        linger_ = 0;
        end();
      });
    }
  }

  // Whoever is waiting to be accepted is not served any more, and finds another keeper.
  void end() {
    if (std::exchange(ending_, true)) return;
    loop().unwatch(listener_.get());
    loop().unwatch(signals_.get());
    if (changes_) loop().unwatch(changes_.get());
    ::unlinkat(folder_.get(), (name_ + ".sock").c_str(), 0);
    listener_.reset();
    for (const auto& [number, connected] : connections_) connected.connection->end();
    sessions_->end_all(deadline_after(kCloseTime));
    loop().at(deadline_after(kEndTime), [this] { loop().stop(); });
    look_whether_used();
  }

  const std::shared_ptr<Core> core_;
  WorkerPool pool_;
  const UniqueFd folder_;
  const std::string name_;
  UniqueFd listener_;
  const UniqueFd signals_;
  const UniqueFd changes_{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};  // in the folder
  std::optional<NamedSessions> sessions_;
  std::map<std::uint64_t, Connected> connections_;
  std::uint64_t next_ = 1;
  EventLoop::Timer linger_ = 0;
  bool ending_ = false;
};

// Blocks every signal, for all threads to come, and makes those that end the keeper readable.
UniqueFd take_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, number);
  return UniqueFd(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

int run_detached(const DetachedPlace& place, const KeeperOptions& options) {
  auto folder = cleanup::make_own_folder(place.folder, "the keepers' folder");
  if (!folder) return kDetachedCantServe;
  UniqueFd lock = take_place(folder->get(), place.name);
  if (!lock) return kDetachedOtherServes;
  UniqueFd held = hold_open(folder->get(), place.name);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return kDetachedCantServe;
  const UniqueFd hear(ends[0]);
  UniqueFd tell(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return kDetachedCantServe;
  if (child > 0) {
    // The place is the child's alone: when it dies, even before it listens, nobody may find it taken any longer.
    lock.reset();
    held.reset();
    // Whoever waits for this process hears that there is somebody to connect to.
    tell.reset();
    char listens = 0;
    ssize_t got = 0;
    do {
      got = ::read(hear.get(), &listens, 1);
    } while (got < 0 && errno == EINTR);
    ::_exit(got == 1 ? kDetachedServes : kDetachedCantServe);
  }
  // Here and not before: whoever connects is told the process that called listen (unix(7), SO_PEERCRED).
  UniqueFd listener = listen_at(folder->get(), place.name);
  if (!listener) return kDetachedCantServe;
  if (::write(tell.get(), "l", 1) != 1) return kDetachedCantServe;
  tell.reset();
  // The caller's standard error may be a pipe that somebody reads to its end.
  if (const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC)); null) ::dup2(null.get(), STDERR_FILENO);
  try {
    DetachedKeeper keeper(options, std::move(*folder), place.name, std::move(listener), take_signals());
    return keeper.run();
  } catch (const std::exception&) {
    // Out of memory or descriptors: what was started is killed by its owners' destructors.
    return EXIT_FAILURE;
  }
}

}  // namespace exechost::keeper
