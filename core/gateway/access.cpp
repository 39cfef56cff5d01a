#include "core/gateway/access.hpp"

#include <algorithm>

#include "core/gateway/protected_names.hpp"
#include "core/plan/paths.hpp"

namespace exechost::gateway {

AccessRules::AccessRules(const Policy& policy) : policy_(policy) {
  const auto remember = [this](const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      hidden_files_.emplace(status.st_dev, status.st_ino);
    }
  };
  for (const Zone& zone : policy.zones) {
    if (zone.access == Access::hidden) remember(zone.path);
  }
  for (const std::string& own : policy.own) remember(own);
}

Access AccessRules::decide(std::string_view host_path) const {
  if (std::any_of(policy_.own.begin(), policy_.own.end(),
                  [&](const std::string& own) { return plan::is_at_or_below(host_path, own); })) {
    return Access::hidden;
  }
  const Zone* deepest = nullptr;
  for (const Zone& zone : policy_.zones) {
    if (!plan::is_at_or_below(host_path, zone.path)) continue;
    if (deepest == nullptr || plan::depth_of(zone.path) >= plan::depth_of(deepest->path)) deepest = &zone;
  }
  return deepest == nullptr ? Access::hidden : deepest->access;
}

std::string_view AccessRules::why_not_writable(std::string_view host_path) const {
  if (!plan::is_below(host_path, policy_.workspace)) return "is not in the workspace";
  if (decide(host_path) != Access::writable) return "is read-only";
  const std::string_view inside = host_path.substr(policy_.workspace == "/" ? 1 : policy_.workspace.size() + 1);
  if (is_protected(inside, policy_.protected_names)) {
    return "is a protected name: programs outside act on what it says";
  }
  return {};
}

}  // namespace exechost::gateway
