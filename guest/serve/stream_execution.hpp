// One command of a guest that serves over byte streams: its descriptors on this side, and what of it has still to be
// said. Says nothing by itself: the server asks when there is room for frames.
#pragma once

#include <cstdint>

#include "guest/protocol.hpp"
#include "guest/serve/byte_ring.hpp"
#include "guest/serve/frame_writer.hpp"
#include "guest/serve/receive_window.hpp"

namespace exechost::guest {

class StreamExecution {
 public:
  std::uint32_t number() const { return number_; }  // 0: this place is free
  bool is_free() const { return number_ == 0; }

  // What its supervisor gets: its control socket and the streams. Ours are kept here, non-blocking. Returns an errno;
  // then everything is closed again, and the place is free.
  int make(std::uint32_t number, const Run& run, std::uint32_t output_window, int (&theirs)[kRunDescriptors]);
  // Adds what is ours to an epoll, with the number in the upper half of its data and a Part in the lower: an event
  // that comes when the place is another's already then finds nobody.
  enum class Part : std::uint32_t { control, input, output, error };
  bool watch(int epoll_fd) const;
  // Every descriptor is closed and the place is free.
  void clear(WindowGrowth& growth);

  int control() const { return control_; }
  void ready(Part part, std::uint32_t events);

  // Frames from the keeper. False: it broke the protocol.
  bool take_input(const char* bytes, std::uint32_t size);
  bool allow_output(StreamId stream, std::uint32_t bytes);
  void stream_closed(StreamId stream);
  void resize(const TerminalSize& size) const;
  // To its supervisor. False: that does not read.
  bool tell(MessageType type, std::int32_t number) const;

  // Its supervisor has ended.
  void over(int wait_status, int error);

  // Moves what can be moved and says what can be said, while `writer` has room. False: its supervisor says what none
  // says, or there is no memory for its input: it has to be ended.
  bool advance(FrameWriter& writer, WindowGrowth& growth);
  // Everything was said: the place can be given to another.
  bool is_finished() const;
  // advance() stopped for want of room in the writer, or to let others have their turn.
  bool has_more() const { return has_more_; }

 private:
  struct Output {
    int fd = -1;
    std::uint32_t allowed = 0;  // bytes that the keeper has room for
    bool ready = false;
    bool told_closed = false;
  };
  enum class Phase { begun, confined, started, failed, exited };

  int make_pipes(int (&theirs)[kRunDescriptors]);
  int make_terminal(const TerminalSize& size, int (&theirs)[kRunDescriptors]);
  void write_input();
  void end_input(bool tell);
  bool read_control(FrameWriter& writer);
  bool take(const Message& message, FrameWriter& writer);
  void read_output(Output& output, StreamId stream, FrameWriter& writer);
  bool is_read_out() const;
  void say(FrameWriter& writer, WindowGrowth& growth);

  std::uint32_t number_ = 0;
  int control_ = -1;
  int input_ = -1;
  bool terminal_ = false;  // then input_ is outputs_[0].fd, too
  bool input_ready_ = false;
  bool input_ending_ = false;  // closed once the ring is empty
  bool input_gone_ = false;    // nobody reads it: to be told
  ByteRing ring_;
  ReceiveWindow window_;
  Output outputs_[2];
  Phase phase_ = Phase::begun;
  bool control_ready_ = false;
  bool exited_waits_ = false;  // for the output that came before it
  Exited exited_;
  bool over_waits_ = false;
  bool over_told_ = false;
  Over over_;
  bool has_more_ = false;
  bool broken_ = false;  // it has to be ended
};

}  // namespace exechost::guest
