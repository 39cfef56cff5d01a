// The keeper's side of a guest that serves the commands of one environment and takes their descriptors by its control
// socket (docs/guest.md). It is untrusted from the moment it has started the first of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/command_server.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/plugin_call.hpp"
#include "core/keeper/served_process.hpp"
#include "core/keeper/started_process.hpp"
#include "core/keeper/wire.hpp"
#include "guest/protocol.hpp"

namespace exechost::keeper {

class GuestServer final : public CommandServer, public std::enable_shared_from_this<GuestServer> {
 public:
  GuestServer(std::shared_ptr<EventLoop> loop, ServingGuest guest, std::string backend);
  GuestServer(const GuestServer&) = delete;
  GuestServer& operator=(const GuestServer&) = delete;

  void start() override;
  Result<std::shared_ptr<ServedProcess>> run(UniqueFd control, std::vector<UniqueFd> stdio) override;
  void end(std::int32_t number) override;
  ServingGuest stop() override;
  bool passes_descriptors() const override { return true; }

 private:
  void readable();
  void read_process();
  bool take(const guest::Message& message);
  void socket_closed(Failure failure);
  // `proven`: nothing of its commands is left.
  void lose(Failure failure, bool proven);
  bool take_back(std::int32_t number);
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
