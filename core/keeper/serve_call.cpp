#include "core/keeper/serve_call.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/guest_channel.hpp"
#include "core/keeper/plugin_process.hpp"
#include "core/keeper/spawn_call.hpp"

namespace exechost::keeper {
namespace {

// It has no command yet, so nothing of its streams matters.
bool open_null(std::vector<UniqueFd>& stdio) {
  for (int i = 0; i < 3; ++i) stdio.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
  return std::all_of(stdio.begin(), stdio.end(), [](const UniqueFd& fd) { return static_cast<bool>(fd); });
}

int milliseconds_until(std::int64_t deadline_ns) {
  if (deadline_ns == kNoDeadline) return -1;
  const std::int64_t left = (deadline_ns - monotonic_now_ns() + 999'999) / 1'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

CallResult stopped(ReplyStatus status) { return {status, {}, {}}; }

CallResult ended_early(ProcessNews news) {
  if (news.kind == ProcessNews::Kind::failed) return CallResult::failed(std::move(news.failure));
  return CallResult::failed(first_process_ended(news.wait_status, Phase::provision));
}

CallResult refused(const guest::Message& message, const SpawnRequest& request) {
  Failure failure = describe_guest_failure(message, request);
  failure.phase = Phase::provision;
  return CallResult::failed(std::move(failure));
}

// Until it has said that it is confined, or why it is not.
CallResult wait_until_ready(GuestChannel& channel, StartedProcess& process, const SpawnRequest& request,
                            const plugin::CallLimits& limits) {
  bool closed = false;
  for (;;) {
    guest::Message message;
    while (!closed) {
      const auto read = channel.read(message);
      if (!read) return CallResult::failed(read.error());
      if (*read == GuestChannel::Read::nothing) break;
      closed = *read == GuestChannel::Read::closed;
      if (closed) break;
      if (message.type == guest::MessageType::confined) return stopped(ReplyStatus::ok);
      if (message.type == guest::MessageType::failed) return refused(message, request);
    }
    ProcessNews news = process.news();
    if (news.kind == ProcessNews::Kind::failed || news.kind == ProcessNews::Kind::ended)
      return ended_early(std::move(news));
    const int timeout = milliseconds_until(limits.deadline_ns);
    if (timeout == 0) return stopped(ReplyStatus::timed_out);
    pollfd entries[3] = {
        {closed ? -1 : channel.fd(), POLLIN, 0}, {process.event_fd(), POLLIN, 0}, {limits.cancel_fd, POLLIN, 0}};
    if (::poll(entries, 3, timeout) > 0 && entries[2].revents != 0) return stopped(ReplyStatus::cancelled);
  }
}

}  // namespace

CallResult start_serving(Environment& environment, const plan::Confinement& confinement,
                         const plugin::CallLimits& limits, ServingGuest& guest) {
  if (environment.init.empty()) {
    return CallResult::failed(make_failure(FailureKind::unsupported, Phase::provision,
                                           "the backend has no place for the guest (open gave no \"init\")", "guest"));
  }
  SpawnRequest request;
  request.argv = {"serve"};
  request.confinement = confinement;
  request.confinement.rlimits.clear();  // each command's own
  SpawnInputs inputs;
  auto channel = GuestChannel::make(request, inputs.guest_end);
  if (!channel) return CallResult::failed(channel.error());
  if (!open_null(inputs.stdio)) {
    const int error = errno;
    return CallResult::failed(make_failure(FailureKind::provision_failed, Phase::provision,
                                           fmt::format("/dev/null can't be opened: {}", std::strerror(error)),
                                           "descriptors", error));
  }
  inputs.arguments = {environment.init, "serve"};
  inputs.working_directory = "/";
  const SpawnOutcome outcome = spawn_in(environment, inputs, limits);
  if (outcome.result.status != ReplyStatus::ok) return outcome.result;
  guest.process = std::make_shared<PluginProcess>(outcome.table, outcome.event_fd, environment.backend->id());
  CallResult ready = wait_until_ready(*channel, *guest.process, request, limits);
  guest.socket = channel->take_socket();
  if (ready.status != ReplyStatus::ok) end_guest(guest);
  return ready;
}

}  // namespace exechost::keeper
