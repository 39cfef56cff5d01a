#include "core/workspace/apply.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/unique_fd.hpp"
#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"
#include "core/files/links.hpp"
#include "core/workspace/digest.hpp"
#include "core/workspace/real_file.hpp"

namespace exechost::workspace {
namespace {

using files::Kind;

// Not a command's to write, whatever the settings say: it decides how the next one is isolated.
constexpr std::string_view kProjectSettings = ".exechost.json";

bool is_chosen(const std::string& path, const std::vector<std::string>& paths) {
  return paths.empty() || std::any_of(paths.begin(), paths.end(), [&path](const std::string& chosen) {
           return chosen.empty() || path == chosen || path.starts_with(chosen + "/");
         });
}

// What somebody else did meanwhile.
bool is_conflict(const Failure& failure) {
  return failure.error_number == EEXIST || failure.error_number == ESTALE || failure.error_number == ENOENT ||
         failure.error_number == ENOTDIR || failure.error_number == ELOOP;
}

class Applier {
 public:
  Applier(Base& base, int tree, int workspace, const ApplyOptions& options)
      : base_(base), tree_(tree), workspace_(workspace), options_(options) {}

  std::vector<AppliedChange> run(const std::vector<Change>& changes) {
    // What is gone first, the deepest first: it may be in the way of what is new.
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
      if (change->kind == ChangeKind::deleted && is_chosen(change->path, options_.paths)) apply(*change);
    }
    for (const Change& change : changes) {
      if (change.kind != ChangeKind::deleted && is_chosen(change.path, options_.paths)) apply(change);
    }
    std::sort(applied_.begin(), applied_.end(),
              [](const AppliedChange& a, const AppliedChange& b) { return a.change.path < b.change.path; });
    return std::move(applied_);
  }

 private:
  void say(const Change& change, ApplyOutcome outcome, std::string reason = {}) {
    applied_.push_back({change, outcome, std::move(reason)});
  }

  void apply(const Change& change) {
    const bool project_settings = change.path == kProjectSettings;
    if (project_settings || !options_.may_write(change.path)) {
      return say(change, ApplyOutcome::refused,
                 project_settings ? "ExecHost's own settings of this project" : "protected: commands may not write it");
    }
    if (change.type == "link" && change.kind != ChangeKind::deleted &&
        !files::stays_inside(files::depth_of(change.path) - 1, change.target)) {
      return say(change, ApplyOutcome::refused, "a link that leads out of the workspace");
    }
    auto real = RealFile::look(workspace_, change.path);
    if (!real) return failed(change, real.error());
    auto done = change.kind == ChangeKind::deleted ? remove(*real, change) : put(*real, change);
    if (!done) return failed(change, done.error());
    if (!done->empty()) return say(change, ApplyOutcome::conflict, std::move(*done));
    say(change, ApplyOutcome::applied);
  }

  void failed(const Change& change, const Failure& failure) {
    say(change, is_conflict(failure) ? ApplyOutcome::conflict : ApplyOutcome::failed, failure.message);
  }

  // Each: why it is a conflict, empty when it was done.
  Result<std::string> remove(RealFile& real, const Change& change) {
    const Record& record = base_.records.at(change.path);
    if (real.there()) {
      auto same = real.is_as(record);
      if (!same) return unexpected(same.error());
      if (!*same) return "was changed in the workspace since the copy was made";
      if (auto removed = real.remove(); !removed) {
        if (removed.error().error_number == EEXIST)
          return "has something in it in the workspace that the copy never had";
        return unexpected(removed.error());
      }
    }
    base_.records.erase(change.path);
    return std::string();
  }

  // The change as it is in the copy now, which is what was listed or newer.
  Result<Record> wanted(const Change& change, UniqueFd& content) {
    Record record;
    record.kind = change.type == "folder" ? Kind::folder : change.type == "link" ? Kind::link : Kind::file;
    record.mode = change.mode;
    record.target = change.target;
    const std::string place = change.path;
    auto parent = files::open_beneath(tree_, files::parent_path(place), O_PATH | O_DIRECTORY);
    if (!parent) return unexpected(parent.error());
    struct stat status {};
    if (record.kind == Kind::file) {
      auto fd =
          files::open_beneath(parent->get(), files::last_name(place), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
      if (!fd) return unexpected(fd.error());
      if (::fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode))
        return unexpected(files::from_errno(place, "open", ESTALE));
      record.mode = status.st_mode & 0777U;
      content = std::move(*fd);
    } else if (::fstatat(parent->get(), files::last_name(place).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return unexpected(files::from_errno(place, "stat", errno));
    }
    record.copy = identity_of(status);
    return record;
  }

  Result<std::string> put(RealFile& real, const Change& change) {
    UniqueFd content;
    auto record = wanted(change, content);
    if (!record) return unexpected(record.error());
    const auto known = base_.records.find(change.path);
    if (real.there()) {
      auto expected = known == base_.records.end() ? Result<bool>(false) : real.is_as(known->second);
      if (!expected) return unexpected(expected.error());
      if (!*expected) return already_there(real, change, *record, content);
    } else if (known != base_.records.end()) {
      return "was deleted in the workspace since the copy was made";
    }
    if (auto done = write(real, change, *record, content); !done) return unexpected(done.error());
    return remember(real, change, std::move(*record));
  }

  // The same was done in the workspace, or something else.
  Result<std::string> already_there(const RealFile& real, const Change& change, Record& record,
                                    const UniqueFd& content) {
    if (record.kind == Kind::file) {
      auto digest = digest_of(content.get(), record.copy.size, change.path);
      if (!digest) return unexpected(digest.error());
      record.sha256 = std::move(*digest);
    }
    auto same = real.is_like(record);
    if (!same) return unexpected(same.error());
    if (!*same) {
      return change.kind == ChangeKind::added ? "exists in the workspace since the copy was made"
                                              : "was changed in the workspace since the copy was made";
    }
    return remember(real, change, std::move(record));
  }

  Result<void> write(RealFile& real, const Change& change, Record& record, const UniqueFd& content) {
    if (change.kind == ChangeKind::mode_changed) {
      record.sha256 = base_.records.at(change.path).sha256;
      return real.set_mode(record.mode);
    }
    const bool other_kind = change.kind == ChangeKind::type_changed;
    if (other_kind && (record.kind == Kind::folder || change.old_type == "folder")) {
      if (auto removed = real.remove(); !removed) return removed;
    }
    switch (record.kind) {
      case Kind::folder: return real.make_folder(record.mode);
      case Kind::link: return real.put_link(record.target);
      case Kind::file: break;
    }
    return real.put_file(content.get(), record.mode, record.sha256);
  }

  Result<std::string> remember(const RealFile& real, const Change& change, Record record) {
    auto status = real.status_now();
    if (!status) return unexpected(status.error());
    record.original = identity_of(*status);
    // As the workspace has it: a folder keeps its owner's rights.
    if (record.kind == Kind::folder) record.mode = status->st_mode & 0777U;
    base_.records[change.path] = std::move(record);
    return std::string();
  }

  Base& base_;
  int tree_;
  int workspace_;
  const ApplyOptions& options_;
  std::vector<AppliedChange> applied_;
};

}  // namespace

Result<std::vector<AppliedChange>> apply_changes(Base& base, int tree, const std::vector<Change>& changes,
                                                 const ApplyOptions& options) {
  const UniqueFd workspace(::open(base.workspace.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!workspace || ::fstat(workspace.get(), &status) != 0) {
    return unexpected(files::from_errno(base.workspace, "open", errno));
  }
  if (status.st_dev != base.device || status.st_ino != base.inode) {
    return unexpected(files::unfit(base.workspace, "is not the folder that was copied", ESTALE,
                                   "it was moved or exchanged since the copy was made"));
  }
  return Applier(base, tree, workspace.get(), options).run(changes);
}

}  // namespace exechost::workspace
