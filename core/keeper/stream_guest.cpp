#include "core/keeper/stream_guest.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/guest_channel.hpp"

namespace exechost::keeper {
namespace {

using guest::FrameHeader;
using guest::FrameReader;
using guest::FrameType;
using guest::FrameWriter;

constexpr auto kEnd = std::chrono::milliseconds(2000);  // from its last word to its end
constexpr int kReadsPerTurn = 8;

Failure lost_failure(std::string message) {
  return make_failure(FailureKind::environment_lost, Phase::run, std::move(message), "guest");
}

Failure broken_failure() {
  return make_failure(FailureKind::protocol_error, Phase::run, "the environment's first process broke its protocol",
                      "guest");
}

Failure no_room(const char* why, int error) {
  return make_failure(FailureKind::spawn_failed, Phase::spawn, why, "descriptors", error,
                      "end some of those that run in it");
}

}  // namespace

StreamGuest::StreamGuest(std::shared_ptr<EventLoop> loop, ServingGuest guest, std::string backend)
    : loop_(std::move(loop)), guest_(std::move(guest)), backend_(std::move(backend)), heard_ns_(monotonic_now_ns()) {}

void StreamGuest::start() {
  watching_ = log_watched_ = process_watched_ = true;
  loop_->watch(guest_.stream->from.get(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->readable();
  });
  loop_->watch(guest_.stream->log.get(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->read_log();
  });
  loop_->watch(guest_.process->event_fd(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->read_process();
  });
  beat();
}

// ---- what it says -----------------------------------------------------------------

void StreamGuest::readable() {
  for (int i = 0; i < kReadsPerTurn && watching_; ++i) {
    // The handshake may have read more than its own.
    if (!take_frames()) return stream_ended(broken_failure());
    const FrameReader::Got got = guest_.stream->reader.fill(guest_.stream->from.get());
    if (got == FrameReader::Got::nothing) break;
    if (got == FrameReader::Got::closed) return stream_ended(lost_failure("the environment ended"));
    heard_ns_ = monotonic_now_ns();
  }
  if (watching_ && !take_frames()) return stream_ended(broken_failure());
  fill();
}

bool StreamGuest::take_frames() {
  FrameHeader header;
  const char* payload = nullptr;
  for (;;) {
    const FrameReader::Next next = guest_.stream->reader.next(header, payload);
    if (next == FrameReader::Next::incomplete) return true;
    if (next == FrameReader::Next::malformed) return false;
    if (header.type == FrameType::heartbeat) continue;
    const auto found = commands_.find(header.execution);
    if (found == commands_.end()) return false;
    const auto command = found->second;
    // What it was not told of it can't know.
    if (!command->introduced() || !command->take(header, payload)) return false;
    if (!command->is_finished()) continue;
    command->give_back(growth_);
    commands_.erase(header.execution);
  }
}

void StreamGuest::read_log() {
  if (guest_.stream->read_log()) return;
  loop_->unwatch(guest_.stream->log.get());
  log_watched_ = false;
}

// Its end may be known before all that it had said was read; whether a command had started is among that.
void StreamGuest::hear_last_words() {
  constexpr int kReads = 64;
  for (int i = 0; i < kReads && watching_; ++i) {
    if (!take_frames()) return stream_ended(broken_failure());
    if (guest_.stream->reader.fill(guest_.stream->from.get()) != FrameReader::Got::bytes) return;
  }
}

void StreamGuest::read_process() {
  ProcessNews news = guest_.process->news();
  if (news.kind == ProcessNews::Kind::failed || news.kind == ProcessNews::Kind::ended) hear_last_words();
  switch (news.kind) {
    case ProcessNews::Kind::nothing:
    case ProcessNews::Kind::started: return;
    case ProcessNews::Kind::failed:
      if (news.failure.kind != FailureKind::protocol_error) news.failure.kind = FailureKind::environment_lost;
      news.failure.phase = Phase::run;
      return lose(std::move(news.failure), false);
    case ProcessNews::Kind::ended: {
      Failure failure = first_process_ended(news.wait_status, Phase::run);
      failure.message += guest_.stream->said_in_words();
      return lose(std::move(failure), true);
    }
  }
}

// Nothing it says counts from now on. Its end follows, and with it, where it is process 1, the proof that its
// commands are gone; they wait for that.
void StreamGuest::stream_ended(Failure failure) {
  loop_->unwatch(guest_.stream->from.get());
  loop_->unwatch(guest_.stream->to.get());
  watching_ = false;
  guest_.stream->to.reset();
  guest_.stream->from.reset();
  lost_ = std::move(failure);
  end_timer_ = loop_->at(deadline_after(kEnd), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->end_timer_ = 0;
    self->lose(*self->lost_, false);
  });
}

// A guest that can't prove the end of one command proves nothing of any: all of it is ended from outside.
void StreamGuest::not_ended() {
  if (!watching_) return;
  stream_ended(lost_failure("a command could not be killed, so its environment was destroyed"));
  guest_.process->signal(SIGKILL);
}

void StreamGuest::unwatch() {
  if (watching_) {
    loop_->unwatch(guest_.stream->from.get());
    loop_->unwatch(guest_.stream->to.get());
  }
  if (log_watched_) loop_->unwatch(guest_.stream->log.get());
  if (process_watched_) loop_->unwatch(guest_.process->event_fd());
  watching_ = log_watched_ = process_watched_ = false;
  loop_->cancel(std::exchange(beat_timer_, 0));
  loop_->cancel(std::exchange(end_timer_, 0));
}

void StreamGuest::lose(Failure failure, bool proven) {
  if (!lost_) lost_ = std::move(failure);
  unwatch();
  introductions_.clear();
  for (const auto& [number, command] : std::exchange(commands_, {})) command->lose(*lost_, !proven);
}

// ---- what it is told --------------------------------------------------------------

Result<std::shared_ptr<ServedProcess>> StreamGuest::run(UniqueFd control, std::vector<UniqueFd> stdio) {
  if (lost_) {
    return unexpected(make_failure(FailureKind::environment_lost, Phase::spawn,
                                   "the environment is gone: " + lost_->message, "guest"));
  }
  if (commands_.size() >= guest_.stream->max_executions)
    return unexpected(no_room("the environment has no room for one more command", EAGAIN));
  if (next_ > guest::kLastExecution)
    return unexpected(no_room("the environment has run more commands than it can number", EOVERFLOW));
  UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  auto spec = receive_spec(control.get());
  const bool ready =
      std::all_of(stdio.begin(), stdio.end(), [](const UniqueFd& fd) { return set_nonblocking(fd.get()); });
  if (!event || !spec || !ready) return unexpected(no_room("no descriptor is left for the command", errno));
  const std::uint32_t number = next_++;
  const auto process =
      std::make_shared<ServedProcess>(loop_, weak_from_this(), static_cast<std::int32_t>(number), std::move(event));
  const auto command = std::make_shared<StreamCommand>(loop_, number, std::move(control), std::move(stdio),
                                                       SpecFrames(std::move(spec), number), guest_.stream->input_window,
                                                       StreamCommand::Hooks{[weak = weak_from_this()] {
                                                                              if (const auto self = weak.lock())
                                                                                self->fill();
                                                                            },
                                                                            [weak = weak_from_this()] {
                                                                              if (const auto self = weak.lock())
                                                                                self->not_ended();
                                                                            }});
  commands_[number] = command;
  introductions_.push_back(number);
  command->start(process);
  fill();
  return process;
}

void StreamGuest::end(std::int32_t number) {
  const auto found = commands_.find(static_cast<std::uint32_t>(number));
  if (!lost_ && found != commands_.end()) found->second->end();
}

// What there is to say, as far as there is room: small things first, then new commands, then input, in turn.
void StreamGuest::fill() {
  if (!watching_ || std::exchange(filling_, true)) return;
  FrameWriter& writer = guest_.stream->writer;
  bool more = true;
  while (watching_ && std::exchange(more, false)) {
    for (auto at = commands_.begin(); at != commands_.end();) {
      at->second->say(writer, growth_);
      if (at->second->is_finished()) {
        at->second->give_back(growth_);
        at = commands_.erase(at);
      } else {
        ++at;
      }
    }
    while (!introductions_.empty() && writer.has_room(guest::kMaxPayload)) {
      const auto command = commands_.at(introductions_.front());
      if (!command->introduce(writer)) {
        filling_ = false;
        return lose(lost_failure("a command's specification can't be read"), false);
      }
      if (!command->introduced()) break;
      introductions_.pop_front();
    }
    for (auto at = commands_.upper_bound(fed_); at != commands_.end() && !more; ++at) {
      if (!at->second->feed(writer)) continue;
      fed_ = at->first;
      more = true;
    }
    if (!more && fed_ != 0) {
      fed_ = 0;  // from the beginning again
      more = true;
    }
    flush();
    if (more && !writer.empty()) break;
  }
  filling_ = false;
}

void StreamGuest::flush() {
  FrameWriter& writer = guest_.stream->writer;
  switch (writer.flush(guest_.stream->to.get())) {
    case FrameWriter::Flushed::all: loop_->unwatch(guest_.stream->to.get()); return;
    case FrameWriter::Flushed::later:
      loop_->watch(guest_.stream->to.get(), POLLOUT, [weak = weak_from_this()](short) {
        if (const auto self = weak.lock()) self->fill();
      });
      return;
    case FrameWriter::Flushed::closed:
      forget_broken_pipe();
      // Its last words may still be there to be read.
      loop_->unwatch(guest_.stream->to.get());
      return;
  }
}

void StreamGuest::beat() {
  const std::int64_t lease_ns = std::int64_t{guest_.stream->lease_ms} * 1'000'000;
  // Who was held up itself looks first at what has come in the meantime.
  if (monotonic_now_ns() - heard_ns_ >= lease_ns) readable();
  if (!watching_) return;
  if (monotonic_now_ns() - heard_ns_ >= lease_ns) {
    return stream_ended(
        lost_failure(fmt::format("nothing was heard of the environment for {} ms", guest_.stream->lease_ms)));
  }
  if (guest_.stream->writer.empty()) guest_.stream->writer.put(FrameType::heartbeat, 0);
  fill();
  flush();
  beat_timer_ = loop_->at(deadline_after(std::chrono::nanoseconds(lease_ns / guest::kHeartbeatsPerLease)),
                          [weak = weak_from_this()] {
                            const auto self = weak.lock();
                            if (!self) return;
                            self->beat_timer_ = 0;
                            self->beat();
                          });
}

ServingGuest StreamGuest::stop() {
  lose(lost_failure("the environment was closed"), false);
  return std::move(guest_);
}

}  // namespace exechost::keeper
