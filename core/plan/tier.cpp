#include "core/plan/tier.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::plan {
namespace {

constexpr std::string_view kLocal = "local";  // the node tier, as a candidate

Failure node_missing() {
  return plan_failure(
      FailureKind::unsupported, "the node tier (a plain process on this host) is not part of this version",
      "use tier \"sandbox\"; for no isolation at all, start the command without ExecHost", std::string(kLocal));
}

std::string installed(const std::vector<BackendFacts>& backends) {
  std::vector<std::string> ids;
  for (const BackendFacts& backend : backends) ids.push_back(backend.id);
  return ids.empty() ? "no backend is installed" : fmt::format("installed backends: {}", fmt::join(ids, ", "));
}

std::vector<std::string> candidate_ids(const settings::Settings& settings) {
  std::vector<std::string> ids{text_setting(settings, "backend", "bwrap")};
  for (const std::string& id : list_setting(settings, "fallback")) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

// The failures after which another place may be tried: the command has certainly not started.
bool allows_fallback(FailureKind kind) {
  return kind == FailureKind::unavailable || kind == FailureKind::provision_failed ||
         kind == FailureKind::plugin_crashed || kind == FailureKind::protocol_error;
}

struct Tried {
  const BackendFacts* backend = nullptr;
  Negotiated negotiated;
};

Tried consider(const PlanInput& input, const std::string& id) {
  Tried tried;
  if (id == kLocal) {
    tried.negotiated.rejected = node_missing();
    return tried;
  }
  const auto found = std::find_if(input.backends.begin(), input.backends.end(),
                                  [&](const BackendFacts& backend) { return backend.id == id; });
  if (found == input.backends.end()) {
    tried.negotiated.rejected = plan_failure(
        FailureKind::unavailable, fmt::format("backend {} is not installed", quote(id)), installed(input.backends), id);
    return tried;
  }
  tried.backend = &*found;
  tried.negotiated = negotiate(input, *found);
  return tried;
}

}  // namespace

Result<std::string> choose_tier(const settings::Settings& settings) {
  const std::string tier = text_setting(settings, "tier", "sandbox");
  if (tier == "node" || text_setting(settings, "backend", "bwrap") == kLocal) {
    Failure failure = node_missing();
    failure.message +=
        fmt::format(" (tier \"{}\", from {})", tier, origin_text(settings, tier == "node" ? "tier" : "backend"));
    return unexpected(failure);
  }
  if (tier == "gateway") {
    return unexpected(
        plan_failure(FailureKind::unsupported,
                     fmt::format("the gateway tier is not part of this version (tier \"gateway\", from {})",
                                 origin_text(settings, "tier")),
                     "use tier \"sandbox\""));
  }
  if (tier != "sandbox") {
    return unexpected(plan_failure(FailureKind::invalid_request,
                                   fmt::format("tier {} must be sandbox, gateway or node", quote(tier))));
  }
  return tier;
}

Result<std::string> choose_on_unavailable(const settings::Settings& settings) {
  std::string value = text_setting(settings, "on_unavailable", "ask");
  const nlohmann::json& strict = settings.at("fail_if_unavailable");
  if (!strict.is_boolean()) return value;
  const std::string meant = strict.get<bool>() ? "closed" : "open";
  if (settings.requested("on_unavailable") && value != meant) {
    return unexpected(
        plan_failure(FailureKind::invalid_request,
                     fmt::format("fail_if_unavailable is {} (from {}), which means on_unavailable \"{}\", but "
                                 "on_unavailable is {} (from {})",
                                 strict.get<bool>(), origin_text(settings, "fail_if_unavailable"), meant, quote(value),
                                 origin_text(settings, "on_unavailable")),
                     "set only one of the two"));
  }
  return meant;
}

Result<Choice> choose_backend(const PlanInput& input, const std::string& on_unavailable) {
  Choice choice;
  std::optional<Failure> first;
  for (const std::string& id : candidate_ids(input.settings)) {
    Tried tried = consider(input, id);
    choice.candidates.push_back({id, tried.negotiated.rejected});
    const bool usable = !tried.negotiated.rejected;
    if (choice.candidates.size() == 1) {
      first = tried.negotiated.rejected;
    } else if (choice.backend != nullptr || !usable || on_unavailable != "open" || !allows_fallback(first->kind)) {
      continue;
    }
    if (!usable) continue;
    choice.backend = tried.backend;
    choice.negotiated = std::move(tried.negotiated);
    if (first) {
      choice.warnings.push_back(fmt::format("runs in \"{}\" instead: {} (on_unavailable is open)", id, first->message));
    }
  }
  if (choice.backend != nullptr) return choice;

  Failure failure = *first;
  if (allows_fallback(failure.kind) && choice.candidates.size() > 1) {
    // A person may want to know that there would have been a second place, and why it wasn't taken.
    std::vector<std::string> others;
    for (std::size_t i = 1; i < choice.candidates.size(); ++i) {
      const Candidate& other = choice.candidates[i];
      others.push_back(fmt::format("{}: {}", other.backend,
                                   other.rejected
                                       ? other.rejected->message
                                       : fmt::format("not used, since on_unavailable is {}", on_unavailable)));
    }
    if (!failure.hint.empty()) failure.hint += "; ";
    failure.hint += fmt::format("fallback: {}", fmt::join(others, "; "));
  }
  return unexpected(failure);
}

}  // namespace exechost::plan
