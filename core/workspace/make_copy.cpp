#include "core/workspace/make_copy.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/unique_fd.hpp"
#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"
#include "core/files/local_target.hpp"
#include "core/files/local_tree.hpp"
#include "core/workspace/digest.hpp"

namespace exechost::workspace {
namespace {

class Maker {
 public:
  Maker(const std::string& workspace, int folder, const std::string& name, const MakeOptions& options)
      : workspace_(workspace), folder_(folder), name_(name), options_(options), sink_(folder, name, target_options()) {}

  Result<MadeCopy> run() {
    const UniqueFd root(::open(workspace_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!root || ::fstat(root.get(), &status) != 0) return unexpected(files::from_errno(workspace_, "open", errno));
    made_.base.workspace = workspace_;
    made_.base.device = status.st_dev;
    made_.base.inode = status.st_ino;
    files::LocalTreeOptions tree_options;
    tree_options.limits = options_.limits;
    tree_options.complete = true;
    tree_options.on_skip = [this](const std::string& path, std::string_view /*reason*/) {
      made_.left_out.push_back(path);
    };
    auto tree = files::LocalTree::open(root.get(), "", workspace_, std::move(tree_options));
    if (!tree) return unexpected(tree.error());
    files::Entry entry;
    for (;;) {
      if (auto wanted = still_wanted(); !wanted) return unexpected(wanted.error());
      auto found = (*tree)->next(entry);
      if (!found) return unexpected(found.error());
      if (!*found) break;
      if (auto copied = copy(entry); !copied) return unexpected(copied.error());
    }
    if (auto finished = sink_.finish(); !finished) return unexpected(finished.error());
    if (auto known = recognise_copies(); !known) return unexpected(known.error());
    return std::move(made_);
  }

 private:
  files::LocalTargetOptions target_options() const {
    files::LocalTargetOptions options;
    options.links = files::LinkRule::keep;
    options.exact_modes = true;
    options.keep_times = true;
    options.shown = "the copy of " + workspace_;
    return options;
  }

  Result<void> still_wanted() const {
    if (!options_.wanted || options_.wanted()) return {};
    return unexpected(files::from_errno(workspace_, "wait", ECANCELED));
  }

  Result<void> copy(const files::Entry& entry) {
    const std::string shown = files::join(workspace_, entry.path);
    if (made_.base.records.size() >= options_.limits.entries) {
      return unexpected(files::over_limit(workspace_, "files.max_entries", options_.limits.entries));
    }
    if (entry.size > options_.limits.bytes - bytes_) {
      return unexpected(files::over_limit(workspace_, "files.max_bytes", options_.limits.bytes));
    }
    bytes_ += entry.size;
    Record record;
    record.kind = entry.kind;
    record.mode = entry.mode;
    record.target = entry.target;
    record.original = identity_of(entry.status);
    if (auto begun = sink_.begin(entry); !begun) return begun;
    if (entry.kind == files::Kind::file) {
      if (auto content = copy_content(entry, shown, record); !content) return content;
      if (auto ended = sink_.end(); !ended) return ended;
    }
    made_.base.records.emplace(entry.path, std::move(record));
    return {};
  }

  Result<void> copy_content(const files::Entry& entry, const std::string& shown, Record& record) {
    // Not every file system can; then it is copied like anywhere.
    const bool cloned = ::ioctl(sink_.descriptor(), FICLONE, entry.fd) == 0;
    auto digest = digest_of(entry.fd, entry.size, shown, [&](std::string_view piece) -> Result<void> {
      if (auto wanted = still_wanted(); !wanted) return wanted;
      return cloned ? Result<void>{} : sink_.write(piece);
    });
    if (!digest) return unexpected(digest.error());
    record.sha256 = std::move(*digest);
    struct stat now {};
    if (::fstat(entry.fd, &now) != 0 || identity_of(now) != record.original) {
      return unexpected(files::from_errno(shown, "read", ESTALE, "somebody writes into the workspace: try again"));
    }
    return {};
  }

  Result<void> recognise_copies() {
    for (auto& [path, record] : made_.base.records) {
      const std::string place = path.empty() ? name_ : files::join(name_, path);
      auto parent = files::open_beneath(folder_, files::parent_path(place), O_PATH | O_DIRECTORY);
      struct stat status {};
      if (!parent || ::fstatat(parent->get(), files::last_name(place).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return unexpected(files::from_errno(place, "stat", parent ? errno : parent.error().error_number));
      }
      record.copy = identity_of(status);
    }
    return {};
  }

  const std::string& workspace_;
  int folder_;
  const std::string& name_;
  const MakeOptions& options_;
  files::LocalTarget sink_;
  std::uint64_t bytes_ = 0;
  MadeCopy made_;
};

}  // namespace

Result<MadeCopy> make_copy(const std::string& workspace, int folder, const std::string& name,
                           const MakeOptions& options) {
  return Maker(workspace, folder, name, options).run();
}

}  // namespace exechost::workspace
