// One thing the kit checks, and what came of it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace exechost::conformance {

class Subject;

// What a plugin has to do to be of use, from bottom to top.
enum class Level {
  exec = 0,          // commands start, end and report how
  streams = 1,       // bytes, signals, deadlines, whole trees
  environments = 2,  // several commands in one, its end, nothing left of it
  limits = 3,        // what it claims to enforce
  recovery = 4,      // after a crash
};

struct Verdict {
  enum class Kind {
    passed,
    failed,
    unchecked,  // not claimed, or this machine has no way to find out; never counted as passed
  };
  Kind kind = Kind::passed;
  std::string why;  // what was seen, or why it was not checked

  static Verdict passed() { return {}; }
  static Verdict failed(std::string why) { return {Kind::failed, std::move(why)}; }
  static Verdict unchecked(std::string why) { return {Kind::unchecked, std::move(why)}; }
};

struct Check {
  Level level = Level::exec;
  std::string name;   // "exec.exit_codes": stable, for --only and for reports
  std::string title;  // what has to hold, one line
  std::function<Verdict(Subject&)> run;
};

// All of them, lowest level first. Names are unique.
std::vector<Check> all_checks();

// One file each.
std::vector<Check> manifest_checks();
std::vector<Check> exec_checks();
std::vector<Check> argument_checks();
std::vector<Check> stream_checks();
std::vector<Check> stop_checks();
std::vector<Check> tree_checks();
std::vector<Check> guest_checks();
std::vector<Check> environment_checks();
std::vector<Check> limit_checks();
std::vector<Check> isolation_checks();
std::vector<Check> recovery_checks();

}  // namespace exechost::conformance
