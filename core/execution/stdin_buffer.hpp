// What a program writes to a command's standard input, until the command takes it.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::execution {

// Safe to use from any thread; one reader.
class StdinBuffer {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1024} * 1024;

  // Copies what fits and says how much that was. invalid_request when closed; environment_lost
  // (EPIPE) when the command no longer reads.
  Result<std::size_t> write(std::string_view bytes);
  void close();

  // The reader's side. `into` is replaced by at most `most` bytes.
  enum class Taken { bytes, nothing_yet, end };
  Taken take(std::string& into, std::size_t most);
  // Called, on the writer's thread, after write and close.
  void on_written(std::function<void()> notify);
  // The command closed its end: writers are told from now on.
  void reader_gone();

 private:
  std::mutex mutex_;
  std::string bytes_;
  std::size_t offset_ = 0;
  bool closed_ = false;
  bool reader_gone_ = false;
  std::function<void()> notify_;
};

}  // namespace exechost::execution
