// A descriptor that belongs to the caller: its open file description is shared with other
// processes (the shell that started us, whatever else writes to the same terminal), so nothing
// about it may change: not its flags, not its signals.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::execution {

// Holds a duplicate; the caller may close its own. After open() for one thread: the reactor's.
//
// How it is kept from blocking: pipes and terminals are opened anew through /proc/self/fd, which
// gives a description of our own with O_NONBLOCK; sockets take MSG_DONTWAIT; where neither works
// it is asked for readiness before each call, and written at most PIPE_BUF bytes at a time.
// Regular files, which epoll refuses, are always ready.
class SharedFd : public std::enable_shared_from_this<SharedFd> {
 public:
  enum class Use { read, write };
  // invalid_request with errno when `fd` is not open or not open for that use. [any thread]
  static Result<std::shared_ptr<SharedFd>> open(boost::asio::io_context& context, int fd, Use use);

  // Calls `handler` once, on the reactor thread and never before it returns, when a call is
  // expected not to block. Dropped by cancel().
  void async_ready(std::function<void()> handler);
  void cancel();

  // As read(2) and write(2); EAGAIN when it would block. Never raises SIGPIPE in a thread that
  // doesn't block it already (the reactor's does).
  ssize_t read_some(std::span<char> buffer);
  ssize_t write_some(std::string_view bytes);

 private:
  enum class Kind { own_description, socket, always_ready, polled, polled_terminal };
  SharedFd(boost::asio::io_context& context, UniqueFd fd, Kind kind, Use use);
  bool ready_now() const;

  boost::asio::io_context& context_;
  UniqueFd fd_;
  Kind kind_;
  Use use_;
  // An epoll of our own around fd_: Asio sets O_NONBLOCK on whatever it waits for.
  boost::asio::posix::stream_descriptor waiter_;
  std::uint64_t wait_generation_ = 0;
};

}  // namespace exechost::execution
