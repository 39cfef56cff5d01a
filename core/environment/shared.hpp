// Environments that successive executions share: those of one session, as long as they ask for the same place.
//
// What a place is: everything of a plan that an environment is made from (backend and its settings, image, limits,
// view, network, confinement). An execution whose plan has another one gets another environment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/base/reactor.hpp"
#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"

namespace exechost::environment {

// Which places have an environment that nobody gave up, whoever's keeper has it: where one is still named when another
// is opened for its place, it was lost, with its keeper or by itself. On the reactor's thread.
class OpenPlaces {
 public:
  using Number = std::uint64_t;
  struct Opened {
    Number number = 0;
    bool replaces_lost = false;
  };
  Opened open(const std::string& place);
  // By its own wish. Another one's number: nothing happens.
  void give_up(const std::string& place, Number number);

 private:
  std::map<std::string, Number> open_;
  Number last_ = 0;
};

// An environment that nobody uses is closed after the plan's idle_timeout, or when there are more than a few such;
// at max_lifetime it is not given out again. Those that are left end with the keeper. Made, used and destroyed on
// the reactor's thread. `places`: one for all the keepers of a host.
std::shared_ptr<EnvironmentSource> make_shared_environments(Reactor& reactor, const std::shared_ptr<KeeperPort>& keeper,
                                                            std::shared_ptr<OpenPlaces> places);

}  // namespace exechost::environment
