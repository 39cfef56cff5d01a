#include "core/gateway/name_pattern.hpp"
#include "core/gateway/operations.hpp"
#include "core/gateway/walk.hpp"

namespace exechost::gateway {

Result<FindResult> find(const Gateway::Parts& parts, std::string_view start, const FindOptions& options,
                        const Patience& patience) {
  auto located = parts.locate(start, {}, FinalLink::follow, patience);
  if (!located) return unexpected(located.error());
  const NamePattern pattern(options.name);
  FindResult result;
  WalkHandlers handlers;
  handlers.visit = [&](const WalkEntry& entry) {
    if (options.kind && *options.kind != entry.kind) return true;
    const std::string& name =
        entry.relative.empty() ? located->host_path.substr(located->host_path.rfind('/') + 1) : entry.name;
    if (!options.name.empty() && !pattern.matches(name)) return true;
    if (result.found.size() >= options.max_results) {
      result.truncated = true;
      return false;
    }
    result.found.push_back({entry.relative, entry.kind});
    return true;
  };
  handlers.complain = [&](const WalkEntry&, const Failure& failure) {
    if (result.skipped.size() < kMostSkipped) result.skipped.push_back(failure);
  };
  WalkOptions walking;
  walking.sorted = true;
  walking.max_depth = options.max_depth.value_or(UINT64_MAX);
  const auto end = walk(parts, *located, walking, handlers, patience);
  if (!end) return unexpected(end.error());
  result.truncated = result.truncated || *end == WalkEnd::limit;
  return result;
}

}  // namespace exechost::gateway
