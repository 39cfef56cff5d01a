// Starts local processes. The only place with Boost.Process (its .cpp), behind one interface.
//
// Every child: own session, SIGKILL when the launching thread dies, default signal
// dispositions, empty signal mask, exactly the descriptors it was given. No zombie is left
// when exec fails. Waiting and signalling go by pidfd.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::keeper {

inline constexpr std::size_t kMaxChildDescriptors = 256;

struct ProcessSpec {
  std::vector<std::string> argv;         // argv[0]: absolute path of the program
  std::vector<std::string> environment;  // "NAME=value"; exactly these
  std::vector<int> descriptors;          // child's i is a duplicate of descriptors[i]; -1: /dev/null; 3 to 256
  std::string working_directory = "/";
  bool outlives_launcher = false;  // no SIGKILL when the launching thread dies
};

enum class ProcessState {
  running,
  ended,  // and its status was taken
  lost,   // it ended, but somebody else took the status (SIGCHLD ignored, or a stray waitpid(-1))
};

// A child that was started. Destroying it kills and reaps a child that still runs (bounded: 2 s).
// [any thread]
class Process {
 public:
  virtual ~Process() = default;
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual int pid() const = 0;
  // Readable when it has ended; stays the object's.
  virtual int pidfd() const = 0;
  // `wait_status` as waitpid(2) when the answer is `ended`. Never blocks. Keeps answering the same.
  virtual ProcessState try_wait(int& wait_status) = 0;
  // By pidfd, so never to somebody else's process. ESRCH when it has ended.
  virtual Result<void> signal(int number) = 0;
};

class ProcessLauncher {
 public:
  virtual ~ProcessLauncher() = default;
  ProcessLauncher() = default;
  ProcessLauncher(const ProcessLauncher&) = delete;
  ProcessLauncher& operator=(const ProcessLauncher&) = delete;
  // invalid_request for a wrong spec; spawn_failed with errno and step ("fork", "session",
  // "parent", "chdir", "exec", "descriptors").
  virtual Result<std::unique_ptr<Process>> launch(const ProcessSpec& spec) = 0;
};

// Must be used from one long-lived thread: children die with it. `open_files`: the children's
// RLIMIT_NOFILE when this process has changed its own.
std::unique_ptr<ProcessLauncher> make_process_launcher(std::optional<rlimit> open_files = std::nullopt);

// Whether this process lets the kernel discard the status of its children (SIGCHLD ignored or
// SA_NOCLDWAIT): then nothing can be learned about a child's end.
bool child_statuses_are_discarded();

}  // namespace exechost::keeper
