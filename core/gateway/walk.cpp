#include "core/gateway/walk.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>

#include "core/gateway/failures.hpp"

namespace exechost::gateway {
namespace {

struct Level {
  std::string folder;  // relative to the start
  std::vector<FolderEntry> entries;
  std::size_t next = 0;
};

class Walk {
 public:
  Walk(const Gateway::Parts& parts, const Located& start, const WalkOptions& options, const WalkHandlers& handlers,
       const Patience& patience)
      : parts_(parts), start_(start), options_(options), handlers_(handlers), patience_(patience) {}

  Result<WalkEnd> run() {
    WalkEntry entry;
    entry.kind = kind_of(start_.status.st_mode);
    if (!handlers_.visit(entry)) return WalkEnd::stopped;
    if (auto done = descend(entry); !done) return unexpected(done.error());
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.next == level.entries.size()) {
        waiting_ -= level.entries.size();
        levels_.pop_back();
        continue;
      }
      const FolderEntry& child = level.entries[level.next++];
      entry.relative = level.folder.empty() ? child.name : level.folder + '/' + child.name;
      entry.name = child.name;
      entry.kind = child.kind;
      if (++visited_ > parts_.policy.limits.walk_entries) return WalkEnd::limit;
      if (!handlers_.visit(entry)) return WalkEnd::stopped;
      if (auto done = descend(entry); !done) return unexpected(done.error());
    }
    return full_ ? WalkEnd::limit : WalkEnd::complete;
  }

 private:
  // A folder is found anew by its whole path: whatever somebody renames or replaces by a link
  // meanwhile, it can't lead out of the start, and no depth costs descriptors.
  Result<void> descend(const WalkEntry& entry) {
    if (entry.kind != FileKind::folder || levels_.size() >= options_.max_depth) return {};
    auto folder = Places::locate_below(parts_.rules, start_, entry.relative, patience_);
    if (!folder) return complain(entry, folder.error());
    const std::uint64_t room = parts_.policy.limits.walk_entries - waiting_;
    const std::uint64_t most = std::min(parts_.policy.limits.folder_entries, room);
    auto contents = read_folder(parts_.rules, *folder, most, patience_);
    if (!contents) return complain(entry, contents.error());
    if (contents->truncated) {
      full_ = true;
      handlers_.complain(entry, unfit(folder->shown, fmt::format("holds more than {} entries", most), EOVERFLOW,
                                      "use tier \"sandbox\" for big folders"));
    }
    if (options_.sorted) sort_by_name(contents->entries);
    waiting_ += contents->entries.size();
    levels_.push_back({entry.relative, std::move(contents->entries), 0});
    return {};
  }

  Result<void> complain(const WalkEntry& entry, const Failure& failure) {
    if (is_interruption(failure)) return unexpected(failure);
    handlers_.complain(entry, failure);
    return {};
  }

  const Gateway::Parts& parts_;
  const Located& start_;
  const WalkOptions& options_;
  const WalkHandlers& handlers_;
  const Patience& patience_;
  std::vector<Level> levels_;
  std::uint64_t waiting_ = 0;  // entries held by all levels together
  std::uint64_t visited_ = 0;
  bool full_ = false;
};

}  // namespace

Result<WalkEnd> walk(const Gateway::Parts& parts, const Located& start, const WalkOptions& options,
                     const WalkHandlers& handlers, const Patience& patience) {
  return Walk(parts, start, options, handlers, patience).run();
}

}  // namespace exechost::gateway
