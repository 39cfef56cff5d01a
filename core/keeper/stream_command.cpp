#include "core/keeper/stream_command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

using guest::FrameType;
using guest::Message;
using guest::MessageType;
using guest::StreamId;

constexpr auto kKill = std::chrono::milliseconds(2000);      // from the wish to the proof
constexpr auto kDelivery = std::chrono::milliseconds(2000);  // without a byte of output, after its end
constexpr std::size_t kMaxSignals = 64;

StreamId stream_of(std::size_t index) { return index == 0 ? StreamId::output : StreamId::error; }

std::size_t index_of(StreamId stream) { return stream == StreamId::output ? 0 : 1; }

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
    Message message;
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

void StreamCommand::take_message(const Message& message) {
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

// ---- what the guest says --------------------------------------------------------------

bool StreamCommand::pass_on(MessageType type, const Message& message) {
  Message passed = message;
  passed.type = type;
  passed.version = guest::kProtocolVersion;
  // Four messages fit into any socket; one that is closed on the other side needs none.
  if (control_) ::send(control_.get(), &passed, sizeof passed, MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

bool StreamCommand::take(const guest::FrameHeader& header, const char* payload) {
  using guest::FrameReader;
  Message message;
  switch (header.type) {
    case FrameType::data:
      return header.stream != StreamId::input && outputs_[index_of(header.stream)].data(payload, header.length) &&
             watch_output(index_of(header.stream));
    case FrameType::closed:
      if (header.stream == StreamId::input) {
        if (std::exchange(input_closed_by_guest_, true) || phase_ == Phase::over) return false;
        close_input();
        return true;
      }
      if (!outputs_[index_of(header.stream)].closed()) return false;
      watch_output(index_of(header.stream));
      settle();
      return true;
    case FrameType::credit: {
      const auto credit = FrameReader::as<guest::Credit>(payload);
      if (phase_ == Phase::over || credit.bytes > guest::kMaxWindow - credit_) return false;
      credit_ += credit.bytes;
      watch_input();
      return true;
    }
    case FrameType::confined: {
      if (phase_ != Phase::begun) return false;
      phase_ = Phase::confined;
      const auto confined = FrameReader::as<guest::Confined>(payload);
      message.landlock_abi = confined.landlock_abi;
      message.seccomp = confined.seccomp;
      return pass_on(MessageType::confined, message);
    }
    case FrameType::started:
      if (phase_ != Phase::confined) return false;
      phase_ = Phase::started;
      return pass_on(MessageType::started, message);
    case FrameType::failed: {
      if (phase_ != Phase::begun && phase_ != Phase::confined) return false;
      phase_ = Phase::failed;
      const auto failed = FrameReader::as<guest::Failed>(payload);
      message.step = static_cast<guest::Step>(failed.step);
      message.error_number = failed.error_number;
      message.number = failed.detail;
      return pass_on(MessageType::failed, message);
    }
    case FrameType::exited: {
      if (phase_ != Phase::started) return false;
      phase_ = Phase::exited;
      const auto exited = FrameReader::as<guest::Exited>(payload);
      message.wait_status = exited.wait_status;
      message.user_time_us = exited.user_time_us;
      message.system_time_us = exited.system_time_us;
      message.max_rss_bytes = exited.max_rss_bytes;
      exited_ = message;
      settle();
      return true;
    }
    case FrameType::over: return take_over(FrameReader::as<guest::Over>(payload));
    default: return false;
  }
}

bool StreamCommand::take_over(const guest::Over& over) {
  if (phase_ == Phase::over) return false;
  const bool refused = over.step != 0;
  if (refused && phase_ != Phase::begun) return false;
  phase_ = Phase::over;
  loop_->cancel(std::exchange(kill_timer_, 0));
  close_input();
  // It may lie: only what can be an errno is taken as one.
  const int error = over.error_number > 0 && over.error_number < 4096 ? over.error_number : 0;
  ProcessNews news;
  news.kind = ProcessNews::Kind::failed;
  if (refused) {
    news.failure = make_failure(FailureKind::spawn_failed, exechost::Phase::spawn,
                                fmt::format("the environment has no room for one more command: {}",
                                            error != 0 ? std::strerror(error) : "no reason given"),
                                "fork", error, "end some of those that run in it");
    for (std::size_t i = 0; i < 2; ++i) {
      if (!outputs_[i].is_closed()) outputs_[i].closed();
      watch_output(i);
    }
  } else if (over.error_number != 0) {
    news.failure = make_failure(FailureKind::environment_lost, exechost::Phase::run,
                                "something of the command could not be killed", "kill", error);
    news.perhaps_left = true;
  } else {
    news.kind = ProcessNews::Kind::ended;
    news.wait_status = over.wait_status;
  }
  over_ = std::move(news);
  settle();
  return true;
}

// The end is told when the output that came before it was passed on: nobody else can know that more is on its way.
// One that is killed, or whose output does not move although its reader takes it, does not wait for that.
void StreamCommand::settle() {
  if (!exited_ && !over_) return;
  const bool delivered = outputs_[0].is_delivered() && outputs_[1].is_delivered();
  const bool unproven = over_ && over_->perhaps_left;
  if (killed_ || delivered || unproven) return deliver();
  wait_for_delivery();
}

void StreamCommand::wait_for_delivery() {
  if (delivery_timer_ != 0) return;
  moved_ = outputs_[0].moved() + outputs_[1].moved();
  delivery_timer_ = loop_->at(deadline_after(kDelivery), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->delivery_timer_ = 0;
    const bool moved = self->moved_ != self->outputs_[0].moved() + self->outputs_[1].moved();
    if (moved || self->outputs_[0].waiting() || self->outputs_[1].waiting()) return self->settle();
    self->deliver();
  });
}

void StreamCommand::deliver() {
  loop_->cancel(std::exchange(delivery_timer_, 0));
  if (exited_) pass_on(MessageType::exited, *std::exchange(exited_, std::nullopt));
  if (over_ && process_) process_->conclude(*std::exchange(over_, std::nullopt));
}

bool StreamCommand::is_finished() const {
  return phase_ == Phase::over && !over_ && outputs_[0].is_delivered() && outputs_[1].is_delivered();
}

void StreamCommand::lose(const Failure& failure, bool perhaps_left) {
  if (exited_) pass_on(MessageType::exited, *std::exchange(exited_, std::nullopt));
  ProcessNews news;
  news.kind = ProcessNews::Kind::failed;
  news.failure = failure;
  news.perhaps_left = perhaps_left;
  if (over_) news = *std::exchange(over_, std::nullopt);
  if (process_) process_->conclude(std::move(news));
}

void StreamCommand::give_back(guest::WindowGrowth& growth) {
  for (StreamOutput& output : outputs_) output.give_back(growth);
}

// ---- the host's streams ---------------------------------------------------------------

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
