// Asks the person at the terminal whether a command may run. Speaks to the controlling terminal itself,
// so that it works while the command's standard streams are pipes, and never mixes with them.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost/approver.hpp"

namespace exechost::cli {

// What is shown: the whole command, nothing shortened, control and bidirectional characters escaped.
std::string question_text(const AdmissionQuestion& question, std::chrono::steady_clock::time_point now);

// Only "y" and "yes" mean yes.
Answer answer_from(const std::string& line);

class TerminalApprover {
 public:
  // Null when this process has no terminal, or is not in its foreground, where reading would stop it.
  static std::unique_ptr<TerminalApprover> open(const char* terminal = "/dev/tty");
  explicit TerminalApprover(UniqueFd terminal) : terminal_(std::move(terminal)) {}

  // Blocks until a line was typed, the terminal went away, or `stop` was requested. What was typed
  // before the question was shown is not an answer to it. [one thread at a time]
  Answer ask(const AdmissionQuestion& question, const std::stop_token& stop);
  // A question is on the screen. [any thread]
  bool asking() const { return asking_; }

 private:
  Answer read_answer(const AdmissionQuestion& question, int stop_fd) const;

  UniqueFd terminal_;
  std::atomic<bool> asking_ = false;
};

}  // namespace exechost::cli
