#include "core/plan/view_rules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

constexpr std::string_view kSharedMemory = "/dev/shm";

// Shallow before deep, then by name.
struct RenderOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    const std::size_t left = depth_of(a);
    const std::size_t right = depth_of(b);
    return left != right ? left < right : a < b;
  }
};
using Entries = std::map<std::string, ViewEntry, RenderOrder>;

bool only_shows(const Rule& rule) {
  return rule.kind == RuleKind::toolchain || rule.kind == RuleKind::allow_read ||
         (rule.kind == RuleKind::home && rule.access == Access::ro);
}
bool is_built_in(const Rule& rule) { return rule.kind < RuleKind::workspace; }
bool shows(Access access) { return access == Access::ro || access == Access::rw; }

const ViewEntry* enclosing(const Entries& entries, const std::string& path) {
  for (std::string folder = path; folder != "/";) {
    folder = parent_of(folder);
    if (const auto found = entries.find(folder); found != entries.end()) return &found->second;
  }
  return nullptr;
}

// True when `entry` changes nothing about what `outer` already decides.
bool is_redundant(const ViewEntry& entry, const ViewEntry& outer, const Facts& facts) {
  switch (entry.access) {
    case Access::ro:
    case Access::rw: return entry.access == outer.access && entry.source.empty() && outer.source.empty();
    case Access::hidden:
    case Access::masked: return !shows(outer.access);
    case Access::private_:
      // A mount needs something to be mounted on; in what the host shows nothing is made for it.
      return shows(outer.access) && facts.path(entry.path).kind == FileKind::missing && entry.path != kSharedMemory;
  }
  return false;
}

void pin_ancestors(Entries& entries) {
  std::set<std::string> pins;
  for (const auto& [path, entry] : entries) {
    if (entry.access == Access::rw || entry.access == Access::private_) continue;
    const ViewEntry* outer = enclosing(entries, path);
    if (outer == nullptr || outer->access != Access::rw || !outer->source.empty()) continue;
    for (std::string folder = parent_of(path); folder != outer->path; folder = parent_of(folder)) pins.insert(folder);
  }
  for (const std::string& folder : pins) {
    ViewEntry pin;
    pin.path = folder;
    pin.access = Access::rw;
    pin.reason = "can't be renamed: holds something protected";
    entries.emplace(folder, pin);
  }
}

}  // namespace

ViewEntry ViewRules::decide(const std::string& path) const {
  ViewEntry entry;
  entry.path = path;
  entry.access = Access::hidden;  // also when nothing says anything about it
  std::vector<const Rule*> above;
  bool denied = false;
  for (const Rule& rule : rules_) {
    if (!is_at_or_below(path, rule.path)) continue;
    if (rule.kind == RuleKind::own_private) {
      entry.reason = rule.reason;
      return entry;
    }
    above.push_back(&rule);
    denied = denied || rule.kind == RuleKind::deny_read;
  }
  std::stable_sort(above.begin(), above.end(), [](const Rule* a, const Rule* b) {
    const std::size_t left = depth_of(a->path);
    const std::size_t right = depth_of(b->path);
    return left != right ? left > right : a->kind > b->kind;
  });

  const Rule* shown_by = nullptr;
  for (const Rule* rule : above) {
    if (only_shows(*rule)) {
      if (denied && is_built_in(*rule)) continue;
      if (shown_by == nullptr) shown_by = rule;
      continue;
    }
    const Rule* decisive = rule;
    entry.access = rule->access;
    if (shown_by != nullptr && entry.access != Access::rw) {
      decisive = shown_by;
      entry.access = Access::ro;
    }
    entry.reason = decisive->reason;
    entry.size_bytes = entry.access == Access::private_ ? decisive->size_bytes : 0;
    if (decisive->path == path) entry.source = decisive->source;
    shown_by = nullptr;
    break;
  }
  if (shown_by != nullptr) {
    entry.access = Access::ro;
    entry.reason = shown_by->reason;
    if (shown_by->path == path) entry.source = shown_by->source;
  }

  for (const WriteCap& cap : caps_) {
    if (!is_at_or_below(path, cap.path)) continue;
    if (entry.access == Access::rw) {
      entry.access = Access::ro;
      entry.reason = cap.reason;
    } else if (entry.access == Access::private_) {
      entry.access = Access::hidden;
      entry.size_bytes = 0;
      entry.reason = cap.reason;
    }
  }
  return entry;
}

bool ViewRules::shows_host(const std::string& path) const { return shows(decide(path).access); }

std::vector<std::string> ViewRules::paths() const {
  std::set<std::string> paths;
  for (const Rule& rule : rules_) paths.insert(rule.path);
  for (const WriteCap& cap : caps_) paths.insert(cap.path);
  return {paths.begin(), paths.end()};
}

View render(const ViewRules& rules, const Facts& facts) {
  std::set<std::string, RenderOrder> ordered;
  for (std::string& path : rules.paths()) ordered.insert(std::move(path));

  Entries entries;
  for (const std::string& path : ordered) {
    ViewEntry entry = rules.decide(path);
    const FileKind kind = facts.path(entry.source.empty() ? path : entry.source).kind;
    if (entry.access == Access::hidden && kind != FileKind::folder && path != "/") {
      // What only exists inside needs no hiding (/dev/shm always does exist there); a file is masked.
      if (kind != FileKind::missing) {
        entry.access = Access::masked;
      } else if (path != kSharedMemory) {
        continue;
      }
    }
    // Of what is hidden it only says of what kind it is.
    if (!shows(entry.access)) entry.source.clear();
    if (shows(entry.access) && kind == FileKind::missing && path != "/") continue;
    const ViewEntry* outer = enclosing(entries, path);
    if (outer != nullptr && is_redundant(entry, *outer, facts)) continue;
    entries.emplace(path, std::move(entry));
  }
  pin_ancestors(entries);

  View view;
  for (auto& [path, entry] : entries) view.entries.push_back(std::move(entry));
  return view;
}

}  // namespace exechost::plan
