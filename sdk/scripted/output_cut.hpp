// Passes on the first bytes of a command's output and says when they are through.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "exechost/backend.hpp"

namespace scripted {

class OutputCut {
 public:
  // Passes on at most `bytes` to a copy of `out`. Null: no pipe (errno).
  static std::unique_ptr<OutputCut> make(int out, std::uint64_t bytes);
  OutputCut(exechost::sdk::Fd from, exechost::sdk::Fd write_end, exechost::sdk::Fd to, std::uint64_t bytes);
  ~OutputCut();
  OutputCut(const OutputCut&) = delete;
  OutputCut& operator=(const OutputCut&) = delete;

  int write_end() const { return write_end_.get(); }  // the command's standard output
  void begin();                                       // when the command has it
  int done_fd() const { return done_.get(); }         // readable: so many are through, or there are no more

 private:
  void run();

  exechost::sdk::Fd from_;
  exechost::sdk::Fd write_end_;
  exechost::sdk::Fd to_;
  std::uint64_t left_;
  exechost::sdk::Fd stop_;
  exechost::sdk::Fd done_;
  std::thread thread_;
};

}  // namespace scripted
