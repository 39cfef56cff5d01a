// What a child does between fork and exec: async-signal-safe calls on memory prepared before.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <span>

namespace exechost::keeper {

// The step that failed, as sent through the status pipe.
enum class ChildStep : std::int32_t { none, session, parent, descriptors, limits, chdir, exec };

struct ChildReport {
  ChildStep step = ChildStep::none;
  std::int32_t error_number = 0;
};

struct ChildSetup {
  static constexpr int kFailed = 127;  // the exit status nobody sees: the report counts

  pid_t parent = 0;                     // getpid() of the launcher
  std::span<const int> sources;         // all above every target and close-on-exec
  const char* working_directory = "/";  // NUL-terminated
  const rlimit* open_files = nullptr;
  bool outlives_parent = false;
  int status_pipe = -1;  // above every target, close-on-exec

  // Leaves by _exit after reporting when a step fails.
  void run() const;
  void report(ChildStep step, int error_number) const;
};

}  // namespace exechost::keeper
