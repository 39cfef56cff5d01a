// The keeper's side of a guest that serves the commands of one environment (docs/guest.md). It is untrusted
// from the moment it has started the first of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/plugin_call.hpp"
#include "core/keeper/served_process.hpp"
#include "core/keeper/started_process.hpp"
#include "core/keeper/wire.hpp"
#include "guest/protocol.hpp"

namespace exechost::keeper {

// The guest itself, confined and waiting for commands.
struct ServingGuest {
  UniqueFd socket;
  std::shared_ptr<StartedProcess> process;
};

// Ends it and everything it started, and waits for the proof; false: there is none. Blocks for some seconds at
// most. [worker]
bool end_guest(ServingGuest& guest);

// On the loop's thread.
class GuestServer : public std::enable_shared_from_this<GuestServer> {
 public:
  GuestServer(std::shared_ptr<EventLoop> loop, ServingGuest guest, std::string backend);
  GuestServer(const GuestServer&) = delete;
  GuestServer& operator=(const GuestServer&) = delete;
  void start();

  // Starts a command's supervisor with these descriptors: its control socket, its three streams and what the
  // specification places beside them.
  // environment_lost: the guest is gone.
  Result<std::shared_ptr<ServedProcess>> run(UniqueFd control, std::vector<UniqueFd> stdio);
  // Nothing of that command may stay.
  void end(std::int32_t number);
  // Not watched any more; every command that still runs is lost. For end_guest.
  ServingGuest stop();

 private:
  void readable();
  void read_process();
  bool take(const guest::Message& message);
  void socket_closed(Failure failure);
  // `proven`: nothing of its commands is left.
  void lose(Failure failure, bool proven);
  void send(const guest::Message& message, std::vector<UniqueFd> descriptors);
  void send_waiting();

  const std::shared_ptr<EventLoop> loop_;
  ServingGuest guest_;
  const std::string backend_;
  std::map<std::int32_t, std::shared_ptr<ServedProcess>> running_;
  std::int32_t next_ = 1;
  std::deque<EncodedPacket> waiting_;  // the socket is full, or too many descriptors are on their way
  EventLoop::Timer retry_ = 0;
  EventLoop::Timer end_timer_ = 0;
  bool socket_watched_ = false;
  bool process_watched_ = false;
  std::optional<Failure> lost_;
};

}  // namespace exechost::keeper
