#include "core/gateway/policy.hpp"

#include <algorithm>
#include <array>

#include "core/plan/paths.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::gateway {
namespace {

// An environment has its own; the host's are none of a command's business.
constexpr std::array<std::string_view, 3> kOwnedByEnvironment{"/proc", "/sys", "/dev"};

bool belongs_to_environment(const std::string& path) {
  if (plan::is_below(path, "/dev/shm")) return false;
  return std::any_of(kOwnedByEnvironment.begin(), kOwnedByEnvironment.end(),
                     [&](std::string_view place) { return plan::is_at_or_below(path, place); });
}

Access access_of(const plan::ViewEntry& entry, const std::string& workspace) {
  switch (entry.access) {
    case plan::Access::rw:
      // With a source something else of the host's is meant than what lies at the path.
      return entry.source.empty() && plan::is_at_or_below(entry.path, workspace) ? Access::writable : Access::readable;
    case plan::Access::ro: return Access::readable;
    case plan::Access::hidden:
    case plan::Access::masked:
    case plan::Access::private_: return Access::hidden;
  }
  return Access::hidden;
}

// Over a link that a command could have laid, to somewhere that it could not write: as in the view,
// such a path gives nothing.
bool leads_over_a_planted_link(const plan::PathFact& fact, const plan::Plan& plan) {
  if (plan::is_at_or_below(fact.resolved, plan.workspace)) return false;
  return std::any_of(fact.links.begin(), fact.links.end(), [&](const std::string& link) {
    const plan::ViewEntry* entry = plan.view.deciding(link);
    return plan::is_below(link, plan.workspace) || (entry != nullptr && entry->access == plan::Access::rw);
  });
}

void add_root(Policy& policy, Root root) {
  if (std::find(policy.roots.begin(), policy.roots.end(), root) == policy.roots.end()) {
    policy.roots.push_back(std::move(root));
  }
}

}  // namespace

Policy make_policy(const plan::Plan& plan, const settings::Settings& settings, const plan::Facts& facts) {
  Policy policy;
  policy.workspace = plan.workspace;
  add_root(policy, {plan.workspace, plan.workspace});
  for (const std::string& given : plan::list_setting(settings, "filesystem.allow_read")) {
    const std::string path = plan::expand_path(given, plan.workspace, facts.home);
    const plan::PathFact& fact = facts.path(path);
    if (fact.kind != plan::FileKind::folder && fact.kind != plan::FileKind::regular) continue;
    if (belongs_to_environment(fact.resolved) || leads_over_a_planted_link(fact, plan)) continue;
    add_root(policy, {fact.resolved, fact.resolved});
    add_root(policy, {path, fact.resolved});
  }
  for (const plan::ViewEntry& entry : plan.view.entries) {
    policy.zones.push_back({entry.path, access_of(entry, plan.workspace)});
  }
  const std::string project_file = plan::join_path(plan.workspace, ".exechost.json");
  for (const auto* paths : {&facts.own_paths, &facts.own_private_paths}) {
    for (const std::string& own : *paths) {
      if (own != project_file) policy.own.push_back(own);
    }
  }
  return policy;
}

}  // namespace exechost::gateway
