// What was started in an environment, whoever holds it: a plugin, or a guest that serves many commands.
#pragma once

#include "exechost/exec_result.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

struct ProcessNews {
  enum class Kind {
    nothing,
    started,  // at most once, before `ended`
    ended,    // and nothing of it is left: wait_status, usage
    failed,   // it was not started, or was lost
  };
  Kind kind = Kind::nothing;
  int wait_status = 0;  // as waitpid(2)
  ResourceUsage usage;
  Failure failure;
  bool perhaps_started = false;  // failed: nobody can say that it was not started
  bool perhaps_left = false;     // failed: something of it may still run, so its environment has to go
};

// After `ended` or `failed` only signal and release follow.
class StartedProcess {
 public:
  virtual ~StartedProcess() = default;
  // Readable as long as news() has something; the same at every call, valid until release. [any]
  virtual int event_fd() const = 0;
  // Never blocks. [one thread at a time]
  virtual ProcessNews news() = 0;
  // 9: the whole tree. Never blocks. [loop]
  virtual void signal(int number) = 0;
  // Kills what still runs and forgets it. Returns within about 2 s. [worker]
  virtual void release() = 0;
};

// Readable or ended within this time.
bool waits_for(int fd, int timeout_ms);

}  // namespace exechost::keeper
