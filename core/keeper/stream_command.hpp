// One command of a guest that is reached over byte streams: stands between what the keeper has for it (a control
// socket and the host's three streams, as if the guest had them) and frames. On the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/served_process.hpp"
#include "core/keeper/stream_link.hpp"
#include "core/keeper/stream_output.hpp"
#include "guest/protocol.hpp"

namespace exechost::keeper {

class StreamCommand : public std::enable_shared_from_this<StreamCommand> {
 public:
  struct Hooks {
    std::function<void()> poke;       // it has something to say
    std::function<void()> not_ended;  // it was to be killed, and there is no proof of its end in time
  };
  // `spec`: its specification. `stdio` is non-blocking.
  StreamCommand(std::shared_ptr<EventLoop> loop, std::uint32_t number, UniqueFd control, std::vector<UniqueFd> stdio,
                SpecFrames spec, std::uint32_t input_window, Hooks hooks);
  ~StreamCommand();
  StreamCommand(const StreamCommand&) = delete;
  StreamCommand& operator=(const StreamCommand&) = delete;

  void start(std::shared_ptr<ServedProcess> process);
  // A frame of the guest about it. False: that breaks the protocol.
  bool take(const guest::FrameHeader& header, const char* payload);
  // Frames that bring it into being; in the order of the commands' numbers. False: its specification can't be read.
  bool introduce(guest::FrameWriter& writer);
  bool introduced() const { return introduced_ && spec_.done(); }
  // Everything small that is due.
  void say(guest::FrameWriter& writer, guest::WindowGrowth& growth);
  // One frame of input, when there is any. False: there is none.
  bool feed(guest::FrameWriter& writer);

  // Nothing of it may stay.
  void end();
  // The guest has nothing more to say about it.
  bool is_finished() const;
  // It has no future; what it left, if that is not sure, has to go with its environment.
  void lose(const Failure& failure, bool perhaps_left);
  void give_back(guest::WindowGrowth& growth);

 private:
  enum class Phase { begun, confined, started, failed, exited, over };
  bool take_over(const guest::Over& over);
  bool pass_on(guest::MessageType type, const guest::Message& message);
  void read_control();
  void take_message(const guest::Message& message);
  void kill();
  void watch_control();
  void watch_input();
  bool watch_output(std::size_t index);
  void output_ready(std::size_t index, short events);
  void input_ready();
  void close_input();
  void settle();
  void wait_for_delivery();
  void deliver();

  const std::shared_ptr<EventLoop> loop_;
  const std::uint32_t number_;
  const Hooks hooks_;
  UniqueFd control_;
  UniqueFd input_;
  bool terminal_ = false;
  SpecFrames spec_;
  bool introduced_ = false;
  StreamOutput outputs_[2];
  struct Watched {
    int fd = -1;
    short events = 0;
  };
  Watched watched_[2];
  std::shared_ptr<ServedProcess> process_;

  Phase phase_ = Phase::begun;
  std::uint32_t credit_ = 0;  // bytes of input that the guest has room for
  bool input_ready_ = false;
  bool input_closed_by_guest_ = false;
  bool tell_input_end_ = false;
  std::vector<int> signals_;
  bool tell_resize_ = false;
  bool tell_kill_ = false;
  bool tell_end_ = false;
  bool killed_ = false;
  EventLoop::Timer kill_timer_ = 0;
  std::optional<guest::Message> exited_;  // until its output was passed on
  std::optional<ProcessNews> over_;       // the same
  std::uint64_t moved_ = 0;               // when it was last looked whether its output moves
  EventLoop::Timer delivery_timer_ = 0;
};

}  // namespace exechost::keeper
