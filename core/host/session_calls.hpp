// Questions to the detached keepers of this user about their named sessions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/reactor.hpp"
#include "core/keeper/messages.hpp"
#include "exechost/failure.hpp"

namespace exechost::host {

// Waits for answers, some seconds at most: not on the reactor's thread. No keeper is started.
class SessionCalls {
 public:
  // `folder`: of the keepers' sockets. The reactor outlives it.
  SessionCalls(Reactor& reactor, std::string folder) : reactor_(reactor), folder_(std::move(folder)) {}

  // What every keeper's NamedSessions::list says, by name. A keeper that does not answer is a failure.
  Result<nlohmann::json> list(const std::string& owner);
  // Paths of this machine that the session's commands can write; none when it is not open.
  Result<std::vector<std::string>> writable_in(const std::string& owner, const std::string& name);
  // The first keeper's answer that knows the session and the command; else the last's refusal.
  Result<nlohmann::json> about_command(keeper::SessionsRequest request);
  // invalid_request: no keeper has a session of that name.
  Result<void> stop(const std::string& owner, const std::string& name, bool purge);

 private:
  Result<std::vector<std::string>> keepers() const;
  // Nothing: the keeper has just ended.
  Result<std::optional<keeper::Reply>> call(const std::string& keeper, const keeper::SessionsRequest& request);

  Reactor& reactor_;
  const std::string folder_;
};

}  // namespace exechost::host
