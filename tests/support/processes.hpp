// The processes below this one. The test program is their subreaper, so whatever a command leaves
// behind becomes its child, double forks and new sessions included.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace exechost::test {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';     // as in /proc/PID/stat
  std::string name;     // comm
  std::string command;  // command line, blanks between arguments
};

// Makes this process the subreaper of everything it starts.
void become_subreaper();

// All of /proc, or all that descend from `ancestor`.
std::vector<ProcessInfo> all_processes();
std::vector<ProcessInfo> descendants_of(pid_t ancestor);

// Waits for the end of any process; false when it still runs after `patience`.
bool wait_until_ended(pid_t pid, std::chrono::milliseconds patience);

// Children of this process that are not in `known` and still run; ended ones are reaped. Waits
// until there are none, at most `patience`.
std::vector<ProcessInfo> remaining_children(const std::set<pid_t>& known, std::chrono::milliseconds patience);

// Descendants of this process that still run, after at most `patience`; reaps none of them, so that
// a library under test can.
std::vector<ProcessInfo> running_descendants(std::chrono::milliseconds patience);

std::string to_text(const std::vector<ProcessInfo>& processes);

// One number from /proc/PID/status ("VmHWM" in KiB, "Threads").
long status_number(pid_t pid, const std::string& name);

}  // namespace exechost::test
