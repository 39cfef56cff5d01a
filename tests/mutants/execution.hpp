// One command of a mutant.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exechost/backend.hpp"
#include "tests/mutants/faults.hpp"
#include "tests/mutants/launch.hpp"
#include "tests/mutants/relay.hpp"

namespace mutants {

class MutantExecution;

// The executions of one environment, for the fault that takes them for one.
struct Siblings {
  std::mutex mutex;
  std::set<MutantExecution*> all;
};

class MutantExecution final : public exechost::sdk::Execution {
 public:
  struct Parts {
    Launched runner;
    std::vector<std::unique_ptr<Relay>> relays;
    std::shared_ptr<Siblings> siblings;
    std::string program;
    Fault fault = Fault::none;
    bool guest = false;
  };
  static exechost::sdk::Outcome<std::unique_ptr<exechost::sdk::Execution>> follow(Parts parts);
  explicit MutantExecution(Parts parts);
  ~MutantExecution() override;

  int event_fd() override;
  exechost::sdk::Outcome<std::optional<exechost::sdk::Event>> wait(const exechost::sdk::Call& call) override;
  int signal(int number) override;

 private:
  using News = exechost::sdk::Outcome<std::optional<exechost::sdk::Event>>;

  bool watch(int fd) const;
  bool begin();
  int send(int number);
  News read_report();
  News started();
  News not_started(int error, bool no_place);
  News ended();
  bool runner_is_gone() const;
  bool relays_are_done();

  Parts parts_;
  exechost::sdk::Fd events_;
  exechost::sdk::Fd nudge_;  // readable: there is news that nothing else tells
  exechost::sdk::Fd never_;
  std::mutex mutex_;  // of leash: signal() comes from any thread
  std::optional<int> wait_status_;
  bool told_twice_ = false;
  bool started_ = false;
};

}  // namespace mutants
