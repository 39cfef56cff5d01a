#include "core/plan/compose.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "core/base/utf8.hpp"
#include "core/plan/paths.hpp"
#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"
#include "core/plan/system_folders.hpp"
#include "core/plan/view_rules.hpp"

namespace exechost::plan {
namespace {

constexpr std::uint64_t kDefaultPrivateSize = 1024ULL * 1024 * 1024;
constexpr std::string_view kOwnReason = "ExecHost's own files";

bool belongs_to_environment(const std::string& path) {
  if (is_at_or_below(path, "/dev/shm")) return false;
  return is_at_or_below(path, "/proc") || is_at_or_below(path, "/dev");
}

bool can_be_private(const std::string& home) {
  if (home.empty() || home == "/" || belongs_to_environment(home)) return false;
  if (depth_of(home) == 1 && (home == "/opt" || home == "/var" || home == "/srv" || home == "/run")) return false;
  // Some accounts have theirs where programs can't do without what is there.
  return !is_in_system_tree(home);
}

// A path that a setting names.
struct Named {
  std::string given;
  std::string path;  // absolute, normal
  const PathFact* fact = nullptr;
};

class Composer {
 public:
  Composer(const settings::Settings& settings, const Facts& facts, const std::string& workspace,
           std::vector<std::string>& warnings)
      : settings_(settings), facts_(facts), workspace_(workspace), warnings_(warnings) {}

  Result<View> compose() {
    add_system();
    add_homes();
    add_workspace();
    add_grants("filesystem.allow_write", RuleKind::allow_write, Access::rw);
    add_grants("filesystem.allow_read", RuleKind::allow_read, Access::ro);
    if (auto done = add_denied_reads(); !done) return unexpected(done.error());
    if (auto done = add_denied_writes(); !done) return unexpected(done.error());
    if (auto done = protect_own(); !done) return unexpected(done.error());
    add_aliases();
    View view = render(rules_, facts_);
    for (const ViewEntry& entry : view.entries) {
      if (is_valid_utf8(entry.path) && is_valid_utf8(entry.source)) continue;
      return unexpected(plan_failure(FailureKind::invalid_request,
                                     fmt::format("{} ({}) is not valid UTF-8", quote(entry.path), entry.reason),
                                     "rename it, or remove the setting that leads to it"));
    }
    return view;
  }

 private:
  std::uint64_t size(std::string_view name) const {
    return count_setting(settings_, name).value_or(kDefaultPrivateSize);
  }

  std::string landing(const std::string& path) const {
    const std::string& place = facts_.path(path).landing;
    return place.empty() ? path : place;
  }

  void add_rule(std::string path, RuleKind kind, Access access, std::string reason, std::uint64_t bytes = 0) {
    Rule rule;
    rule.path = std::move(path);
    rule.kind = kind;
    rule.access = access;
    rule.size_bytes = bytes;
    rule.reason = std::move(reason);
    rules_.add(std::move(rule));
  }

  void add_system() {
    add_rule("/", RuleKind::system, Access::ro, "the system");
    for (const char* folder : {"/tmp", "/var/tmp", "/run", "/dev/shm"}) {
      // A link (/var/tmp -> /tmp) leads to one that is private already; /dev is the environment's own.
      const std::string path = std::string_view(folder) == "/dev/shm" ? folder : landing(folder);
      add_rule(path, RuleKind::system, Access::private_, "private scratch space", size("resources.tmp_size"));
    }
    for (const char* root : {"/home", "/root"}) {
      // Somebody's home may be one of these itself: then add_homes() makes it the private one.
      const std::string folder = landing(root);
      if (folder != facts_.home || !can_be_private(folder))
        add_rule(folder, RuleKind::system, Access::hidden, "home folders");
    }
  }

  void add_homes() {
    if (facts_.environment_home != facts_.home && can_be_private(facts_.environment_home)) {
      add_rule(facts_.environment_home, RuleKind::system, Access::hidden, "another home folder");
    }
    for (const std::string& home : facts_.other_homes) {
      // One that holds the user's own is not only somebody else's.
      if (can_be_private(home) && !is_at_or_below(facts_.home, home))
        add_rule(home, RuleKind::system, Access::hidden, "another account's home folder");
    }
    const std::string mode = text_setting(settings_, "filesystem.home", "toolchains");
    for (const std::string& secret : facts_.credential_paths) {
      add_rule(secret, RuleKind::credential, Access::hidden, "credentials");
    }
    if (can_be_private(facts_.home)) {
      if (mode == "read") {
        add_rule(facts_.home, RuleKind::home, Access::ro, "filesystem.home is read");
      } else {
        add_rule(facts_.home, RuleKind::home, Access::private_, "private home", size("resources.home_size"));
      }
    }
    if (mode != "toolchains") return;
    for (const std::string& path : facts_.toolchain_paths) {
      const std::string target = landing(path);
      if (target == path) {
        add_rule(path, RuleKind::toolchain, Access::ro, "toolchain");
      } else {
        aliases_.push_back({path, target, RuleKind::toolchain, Access::ro, "toolchain"});
      }
    }
  }

  void add_workspace() {
    const bool writable = text_setting(settings_, "filesystem.workspace_access", "rw") != "ro";
    add_rule(workspace_, RuleKind::workspace, writable ? Access::rw : Access::ro,
             writable ? "workspace" : "workspace, read-only");
    const std::string project_file = join_path(workspace_, ".exechost.json");
    const PathFact& fact = facts_.path(project_file);
    if (fact.kind == FileKind::regular && !fact.is_link) rules_.add(WriteCap{project_file, "the project's settings"});
    writable_roots_.push_back(workspace_);
  }

  std::vector<Named> named(std::string_view setting) const {
    std::vector<Named> result;
    for (const std::string& given : list_setting(settings_, setting)) {
      Named item;
      item.given = given;
      item.path = expand_path(given, workspace_, facts_.home);
      item.fact = &facts_.path(item.path);
      result.push_back(std::move(item));
    }
    return result;
  }

  void warn(std::string_view setting, const std::string& given, std::string_view what) {
    warnings_.push_back(fmt::format("{}: {} {}", setting, quote(given), what));
  }

  // The first link on the way that a command could have laid there itself.
  std::string planted_link(const Named& item) const {
    for (const std::string& link : item.fact->links) {
      for (const std::string& root : writable_roots_) {
        if (is_below(link, root)) return link;
      }
    }
    return {};
  }

  bool is_own(const std::string& path) const {
    for (const auto* paths : {&facts_.own_paths, &facts_.own_private_paths}) {
      if (std::any_of(paths->begin(), paths->end(),
                      [&](const std::string& own) { return is_at_or_below(path, own); })) {
        return true;
      }
    }
    return false;
  }

  void add_grants(std::string_view setting, RuleKind kind, Access access) {
    const std::vector<Named> items = named(setting);
    if (access == Access::rw) {
      for (const Named& item : items) {
        if (item.fact->kind != FileKind::missing) writable_roots_.push_back(item.fact->resolved);
      }
    }
    for (const Named& item : items) {
      const std::string& target = item.fact->resolved;
      if (item.fact->kind == FileKind::missing) {
        warn(setting, item.given, "does not exist; it is not created and gives nothing");
      } else if (belongs_to_environment(target)) {
        warn(setting, item.given, "has no effect: every environment has its own /proc and /dev");
      } else if (is_own(target) && (access == Access::rw || is_private(target))) {
        warn(setting, item.given, "has no effect: ExecHost's own files stay out of reach");
      } else if (const std::string link = planted_link(item); !link.empty() && !inside_a_writable_root(target)) {
        warn(setting, item.given,
             fmt::format(
                 "has no effect: the link {} lies in a writable folder, so a command could have laid it; name {} "
                 "itself",
                 quote(link), quote(target)));
      } else {
        add_rule(target, kind, access, std::string(setting));
        if (target != item.path) aliases_.push_back({item.path, target, kind, access, std::string(setting)});
      }
    }
  }

  bool inside_a_writable_root(const std::string& target) const {
    return std::any_of(writable_roots_.begin(), writable_roots_.end(),
                       [&](const std::string& root) { return root != target && is_below(target, root); }) ||
           target == workspace_;
  }

  bool is_private(const std::string& path) const {
    return std::any_of(facts_.own_private_paths.begin(), facts_.own_private_paths.end(),
                       [&](const std::string& own) { return is_at_or_below(path, own); });
  }

  Result<void> add_denied_reads() {
    for (const Named& item : named("filesystem.deny_read")) {
      if (item.fact->kind == FileKind::missing) continue;  // nothing there that could be read
      if (belongs_to_environment(item.fact->resolved)) {
        auto done = refuse_unless_best_effort(
            settings_, "filesystem.deny_read",
            fmt::format("filesystem.deny_read: {} can't be hidden: every environment has its own /proc and /dev",
                        quote(item.given)),
            warnings_);
        if (!done) return done;
        continue;
      }
      add_rule(item.fact->resolved, RuleKind::deny_read, Access::hidden, "filesystem.deny_read");
    }
    return {};
  }

  // A name that does not exist yet, or that is a link, is protected by no mount over it.
  Result<void> add_denied_writes() {
    for (const Named& item : named("filesystem.deny_write")) {
      const std::string& place = item.fact->landing.empty() ? item.path : item.fact->landing;
      std::string problem;
      if (item.fact->kind == FileKind::missing && rules_.writable_on_host(place)) {
        problem = "does not exist and lies in a writable folder, so it could be created";
      }
      for (const std::string& link : item.fact->links) {
        if (rules_.writable_on_host(parent_of(link))) {
          problem =
              fmt::format("leads over the link {}, which lies in a writable folder and could be replaced", quote(link));
        }
      }
      if (!problem.empty()) {
        auto done = refuse_unless_best_effort(
            settings_, "filesystem.deny_write",
            fmt::format("filesystem.deny_write: {} {}; this version can't prevent that", quote(item.given), problem),
            warnings_);
        if (!done) return done;
      }
      rules_.add(WriteCap{place, "filesystem.deny_write"});
    }
    return {};
  }

  struct Alias {
    std::string path;
    std::string target;
    RuleKind kind;
    Access access;
    std::string reason;
  };

  // A path given through a link is reachable under that name too where the link itself is not seen.
  void add_aliases() {
    for (const Alias& alias : aliases_) {
      if (rules_.shows_host(parent_of(alias.path)) || !rules_.shows_host(alias.target)) continue;
      Rule rule;
      rule.path = alias.path;
      rule.kind = alias.kind;
      rule.access = rules_.writable_on_host(alias.target) ? alias.access : Access::ro;
      rule.source = alias.target;
      rule.reason = alias.reason;
      keep_behind(alias, rule.access);
      rules_.add(std::move(rule));
    }
  }

  // What is kept where a link leads is kept under the link's name too: hidden, or not writable.
  void keep_behind(const Alias& alias, Access access) {
    for (const std::string& path : rules_.paths()) {
      if (!is_below(path, alias.target)) continue;
      const ViewEntry there = rules_.decide(path);
      const bool readable = there.access == Access::ro || there.access == Access::rw;
      if (readable && (access == Access::ro || there.access == Access::rw)) continue;
      Rule rule;
      rule.path = alias.path + path.substr(alias.target.size());
      rule.kind = RuleKind::deny_read;
      rule.access = readable ? Access::ro : Access::hidden;
      rule.source = path;
      rule.reason = there.reason;
      rules_.add(std::move(rule));
    }
  }

  Result<void> protect_own() {
    for (const std::string& own : facts_.own_private_paths) {
      if (auto done = must_exist(own); !done) return done;
    }
    for (const std::string& own : facts_.own_paths) {
      if (own == join_path(workspace_, ".exechost.json")) continue;
      if (auto done = must_exist(own); !done) return done;
    }
    // No mount goes over a link: what holds it can't be written, or a command would lay another one.
    for (const std::string& link : facts_.own_links) {
      const std::string folder = parent_of(link);
      if (!rules_.writable_on_host(folder)) continue;
      if (is_at_or_below(workspace_, folder)) return unexpected(own_link_in_reach(link));
      rules_.add(WriteCap{folder, std::string(kOwnReason)});
    }
    for (const std::string& own : facts_.own_paths) rules_.add(WriteCap{own, std::string(kOwnReason)});
    for (const std::string& own : facts_.own_private_paths) {
      add_rule(own, RuleKind::own_private, Access::hidden, std::string(kOwnReason));
    }
    return {};
  }

  static Failure own_link_in_reach(const std::string& link) {
    return plan_failure(
        FailureKind::invalid_request,
        fmt::format("the link {} leads to ExecHost's own files and lies in a folder that would be writable",
                    quote(link)),
        "name in the settings what the link leads to, or make less writable");
  }

  // What is not there yet could be made by a command, with any content.
  Result<void> must_exist(const std::string& own) const {
    if (facts_.path(own).kind != FileKind::missing || !rules_.writable_on_host(own)) return {};
    return unexpected(plan_failure(
        FailureKind::invalid_request,
        fmt::format("ExecHost's own {} does not exist yet and lies in a folder that would be writable", quote(own)),
        fmt::format("create it first (mkdir -p {}), or make less writable", quote(own))));
  }

  const settings::Settings& settings_;
  const Facts& facts_;
  const std::string& workspace_;
  std::vector<std::string>& warnings_;
  ViewRules rules_;
  std::vector<std::string> writable_roots_;
  std::vector<Alias> aliases_;
};

}  // namespace

std::string home_inside(const Facts& facts) {
  if (!can_be_private(facts.home)) return "/tmp";
  const bool makeable =
      facts.path(facts.home).kind == FileKind::folder || is_below(facts.home, "/home") || is_below(facts.home, "/tmp");
  return makeable ? facts.home : "/tmp";
}

Result<View> compose_view(const settings::Settings& settings, const Facts& facts, const std::string& workspace,
                          std::vector<std::string>& warnings) {
  return Composer(settings, facts, workspace, warnings).compose();
}

}  // namespace exechost::plan
