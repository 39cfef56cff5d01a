// One output stream of a command that is reached over frames: from the guest to the pipe that the host made.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/unique_fd.hpp"
#include "guest/serve/frame_writer.hpp"
#include "guest/serve/receive_window.hpp"

namespace exechost::keeper {

class StreamOutput {
 public:
  // `fd`: non-blocking. None: a stream that never has anything (a terminal's second one).
  explicit StreamOutput(UniqueFd fd) : fd_(std::move(fd)), closed_(!fd_) {}

  // What the guest says. False: it broke the protocol.
  bool data(const char* bytes, std::uint32_t size);
  bool closed();

  // Moves what waits; call when fd() is writable.
  void write();
  // Nobody reads it any more.
  void reader_gone();
  // Frames that are due, as far as there is room.
  void say(guest::FrameWriter& writer, std::uint32_t execution, guest::StreamId stream, guest::WindowGrowth& growth);

  int fd() const { return fd_.get(); }  // -1: closed
  bool waiting() const { return !pending_.empty(); }
  std::size_t kept() const { return pending_.size(); }  // bytes of memory; the window bounds them
  // The guest has said its last word about it.
  bool is_closed() const { return closed_; }
  // And all of it was passed on, as far as anybody reads it.
  bool is_delivered() const { return closed_ && !waiting(); }
  std::uint64_t moved() const { return moved_; }  // bytes that came or went
  void give_back(guest::WindowGrowth& growth) { window_.give_back(growth); }

 private:
  std::size_t write_some(const char* bytes, std::size_t size);

  UniqueFd fd_;
  guest::ReceiveWindow window_;
  std::string pending_;   // bounded by the window
  std::size_t sent_ = 0;  // of pending_
  std::uint64_t moved_ = 0;
  bool closed_ = false;
  bool tell_gone_ = false;
};

}  // namespace exechost::keeper
