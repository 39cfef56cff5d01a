#include "tests/unit/plan/support.hpp"

#include <fmt/format.h>
#include <deque>
#include <nlohmann/json.hpp>

#include "core/node/statement.hpp"
#include "core/plan/paths.hpp"
#include "core/plan/settings_access.hpp"
#include "core/plan/workspace.hpp"

namespace exechost::plan::testing {
namespace {

using nlohmann::json;

const json& defaults() {
  static const json values = json::parse(R"({
    "tier": "sandbox", "backend": "bwrap", "fallback": ["local"], "on_unavailable": "ask",
    "enabled_platforms": ["linux"], "profile": "run", "image": "", "best_effort": [],
    "workspace": {"path": "", "mode": "direct"}, "dangerously_allow_workspace": [], "cwd": "",
    "filesystem": {"home": "toolchains", "workspace_access": "rw",
                   "allow_write": [], "deny_write": [], "allow_read": [], "deny_read": []},
    "network": {"mode": "none", "allowed_domains": [], "denied_domains": []},
    "environment": {"inherit": "core", "include": [], "exclude": ["*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*",
                    "*PASSWD*", "*CREDENTIAL*", "*AUTH", "*AUTH_*", "*AUTHENTICATION*", "*AUTHORIZATION*"], "include_only": [], "set": {}, "dangerously_keep_secrets": false},
    "resources": {"cpu": null, "memory": null, "disk": null, "pids": 512, "timeout": null, "kill_grace": 2000,
                  "tmp_size": 1073741824, "home_size": 1073741824, "output_cap": 1048576, "output_spill": false},
    "session": {"name": "", "persistent": true, "idle_timeout": 300000, "max_lifetime": 86400000},
    "backends": {}})");
  return values;
}

std::deque<std::string> components(const std::string& path) {
  std::deque<std::string> parts;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

SettingsBuilder::SettingsBuilder() : values_(defaults()) {}

SettingsBuilder& SettingsBuilder::set(const std::string& dotted, json value, settings::Scope scope) {
  std::string pointer = "/" + dotted;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  values_[json::json_pointer(pointer)] = std::move(value);
  if (scope == settings::Scope::built_in) {
    origins_.erase(dotted);
  } else {
    origins_[dotted] = {scope, scope == settings::Scope::request ? "--" + dotted : "a test"};
  }
  return *this;
}

FakeMachine::FakeMachine() {
  for (const char* path :
       {"/tmp", "/var/tmp", "/run", "/dev/shm", "/home/u/ws", "/root", "/etc", "/usr/bin", "/usr/lib", "/opt"}) {
    folder(path);
  }
  link("/bin", "usr/bin").link("/lib", "usr/lib");
  facts.uid = 1000;
  facts.gid = 1000;
  facts.home = "/home/u";
  facts.hostname = "machine";
  facts.landlock_abi = 7;
  facts.workspace = "/home/u/ws";
  facts.environment = {{"PATH", "/usr/bin"}, {"HOME", "/home/u"}, {"LANG", "C.UTF-8"}};
}

FakeMachine& FakeMachine::add(const std::string& path, Node node) {
  for (std::string parent = parent_of(path); parent != "/"; parent = parent_of(parent)) nodes_.try_emplace(parent);
  nodes_[path] = std::move(node);
  return *this;
}
FakeMachine& FakeMachine::folder(const std::string& path) { return add(path, {FileKind::folder, ""}); }
FakeMachine& FakeMachine::file(const std::string& path) { return add(path, {FileKind::regular, ""}); }
FakeMachine& FakeMachine::fifo(const std::string& path) { return add(path, {FileKind::other, ""}); }
FakeMachine& FakeMachine::link(const std::string& path, const std::string& target) {
  return add(path, {FileKind::symlink, target});
}
FakeMachine& FakeMachine::without(const std::string& path) {
  std::erase_if(nodes_, [&](const auto& node) { return is_at_or_below(node.first, path); });
  return *this;
}

PathFact FakeMachine::inspect(const std::string& path) const {
  PathFact fact;
  if (const auto self = nodes_.find(path); self != nodes_.end()) fact.is_link = self->second.kind == FileKind::symlink;
  std::deque<std::string> rest = components(path);
  std::string place = "/";
  FileKind kind = FileKind::folder;
  while (!rest.empty()) {
    const std::string name = rest.front();
    if (name == "..") {
      rest.pop_front();
      place = parent_of(place);
      continue;
    }
    const auto node = nodes_.find(join_path(place, name));
    if (node == nodes_.end()) {
      fact.landing = place;
      for (const std::string& missing : rest) fact.landing = join_path(fact.landing, missing);
      return fact;
    }
    rest.pop_front();
    kind = node->second.kind;
    if (kind != FileKind::symlink) {
      place = node->first;
      continue;
    }
    fact.links.push_back(node->first);
    if (fact.links.size() > 40) return fact;
    std::deque<std::string> target = components(node->second.target);
    rest.insert(rest.begin(), target.begin(), target.end());
    if (node->second.target.starts_with('/')) place = "/";
    kind = FileKind::folder;
  }
  fact.kind = kind;
  fact.device = 1;
  fact.inode = 2 + static_cast<std::uint64_t>(std::distance(nodes_.begin(), nodes_.lower_bound(place)));
  fact.resolved = fact.landing = place;
  return fact;
}

Facts FakeMachine::look(const settings::Settings& settings, const std::vector<std::string>& also) const {
  Facts result = facts;
  const auto ask = [&](const std::string& path) {
    const PathFact fact = inspect(path);
    result.paths[path] = fact;
    if (!fact.landing.empty()) result.paths[fact.landing] = inspect(fact.landing);
  };
  ask(facts.workspace);
  const std::string base = inspect(facts.workspace).landing;
  ask(join_path(base, ".exechost.json"));
  for (const char* path : {"/tmp", "/var/tmp", "/run", "/dev/shm", "/home", "/root"}) ask(path);
  for (const char* list :
       {"filesystem.allow_write", "filesystem.deny_write", "filesystem.allow_read", "filesystem.deny_read"}) {
    for (const std::string& path : list_setting(settings, list)) ask(expand_path(path, base, facts.home));
  }
  for (const auto* paths : {&facts.toolchain_paths, &facts.credential_paths, &facts.own_paths, &facts.own_private_paths,
                            &facts.other_homes}) {
    for (const std::string& path : *paths) ask(path);
  }
  for (const std::string& link : facts.own_links) ask(parent_of(link));
  ask(facts.home);
  if (!facts.environment_home.empty()) ask(facts.environment_home);
  for (const std::string& path : also) ask(expand_path(path, base, facts.home));
  return result;
}

BackendFacts bwrap() {
  BackendFacts backend;
  backend.id = "bwrap";
  backend.library = "/usr/lib/exechost/plugins/bwrap.so";
  backend.library_sha256 = std::string(64, 'a');
  backend.statement.backend = "bwrap";
  backend.statement.boundary = "process";
  backend.statement.locality = "local";
  backend.statement.guest = GuestEntry::control_fd;
  backend.statement.platforms = {"linux"};
  backend.probe = Probe{};
  backend.probe->ready = true;
  const std::map<std::string, std::string> kernel{{"files", "mount namespace"},
                                                  {"syscalls", "seccomp"},
                                                  {"processes", "PID namespace"},
                                                  {"users", "user namespace"},
                                                  {"network.none", "network namespace"},
                                                  {"tree_kill", "PID namespace"},
                                                  {"stdin", "pipes"},
                                                  {"pty", "terminal"},
                                                  {"signals", "guest"}};
  for (const auto& [name, by] : kernel) {
    backend.statement.capabilities[name] = {Grade::kernel, by, ""};
    backend.probe->capabilities[name] = {Grade::kernel, "", "seen"};
  }
  return backend;
}

BackendFacts local() {
  BackendFacts backend;
  backend.id = kLocalBackend;
  backend.statement = node::statement();
  backend.probe = Probe{};
  backend.probe->ready = true;
  for (const auto& [name, capability] : backend.statement.capabilities) {
    backend.probe->capabilities[name] = {capability.grade, "", "seen"};
  }
  backend.probe->capabilities["tree_kill"] = {Grade::emulated, "child subreaper", "not delegated"};
  return backend;
}

void grant(BackendFacts& backend, const std::string& capability, Grade grade) {
  backend.statement.capabilities[capability].grade = grade;
  backend.statement.capabilities[capability].by = "a test";
  backend.probe->capabilities[capability].grade = grade;
}

std::vector<std::string> shape(const View& view) {
  std::vector<std::string> lines;
  for (const ViewEntry& entry : view.entries) {
    lines.push_back(
        fmt::format("{}={}{}", entry.path, to_string(entry.access), entry.source.empty() ? "" : "<" + entry.source));
  }
  return lines;
}

Result<Plan> Planned::plan() const {
  const settings::Settings built = settings.build();
  std::vector<std::string> also{text_setting(built, "cwd")};
  if (request.cwd) also.push_back(*request.cwd);
  const Facts facts = machine.look(built, also);
  return make_plan({request, built, backends, facts, can_ask, false, builtin, workspace_copy});
}

Result<View> Planned::view(std::vector<std::string>* warnings) const {
  const settings::Settings built = settings.build();
  const Facts facts = machine.look(built);
  std::vector<std::string> ignored;
  return compose_view(built, facts, facts.path(facts.workspace).resolved, warnings == nullptr ? ignored : *warnings);
}

}  // namespace exechost::plan::testing
