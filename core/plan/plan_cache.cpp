#include "core/plan/plan_cache.hpp"

#include <tuple>
#include <utility>

namespace exechost::plan {
namespace {

// All but where bytes come from and go to, of which a plan knows no more than that there are any.
auto wish_of(const Request& request) {
  return std::tie(request.argv, request.shell, request.cwd, request.env, request.tier, request.backend, request.profile,
                  request.session, request.recreate_session, request.workspace, request.timeout, request.settings_json,
                  request.settings_origins, request.standard_input.kind, request.tty, request.tty_rows,
                  request.tty_columns);
}

Request without_streams(const Request& request) {
  Request kept = request;
  kept.standard_input.bytes.clear();
  kept.on_output = nullptr;
  return kept;
}

}  // namespace

Result<std::shared_ptr<const Plan>> PlanCache::get(const PlanInput& input,
                                                   const std::shared_ptr<const settings::Settings>& settings,
                                                   const std::shared_ptr<const Facts>& facts) {
  const auto answers = [&](const Entry& entry) {
    return entry.facts == facts && entry.settings == settings && entry.can_ask == input.can_ask &&
           entry.single_run == input.single_run && entry.builtin == input.builtin &&
           entry.workspace_copy == input.workspace_copy && wish_of(entry.request) == wish_of(input.request) &&
           entry.backends == input.backends;
  };
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (answers(entry)) return entry.plan;
    }
  }
  auto made = make_plan(input);
  if (!made) return unexpected(made.error());
  auto plan = std::make_shared<const Plan>(std::move(*made));
  const std::lock_guard lock(mutex_);
  entries_.push_front({without_streams(input.request), settings, facts, input.backends, input.can_ask, input.single_run,
                       input.builtin, input.workspace_copy, plan});
  if (entries_.size() > kKept) entries_.pop_back();
  return plan;
}

}  // namespace exechost::plan
