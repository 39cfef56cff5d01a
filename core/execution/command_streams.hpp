// The three streams of one execution: what goes into the environment, and what moves the bytes
// on our side.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/execution/stdin_feeder.hpp"
#include "core/execution/stream_pump.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::execution {

struct StreamsSpec {
  StdinInput input;
  OutputCallback on_output;
  std::shared_ptr<SharedFd> out;  // the caller's, null: none
  std::shared_ptr<SharedFd> err;
  std::uint64_t cap_bytes = 0;
  std::string spill_folder;  // empty: no spill files
  bool tty = false;
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

// Reactor thread only.
class CommandStreams {
 public:
  // spawn_failed with errno and step when pipes or terminal can't be made.
  static Result<std::unique_ptr<CommandStreams>> create(boost::asio::io_context& context, const StreamsSpec& spec);
  ~CommandStreams();
  CommandStreams(const CommandStreams&) = delete;
  CommandStreams& operator=(const CommandStreams&) = delete;

  // The command's descriptors 0, 1 and 2, until close_commands_ends().
  std::array<int, 3> stdio() const;
  void close_commands_ends();

  // `on_change`: reading() or delivering() may have become false.
  void start_output(const std::function<void()>& on_change);
  // Only once the command has started: before that, nothing of the input may be taken.
  void start_input();
  void stop_input();

  void drain();         // nothing of the command is left
  bool stop_reading();  // true when something still held a stream open
  void abandon_delivery();
  bool reading() const;
  bool delivering() const;
  bool held_back() const;

  Result<void> resize(std::uint16_t rows, std::uint16_t columns);
  // Moves what was captured, and the warnings, into the result.
  void collect(ExecResult& result);

 private:
  CommandStreams() = default;
  Result<void> make_terminal(boost::asio::io_context& context, const StreamsSpec& spec);
  Result<void> make_pipes(boost::asio::io_context& context, const StreamsSpec& spec);

  std::array<UniqueFd, 3> commands_;  // with a terminal all are the first
  bool tty_ = false;
  UniqueFd master_;  // for resize
  std::shared_ptr<StreamPump> out_;
  std::shared_ptr<StreamPump> err_;  // null with a terminal
  std::shared_ptr<StdinFeeder> feeder_;
};

}  // namespace exechost::execution
