// Messages as packets and back, in one place. Tickets are chosen by the host: one names a request
// until its reply, or an execution until its last event.
#pragma once

#include <cstdint>
#include <variant>

#include "core/keeper/messages.hpp"
#include "core/keeper/wire.hpp"

namespace exechost::keeper {

struct CancelMessage {};  // of the request with this ticket
struct SignalMessage {    // to the execution with this ticket
  int number = 0;
};

struct HostMessage {
  std::uint64_t ticket = 0;
  std::variant<ProbeRequest, OpenRequest, SpawnRequest, CloseRequest, ListRequest, ReapRequest, SessionsRequest,
               CancelMessage, SignalMessage>
      body;
};

struct KeeperMessage {
  std::uint64_t ticket = 0;
  std::variant<Reply, ExecutionEvent> body;
};

// SpawnRequest::stdio does not travel in the body: the packet's descriptors do.
nlohmann::json encode(const HostMessage& message);
nlohmann::json encode(const KeeperMessage& message);
// protocol_error naming the member for anything missing, of a wrong type, out of range or unknown.
Result<HostMessage> decode_host_message(const nlohmann::json& body);
Result<KeeperMessage> decode_keeper_message(const nlohmann::json& body);

}  // namespace exechost::keeper
