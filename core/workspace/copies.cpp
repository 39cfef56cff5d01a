#include "core/workspace/copies.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"

namespace exechost::workspace {
namespace {

constexpr std::string_view kNamed = "session-";
constexpr std::string_view kUnnamed = "run-";
constexpr std::chrono::milliseconds kLook{100};  // whether it is still wanted, while another thread makes it

Failure another_workspace(const std::string& workspace, const std::string& copied) {
  return files::unfit(
      workspace, fmt::format("is not the workspace whose copy this session has, which is {}", files::shown(copied)),
      EINVAL, "use another session name, or throw that copy away (exechost apply SESSION --discard)");
}

}  // namespace

Copies::Copies(std::string root)
    : root_(std::move(root)),
      own_key_(fmt::format("{}{}-{}", kUnnamed, ::getpid(), files::temporary_name().substr(10))) {}

Copies::~Copies() {
  const auto own = held_.find(own_key_);
  if (own != held_.end() && own->second.folder) (void)own->second.folder->remove();
}

std::string Copies::key_of(const std::string& session) const {
  return session.empty() ? own_key_ : fmt::format("{}{}", kNamed, session);
}

std::string Copies::tree_path(const std::string& session) const {
  return fmt::format("{}/{}/{}", root_, key_of(session), kTree);
}

Result<std::shared_ptr<CopyFolder>> Copies::make(const std::string& session, const std::string& workspace,
                                                 const MakeOptions& options, std::vector<std::string>& left_out) {
  if (session.empty()) CopyFolder::remove_orphans(root_, std::string(kUnnamed));
  auto copy = CopyFolder::open_or_make(root_, key_of(session), workspace, options, left_out);
  if (!copy) return unexpected(copy.error());
  auto base = load(copy->descriptor());
  if (!base) return unexpected(base.error());
  if (base->workspace != workspace) return unexpected(another_workspace(workspace, base->workspace));
  return std::make_shared<CopyFolder>(std::move(*copy));
}

Result<void> Copies::prepare(const std::string& session, const std::string& workspace, const MakeOptions& options,
                             std::vector<std::string>& left_out) {
  const std::string key = key_of(session);
  std::unique_lock lock(mutex_);
  while (held_.contains(key)) {
    const Held& held = held_.at(key);
    if (held.folder) {
      if (held.workspace == workspace) return {};
      return unexpected(another_workspace(workspace, held.workspace));
    }
    made_.wait_for(lock, kLook);
    if (options.wanted && !options.wanted()) return unexpected(files::from_errno(workspace, "wait", ECANCELED));
  }
  held_[key] = {};
  lock.unlock();
  auto copy = make(session, workspace, options, left_out);
  lock.lock();
  if (copy) {
    held_[key] = {*copy, workspace};
  } else {
    held_.erase(key);
  }
  made_.notify_all();
  if (!copy) return unexpected(copy.error());
  return {};
}

Result<std::shared_ptr<CopyFolder>> Copies::find(const std::string& session) {
  const std::string key = key_of(session);
  {
    const std::lock_guard lock(mutex_);
    const auto held = held_.find(key);
    if (held != held_.end() && held->second.folder) return held->second.folder;
  }
  auto copy = CopyFolder::open(root_, key);
  if (copy) return std::make_shared<CopyFolder>(std::move(*copy));
  Failure failure = copy.error();
  if (failure.error_number == ENOENT) {
    failure.message = session.empty() ? "no run of this program has a copy of its workspace"
                                      : fmt::format("session \"{}\" has no copy of a workspace", session);
    failure.hint = "run something in it with workspace.mode copy first";
  }
  return unexpected(std::move(failure));
}

Result<void> Copies::discard(const std::string& session) {
  auto copy = find(session);
  if (!copy) return unexpected(copy.error());
  if (auto removed = (*copy)->remove(); !removed) return removed;
  const std::lock_guard lock(mutex_);
  held_.erase(key_of(session));
  return {};
}

}  // namespace exechost::workspace
