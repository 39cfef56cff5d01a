#include "core/host/workspace_copy.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "core/files/failures.hpp"
#include "core/plan/paths.hpp"
#include "core/workspace/apply.hpp"
#include "core/workspace/changes.hpp"

namespace exechost::host {
namespace {

// Every path of the view that is in the copy: there, and who it is.
Result<void> check_view(plan::Plan& plan) {
  for (const plan::ViewEntry& entry : plan.view.entries) {
    if (!plan::is_at_or_below(entry.source, plan.workspace_copy)) continue;
    struct stat status {};
    if (::lstat(entry.source.c_str(), &status) != 0) {
      return unexpected(files::unfit(
          entry.path,
          fmt::format("is not in the copy of the workspace, so it can't be kept as it has to be ({})", entry.reason),
          errno, "it is newer than the copy: apply what you want of it and throw it away, then a new one is made"));
    }
    if (S_ISLNK(status.st_mode))
      return unexpected(files::refused(entry.path, "is a link in the copy of the workspace"));
    plan.confinement.view_checks.push_back({entry.path, status.st_dev, status.st_ino, true});
  }
  return {};
}

}  // namespace

Result<void> provide_copy(workspace::Copies& copies, plan::Plan& plan, const files::Limits& limits,
                          std::function<bool()> wanted) {
  std::vector<std::string> left_out;
  auto ready = copies.prepare(plan.session, plan.workspace, {limits, std::move(wanted)}, left_out);
  if (!ready) {
    ready.error().phase = Phase::provision;
    return ready;
  }
  if (!left_out.empty()) {
    plan.warnings.push_back(
        fmt::format("{} sockets, FIFOs or devices of the workspace are not in its copy, {} the first", left_out.size(),
                    files::shown(left_out.front())));
  }
  auto checked = check_view(plan);
  if (!checked) checked.error().phase = Phase::provision;
  return checked;
}

Result<ChangeList> list_changes(const workspace::CopyFolder& copy, const files::Limits& limits) {
  auto base = workspace::load(copy.descriptor());
  if (!base) return unexpected(base.error());
  auto tree = copy.tree();
  if (!tree) return unexpected(tree.error());
  auto found = workspace::find_changes(*base, tree->get(), limits);
  if (!found) return unexpected(found.error());
  ChangeList list;
  list.workspace = base->workspace;
  list.copy = fmt::format("{}/{}", copy.path(), workspace::kTree);
  list.changes = std::move(found->changes);
  list.skipped = std::move(found->skipped);
  return list;
}

Result<ApplyResult> apply_changes(const workspace::CopyFolder& copy, const plan::Plan& plan,
                                  const std::vector<std::string>& paths, const files::Limits& limits) {
  const auto alone = copy.lock_for_applying();
  if (!alone) return unexpected(alone.error());
  auto base = workspace::load(copy.descriptor());
  if (!base) return unexpected(base.error());
  auto tree = copy.tree();
  if (!tree) return unexpected(tree.error());
  auto found = workspace::find_changes(*base, tree->get(), limits);
  if (!found) return unexpected(found.error());
  workspace::ApplyOptions options;
  for (const std::string& path : paths) {
    const std::string whole = plan::expand_path(path, plan.workspace, {});
    if (!plan::is_at_or_below(whole, plan.workspace)) {
      return unexpected(files::unfit(path, "is not in the workspace", EINVAL, "give paths relative to the workspace"));
    }
    options.paths.push_back(whole == plan.workspace ? std::string() : whole.substr(plan.workspace.size() + 1));
  }
  options.may_write = [&plan](const std::string& path) {
    const plan::ViewEntry* entry = plan.view.deciding(plan::join_path(plan.workspace, path));
    return entry != nullptr && entry->access == plan::Access::rw;
  };
  auto applied = workspace::apply_changes(*base, tree->get(), found->changes, options);
  if (!applied) return unexpected(applied.error());
  if (auto saved = workspace::save(*base, copy.descriptor()); !saved) return unexpected(saved.error());
  return ApplyResult{std::move(*applied)};
}

}  // namespace exechost::host
