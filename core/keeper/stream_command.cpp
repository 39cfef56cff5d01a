#include "core/keeper/stream_command.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "core/base/clock.hpp"

namespace exechost::keeper {
namespace {

using guest::FrameType;
using guest::MessageType;
using guest::StreamId;

constexpr auto kKill = std::chrono::milliseconds(2000);  // from the wish to the proof
constexpr std::size_t kMaxSignals = 64;

StreamId stream_of(std::size_t index) { return index == 0 ? StreamId::output : StreamId::error; }

guest::TerminalSize size_of(int terminal) {
  winsize size{};
  ::ioctl(terminal, TIOCGWINSZ, &size);
  return {size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel};
}

// The command's terminal is the guest's; the host's is a pipe for both directions, and must do nothing by itself.
void make_raw(int terminal) {
  termios settings{};
  if (::tcgetattr(terminal, &settings) != 0) return;
  ::cfmakeraw(&settings);
  ::tcsetattr(terminal, TCSANOW, &settings);
}

}  // namespace

StreamCommand::StreamCommand(std::shared_ptr<EventLoop> loop, std::uint32_t number, UniqueFd control,
                             std::vector<UniqueFd> stdio, SpecFrames spec, std::uint32_t input_window, Hooks hooks)
    : loop_(std::move(loop)),
      number_(number),
      hooks_(std::move(hooks)),
      control_(std::move(control)),
      input_(std::move(stdio.at(0))),
      terminal_(::isatty(input_.get()) == 1),
      spec_(std::move(spec)),
      outputs_{StreamOutput(std::move(stdio.at(1))), StreamOutput(terminal_ ? UniqueFd() : std::move(stdio.at(2)))},
      credit_(input_window) {
  if (terminal_) make_raw(input_.get());
}

StreamCommand::~StreamCommand() {
  loop_->cancel(kill_timer_);
  loop_->cancel(delivery_timer_);
  for (const int fd : {control_.get(), input_.get(), watched_[0].fd, watched_[1].fd}) {
    if (fd >= 0) loop_->unwatch(fd);
  }
}

void StreamCommand::start(std::shared_ptr<ServedProcess> process) {
  process_ = std::move(process);
  watch_control();
  watch_input();
  for (std::size_t i = 0; i < 2; ++i) watch_output(i);
}

// ---- what the keeper wants -----------------------------------------------------------

void StreamCommand::watch_control() {
  loop_->watch(control_.get(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->read_control();
  });
}

void StreamCommand::read_control() {
  while (control_) {
    guest::Message message;
    const ssize_t got = ::recv(control_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got == static_cast<ssize_t>(sizeof message)) {
      take_message(message);
      continue;
    }
    // Nobody wants it any more.
    loop_->unwatch(control_.get());
    control_.reset();
    kill();
  }
}

void StreamCommand::take_message(const guest::Message& message) {
  if (message.type == MessageType::kill) return kill();
  if (message.type != MessageType::signal) return;
  // The size of a terminal is told by that signal; the guest's kernel then sends it.
  if (terminal_ && message.number == SIGWINCH) {
    tell_resize_ = true;
  } else if (signals_.size() < kMaxSignals) {
    signals_.push_back(message.number);
  }
  hooks_.poke();
}

void StreamCommand::kill() {
  if (phase_ != Phase::over) tell_kill_ = true;
  if (!std::exchange(killed_, true) && phase_ != Phase::over) {
    kill_timer_ = loop_->at(deadline_after(kKill), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->kill_timer_ = 0;
      self->hooks_.not_ended();
    });
  }
  settle();
  hooks_.poke();
}

void StreamCommand::end() {
  if (phase_ != Phase::over) tell_end_ = true;
  kill();
}

// ---- the host's streams ---------------------------------------------------------------

void StreamCommand::give_back(guest::WindowGrowth& growth) {
  for (StreamOutput& output : outputs_) output.give_back(growth);
}

void StreamCommand::watch_input() {
  if (!input_ || input_ready_ || credit_ == 0) return;
  loop_->watch(input_.get(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->input_ready();
  });
}

void StreamCommand::input_ready() {
  loop_->unwatch(input_.get());
  input_ready_ = true;
  hooks_.poke();
}

void StreamCommand::close_input() {
  tell_input_end_ = false;
  if (!input_) return;
  loop_->unwatch(input_.get());
  input_.reset();
}

bool StreamCommand::feed(guest::FrameWriter& writer) {
  if (!input_ || !input_ready_ || credit_ == 0 || !introduced() || phase_ == Phase::over) return false;
  const std::size_t most = std::min(credit_, guest::kMaxPayload);
  if (!writer.has_room(most)) return false;
  ssize_t count = -1;
  do {
    count = ::read(input_.get(), writer.next_payload(most), most);
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    writer.put_read(FrameType::data, number_, StreamId::input, static_cast<std::size_t>(count));
    credit_ -= static_cast<std::uint32_t>(count);
    return true;
  }
  input_ready_ = false;
  if (count < 0 && errno == EAGAIN) {
    watch_input();
    return false;
  }
  // A terminal that is gone took its output with it, which is noticed there.
  close_input();
  tell_input_end_ = !terminal_;
  return true;
}

// As its state is now. Always true.
bool StreamCommand::watch_output(std::size_t index) {
  const StreamOutput& output = outputs_[index];
  Watched& watched = watched_[index];
  const int fd = output.fd();
  const short wanted = output.waiting() ? POLLOUT : 0;
  if (watched.fd == fd && watched.events == wanted) return true;
  if (watched.fd >= 0) loop_->unwatch(watched.fd);
  watched = {fd, wanted};
  if (fd < 0) return true;
  loop_->watch(fd, wanted, [weak = weak_from_this(), index](short events) {
    if (const auto self = weak.lock()) self->output_ready(index, events);
  });
  return true;
}

void StreamCommand::output_ready(std::size_t index, short events) {
  if ((events & POLLOUT) != 0) {
    outputs_[index].write();
  } else {
    outputs_[index].reader_gone();
  }
  watch_output(index);
  settle();
  hooks_.poke();
}

// ---- frames ---------------------------------------------------------------------------

bool StreamCommand::introduce(guest::FrameWriter& writer) {
  if (!introduced_) {
    guest::Run run;
    run.spec_bytes = spec_.size();
    run.terminal = terminal_ ? 1 : 0;
    if (terminal_) run.size = size_of(input_.get());
    if (!writer.put(FrameType::run, number_, run)) return true;
    introduced_ = true;
  }
  return spec_.put(writer);
}

void StreamCommand::say(guest::FrameWriter& writer, guest::WindowGrowth& growth) {
  if (!introduced()) return;
  for (std::size_t i = 0; i < 2; ++i) outputs_[i].say(writer, number_, stream_of(i), growth);
  if (phase_ == Phase::over) return;
  if (tell_end_ && writer.put(FrameType::end, number_)) tell_end_ = tell_kill_ = false;
  if (tell_kill_ && writer.put(FrameType::kill, number_)) tell_kill_ = false;
  if (tell_input_end_ && writer.put(FrameType::closed, number_, StreamId::input)) tell_input_end_ = false;
  if (tell_resize_ && outputs_[0].fd() >= 0 && writer.put(FrameType::resize, number_, size_of(outputs_[0].fd())))
    tell_resize_ = false;
  while (!signals_.empty() && writer.put(FrameType::signal, number_, guest::Signal{signals_.front()}))
    signals_.erase(signals_.begin());
}

}  // namespace exechost::keeper
