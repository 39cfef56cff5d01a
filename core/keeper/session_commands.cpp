// The commands in the background of named sessions.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/utf8.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/named_sessions.hpp"

namespace exechost::keeper {
namespace {

constexpr std::size_t kMostEnded = 64;                        // of one session
constexpr std::size_t kMostKeptBytes = 64UL * 1024 * 1024;    // of the ended ones of one session
constexpr auto kKeptAfterSession = std::chrono::minutes(60);  // what its commands said
constexpr auto kCloseTime = std::chrono::seconds(3);

std::string in_quotes(const std::string& text) { return "\"" + escape_for_terminal(to_valid_utf8(text)) + "\""; }

ExecutionEvent not_started(Failure failure) {
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::failed;
  event.failure = std::move(failure);
  event.was_started = Started::no;
  return event;
}

}  // namespace

void NamedSessions::start_background(const std::shared_ptr<Environment>& environment, SpawnRequest request,
                                     std::function<void(ExecutionEvent)> send) {
  const auto session = session_of(environment.get());
  if (session == sessions_.end()) {
    return send(not_started(
        make_failure(FailureKind::environment_lost, Phase::spawn, "the session has just ended", "environment")));
  }
  const Key key = session->first;
  Commands& commands = commands_[key];
  const bool taken = std::any_of(commands.begin(), commands.end(),
                                 [&](const auto& other) { return other->id() == request.background->id; });
  if (taken) {
    return send(not_started(make_failure(
        FailureKind::invalid_request, Phase::spawn,
        fmt::format("session {} has a command {} already", in_quotes(key.second), in_quotes(request.background->id)),
        "id", 0, "choose another name for it")));
  }
  const auto command = std::make_shared<BackgroundCommand>(loop_, request);
  auto streams = command->open_streams();
  if (!streams) return send(not_started(streams.error()));
  commands.push_back(command);
  Execution::Surroundings surroundings{loop_,
                                       pool_,
                                       operations_,
                                       [command, send = std::move(send)](ExecutionEvent event) {
                                         command->on_event(event);
                                         send(std::move(event));
                                       },
                                       [this, key] { drop_old_commands(key); },
                                       [this, environment](Environments::Closed closed) {
                                         destroy(environment, false, deadline_after(kCloseTime), std::move(closed));
                                       }};
  const auto execution = std::make_shared<Execution>(std::move(surroundings), environment, std::move(request));
  command->runs_as(execution);
  execution->start(std::move(*streams));
}

std::shared_ptr<BackgroundCommand> NamedSessions::command_of(const SessionsRequest& request) const {
  const auto found = commands_.find({request.owner, request.name});
  if (found == commands_.end() || found->second.empty()) return nullptr;
  if (request.command.empty()) return found->second.back();
  const auto command = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const auto& one) { return one->id() == request.command; });
  return command == found->second.end() ? nullptr : *command;
}

void NamedSessions::about_background(const SessionsRequest& request, const Answer& answer) {
  Reply reply;
  const auto command = command_of(request);
  if (!command) {
    const Key key{request.owner, request.name};
    const bool known = sessions_.contains(key) || commands_.contains(key);
    reply.failure = make_failure(
        FailureKind::invalid_request, Phase::run,
        !known                    ? fmt::format("there is no session {}", in_quotes(request.name))
        : request.command.empty() ? fmt::format("session {} has no command in the background", in_quotes(request.name))
                                  : fmt::format("session {} has no command {} in the background",
                                                in_quotes(request.name), in_quotes(request.command)),
        "command", 0, "`exechost ps` lists sessions and their commands");
    return answer(std::move(reply));
  }
  reply.status = ReplyStatus::ok;
  switch (request.what) {
    case SessionsRequest::What::await:
      return command->await(request.out_seen, request.err_seen, request.deadline_ns, answer);
    case SessionsRequest::What::read: reply.body = command->read(request.stream, request.offset); break;
    case SessionsRequest::What::write:
      if (!request.data.empty()) return command->write_input(request.data, request.deadline_ns, answer);
      command->close_input();
      break;
    case SessionsRequest::What::signal: command->signal(request.number); break;
    case SessionsRequest::What::list:
    case SessionsRequest::What::stop: break;
  }
  answer(std::move(reply));
}

nlohmann::json NamedSessions::describe_all(const Key& key) const {
  nlohmann::json all = nlohmann::json::array();
  const auto found = commands_.find(key);
  if (found == commands_.end()) return all;
  for (const auto& command : found->second) all.push_back(command->describe());
  return all;
}

// The oldest first, and none that still runs.
void NamedSessions::drop_old_commands(const Key& key) {
  const auto found = commands_.find(key);
  if (found == commands_.end()) return;
  Commands& commands = found->second;
  std::size_t ended = 0;
  std::size_t bytes = 0;
  for (auto command = commands.rbegin(); command != commands.rend();) {
    if ((*command)->ended()) {
      ++ended;
      bytes += (*command)->kept_bytes();
    }
    if ((*command)->ended() && (ended > kMostEnded || (bytes > kMostKeptBytes && ended > 1))) {
      command = std::make_reverse_iterator(commands.erase(std::next(command).base()));
    } else {
      ++command;
    }
  }
}

// Somebody may still want to know how they ended.
void NamedSessions::forget_commands_later(const Key& key) {
  if (!commands_.contains(key)) return;
  loop_->at(deadline_after(kKeptAfterSession), [this, key] {
    if (sessions_.contains(key)) return;
    commands_.erase(key);
    changed_();
  });
}

}  // namespace exechost::keeper
