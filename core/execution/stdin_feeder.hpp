// Feeds a command's standard input from bytes, from what a program writes, or from a
// descriptor of the caller's, at the command's pace.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/execution/shared_fd.hpp"
#include "core/execution/stdin_buffer.hpp"

namespace exechost::execution {

// Where the input comes from: at most one of the three; none: end-of-file at once. Shared, so
// that a second attempt on another backend feeds the same input: an attempt that never started
// its command has taken nothing.
struct StdinInput {
  std::shared_ptr<const std::string> bytes;
  std::shared_ptr<StdinBuffer> buffer;
  std::shared_ptr<SharedFd> descriptor;
  bool any() const { return bytes || buffer || descriptor; }
};

// Reactor thread only.
class StdinFeeder : public std::enable_shared_from_this<StdinFeeder> {
 public:
  // `target` is non-blocking and only ours: a pipe's write end, closed at the end of the input,
  // or a terminal's master, which then gets the end-of-file character instead.
  StdinFeeder(boost::asio::io_context& context, UniqueFd target, bool terminal, StdinInput input);
  ~StdinFeeder();
  StdinFeeder(const StdinFeeder&) = delete;
  StdinFeeder& operator=(const StdinFeeder&) = delete;

  void start();
  // Takes no more input and closes the target.
  void stop();

 private:
  enum class Source { bytes, wait, end };
  Source fill();
  Source fill_from_descriptor();
  void pump();
  void wait_for_source();
  void wait_for_target();
  void end_of_input();

  boost::asio::io_context& context_;
  boost::asio::posix::stream_descriptor target_;
  bool terminal_;
  StdinInput input_;
  std::string pending_;
  std::size_t offset_ = 0;
  std::size_t bytes_taken_ = 0;  // of input_.bytes
  char last_byte_ = '\n';
  bool started_ = false;
  bool ending_ = false;
  bool waiting_for_source_ = false;
  bool stopped_ = false;
};

}  // namespace exechost::execution
