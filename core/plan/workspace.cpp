#include "core/plan/workspace.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "core/base/utf8.hpp"
#include "core/plan/paths.hpp"
#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"
#include "core/plan/system_folders.hpp"

namespace exechost::plan {
namespace {

// The environment makes its own; nothing of the host's can be put there.
constexpr std::array<std::string_view, 3> kOwnedByEnvironment{"/proc", "/sys", "/dev"};

// Why the folder is too much to be written by a command nobody has read; empty when it isn't.
std::string too_much(const std::string& folder, const Facts& facts) {
  if (folder == "/") return "is the whole system";
  if (is_a_home(folder, facts)) return "is a home folder";
  if (depth_of(folder) == 1) return "is a top-level folder of the system";
  // Also as it was given: /bin may be a link to /usr/bin.
  for (const std::string& name : {folder, facts.workspace}) {
    if (is_kept_by_system(name)) return fmt::format("is {} of the system", name == folder ? "a folder" : quote(name));
  }
  for (const std::string& home : {facts.home, facts.environment_home}) {
    if (!home.empty() && is_below(home, folder)) return fmt::format("contains the home folder {}", quote(home));
  }
  for (const std::string& home : facts.other_homes) {
    if (is_below(home, folder)) return fmt::format("contains the home folder {}", quote(home));
  }
  const std::string project_file = join_path(folder, ".exechost.json");
  for (const auto* paths : {&facts.own_paths, &facts.own_private_paths}) {
    for (const std::string& own : *paths) {
      if (own != project_file && is_below(own, folder)) return fmt::format("contains ExecHost's own {}", quote(own));
    }
  }
  return {};
}

bool is_named(const std::string& folder, const settings::Settings& settings, const Facts& facts) {
  const std::vector<std::string> names = list_setting(settings, "dangerously_allow_workspace");
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const std::string path = expand_path(name, "/", facts.home);
    return path == folder || path == facts.workspace;
  });
}

Failure refused(const std::string& folder, const std::string& why, std::string hint) {
  return plan_failure(FailureKind::invalid_request, fmt::format("the workspace {} {}", quote(folder), why),
                      std::move(hint));
}

}  // namespace

bool is_a_home(const std::string& resolved, const Facts& facts) {
  if (resolved == "/") return false;
  if (resolved == facts.home || resolved == facts.environment_home) return true;
  if (std::find(facts.other_homes.begin(), facts.other_homes.end(), resolved) != facts.other_homes.end()) return true;
  for (const char* root : {"/root", "/home"}) {
    const PathFact& fact = facts.path(root);
    const std::string& place = fact.landing.empty() ? root : fact.landing;
    if (resolved == place) return true;
    if (std::string_view(root) == "/home" && parent_of(resolved) == place) return true;
  }
  return false;
}

Result<std::string> choose_host_folder(const Facts& facts) {
  const PathFact& fact = facts.path(facts.workspace);
  if (fact.kind == FileKind::folder) return fact.resolved;
  return unexpected(refused(facts.workspace, fact.kind == FileKind::missing ? "does not exist" : "is not a folder",
                            "choose a folder with --workspace"));
}

Result<std::string> choose_workspace(const settings::Settings& settings, const Facts& facts,
                                     std::vector<std::string>& warnings) {
  const PathFact& fact = facts.path(facts.workspace);
  if (fact.kind == FileKind::missing) {
    return unexpected(refused(facts.workspace, "does not exist", "create the folder, or choose one with --workspace"));
  }
  if (fact.kind != FileKind::folder) {
    return unexpected(refused(facts.workspace, "is not a folder", "choose a folder with --workspace"));
  }
  const std::string& folder = fact.resolved;
  for (const std::string_view place : kOwnedByEnvironment) {
    if (is_at_or_below(folder, place) && !is_below(folder, "/dev/shm")) {
      return unexpected(refused(folder, fmt::format("lies in {}, which every environment has of its own", place),
                                "choose a folder with --workspace"));
    }
  }
  for (const auto* paths : {&facts.own_paths, &facts.own_private_paths}) {
    for (const std::string& own : *paths) {
      if (is_at_or_below(folder, own)) {
        return unexpected(refused(folder, fmt::format("lies in ExecHost's own {}", quote(own)),
                                  "choose a folder with --workspace; this one is never writable"));
      }
    }
  }
  if (const std::string why = too_much(folder, facts); !why.empty()) {
    if (!is_named(folder, settings, facts)) {
      return unexpected(
          refused(folder, why,
                  fmt::format("start in the project's own folder or name one with --workspace; if commands may "
                              "really write all of this, set dangerously_allow_workspace to [{}]",
                              quote(folder))));
    }
    warnings.push_back(fmt::format("the workspace {} {}; it is writable because dangerously_allow_workspace names it",
                                   quote(folder), why));
  }
  return folder;
}

Result<std::string> choose_cwd(const std::optional<std::string>& requested, const settings::Settings& settings,
                               const Facts& facts, const std::string& workspace) {
  const std::string given = requested.value_or(text_setting(settings, "cwd"));
  if (given.empty()) return workspace;
  const auto refuse = [&](std::string_view rule) {
    return unexpected(plan_failure(FailureKind::invalid_request, fmt::format("cwd {} {}", quote(given), rule),
                                   "cwd is absolute or relative to the workspace"));
  };
  if (given.find('\0') != std::string::npos) return refuse("contains a NUL byte");
  if (!is_valid_utf8(given)) return refuse("is not valid UTF-8");
  const std::string path = expand_path(given, workspace, facts.home);
  const PathFact& fact = facts.path(path);
  if (fact.kind == FileKind::missing) return path;  // may be a folder that only exists inside
  if (fact.kind != FileKind::folder) return refuse("is not a folder");
  if (!is_valid_utf8(fact.resolved)) return refuse("leads to a folder whose name is not valid UTF-8");
  return fact.resolved;
}

}  // namespace exechost::plan
