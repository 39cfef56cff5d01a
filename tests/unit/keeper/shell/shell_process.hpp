// Shells run one after the other as the guest would run them, without an environment around them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/keeper/shell/program.hpp"

namespace exechost::keeper::shell::test {

struct ShellEnd {
  int status = 0;  // as waitpid(2)
  std::string out;
  std::string err;
  Handed handed;
  int exit_code() const { return status >> 8; }
};

// One session's: bash, or what is started where there is none.
class Shells {
 public:
  explicit Shells(bool bash) : bash_(bash) {}
  std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
  std::optional<State> state;
  plan::ShellRun run;

  // Takes the state over when there is one, and keeps what is handed on.
  ShellEnd operator()(const std::string& script);
  // The same shell as anybody would call it.
  ShellEnd plain(const std::string& script) const;

 private:
  bool bash_;
};

}  // namespace exechost::keeper::shell::test
