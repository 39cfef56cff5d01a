#include "core/host/session_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/utf8.hpp"
#include "core/keeper/client.hpp"
#include "core/keeper/detached_start.hpp"

namespace exechost::host {
namespace {

constexpr auto kDeadline = std::chrono::seconds(10);
constexpr std::string_view kSuffix = ".sock";

Failure failure_of(FailureKind kind, std::string message, std::string hint) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::cleanup;
  failure.step = "session";
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  return failure;
}

Result<void> check(const keeper::Reply& reply) {
  if (reply.status == keeper::ReplyStatus::ok) return {};
  if (reply.status == keeper::ReplyStatus::failed) return unexpected(reply.failure);
  return unexpected(failure_of(FailureKind::unavailable, "the keeper did not answer in time", "try again"));
}

}  // namespace

Result<std::vector<std::string>> SessionCalls::keepers() const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix))
      names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    Failure failure =
        failure_of(FailureKind::unavailable,
                   fmt::format("the keepers' folder \"{}\" can't be read: {}", folder_, error.message()), {});
    failure.error_number = error.value();
    return unexpected(std::move(failure));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::optional<keeper::Reply>> SessionCalls::call(const std::string& keeper,
                                                        const keeper::SessionsRequest& request) {
  auto socket = keeper::find_detached({folder_, keeper});
  if (!socket) return unexpected(socket.error());
  if (!*socket) return std::nullopt;
  std::promise<keeper::Reply> answered;
  auto future = answered.get_future();
  std::optional<keeper::Client> client;
  reactor_.post([&] {
    client.emplace(reactor_, std::move(*socket));
    client->sessions(request, [&answered](keeper::Reply reply) { answered.set_value(std::move(reply)); });
  });
  keeper::Reply reply = future.get();  // a keeper that dies answers too
  std::promise<void> closed;
  reactor_.post([&] {
    client.reset();
    closed.set_value();
  });
  closed.get_future().wait();
  return reply;
}

Result<nlohmann::json> SessionCalls::list(const std::string& owner) {
  const auto names = keepers();
  if (!names) return unexpected(names.error());
  nlohmann::json all = nlohmann::json::array();
  keeper::SessionsRequest request;
  request.owner = owner;
  for (const std::string& name : *names) {
    request.deadline_ns = deadline_after(kDeadline);
    auto reply = call(name, request);
    if (!reply) return unexpected(reply.error());
    if (!*reply) continue;
    if (auto answered = check(**reply); !answered) return unexpected(answered.error());
    if (!(*reply)->body.is_array()) continue;
    for (auto& session : (*reply)->body) all.push_back(std::move(session));
  }
  std::sort(all.begin(), all.end(),
            [](const auto& left, const auto& right) { return left.value("name", "") < right.value("name", ""); });
  return all;
}

Result<std::vector<std::string>> SessionCalls::writable_in(const std::string& owner, const std::string& name) {
  const auto sessions = list(owner);
  if (!sessions) return unexpected(sessions.error());
  std::vector<std::string> paths;
  for (const auto& session : *sessions) {
    if (session.value("name", "") != to_valid_utf8(name) || !session.contains("writable")) continue;
    for (const auto& path : session.at("writable")) {
      if (path.is_binary()) paths.emplace_back(path.get_binary().begin(), path.get_binary().end());
    }
  }
  return paths;
}

Result<nlohmann::json> SessionCalls::about_command(keeper::SessionsRequest request) {
  const auto names = keepers();
  if (!names) return unexpected(names.error());
  if (request.deadline_ns == kNoDeadline) request.deadline_ns = deadline_after(kDeadline);
  Failure refused =
      failure_of(FailureKind::invalid_request,
                 fmt::format("there is no session \"{}\"", escape_for_terminal(to_valid_utf8(request.name))),
                 "`exechost ps` lists those there are");
  for (const std::string& keeper : *names) {
    auto reply = call(keeper, request);
    if (!reply) return unexpected(reply.error());
    if (!*reply) continue;
    if (auto answered = check(**reply); answered) return std::move((*reply)->body);
    if ((*reply)->failure.kind != FailureKind::invalid_request) return unexpected((*reply)->failure);
    refused = (*reply)->failure;
  }
  return unexpected(std::move(refused));
}

Result<void> SessionCalls::stop(const std::string& owner, const std::string& name, bool purge) {
  const auto names = keepers();
  if (!names) return unexpected(names.error());
  keeper::SessionsRequest request;
  request.what = keeper::SessionsRequest::What::stop;
  request.owner = owner;
  request.name = name;
  request.purge = purge;
  bool found = false;
  for (const std::string& keeper : *names) {
    request.deadline_ns = deadline_after(kDeadline);
    const auto reply = call(keeper, request);
    if (!reply) return unexpected(reply.error());
    const bool not_there = !*reply || ((*reply)->status == keeper::ReplyStatus::failed &&
                                       (*reply)->failure.kind == FailureKind::invalid_request);
    if (not_there) continue;
    if (auto stopped = check(**reply); !stopped) return stopped;
    found = true;
  }
  if (found) return {};
  return unexpected(failure_of(FailureKind::invalid_request,
                               fmt::format("there is no session \"{}\"", escape_for_terminal(to_valid_utf8(name))),
                               "`exechost ps` lists those there are"));
}

}  // namespace exechost::host
