// The caller's terminal, when the command gets one of its own: every key goes through unchanged,
// and afterwards the terminal is as it was.
#pragma once

#include <termios.h>

#include <cstdint>
#include <optional>

namespace exechost::cli {

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

// Of the first of stdin, stdout and stderr that is a terminal with a size; else not set.
std::optional<TerminalSize> terminal_size();

// Raw mode while it lives; restored by the destructor and by restore(), and when the program is
// killed by a fault. Does nothing when the descriptor is no terminal. One at a time.
class RawTerminal {
 public:
  explicit RawTerminal(int descriptor);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Both may be called from any thread, and again.
  void restore() const;
  void enter() const;

 private:
  int descriptor_;
  std::optional<termios> saved_;
};

}  // namespace exechost::cli
