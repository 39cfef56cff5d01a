// Starts local processes. The only place with Boost.Process (its .cpp), behind one interface.
//
// Every child: own session, SIGKILL when the launching thread dies, default signal
// dispositions, empty signal mask, exactly the descriptors it was given. No zombie is left
// when exec fails. Waiting and signalling go by pidfd.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

struct ProcessSpec {
  std::vector<std::string> argv;         // argv[0]: absolute path of the program
  std::vector<std::string> environment;  // "NAME=value"; exactly these
  std::vector<int> descriptors;          // child's i is a duplicate of descriptors[i]; -1: /dev/null; at least 3
  std::string working_directory = "/";
};

// A child that was started. Destroying it kills and reaps a child that still runs.
class Process {
 public:
  virtual ~Process() = default;
  virtual int pid() const = 0;
  // Readable when it has ended.
  virtual int pidfd() const = 0;
  // True and the status as waitpid(2) when it has ended. Never blocks.
  virtual bool try_wait(int& wait_status) = 0;
  virtual Result<void> signal(int number) = 0;
};

class ProcessLauncher {
 public:
  virtual ~ProcessLauncher() = default;
  // spawn_failed with errno and step ("fork", "chdir", "exec", "descriptors").
  virtual Result<std::unique_ptr<Process>> launch(const ProcessSpec& spec) = 0;
};

// Must be used from one long-lived thread.
std::unique_ptr<ProcessLauncher> make_process_launcher();

}  // namespace exechost::keeper
