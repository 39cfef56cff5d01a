// Plans of earlier requests, for those that ask for the same under the same circumstances.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::plan {

// Planning is pure: the same input gives the same plan. The same plan is the same object, which lets what
// was made from it be kept too.
// Safe to use from any thread.
class PlanCache {
 public:
  static constexpr std::size_t kKept = 16;

  // As make_plan, whose `settings` and `facts` these are. Failures are not kept.
  Result<std::shared_ptr<const Plan>> get(const PlanInput& input,
                                          const std::shared_ptr<const settings::Settings>& settings,
                                          const std::shared_ptr<const Facts>& facts);

 private:
  struct Entry {
    Request request;  // without what planning has no use for
    std::shared_ptr<const settings::Settings> settings;
    std::shared_ptr<const Facts> facts;
    std::vector<BackendFacts> backends;
    bool can_ask = false;
    bool single_run = false;
    bool builtin = false;
    std::string workspace_copy;
    std::shared_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::deque<Entry> entries_;  // the latest first
};

}  // namespace exechost::plan
