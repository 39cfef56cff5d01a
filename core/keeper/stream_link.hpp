// The byte streams to and from a guest (docs/guest-protocol.md), with what is half read and half written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"
#include "guest/serve/frame_reader.hpp"
#include "guest/serve/frame_writer.hpp"

namespace exechost::keeper {

// Large: always on the heap.
struct StreamLink {
  UniqueFd to;  // non-blocking, all three
  UniqueFd from;
  UniqueFd log;      // what the launcher, or the guest, writes to its standard error
  std::string said;  // the beginning of that
  guest::FrameReader reader{guest::Sender::guest};
  guest::FrameWriter writer;
  std::uint32_t lease_ms = 0;
  std::uint32_t max_executions = 0;
  std::uint32_t input_window = 0;

  // Never blocks; false at its end. What is more than a little is dropped.
  bool read_log();
  // For a message: what it wrote to its standard error, or nothing. Escaped.
  std::string said_in_words() const;
};

// Frames that bring a specification, out of the sealed memory file that holds it.
class SpecFrames {
 public:
  SpecFrames() = default;
  // 0 bytes: it can't be read.
  SpecFrames(UniqueFd spec, std::uint32_t execution);
  std::uint32_t size() const { return size_; }
  bool done() const { return sent_ == size_; }
  // As many as there is room for. False: it can't be read.
  bool put(guest::FrameWriter& writer);

 private:
  UniqueFd spec_;
  std::uint32_t execution_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t sent_ = 0;
};

// The memory file in the first packet of a command's control socket; none when there is no such packet.
UniqueFd receive_spec(int control);

// write(2) to a pipe whose reader may be gone: no signal stays behind. All signals are blocked in a keeper's threads.
ssize_t write_to_pipe(int fd, const char* bytes, std::size_t size);
// After a write of somebody else to one.
void forget_broken_pipe();

bool set_nonblocking(int fd);

}  // namespace exechost::keeper
