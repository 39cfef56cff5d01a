#include "core/plan/view.hpp"

#include "core/plan/paths.hpp"

namespace exechost::plan {

std::string_view to_string(Access access) {
  switch (access) {
    case Access::ro: return "ro";
    case Access::rw: return "rw";
    case Access::hidden: return "hidden";
    case Access::masked: return "masked";
    case Access::private_: return "private";
  }
  return "hidden";
}

const ViewEntry* View::deciding(std::string_view path) const {
  const ViewEntry* deepest = nullptr;
  for (const ViewEntry& entry : entries) {
    if (!is_at_or_below(path, entry.path)) continue;
    if (deepest == nullptr || depth_of(entry.path) >= depth_of(deepest->path)) deepest = &entry;
  }
  return deepest;
}

nlohmann::json to_json(const View& view) {
  nlohmann::json entries = nlohmann::json::array();
  for (const ViewEntry& entry : view.entries) {
    nlohmann::json value{{"path", entry.path}, {"access", std::string(to_string(entry.access))}};
    if (!entry.source.empty()) value["source"] = entry.source;
    if (entry.access == Access::private_) value["size"] = entry.size_bytes;
    if (!entry.reason.empty()) value["reason"] = entry.reason;
    entries.push_back(std::move(value));
  }
  return entries;
}

}  // namespace exechost::plan
