#include "core/plan/negotiation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>

#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::plan {
namespace {

using nlohmann::json;

constexpr std::string_view kKeptByHost = "ExecHost's deadline";
constexpr std::array<const char*, 2> kPrivateSizes{"resources.tmp_size", "resources.home_size"};
constexpr std::string_view kEndsWithCommand = "the environment ends with its command";

// In force from the weakest grade that somebody enforces at all.
bool enforced(const Capability& capability) { return capability.grade >= Grade::emulated; }

Statement in_force(const BackendFacts& backend) {
  return backend.probe ? combine(backend.statement, *backend.probe) : backend.statement;
}

class Negotiation {
 public:
  Negotiation(const PlanInput& input, const BackendFacts& backend)
      : settings_(input.settings), input_(input), backend_(backend) {}

  Negotiated run() {
    result_.statement = in_force(backend_);
    if (auto reason = unusable()) {
      result_.rejected = std::move(reason);
      return std::move(result_);
    }
    files();
    network();
    image();
    limit("resources.cpu", "cpu");
    limit("resources.memory", "memory");
    limit("resources.disk", "disk");
    pids();
    session();
    streams();
    kept_by_host();
    collect_resources();
    describe_isolation();
    return std::move(result_);
  }

 private:
  Capability have(std::string_view name) const { return result_.statement.capability(name); }
  bool best_effort(std::string_view name) const { return is_best_effort(settings_, name); }

  void reject(FailureKind kind, std::string message, std::string hint) {
    if (result_.rejected) return;  // the first reason is the one to act on
    result_.rejected = plan_failure(kind, std::move(message), std::move(hint), backend_.id);
  }

  std::optional<Failure> unusable() const {
    const std::string& platform = input_.facts.platform;
    if (backend_.unusable) {
      Failure failure = *backend_.unusable;
      failure.backend = backend_.id;
      return failure;
    }
    const std::vector<std::string> enabled = list_setting(settings_, "enabled_platforms");
    if (settings_.at("enabled_platforms").is_array() &&
        std::find(enabled.begin(), enabled.end(), platform) == enabled.end()) {
      return plan_failure(
          FailureKind::unavailable, fmt::format("platform \"{}\" is not in enabled_platforms", platform),
          fmt::format("enabled_platforms comes from {}", origin_text(settings_, "enabled_platforms")), backend_.id);
    }
    const std::vector<std::string>& platforms = backend_.statement.platforms;
    if (std::find(platforms.begin(), platforms.end(), platform) == platforms.end()) {
      return plan_failure(FailureKind::unavailable,
                          fmt::format("backend \"{}\" does not run on platform \"{}\"", backend_.id, platform), {},
                          backend_.id);
    }
    if (!backend_.probe) {
      return plan_failure(FailureKind::unavailable, fmt::format("backend \"{}\" was not probed", backend_.id), {},
                          backend_.id);
    }
    if (!backend_.probe->ready) {
      const std::string& reason = backend_.probe->reason;
      return plan_failure(FailureKind::unavailable,
                          fmt::format("backend \"{}\" is not ready: {}", backend_.id,
                                      reason.empty() ? "its probe gave no reason" : reason),
                          backend_.probe->hint, backend_.id);
    }
    return std::nullopt;
  }

  // "docker, modal have it": every other backend whose statement does.
  std::string who_has(std::string_view capability) const {
    std::vector<std::string> names;
    for (const BackendFacts& other : input_.backends) {
      if (other.id != backend_.id && enforced(in_force(other).capability(capability))) names.push_back(other.id);
    }
    return names.empty() ? "no installed backend has it"
                         : fmt::format("installed backends that have it: {}", fmt::join(names, ", "));
  }

  void report(std::string_view name, const json& effective, const Capability& by) {
    SettingReport entry;
    entry.name = std::string(name);
    entry.requested =
        settings_.requested(name) ? settings_.at(name).dump(-1, ' ', false, json::error_handler_t::replace) : "null";
    entry.effective = effective.dump(-1, ' ', false, json::error_handler_t::replace);
    entry.grade = std::string(to_string(by.grade));
    entry.enforced_by = by.by;
    entry.origin = origin_text(settings_, name);
    result_.reports.push_back(std::move(entry));
  }

  // The backend falls short of a setting: accepted by best_effort, a reason to reject it when the
  // setting is a requirement, else only reported.
  void missing(std::string_view setting, std::string_view capability, bool required) {
    missing(setting, capability, have(capability), required);
  }
  void missing(std::string_view setting, std::string_view capability, const Capability& found, bool required) {
    const std::string what =
        fmt::format("backend \"{}\" can't enforce {} ({}: {}{}{})", backend_.id, setting, capability,
                    to_string(found.grade), found.evidence.empty() ? "" : ", ", found.evidence);
    if (best_effort(setting)) {
      result_.warnings.push_back(what + "; best_effort accepts that");
    } else if (required) {
      reject(
          FailureKind::unsupported, what,
          fmt::format("{}; or accept that it is not enforced with best_effort [\"{}\"]", who_has(capability), setting));
    }
  }

  // A place that was chosen for having no isolation falls short of nothing but what somebody set.
  bool isolates_nothing() const { return backend_.id == kLocalBackend; }

  void files() {
    const Capability found = have("files");
    if (!enforced(found)) missing("filesystem", "files", !isolates_nothing() || settings_.requested("filesystem"));
    if (isolates_nothing()) {
      for (const auto& [name, origin] : settings_.origins()) {
        if (name.starts_with("filesystem.")) report(name, nullptr, found);
      }
      for (const char* bytes : kPrivateSizes) {
        if (!settings_.requested(bytes)) continue;
        missing(bytes, "files", true);
        report(bytes, nullptr, found);
      }
      return;
    }
    report("filesystem.home", settings_.at("filesystem.home"), found);
    report("filesystem.workspace_access", settings_.at("filesystem.workspace_access"), found);
    for (const char* list :
         {"filesystem.allow_write", "filesystem.deny_write", "filesystem.allow_read", "filesystem.deny_read"}) {
      if (settings_.at(list).is_array() && !settings_.at(list).empty()) report(list, settings_.at(list), found);
    }
    for (const char* bytes : kPrivateSizes) {
      report(bytes, enforced(found) ? settings_.at(bytes) : json(nullptr), found);
    }
  }

  void network() {
    NetworkPolicy& policy = result_.network;
    policy.mode = text_setting(settings_, "network.mode", "none");
    policy.allowed_domains = list_setting(settings_, "network.allowed_domains");
    policy.denied_domains = list_setting(settings_, "network.denied_domains");
    // Filtered to nothing is no network; that needs no filter.
    if (policy.mode == "filtered" && policy.allowed_domains.empty()) policy.mode = "none";

    std::string capability = "network." + policy.mode;
    if (!enforced(have(capability))) {
      missing("network.mode", capability, !isolates_nothing() || settings_.requested("network.mode"));
      // Less network than asked for is always safe; more is only what best_effort said yes to.
      policy.mode = policy.mode != "none" && enforced(have("network.none")) ? "none" : "full";
      capability = "network." + policy.mode;
    }
    if (policy.mode != "filtered") policy.allowed_domains.clear();
    report("network.mode", policy.mode, have(capability));
    for (const char* list : {"network.allowed_domains", "network.denied_domains"}) {
      if (settings_.at(list).is_array() && !settings_.at(list).empty()) {
        report(list, policy.mode == "full" ? json::array() : settings_.at(list), have(capability));
      }
    }
    // A deny list means something only where something else is reachable.
    if (policy.mode == "full" && !policy.denied_domains.empty() && !enforced(have("network.filtered"))) {
      missing("network.denied_domains", "network.filtered", settings_.requested("network.denied_domains"));
      policy.denied_domains.clear();
    }
  }

  void image() {
    const std::string image = text_setting(settings_, "image");
    if (image.empty()) return;
    const Capability found = have("image");
    if (enforced(found)) {
      result_.image = image;
    } else {
      missing("image", "image", settings_.requested("image"));
    }
    report("image", result_.image.empty() ? json(nullptr) : json(result_.image), found);
  }

  void limit(std::string_view setting, std::string_view capability) {
    const json& value = settings_.at(setting);
    if (value.is_null()) return;
    const Capability found = have(capability);
    if (!enforced(found)) missing(setting, capability, settings_.requested(setting));
    report(setting, enforced(found) ? value : json(nullptr), found);
    if (enforced(found)) kept_.emplace_back(setting);
  }

  void pids() {
    const json& value = settings_.at("resources.pids");
    if (value.is_null()) return;
    Capability found = have("pids");
    // Without a user namespace of its own RLIMIT_NPROC would count everything the user runs.
    const bool guest_applies_it =
        result_.statement.guest != GuestEntry::none && result_.statement.locality == "local" && !isolates_nothing();
    if (!enforced(found) && guest_applies_it) {
      if (input_.facts.uid != 0) {
        found.grade = Grade::kernel;
        found.by = "RLIMIT_NPROC";
      } else if (found.evidence.empty() || !result_.statement.capabilities.contains("pids")) {
        found.evidence = "the kernel does not hold root to RLIMIT_NPROC";
      }
    }
    if (!enforced(found)) missing("resources.pids", "pids", found, settings_.requested("resources.pids"));
    report("resources.pids", enforced(found) ? value : json(nullptr), found);
    if (enforced(found)) kept_.emplace_back("resources.pids");
  }

  void session() {
    const Capability found = have("persistent");
    const bool wanted = flag_setting(settings_, "session.persistent", true);
    const std::string name = text_setting(settings_, "session.name");
    if (wanted && !enforced(found))
      missing("session.persistent", "persistent", settings_.requested("session.persistent"));
    if (!name.empty() && !wanted) {
      reject(FailureKind::invalid_request,
             fmt::format("session.name is {} and session.persistent is false; a named session lasts", quote(name)),
             "leave out one of the two");
    } else if (!name.empty() && !enforced(found)) {
      missing("session.name", "persistent", true);
    }
    // A run of its own is a session of its own, which ends with it; one with a name can be joined, and outlives it.
    result_.persistent = wanted && enforced(found) && (!input_.single_run || !name.empty());
    const bool refused = wanted && !enforced(found);
    report("session.persistent", wanted && enforced(found),
           result_.persistent || refused ? found : Capability{Grade::emulated, std::string(kEndsWithCommand), ""});
    if (!name.empty()) report("session.name", result_.persistent ? json(name) : json(nullptr), found);
    const Capability lifetime = result_.persistent ? Capability{Grade::emulated, std::string(kKeptByHost), ""}
                                                   : Capability{Grade::emulated, std::string(kEndsWithCommand), ""};
    for (const char* span : {"session.idle_timeout", "session.max_lifetime"})
      report(span, settings_.at(span), lifetime);
  }

  void streams() {
    const auto need = [&](std::string_view what, std::string_view capability) {
      const Capability found = have(capability);
      if (enforced(found)) return;
      reject(FailureKind::unsupported,
             fmt::format("backend \"{}\" can't give the command {} ({}: {})", backend_.id, what, capability,
                         to_string(found.grade)),
             who_has(capability));
    };
    if (input_.request.tty) need("a terminal", "pty");
    if (!input_.request.tty && input_.request.standard_input.kind != StdinSource::Kind::none)
      need("standard input", "stdin");
  }

  void kept_by_host() {
    const Capability deadline{Grade::emulated, std::string(kKeptByHost), ""};
    const Capability buffer{Grade::emulated, "ExecHost's output buffer", ""};
    report("resources.timeout", settings_.at("resources.timeout"), deadline);
    report("resources.kill_grace", settings_.at("resources.kill_grace"), deadline);
    report("resources.output_cap", settings_.at("resources.output_cap"), buffer);
    report("resources.output_spill", settings_.at("resources.output_spill"), buffer);
    if (isolates_nothing()) {
      // What a time-out or a cancellation is worth here.
      report("tree_kill", true, have("tree_kill"));
      return;
    }
    report("workspace.mode", text_setting(settings_, "workspace.mode", "direct"), have("files"));
  }

  void collect_resources() {
    const auto kept = [&](std::string_view name) { return std::find(kept_.begin(), kept_.end(), name) != kept_.end(); };
    if (kept("resources.cpu") && settings_.at("resources.cpu").is_number()) {
      result_.resources.cpu = settings_.at("resources.cpu").get<double>();
    }
    if (kept("resources.memory")) result_.resources.memory_bytes = count_setting(settings_, "resources.memory");
    if (kept("resources.disk")) result_.resources.disk_bytes = count_setting(settings_, "resources.disk");
    if (kept("resources.pids")) result_.resources.pids = count_setting(settings_, "resources.pids");
  }

  void describe_isolation() {
    if (isolates_nothing()) {
      result_.isolation = {"none"};
      return;
    }
    const auto line = [&](std::string_view what, const Capability& by) {
      result_.isolation.push_back(by.by.empty() ? fmt::format("{}: {}", what, to_string(by.grade))
                                                : fmt::format("{}: {} ({})", what, by.by, to_string(by.grade)));
    };
    for (const char* name : {"files", "syscalls", "processes", "users"}) {
      if (const Capability found = have(name); enforced(found)) line(name, found);
    }
    if (result_.network.mode != "full")
      line("network " + result_.network.mode, have("network." + result_.network.mode));
    const bool guest = result_.statement.guest != GuestEntry::none;
    if (guest && result_.statement.locality == "local" && input_.facts.landlock_abi > 0) {
      result_.isolation.push_back(fmt::format("files: Landlock, ABI {}{} (kernel)", input_.facts.landlock_abi,
                                              enforced(have("files")) ? "" : ", against writing only"));
    }
    if (!guest && backend_.id != kGatewayBackend) {
      result_.warnings.push_back(fmt::format(
          "backend \"{}\" takes no guest: system calls are not filtered and Landlock is not used by ExecHost",
          backend_.id));
    }
    if (result_.isolation.empty()) result_.isolation.emplace_back("none");
  }

  const settings::Settings& settings_;
  const PlanInput& input_;
  const BackendFacts& backend_;
  Negotiated result_;
  std::vector<std::string> kept_;
};

}  // namespace

Negotiated negotiate(const PlanInput& input, const BackendFacts& backend) { return Negotiation(input, backend).run(); }

}  // namespace exechost::plan
