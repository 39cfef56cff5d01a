#include "core/keeper/stream_call.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/guest_channel.hpp"
#include "core/keeper/plugin_process.hpp"
#include "core/keeper/spawn_call.hpp"
#include "core/keeper/stream_link.hpp"

namespace exechost::keeper {
namespace {

using guest::FrameHeader;
using guest::FrameReader;
using guest::FrameType;
using guest::FrameWriter;

constexpr int kPipeBytes = 1024 * 1024;  // as much as an ordinary user may have
constexpr std::uint32_t kMostExecutions = 1024;

struct Ends {
  UniqueFd read;
  UniqueFd write;
};

bool make_pipe(Ends& ends) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  ends = {UniqueFd(fds[0]), UniqueFd(fds[1])};
  return true;
}

CallResult answer(ReplyStatus status) { return {status, {}, {}}; }

CallResult broken(std::string message) {
  return CallResult::failed(make_failure(FailureKind::protocol_error, Phase::provision, std::move(message), "guest"));
}

// From the hello to the word that it is confined.
class Handshake {
 public:
  Handshake(StreamLink& link, StartedProcess& process, const SpawnRequest& request, UniqueFd spec)
      : link_(link), process_(process), request_(request), spec_(std::move(spec), 0) {}

  CallResult run(const plugin::CallLimits& limits) {
    for (;;) {
      if (auto end = read()) return std::move(*end);
      if (opened_ && !spec_.put(link_.writer)) return broken("the environment's specification can't be read");
      bool writes = false;
      switch (link_.writer.flush(link_.to.get())) {
        case FrameWriter::Flushed::all: break;
        case FrameWriter::Flushed::later: writes = true; break;
        case FrameWriter::Flushed::closed: forget_broken_pipe(); break;  // read() learns why
      }
      const bool logs = link_.read_log();
      ProcessNews news = process_.news();
      if (news.kind == ProcessNews::Kind::failed) return CallResult::failed(std::move(news.failure));
      if (news.kind == ProcessNews::Kind::ended) return ended(news.wait_status);
      const int timeout = limits.deadline_ns == kNoDeadline ? -1 : poll_timeout_ms(limits.deadline_ns);
      if (timeout == 0) return answer(ReplyStatus::timed_out);
      pollfd entries[] = {{closed_ ? -1 : link_.from.get(), POLLIN, 0},
                          {writes ? link_.to.get() : -1, POLLOUT, 0},
                          {process_.event_fd(), POLLIN, 0},
                          {limits.cancel_fd, POLLIN, 0},
                          {logs ? link_.log.get() : -1, POLLIN, 0}};
      if (::poll(entries, 5, timeout) > 0 && entries[3].revents != 0) return answer(ReplyStatus::cancelled);
    }
  }

 private:
  // An answer when there is one already.
  std::optional<CallResult> read() {
    while (!closed_) {
      FrameHeader header;
      const char* payload = nullptr;
      for (;;) {
        const FrameReader::Next next = link_.reader.next(header, payload);
        if (next == FrameReader::Next::incomplete) break;
        if (next == FrameReader::Next::malformed)
          return broken("what came from the environment is no frame of a guest");
        if (auto end = take(header, payload)) return end;
      }
      const FrameReader::Got got = link_.reader.fill(link_.from.get());
      if (got == FrameReader::Got::nothing) break;
      closed_ = got == FrameReader::Got::closed;  // its process has to end soon
    }
    return std::nullopt;
  }

  std::optional<CallResult> take(const FrameHeader& header, const char* payload) {
    if (!opened_) {
      if (header.type != FrameType::hello) return broken("the guest did not begin with its hello");
      return take_hello(FrameReader::as<guest::Hello>(payload));
    }
    if (header.type == FrameType::heartbeat) return std::nullopt;
    if (header.execution != 0) return broken("the guest spoke of a command before there was one");
    if (header.type == FrameType::confined) return answer(ReplyStatus::ok);
    if (header.type != FrameType::failed) return broken("the guest said something out of order");
    const auto failed = FrameReader::as<guest::Failed>(payload);
    guest::Message message;
    message.step = static_cast<guest::Step>(failed.step);
    message.error_number = failed.error_number;
    message.number = failed.detail;
    Failure failure = describe_guest_failure(message, request_);
    failure.phase = Phase::provision;
    return CallResult::failed(std::move(failure));
  }

  std::optional<CallResult> take_hello(const guest::Hello& hello) {
    if (hello.magic != guest::kStreamMagic) return broken("the guest's hello is not one");
    if (hello.version != guest::kStreamVersion) {
      return broken(fmt::format("the guest in the environment speaks version {} of its protocol, and this is {}",
                                hello.version, guest::kStreamVersion));
    }
    if (hello.max_payload != guest::kMaxPayload || hello.max_executions == 0 ||
        hello.max_executions > kMostExecutions || hello.input_window == 0 || hello.input_window > guest::kMaxWindow) {
      return broken("the guest's hello names impossible limits");
    }
    link_.max_executions = hello.max_executions;
    link_.input_window = hello.input_window;
    guest::Open open;
    open.lease_ms = link_.lease_ms;
    open.spec_bytes = spec_.size();
    link_.writer.put(FrameType::open, 0, open);
    opened_ = true;
    return std::nullopt;
  }

  CallResult ended(int wait_status) {
    link_.read_log();
    Failure failure = first_process_ended(wait_status, Phase::provision);
    failure.message += link_.said_in_words();
    return CallResult::failed(std::move(failure));
  }

  StreamLink& link_;
  StartedProcess& process_;
  const SpawnRequest& request_;
  SpecFrames spec_;
  bool opened_ = false;
  bool closed_ = false;
};

}  // namespace

CallResult start_stream(Environment& environment, const plan::Confinement& confinement, std::uint32_t lease_ms,
                        const plugin::CallLimits& limits, ServingGuest& guest) {
  if (environment.init.empty()) {
    return CallResult::failed(make_failure(FailureKind::unsupported, Phase::provision,
                                           "the backend has no place for the guest (open gave no \"init\")", "guest"));
  }
  SpawnRequest request;
  request.argv = {"serve"};
  request.confinement = confinement;
  request.confinement.rlimits.clear();  // each command's own
  auto spec = make_spec(request, false, nullptr);
  if (!spec) return CallResult::failed(spec.error());
  Ends to, from, log;
  if (!make_pipe(to) || !make_pipe(from) || !make_pipe(log) || !set_nonblocking(to.write.get()) ||
      !set_nonblocking(from.read.get()) || !set_nonblocking(log.read.get())) {
    const int error = errno;
    return CallResult::failed(make_failure(FailureKind::provision_failed, Phase::provision,
                                           fmt::format("no pipes to the guest: {}", std::strerror(error)), "pipe",
                                           error));
  }
  // Fewer turns for much data. Where it is refused all goes on as it is.
  ::fcntl(to.write.get(), F_SETPIPE_SZ, kPipeBytes);
  ::fcntl(from.read.get(), F_SETPIPE_SZ, kPipeBytes);
  SpawnInputs inputs;
  inputs.stdio.push_back(std::move(to.read));
  inputs.stdio.push_back(std::move(from.write));
  inputs.stdio.push_back(std::move(log.write));
  inputs.arguments = {environment.init, "serve", "--stream"};
  inputs.working_directory = "/";
  const SpawnOutcome outcome = spawn_in(environment, inputs, limits);
  if (outcome.result.status != ReplyStatus::ok) return outcome.result;
  guest.process = std::make_shared<PluginProcess>(outcome.table, outcome.event_fd, environment.backend->id());
  guest.stream = std::make_unique<StreamLink>();
  guest.stream->to = std::move(to.write);
  guest.stream->from = std::move(from.read);
  guest.stream->log = std::move(log.read);
  guest.stream->lease_ms = std::clamp(lease_ms, guest::kMinLeaseMs, guest::kMaxLeaseMs);
  CallResult ready = Handshake(*guest.stream, *guest.process, request, std::move(*spec)).run(limits);
  if (ready.status != ReplyStatus::ok) end_guest(guest);
  return ready;
}

}  // namespace exechost::keeper
