#include "core/execution/shared_fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace exechost::execution {
namespace {

// A terminal that says it is ready has room for at least this much (the kernel's WAKEUP_CHARS).
constexpr std::size_t kTerminalChunk = 256;

Failure bad_descriptor(int fd, SharedFd::Use use, int error_number) {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.error_number = error_number;
  failure.message = fmt::format("descriptor {} can't be used for {}: {}", fd,
                                use == SharedFd::Use::read ? "standard input" : "output", std::strerror(error_number));
  failure.hint = "give a descriptor that is open in that direction";
  return failure;
}

UniqueFd open_anew(int fd, SharedFd::Use use) {
  const int direction = use == SharedFd::Use::read ? O_RDONLY : O_WRONLY;
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), direction | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

std::uint32_t events_for(SharedFd::Use use) { return use == SharedFd::Use::read ? EPOLLIN | EPOLLRDHUP : EPOLLOUT; }

}  // namespace

Result<std::shared_ptr<SharedFd>> SharedFd::open(boost::asio::io_context& context, int fd, Use use) {
  const int flags = ::fcntl(fd, F_GETFL);
  struct stat info {};
  if (flags < 0 || ::fstat(fd, &info) != 0) return unexpected(bad_descriptor(fd, use, errno));
  const int wrong_way = use == Use::read ? O_WRONLY : O_RDONLY;
  if ((flags & O_ACCMODE) == wrong_way || (flags & O_PATH) != 0) return unexpected(bad_descriptor(fd, use, EBADF));
  if (S_ISDIR(info.st_mode)) return unexpected(bad_descriptor(fd, use, EISDIR));

  Kind kind = Kind::polled;
  const bool terminal = S_ISCHR(info.st_mode) && ::isatty(fd) == 1;
  UniqueFd own;
  if (S_ISSOCK(info.st_mode)) {
    kind = Kind::socket;
  } else if (S_ISFIFO(info.st_mode) || terminal) {
    own = open_anew(fd, use);
    if (own) {
      kind = Kind::own_description;
    } else {
      kind = terminal ? Kind::polled_terminal : Kind::polled;
    }
  }
  if (!own) own.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  UniqueFd around(::epoll_create1(EPOLL_CLOEXEC));
  if (!own || !around) return unexpected(bad_descriptor(fd, use, errno));

  epoll_event none{};
  none.events = EPOLLONESHOT;
  if (::epoll_ctl(around.get(), EPOLL_CTL_ADD, own.get(), &none) != 0) {
    if (errno != EPERM) return unexpected(bad_descriptor(fd, use, errno));
    kind = Kind::always_ready;
  }
  std::shared_ptr<SharedFd> shared(new SharedFd(context, std::move(own), kind, use));
  if (kind != Kind::always_ready) {
    boost::system::error_code error;
    shared->waiter_.assign(around.get(), error);
    if (error) return unexpected(bad_descriptor(fd, use, error.value()));
    static_cast<void>(around.release());
  }
  return shared;
}

SharedFd::SharedFd(boost::asio::io_context& context, UniqueFd fd, Kind kind, Use use)
    : context_(context), fd_(std::move(fd)), kind_(kind), use_(use), waiter_(context) {}

void SharedFd::async_ready(std::function<void()> handler) {
  const std::uint64_t generation = ++wait_generation_;
  auto when_ready = [self = shared_from_this(), generation,
                     handler = std::move(handler)](const boost::system::error_code& error) {
    if (!error && generation == self->wait_generation_) handler();
  };
  if (kind_ == Kind::always_ready) {
    boost::asio::post(context_, [when_ready = std::move(when_ready)] { when_ready({}); });
    return;
  }
  // One event per request: nothing wakes the reactor while nobody waits.
  epoll_event event{};
  event.events = events_for(use_) | EPOLLONESHOT;
  ::epoll_ctl(waiter_.native_handle(), EPOLL_CTL_MOD, fd_.get(), &event);
  waiter_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [this, when_ready = std::move(when_ready)](const boost::system::error_code& error) {
                       epoll_event seen{};
                       if (!error) ::epoll_wait(waiter_.native_handle(), &seen, 1, 0);
                       when_ready(error);
                     });
}

void SharedFd::cancel() {
  ++wait_generation_;
  boost::system::error_code ignored;
  waiter_.cancel(ignored);
}

bool SharedFd::ready_now() const {
  pollfd entry{fd_.get(), static_cast<short>(use_ == Use::read ? POLLIN : POLLOUT), 0};
  return ::poll(&entry, 1, 0) > 0;
}

ssize_t SharedFd::read_some(std::span<char> buffer) {
  if (kind_ == Kind::socket) return ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if ((kind_ == Kind::polled || kind_ == Kind::polled_terminal) && !ready_now()) {
    errno = EAGAIN;
    return -1;
  }
  return ::read(fd_.get(), buffer.data(), buffer.size());
}

ssize_t SharedFd::write_some(std::string_view bytes) {
  if (kind_ == Kind::socket) return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (kind_ == Kind::polled || kind_ == Kind::polled_terminal) {
    if (!ready_now()) {
      errno = EAGAIN;
      return -1;
    }
    const std::size_t chunk = kind_ == Kind::polled_terminal ? kTerminalChunk : PIPE_BUF;
    bytes = bytes.substr(0, std::min<std::size_t>(bytes.size(), chunk));
  }
  return ::write(fd_.get(), bytes.data(), bytes.size());
}

}  // namespace exechost::execution
