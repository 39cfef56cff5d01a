#include "core/plan/facts.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <set>

#include "core/base/utf8.hpp"
#include "core/plan/inspector.hpp"
#include "core/plan/machine.hpp"
#include "core/plan/paths.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::plan {
namespace {

constexpr std::array<const char*, 6> kSystemFolders{"/tmp", "/var/tmp", "/run", "/dev/shm", "/home", "/root"};
constexpr std::array<const char*, 4> kPathLists{"filesystem.allow_write", "filesystem.deny_write",
                                                "filesystem.allow_read", "filesystem.deny_read"};

Failure not_utf8(const std::string& what, const std::string& path) {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = fmt::format("{} \"{}\" is not valid UTF-8", what, escape_for_terminal(to_valid_utf8(path)));
  failure.hint = "rename the folder, or choose another one";
  return failure;
}

// Somebody who may write to the folder above can have put a link in its place.
Failure moved(const std::string& path) {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = fmt::format("\"{}\" is not the working folder any more: it was moved, replaced or removed",
                                escape_for_terminal(to_valid_utf8(path)));
  failure.hint = "change into the folder again, or name the workspace";
  return failure;
}

Failure no_current_folder() {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = "the current folder does not exist any more (or can't be read), so there is no workspace";
  failure.hint = "change to a folder that exists, or name one with --workspace";
  return failure;
}

std::string default_home(Inspector& inspector, const FactQuery& query, uid_t uid) {
  std::string home = database_home(uid).value_or("");
  if (home.empty()) {
    if (const auto found = query.environment.find("HOME"); found != query.environment.end()) home = found->second;
  }
  if (!home.starts_with('/')) return {};
  return inspector.at(expand_path(home, "/", "/")).landing;
}

std::string other_home(Inspector& inspector, const FactQuery& query, const std::string& home) {
  const auto found = query.environment.find("HOME");
  if (found == query.environment.end() || !found->second.starts_with('/')) return {};
  const PathFact& fact = inspector.at(expand_path(found->second, "/", "/"));
  return fact.kind == FileKind::folder && fact.resolved != home ? fact.resolved : std::string();
}

std::set<std::string> folders_between(const std::vector<std::string>& roots,
                                      const std::map<std::string, PathFact>& paths) {
  std::set<std::string> folders;
  for (const auto& [path, fact] : paths) {
    for (const std::string& root : roots) {
      if (fact.landing == root || !is_at_or_below(fact.landing, root)) continue;
      for (std::string folder = parent_of(fact.landing); folder != root; folder = parent_of(folder)) {
        folders.insert(folder);
      }
    }
  }
  return folders;
}

}  // namespace

const PathFact& Facts::path(const std::string& path) const {
  static const PathFact missing;
  const auto found = paths.find(path);
  return found == paths.end() ? missing : found->second;
}

Result<Facts> gather(const settings::Settings& settings, const FactQuery& query, PathWatch* watch) {
  Facts facts;
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  facts.hostname = host_name();
  facts.landlock_abi = landlock_abi();
  facts.environment = query.environment;
  Inspector inspector(watch);
  facts.home = default_home(inspector, query, facts.uid);
  facts.environment_home = other_home(inspector, query, facts.home);
  if (!is_valid_utf8(facts.home)) return unexpected(not_utf8("the home folder", facts.home));

  const auto look = [&facts, &inspector](const std::string& path) -> const PathFact& {
    auto found = facts.paths.find(path);
    if (found == facts.paths.end()) found = facts.paths.emplace(path, inspector.at(path)).first;
    return found->second;
  };
  // Also where it leads: that is the path the view is about.
  const auto ask = [&look](const std::string& path) -> const PathFact& {
    const PathFact& fact = look(path);
    look(fact.landing);
    return fact;
  };

  std::string workspace = text_setting(settings, "workspace.path");
  if (workspace.empty()) workspace = query.workspace;
  if (workspace.empty()) workspace = query.process_cwd;
  if (query.process_cwd.empty() && !workspace.starts_with('/') && !workspace.starts_with('~')) {
    return unexpected(no_current_folder());
  }
  facts.workspace = expand_path(workspace, query.process_cwd, facts.home);
  const PathFact& workspace_fact = ask(facts.workspace);
  if (!is_valid_utf8(facts.workspace)) return unexpected(not_utf8("the workspace", facts.workspace));
  if (!is_valid_utf8(workspace_fact.landing)) return unexpected(not_utf8("the workspace", workspace_fact.landing));
  const bool was_known = query.process_cwd_inode != 0 && facts.workspace == query.process_cwd;
  if (was_known &&
      (workspace_fact.device != query.process_cwd_device || workspace_fact.inode != query.process_cwd_inode)) {
    return unexpected(moved(query.process_cwd));
  }
  const std::string base = workspace_fact.landing;
  ask(join_path(base, ".exechost.json"));

  for (const char* folder : kSystemFolders) ask(folder);
  for (const char* list : kPathLists) {
    for (const std::string& path : list_setting(settings, list)) ask(expand_path(path, base, facts.home));
  }
  const std::string cwd = query.cwd.value_or(text_setting(settings, "cwd"));
  if (!cwd.empty()) ask(expand_path(cwd, base, facts.home));

  std::vector<std::string> homes;
  for (const std::string& home : {facts.home, facts.environment_home}) {
    if (home.empty()) continue;
    ask(home);
    if (home != "/") homes.push_back(home);
  }
  for (const std::string& home : account_homes(query.accounts)) {
    const PathFact& fact = ask(expand_path(home, "/", "/"));
    if (fact.kind != FileKind::folder || !is_valid_utf8(fact.resolved)) continue;
    if (std::find(homes.begin(), homes.end(), fact.resolved) == homes.end()) facts.other_homes.push_back(fact.resolved);
  }
  std::sort(facts.other_homes.begin(), facts.other_homes.end());
  facts.other_homes.erase(std::unique(facts.other_homes.begin(), facts.other_homes.end()), facts.other_homes.end());
  facts.credential_paths = find_credentials(inspector, facts.environment, homes, facts.uid);
  std::vector<std::string> writable{facts.workspace, base};
  for (const std::string& given : list_setting(settings, "filesystem.allow_write")) {
    const std::string path = expand_path(given, base, facts.home);
    writable.push_back(path);
    writable.push_back(look(path).landing);
  }
  facts.toolchain_paths = find_toolchains(inspector, {facts.environment, homes, facts.credential_paths, writable});
  for (const std::string& path : facts.credential_paths) ask(path);
  for (const std::string& path : facts.toolchain_paths) ask(path);

  const auto own = [&](const std::vector<std::string>& given) {
    std::vector<std::string> resolved;
    for (const std::string& path : given) {
      if (!path.starts_with('/')) continue;
      const PathFact& fact = ask(expand_path(path, "/", "/"));
      resolved.push_back(fact.landing);
      for (const std::string& link : fact.links) {
        facts.own_links.push_back(link);
        ask(parent_of(link));
      }
    }
    std::sort(resolved.begin(), resolved.end());
    resolved.erase(std::unique(resolved.begin(), resolved.end()), resolved.end());
    return resolved;
  };
  facts.own_paths = own(query.own_paths);
  facts.own_private_paths = own(query.own_private_paths);

  // Folders between a writable one and something in it: they get entries of their own when that is
  // protected, and have to be known as well as it is.
  for (const std::string& folder : folders_between(writable, facts.paths)) look(folder);
  return facts;
}

}  // namespace exechost::plan
