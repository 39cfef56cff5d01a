// What the guest says about one command, and what follows from it.
#include <fmt/format.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/stream_command.hpp"

namespace exechost::keeper {
namespace {

using guest::FrameType;
using guest::Message;
using guest::MessageType;
using guest::StreamId;

constexpr auto kDelivery = std::chrono::milliseconds(2000);  // without a byte of output, after its end

std::size_t index_of(StreamId stream) { return stream == StreamId::output ? 0 : 1; }

}  // namespace

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
  // The guest was told to start it; that it did may be among what was lost on the way.
  news.perhaps_started = introduced_ && phase_ != Phase::failed;
  if (over_) news = *std::exchange(over_, std::nullopt);
  if (process_) process_->conclude(std::move(news));
}

}  // namespace exechost::keeper
