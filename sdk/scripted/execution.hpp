// One command: a process of the host, and what the script lets be known of it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>

#include "exechost/backend.hpp"
#include "output_cut.hpp"
#include "script.hpp"

namespace scripted {

class ScriptedExecution final : public exechost::sdk::Execution {
 public:
  // `rule` (of the script, which outlives it) may be null. Without a process it is one that never starts.
  ScriptedExecution(exechost::sdk::Process process, bool has_process, const Rule* rule, std::unique_ptr<OutputCut> cut);
  ~ScriptedExecution() override;

  // 0 or errno.
  int begin();
  int event_fd() override { return events_.get(); }
  exechost::sdk::Outcome<std::optional<exechost::sdk::Event>> wait(const exechost::sdk::Call& call) override;
  int signal(int number) override;

 private:
  using News = exechost::sdk::Outcome<std::optional<exechost::sdk::Event>>;
  enum class Stage { delayed, starting, running };

  int watch(int fd) const;
  void unwatch(int fd) const;
  News start();
  News run();
  News act();
  News end();
  void kill_group();
  bool was_killed();

  exechost::sdk::Process process_;
  const bool has_process_;
  const Rule* const rule_;
  std::unique_ptr<OutputCut> cut_;
  exechost::sdk::Fd events_;  // an epoll set of the others, each in it as long as it may be news
  exechost::sdk::Fd timer_;
  exechost::sdk::Fd news_;
  Stage stage_ = Stage::delayed;
  std::mutex mutex_;  // signal() comes from any thread
  bool killed_ = false;
  pid_t group_ = -1;  // -1: there is none, or it has ended
};

}  // namespace scripted
