// The keeper's side of a guest that serves the commands of one environment over byte streams, for backends where
// descriptors can't be passed (docs/guest-protocol.md). One guest speaks for all commands: who breaks the protocol
// anywhere breaks all of it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/keeper/command_server.hpp"
#include "core/keeper/stream_command.hpp"
#include "core/keeper/stream_link.hpp"

namespace exechost::keeper {

class StreamGuest final : public CommandServer, public std::enable_shared_from_this<StreamGuest> {
 public:
  StreamGuest(std::shared_ptr<EventLoop> loop, ServingGuest guest, std::string backend);
  StreamGuest(const StreamGuest&) = delete;
  StreamGuest& operator=(const StreamGuest&) = delete;

  bool passes_descriptors() const override { return false; }
  void start() override;
  Result<std::shared_ptr<ServedProcess>> run(UniqueFd control, std::vector<UniqueFd> stdio) override;
  void end(std::int32_t number) override;
  ServingGuest stop() override;

 private:
  void readable();
  // False: it broke the protocol.
  bool take_frames();
  void read_process();
  void hear_last_words();
  void read_log();
  void beat();
  void fill();
  void flush();
  void stream_ended(Failure failure);
  void not_ended();
  void lose(Failure failure, bool proven);
  void unwatch();

  const std::shared_ptr<EventLoop> loop_;
  ServingGuest guest_;
  const std::string backend_;
  std::map<std::uint32_t, std::shared_ptr<StreamCommand>> commands_;
  std::deque<std::uint32_t> introductions_;  // commands that the guest does not know yet
  std::uint32_t next_ = 1;
  std::uint32_t fed_ = 0;  // whose input was sent last
  guest::WindowGrowth growth_;
  std::int64_t heard_ns_ = 0;
  EventLoop::Timer beat_timer_ = 0;
  EventLoop::Timer end_timer_ = 0;
  bool filling_ = false;
  bool watching_ = false;
  bool log_watched_ = false;
  bool process_watched_ = false;
  std::optional<Failure> lost_;
};

}  // namespace exechost::keeper
