// Which folders of a home hold tools rather than data.
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/utf8.hpp"
#include "core/plan/inspector.hpp"
#include "core/plan/machine.hpp"
#include "core/plan/paths.hpp"
#include "core/plan/toolchain_places.hpp"

namespace exechost::plan {
namespace {

constexpr std::size_t kMaxPathEntries = 256;
constexpr std::size_t kMaxPrograms = 1024;  // looked at per folder of PATH
constexpr std::size_t kMaxToolchains = 256;
constexpr mode_t kAnyExecute = S_IXUSR | S_IXGRP | S_IXOTH;

bool at_or_below_any(const std::string& path, const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return is_at_or_below(path, folder); });
}

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & kAnyExecute) != 0;
}

// A link is followed as far as it can be believed: what it leads to is shown as a whole only when
// it is itself recognised as tools, since commands that ran before may have laid the link.
class Finder {
 public:
  Finder(Inspector& inspector, const ToolchainSearch& search) : inspector_(inspector), search_(search) {
    for (const std::string& home : search.homes) {
      for (const std::string_view name : version_manager_roots()) {
        const PathFact* fact = inspector_.existing_below(home, name);
        if (fact != nullptr && fact->kind == FileKind::folder && !led_astray(*fact) && acceptable(fact->resolved))
          roots_.push_back(fact->resolved);
      }
    }
  }

  // A folder of PATH: the installation around it when there is one, and what its links lead to.
  void add_program_folder(const std::string& path) {
    const PathFact& fact = inspector_.at(path);
    if (is_in_reach(path, fact)) return;
    const bool known = !led_astray(fact) || in_a_root(fact.resolved);
    if (!known && !is_program_folder_name(last_component(fact.resolved))) return;
    if (!add(path, fact, FileKind::folder)) return;
    if (known) add_installation(fact.resolved);
    if (at_or_below_any(fact.resolved, search_.writable)) return;
    for (const std::string& name : inspector_.names(fact.resolved, kMaxPrograms).value_or(std::vector<std::string>{}))
      add_linked_program(fact.resolved, name);
  }

  // A folder that a variable names.
  void add_named_folder(const std::string& path, const ToolchainVariable& variable) {
    const PathFact& fact = inspector_.at(path);
    if (is_in_reach(path, fact)) return;
    if (led_astray(fact) && !is_marked(fact.resolved, variable)) return;
    if (add(path, fact, FileKind::folder) && variable.below.empty()) roots_.push_back(fact.resolved);
  }

  std::vector<std::string> take() {
    // What lies below another one adds nothing, unless a link would be lost.
    std::vector<std::string> kept;
    for (const std::string& path : found_) {
      const bool covered =
          std::any_of(kept.begin(), kept.end(), [&](const std::string& other) { return is_below(path, other); });
      if (!covered) kept.push_back(path);
    }
    return kept;
  }

 private:
  // Notes a folder (or one program) when it, or what it leads to, is inside a home.
  bool add(const std::string& path, const PathFact& fact, FileKind kind) {
    if (found_.size() >= kMaxToolchains || !is_valid_utf8(path)) return false;
    if (fact.kind != kind || !is_valid_utf8(fact.resolved)) return false;
    if (!inside_a_home(path) && !inside_a_home(fact.resolved)) return false;
    if (!acceptable(path) || !acceptable(fact.resolved)) return false;
    found_.insert(path);
    if (inside_a_home(fact.resolved)) found_.insert(fact.resolved);
    return true;
  }
  bool add(const std::string& path, FileKind kind) { return add(path, inspector_.at(path), kind); }

  void add_linked_program(const std::string& folder, const std::string& name) {
    const PathFact& program = inspector_.at(join_path(folder, name));
    if (!program.is_link || program.kind != FileKind::regular) return;
    if (at_or_below_any(program.resolved, search_.writable) || passes_through_reach(program)) return;
    const std::string around = parent_of(program.resolved);
    if (in_a_root(around) && last_component(around) == "bin") {
      if (add(around, FileKind::folder) && in_a_root(parent_of(around))) add_installation(around);
    } else if (is_executable_file(program.resolved)) {
      // Whatever else is in that folder is nobody's tool.
      add(program.resolved, FileKind::regular);
    }
  }

  // What lies there is seen anyway; where its links lead is for the command to choose.
  bool is_in_reach(const std::string& path, const PathFact& fact) const {
    return at_or_below_any(path, search_.writable) || passes_through_reach(fact);
  }
  bool passes_through_reach(const PathFact& fact) const {
    return std::any_of(fact.links.begin(), fact.links.end(),
                       [&](const std::string& link) { return at_or_below_any(link, search_.writable); });
  }

  // Whether a command could have laid this link in some earlier run, wherever its workspace was then.
  // Homes and system folders are no workspaces; a home that was allowed to be one could be read then.
  bool could_be_planted(const std::string& link) const {
    const std::string folder = parent_of(link);
    if (folder == "/" || folder == "/home" || is_at_or_below(folder, "/usr") || is_at_or_below(folder, "/etc"))
      return false;
    return std::find(search_.homes.begin(), search_.homes.end(), folder) == search_.homes.end();
  }

  bool led_astray(const PathFact& fact) const {
    return std::any_of(fact.links.begin(), fact.links.end(),
                       [&](const std::string& link) { return could_be_planted(link); });
  }

  bool in_a_root(const std::string& resolved) const { return at_or_below_any(resolved, roots_); }

  bool is_marked(const std::string& resolved, const ToolchainVariable& variable) const {
    if (variable.markers.front().empty()) return is_program_folder_name(last_component(resolved));
    return std::any_of(variable.markers.begin(), variable.markers.end(), [&](std::string_view marker) {
      return !marker.empty() && inspector_.at(expand_path(marker, resolved, "/")).kind != FileKind::missing;
    });
  }

  bool inside_a_home(const std::string& path) const {
    return std::any_of(search_.homes.begin(), search_.homes.end(),
                       [&](const std::string& home) { return is_below(path, home); });
  }

  bool acceptable(const std::string& path) const {
    for (const std::string& home : search_.homes) {
      if (is_at_or_below(home, path)) return false;
      for (const std::string_view name : broad_folders()) {
        if (path == join_path(home, name)) return false;
      }
    }
    return !at_or_below_any(path, search_.credentials);
  }

  // PREFIX/bin beside PREFIX/lib is an installation: its programs need what is beside them.
  void add_installation(const std::string& folder) {
    if (last_component(folder) != "bin") return;
    const std::string prefix = parent_of(folder);
    const bool installation = inspector_.at(join_path(prefix, "lib")).kind == FileKind::folder ||
                              inspector_.at(join_path(prefix, "pyvenv.cfg")).kind == FileKind::regular;
    if (installation) add(prefix, FileKind::folder);
  }

  Inspector& inspector_;
  const ToolchainSearch& search_;
  std::vector<std::string> roots_;  // resolved; what is in them is tools
  std::set<std::string> found_;
};

std::vector<std::string> split(const std::string& list, std::size_t limit) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= list.size() && parts.size() < limit) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::string> find_toolchains(Inspector& inspector, const ToolchainSearch& search) {
  Finder finder(inspector, search);
  for (const ToolchainVariable& variable : toolchain_variables()) {
    const auto found = search.environment.find(std::string(variable.name));
    if (found == search.environment.end()) continue;
    for (const std::string& value : split(found->second, kMaxPathEntries)) {  // GOPATH is a list
      if (value.starts_with('/')) finder.add_named_folder(expand_path(variable.below, value, "/"), variable);
    }
  }
  bool has_cargo = false;
  if (const auto path = search.environment.find("PATH"); path != search.environment.end()) {
    for (const std::string& entry : split(path->second, kMaxPathEntries)) {
      if (!entry.starts_with('/')) continue;
      const std::string folder = expand_path(entry, "/", "/");
      has_cargo = has_cargo || folder.ends_with("/.cargo/bin");
      finder.add_program_folder(folder);
    }
  }
  // The programs in ~/.cargo/bin are rustup's own and start what is in ~/.rustup.
  if (has_cargo && !search.environment.contains("RUSTUP_HOME")) {
    const ToolchainVariable rustup{"RUSTUP_HOME", "", {"toolchains"}};
    for (const std::string& home : search.homes) finder.add_named_folder(join_path(home, ".rustup"), rustup);
  }
  return finder.take();
}

}  // namespace exechost::plan
