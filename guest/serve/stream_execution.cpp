#include "guest/serve/stream_execution.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace exechost::guest {

namespace {

constexpr std::size_t kRoomForWords = 256;  // for everything but data that one round says
constexpr int kReadsPerRound = 4;

void close_all(int (&fds)[kRunDescriptors]) {
  for (int& fd : fds) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
}

void close_one(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

bool no_wait(int fd) { return ::fcntl(fd, F_SETFL, O_NONBLOCK) == 0; }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

bool watch_one(int epoll_fd, int fd, std::uint32_t events, std::uint32_t key, StreamExecution::Part part) {
  if (fd < 0) return true;
  epoll_event event{};
  event.events = events | EPOLLET;
  event.data.u64 = (std::uint64_t{key} << 32U) | static_cast<std::uint32_t>(part);
  return ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

int StreamExecution::make_pipes(int (&theirs)[kRunDescriptors]) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  theirs[1] = ends[0];
  input_ = ends[1];
  for (int i = 0; i < 2; ++i) {
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    outputs_[i].fd = ends[0];
    theirs[2 + i] = ends[1];
    if (!no_wait(outputs_[i].fd)) return errno;
  }
  return no_wait(input_) ? 0 : errno;
}

int StreamExecution::make_terminal(const TerminalSize& size, int (&theirs)[kRunDescriptors]) {
  const int master = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) return errno;
  terminal_ = true;
  input_ = outputs_[0].fd = master;
  outputs_[1].told_closed = true;  // it has none
  int unlock = 0;
  if (::ioctl(master, TIOCSPTLCK, &unlock) != 0) return errno;
  // By the master itself: its name need not mean the same device here.
  theirs[1] = ::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (theirs[1] < 0) return errno;
  resize(size);
  for (int i = 2; i < kRunDescriptors; ++i) {
    theirs[i] = ::fcntl(theirs[1], F_DUPFD_CLOEXEC, 3);
    if (theirs[i] < 0) return errno;
  }
  return 0;
}

int StreamExecution::make(std::uint32_t number, const Run& run, std::uint32_t output_window,
                          int (&theirs)[kRunDescriptors]) {
  for (int& fd : theirs) fd = -1;
  number_ = number;
  int ends[2];
  int error = 0;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error = errno;
  } else {
    control_ = ends[0];
    theirs[0] = ends[1];
    error = run.terminal != 0 ? make_terminal(run.size, theirs) : make_pipes(theirs);
  }
  if (error == 0) {
    for (Output& output : outputs_) output.allowed = output_window;
    return 0;
  }
  WindowGrowth none;
  close_all(theirs);
  clear(none);
  return error;
}

bool StreamExecution::watch(int epoll_fd) const {
  const std::uint32_t key = number_;
  if (!watch_one(epoll_fd, control_, EPOLLIN, key, Part::control)) return false;
  if (terminal_) return watch_one(epoll_fd, input_, EPOLLIN | EPOLLOUT, key, Part::output);
  return watch_one(epoll_fd, input_, EPOLLOUT, key, Part::input) &&
         watch_one(epoll_fd, outputs_[0].fd, EPOLLIN, key, Part::output) &&
         watch_one(epoll_fd, outputs_[1].fd, EPOLLIN, key, Part::error);
}

void StreamExecution::clear(WindowGrowth& growth) {
  close_one(control_);
  if (terminal_) input_ = -1;
  close_one(input_);
  for (Output& output : outputs_) close_one(output.fd);
  ring_.clear();
  window_.give_back(growth);
  *this = StreamExecution();
}

void StreamExecution::ready(Part part, std::uint32_t events) {
  const bool readable = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
  if (part == Part::control) control_ready_ = true;
  if (part == Part::output && readable) outputs_[0].ready = true;
  if (part == Part::error && readable) outputs_[1].ready = true;
  if ((part == Part::input || terminal_) && (events & EPOLLOUT) != 0) input_ready_ = true;
  // The error of a pipe's writing end: nobody has its reading end open.
  if (part == Part::input && (events & EPOLLERR) != 0) end_input(true);
}

// ---- input ------------------------------------------------------------------------

bool StreamExecution::take_input(const char* bytes, std::uint32_t size) {
  if (input_ending_) return false;
  // Nobody reads it any more, which the keeper is being told: no credit comes for it.
  if (input_ < 0) return true;
  if (!window_.take(size)) return false;
  if (ring_.empty()) {
    const ssize_t count = ::write(input_, bytes, size);
    if (count > 0) {
      window_.consumed(static_cast<std::uint32_t>(count));
      bytes += count;
      size -= static_cast<std::uint32_t>(count);
    }
    if (size == 0) return true;
  }
  if (ring_.put(bytes, size)) {
    input_ready_ = true;
  } else {
    broken_ = true;  // input is never lost in silence
  }
  return true;
}

void StreamExecution::write_input() {
  while (input_ >= 0 && input_ready_ && !ring_.empty()) {
    std::size_t size = 0;
    const char* const bytes = ring_.front(size);
    const ssize_t count = ::write(input_, bytes, size);
    if (count > 0) {
      ring_.drop(static_cast<std::size_t>(count));
      window_.consumed(static_cast<std::uint32_t>(count));
    } else if (count < 0 && would_block()) {
      input_ready_ = false;
    } else if (count < 0 && errno != EINTR) {
      end_input(true);
    }
  }
  if (input_ending_ && ring_.empty()) end_input(false);
}

void StreamExecution::end_input(bool tell) {
  if (input_ < 0) return;
  if (!terminal_) ::close(input_);  // a terminal's end is a character, which came before
  input_ = -1;
  input_gone_ = tell;
  ring_.clear();
}

void StreamExecution::resize(const TerminalSize& size) const {
  if (!terminal_ || outputs_[0].fd < 0) return;
  const winsize now{size.rows, size.columns, size.width, size.height};
  ::ioctl(outputs_[0].fd, TIOCSWINSZ, &now);
}

// ---- output -----------------------------------------------------------------------

bool StreamExecution::allow_output(StreamId stream, std::uint32_t bytes) {
  Output& output = outputs_[stream == StreamId::output ? 0 : 1];
  if (bytes > kMaxWindow - output.allowed) return false;
  output.allowed += bytes;
  return true;
}

void StreamExecution::stream_closed(StreamId stream) {
  if (stream == StreamId::input) {
    input_ending_ = true;
    return;
  }
  Output& output = outputs_[stream == StreamId::output ? 0 : 1];
  if (terminal_) end_input(false);
  close_one(output.fd);
}

void StreamExecution::read_output(Output& output, StreamId stream, FrameWriter& writer) {
  for (int i = 0; output.fd >= 0 && output.ready && output.allowed != 0; ++i) {
    std::size_t most = writer.room() < kRoomForWords ? 0 : writer.room() - kRoomForWords;
    // Whole frames, so that a reader's buffer is not filled with small ones.
    if (i == kReadsPerRound || most < (output.allowed < kMaxPayload ? output.allowed : kMaxPayload)) {
      has_more_ = true;
      return;
    }
    most = output.allowed < kMaxPayload ? output.allowed : kMaxPayload;
    const ssize_t count = ::read(output.fd, writer.next_payload(most), most);
    if (count > 0) {
      writer.put_read(FrameType::data, number_, stream, static_cast<std::size_t>(count));
      output.allowed -= static_cast<std::uint32_t>(count);
    } else if (count < 0 && would_block()) {
      output.ready = false;
    } else if (count == 0 || errno != EINTR) {
      // A terminal says EIO when its last slave was closed.
      if (terminal_) end_input(true);
      close_one(output.fd);
    }
  }
}

// What came before can't be known to be more than what was read.
bool StreamExecution::is_read_out() const {
  for (const Output& output : outputs_) {
    if (output.fd >= 0 && output.ready && output.allowed != 0) return false;
  }
  return true;
}

// ---- what its supervisor says -------------------------------------------------------

bool StreamExecution::tell(MessageType type, std::int32_t number) const {
  if (control_ < 0) return true;
  Message message;
  message.type = type;
  message.version = kProtocolVersion;
  message.number = number;
  ssize_t sent = -1;
  do {
    sent = ::send(control_, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  // One that has ended is reported by its end.
  return sent >= 0 || !would_block();
}

bool StreamExecution::read_control(FrameWriter& writer) {
  while (control_ >= 0 && control_ready_) {
    Message message;
    const ssize_t got = ::recv(control_, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && would_block()) {
      control_ready_ = false;
      return true;
    }
    if (got <= 0) {
      close_one(control_);
      return true;
    }
    if (got != static_cast<ssize_t>(sizeof message) || !take(message, writer)) return false;
  }
  return true;
}

bool StreamExecution::take(const Message& message, FrameWriter& writer) {
  switch (message.type) {
    case MessageType::confined:
      if (phase_ != Phase::begun) return false;
      phase_ = Phase::confined;
      return writer.put(FrameType::confined, number_, Confined{message.landlock_abi, message.seccomp});
    case MessageType::started:
      if (phase_ != Phase::confined) return false;
      phase_ = Phase::started;
      return writer.put(FrameType::started, number_);
    case MessageType::failed:
      if (phase_ != Phase::begun && phase_ != Phase::confined) return false;
      phase_ = Phase::failed;
      return writer.put(FrameType::failed, number_,
                        Failed{static_cast<std::uint32_t>(message.step), message.error_number, message.number});
    case MessageType::exited:
      if (phase_ != Phase::started) return false;
      phase_ = Phase::exited;
      exited_ = {message.wait_status, 0, message.user_time_us, message.system_time_us, message.max_rss_bytes};
      exited_waits_ = true;
      // What it had written is there now, whether or not that was seen already.
      for (Output& output : outputs_) output.ready = true;
      return true;
    default: return false;
  }
}

void StreamExecution::over(int wait_status, int error) {
  control_ready_ = true;  // its last words
  over_ = {wait_status, error, 0};
  over_waits_ = true;
  for (Output& output : outputs_) output.ready = true;
}

void StreamExecution::say(FrameWriter& writer, WindowGrowth& growth) {
  if (input_gone_) {
    input_gone_ = false;
    writer.put(FrameType::closed, number_, StreamId::input);
  }
  if (input_ >= 0 && !input_ending_ && window_.due())
    writer.put(FrameType::credit, number_, Credit{window_.announce(growth)}, StreamId::input);
  for (int i = 0; i < 2; ++i) {
    if (outputs_[i].fd >= 0 || outputs_[i].told_closed) continue;
    outputs_[i].told_closed = true;
    writer.put(FrameType::closed, number_, i == 0 ? StreamId::output : StreamId::error);
  }
  if (exited_waits_ && is_read_out()) {
    exited_waits_ = false;
    writer.put(FrameType::exited, number_, exited_);
  }
  if (over_waits_ && !exited_waits_ && is_read_out()) {
    over_waits_ = false;
    over_told_ = true;
    end_input(false);
    writer.put(FrameType::over, number_, over_);
  }
}

bool StreamExecution::advance(FrameWriter& writer, WindowGrowth& growth) {
  has_more_ = false;
  write_input();
  if (!writer.has_room(kRoomForWords)) {
    has_more_ = true;
    return true;
  }
  if (!read_control(writer)) broken_ = true;
  read_output(outputs_[0], StreamId::output, writer);
  read_output(outputs_[1], StreamId::error, writer);
  if (writer.has_room(kRoomForWords)) {
    say(writer, growth);
  } else {
    has_more_ = true;
  }
  if (!std::exchange(broken_, false)) return true;
  close_one(control_);
  return false;
}

bool StreamExecution::is_finished() const { return over_told_ && outputs_[0].told_closed && outputs_[1].told_closed; }

}  // namespace exechost::guest
