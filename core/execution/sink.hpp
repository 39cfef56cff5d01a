// Forwards one output stream to a descriptor of the caller's at the reader's pace.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/execution/shared_fd.hpp"

namespace exechost::execution {

// Reactor thread only.
class Sink : public std::enable_shared_from_this<Sink> {
 public:
  // `on_progress` is called (never from within offer) when everything offered has been taken
  // or the sink has closed.
  Sink(std::shared_ptr<SharedFd> target, std::function<void()> on_progress);

  // Writes what the target takes now and keeps the rest. Nothing is kept once closed.
  void offer(std::string_view bytes);
  bool idle() const { return pending_.empty(); }
  std::size_t pending_bytes() const { return pending_.size() - offset_; }
  // True when the reader has gone or writing failed: everything further is ignored.
  bool closed() const { return closed_; }
  // Writing failed because nobody reads any more (EPIPE).
  bool reader_gone() const { return reader_gone_; }
  // errno of a failure other than "the reader has gone"; 0: none.
  int error_number() const { return error_number_; }
  // Gives up what is pending and ignores everything further; returns how much that is.
  std::size_t abandon();

 private:
  std::size_t write_now(std::string_view bytes);
  void wait();
  void flush();
  void close(int error_number);

  std::shared_ptr<SharedFd> target_;
  std::function<void()> on_progress_;
  std::string pending_;
  std::size_t offset_ = 0;  // how much of pending_ is written
  bool closed_ = false;
  bool reader_gone_ = false;
  int error_number_ = 0;
};

}  // namespace exechost::execution
