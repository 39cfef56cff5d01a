// One shell of an environment: gets the state of the one before it over one pipe, and hands its own on over another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/messages.hpp"
#include "core/keeper/shell/program.hpp"
#include "core/keeper/shell/state.hpp"
#include "core/keeper/shell/turns.hpp"

namespace exechost::keeper::shell {

// What the shells of one environment have in common. Gone with the environment.
struct Line {
  Turns turns;
  std::optional<State> state;  // of the last one that handed it on whole
};

// On the loop's thread. Never waits for the command: a descriptor that something of it still holds delays nobody.
class Run {
 public:
  // spawn_failed: no descriptor is left.
  static Result<std::unique_ptr<Run>> make(std::shared_ptr<EventLoop> loop, std::shared_ptr<Line> line,
                                           const SpawnRequest& request);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Program& program() const { return program_; }
  // The command's ends, for kStateIn and kStateOut; once.
  std::vector<UniqueFd> take_descriptors();
  // Begins to give and take.
  void start();
  // The shell has ended. Keeps the state it handed on, and tells what it did not do.
  void conclude(bool started, std::vector<std::string>& warnings);

 private:
  Run(std::shared_ptr<EventLoop> loop, std::shared_ptr<Line> line) : loop_(std::move(loop)), line_(std::move(line)) {}
  void write_some();
  void read_some();
  void stop_writing();
  void stop_reading();

  const std::shared_ptr<EventLoop> loop_;
  const std::shared_ptr<Line> line_;
  Program program_;
  std::string folder_;  // where it was to start, as the last one left it; empty: elsewhere
  std::size_t written_ = 0;
  UniqueFd in_;         // we write
  UniqueFd in_reader_;  // the other end, so that a shell that does not read is no SIGPIPE here
  UniqueFd out_;        // we read
  std::vector<UniqueFd> commands_;
  bool writing_ = false;
  bool reading_ = false;
  Handed handed_;
};

}  // namespace exechost::keeper::shell
