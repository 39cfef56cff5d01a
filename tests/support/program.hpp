// Runs a program as a chosen account with chosen streams and a deadline, and says what it left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "tests/support/account.hpp"
#include "tests/support/processes.hpp"

namespace exechost::test {

struct ProgramOptions {
  std::vector<std::string> argv;  // argv[0] is a path
  std::map<std::string, std::string> env;
  std::string cwd = "/";
  std::optional<Account> as;  // not set: as this process
  std::string input;          // standard input when it is a pipe
  // A descriptor instead of a pipe; stays the caller's. kClosed: the program starts without it.
  static constexpr int kPipe = -1;
  static constexpr int kClosed = -2;
  int stdin_fd = kPipe;
  int stdout_fd = kPipe;
  int stderr_fd = kPipe;
  bool leaves_a_keeper = false;  // what it leaves behind stays when this ends
  bool terminal = false;         // all three are one new terminal; what appears on it is `out`
};

struct ProgramEnd {
  bool overdue = false;  // it was killed by the test since it didn't end
  int wait_status = 0;
  std::string out;
  std::string err;
  std::chrono::milliseconds duration{0};
  std::vector<ProcessInfo> left_behind;  // alive at the moment the program ended

  // The exit status, 128+n for a signal, -1 when overdue: as a shell shows it.
  int exit_status() const;
};

class Program {
 public:
  // Throws std::system_error when it can't be started.
  explicit Program(const ProgramOptions& options);
  ~Program();  // kills it and whatever it left
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  bool has_ended() const;
  void signal(int number) const;
  void type(std::string_view text) const;  // into the terminal
  // Reads until `marker` is in standard output; false when it ends or time is up before.
  bool wait_for_output(std::string_view marker, std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Reads everything and waits for the end. `patience` passed: kills it (overdue).
  ProgramEnd finish(std::chrono::milliseconds patience = std::chrono::seconds(60));
  // Children of this process that exist now and didn't before the program, after at most `patience`.
  std::vector<ProcessInfo> remaining(std::chrono::milliseconds patience) const;

 private:
  bool pump(std::chrono::steady_clock::time_point deadline);  // false: nothing left to read or time is up
  void feed();

  std::set<pid_t> known_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd err_;
  bool terminal_ = false;
  bool leaves_a_keeper_ = false;
  bool ended_ = false;
  std::string input_;
  ProgramEnd end_;
  std::chrono::steady_clock::time_point started_;
};

// Start and finish.
ProgramEnd run_program(const ProgramOptions& options, std::chrono::milliseconds patience = std::chrono::seconds(60));

}  // namespace exechost::test
