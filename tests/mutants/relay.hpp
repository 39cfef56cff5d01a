// Passes bytes from one descriptor to another, with a change on the way.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "exechost/backend/support.hpp"

namespace mutants {

// What to pass on instead of a piece; without one it is the end, which may have something to add.
using Change = std::function<std::string(std::optional<std::string_view>)>;

struct RelayOptions {
  Change change;                 // empty: none
  std::size_t limit = SIZE_MAX;  // ends after so many bytes
  bool keeps_end = false;        // the end is passed on only when the relay is destroyed
};

class Relay {
 public:
  Relay(exechost::sdk::Fd from, exechost::sdk::Fd to, RelayOptions options);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Readable when it has passed on everything.
  int done_fd() const { return done_.get(); }

 private:
  void run();
  bool readable() const;
  bool pass_on(std::string_view bytes) const;

  exechost::sdk::Fd from_;
  exechost::sdk::Fd to_;
  RelayOptions options_;
  exechost::sdk::Fd stop_;
  exechost::sdk::Fd done_;
  std::thread thread_;
};

}  // namespace mutants
