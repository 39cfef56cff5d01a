// Moves one output stream of a command: from the read end of its pipe (or its terminal) into
// the capture, the spill file, the callback and the caller's descriptor.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/execution/capture.hpp"
#include "core/execution/shared_fd.hpp"
#include "core/execution/sink.hpp"
#include "core/execution/spill.hpp"
#include "exechost/request.hpp"

namespace exechost::execution {

struct PumpOptions {
  StdStream stream = StdStream::out;
  std::uint64_t cap_bytes = 0;
  std::string spill_folder;  // empty: no spill file
  OutputCallback on_output;
  std::shared_ptr<SharedFd> sink;  // null: none
  // When the sink's reader has gone, the command's stream is closed too: it gets the SIGPIPE it
  // would have got without us. Otherwise everything is read and counted to the end.
  bool ends_with_reader = false;
};

// Reactor thread only. While the sink has bytes it could not take, the pipe is not read: that
// slows the command, and nobody else.
class StreamPump : public std::enable_shared_from_this<StreamPump> {
 public:
  // `source` is non-blocking and only ours.
  StreamPump(boost::asio::io_context& context, UniqueFd source, PumpOptions options);

  // `on_change` is called when reading() or delivering() may have become false.
  void start(std::function<void()> on_change);
  // Nothing of the command is left: what the pipe still holds is read without waiting for the
  // sink (at most kDrainBytes ahead of it).
  void drain();
  // Reads no further; true when something still held the stream open.
  bool stop_reading();
  // Gives up what the sink has not taken.
  void abandon_delivery();

  bool reading() const { return reading_; }
  bool delivering() const { return sink_ && !sink_->closed() && !sink_->idle(); }
  // Reading waits for the sink.
  bool held_back() const { return reading_ && paused_; }

  CapturedStream take();
  std::vector<std::string> warnings() const { return warnings_; }

  static constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;
  static constexpr std::size_t kDrainBytes = std::size_t{1024} * 1024;

 private:
  void wait();
  void on_readable();
  void on_sink_progress();
  void consume(std::string_view bytes);
  void spill(std::string_view bytes);
  void note_undelivered(std::string why);
  void end_reading();
  bool must_pause() const;
  std::string_view name() const { return options_.stream == StdStream::out ? "stdout" : "stderr"; }

  boost::asio::posix::stream_descriptor source_;
  PumpOptions options_;
  Capture capture_;
  std::optional<SpillFile> spill_;
  bool spill_failed_ = false;
  std::shared_ptr<Sink> sink_;
  std::string buffer_;
  std::function<void()> on_change_;
  std::vector<std::string> warnings_;
  std::string undelivered_;
  bool reading_ = true;
  bool paused_ = false;
  bool draining_ = false;
  bool sink_problem_told_ = false;
};

}  // namespace exechost::execution
