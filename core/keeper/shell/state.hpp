// The state that one shell leaves for the next, and how it comes over a pipe. It is whatever a command wrote: it is
// only given back to a shell of the same environment. What the keeper itself looks at is checked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace exechost::keeper::shell {

// More of it is not kept.
inline constexpr std::size_t kMaxStateBytes = 1024UL * 1024;

struct State {
  bool bash = false;       // which shell wrote it, so which can read it
  std::string folder;      // absolute, or empty: not known
  std::string variables;   // commands for that shell: umask, aliases, exported variables
  std::string functions;   // as well (bash)
  std::string attributes;  // of functions, as `declare -F` says them (bash)
  std::string shopts;      // $BASHOPTS (bash)
  std::string options;     // $SHELLOPTS, or $- of a plain sh
};

// Everything that came over the pipe of one run.
class Handed {
 public:
  // Keeps at most kMaxStateBytes.
  void take(std::string_view bytes);
  bool too_large() const { return too_large_; }
  // The last state that is complete.
  std::optional<State> state() const;
  // Where the shell started, when the folder of the state before was gone. Absolute.
  std::optional<std::string> other_folder() const;

 private:
  std::string bytes_;
  bool too_large_ = false;
};

}  // namespace exechost::keeper::shell
