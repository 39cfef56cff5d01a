#include "core/workspace/changes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/files/beneath.hpp"
#include "core/files/local_tree.hpp"
#include "core/workspace/digest.hpp"

namespace exechost::workspace {
namespace {

using files::Kind;

class Finder {
 public:
  Finder(const Base& base, int tree, const files::Limits& limits) : base_(base), tree_(tree), limits_(limits) {}

  Result<Found> find() {
    files::LocalTreeOptions options;
    options.limits = limits_;
    options.on_skip = [this](const std::string& path, std::string_view reason) {
      found_.skipped.push_back({path, std::string(reason)});
      skipped_.insert(path);
    };
    auto tree = files::LocalTree::open(tree_, "", "the copy", std::move(options));
    if (!tree) return unexpected(tree.error());
    files::Entry entry;
    for (;;) {
      auto next = (*tree)->next(entry);
      if (!next) return unexpected(next.error());
      if (!*next) break;
      if (auto compared = compare(entry); !compared) return unexpected(compared.error());
    }
    add_deleted();
    std::sort(found_.changes.begin(), found_.changes.end(),
              [](const Change& a, const Change& b) { return a.path < b.path; });
    return std::move(found_);
  }

 private:
  void add(ChangeKind kind, const files::Entry& entry, std::string_view old_type = {}) {
    Change change;
    change.kind = kind;
    change.path = entry.path;
    change.type = name_of(entry.kind);
    change.old_type = old_type;
    change.size = entry.size;
    change.mode = entry.mode;
    change.target = entry.target;
    found_.changes.push_back(std::move(change));
  }

  Result<void> compare(const files::Entry& entry) {
    seen_.insert(entry.path);
    const auto known = base_.records.find(entry.path);
    if (known == base_.records.end()) {
      add(ChangeKind::added, entry);
      return {};
    }
    const Record& record = known->second;
    if (record.kind != entry.kind) {
      add(ChangeKind::type_changed, entry, name_of(record.kind));
    } else if (entry.kind == Kind::link) {
      if (entry.target != record.target) add(ChangeKind::modified, entry);
    } else if (entry.kind == Kind::folder) {
      // The workspace's own mode is not a command's to change.
      if (entry.mode != record.mode && !entry.path.empty()) add(ChangeKind::mode_changed, entry);
    } else if (identity_of(entry.status) != record.copy) {
      auto same = entry.size == record.original.size ? same_content(entry, record) : Result<bool>(false);
      if (!same) return unexpected(same.error());
      if (!*same) {
        add(ChangeKind::modified, entry);
      } else if (entry.mode != record.mode) {
        add(ChangeKind::mode_changed, entry);
      }
    }
    return {};
  }

  static Result<bool> same_content(const files::Entry& entry, const Record& record) {
    auto digest = digest_of(entry.fd, entry.size, entry.path);
    if (!digest) return unexpected(digest.error());
    return *digest == record.sha256;
  }

  // What could not be looked at is not gone.
  bool is_skipped(std::string path) const {
    for (; !path.empty(); path = files::parent_path(path)) {
      if (skipped_.contains(path)) return true;
    }
    return false;
  }

  void add_deleted() {
    for (const auto& [path, record] : base_.records) {
      if (seen_.contains(path) || is_skipped(path)) continue;
      Change change;
      change.kind = ChangeKind::deleted;
      change.path = path;
      change.type = name_of(record.kind);
      found_.changes.push_back(std::move(change));
    }
  }

  const Base& base_;
  int tree_;
  const files::Limits& limits_;
  std::set<std::string> seen_;
  std::set<std::string> skipped_;
  Found found_;
};

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::file: return "file";
    case Kind::folder: return "folder";
    case Kind::link: return "link";
  }
  return "file";
}

Result<Found> find_changes(const Base& base, int tree, const files::Limits& limits) {
  return Finder(base, tree, limits).find();
}

}  // namespace exechost::workspace
