#include "core/plan/tier.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <utility>

#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::plan {
namespace {

std::string installed(const std::vector<BackendFacts>& backends) {
  std::vector<std::string> ids;
  for (const BackendFacts& backend : backends) ids.push_back(backend.id);
  return ids.empty() ? "no backend is installed" : fmt::format("installed backends: {}", fmt::join(ids, ", "));
}

std::vector<std::string> candidate_ids(const settings::Settings& settings, const std::string& tier) {
  // Chosen by name, no isolation is what was asked for: nothing else stands in for it.
  if (tier == "node") return {std::string(kLocalBackend)};
  if (tier == "gateway") return {std::string(kGatewayBackend)};
  std::vector<std::string> ids{text_setting(settings, "backend", "bwrap")};
  for (const std::string& id : list_setting(settings, "fallback")) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kProtections{{
    {"files", "files: it reads and changes every file that you can"},
    {"network.none", "network: it reaches every address that this machine does"},
    {"processes", "processes: it sees and signals your other processes"},
    {"syscalls", "system calls: none is refused"},
    {"users", "users: it runs as you, with every right you have"},
}};

// The failures after which another place may be tried: the command has certainly not started.
bool allows_fallback(FailureKind kind) {
  return kind == FailureKind::unavailable || kind == FailureKind::provision_failed ||
         kind == FailureKind::plugin_crashed || kind == FailureKind::protocol_error;
}

// What the chosen place does not enforce though the first would have: the network as the settings
// want it, files, processes.
std::vector<std::string> lost_protections(const PlanInput& input, const std::string& wanted, const Negotiated& place) {
  const auto found = std::find_if(input.backends.begin(), input.backends.end(),
                                  [&](const BackendFacts& backend) { return backend.id == wanted; });
  std::vector<std::string> lost;
  for (const auto& [capability, words] : kProtections) {
    // A backend that could not even be loaded says nothing; then everything counts as lost.
    const bool had = found == input.backends.end() || found->statement.capabilities.empty() ||
                     found->statement.capability(capability).grade >= Grade::emulated;
    if (had && place.statement.capability(capability).grade < Grade::emulated) lost.emplace_back(words);
  }
  return lost;
}

struct Tried {
  const BackendFacts* backend = nullptr;
  Negotiated negotiated;
};

Tried consider(const PlanInput& input, const std::string& id) {
  Tried tried;
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
  if (tier == "gateway") return tier;
  if (tier == "node" || text_setting(settings, "backend", "bwrap") == kLocalBackend) return "node";
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

Result<Choice> choose_backend(const PlanInput& input, const std::string& tier, const std::string& on_unavailable) {
  Choice choice;
  std::optional<Failure> first;
  const bool may_go_on = on_unavailable == "open" || (on_unavailable == "ask" && input.can_ask);
  for (const std::string& id : candidate_ids(input.settings, tier)) {
    Tried tried = consider(input, id);
    choice.candidates.push_back({id, tried.negotiated.rejected});
    const bool usable = !tried.negotiated.rejected;
    if (choice.candidates.size() == 1) {
      first = tried.negotiated.rejected;
    } else if (choice.backend != nullptr || !usable || !may_go_on || !allows_fallback(first->kind)) {
      continue;
    }
    if (!usable) continue;
    choice.backend = tried.backend;
    choice.negotiated = std::move(tried.negotiated);
    if (!first) continue;
    choice.warnings.push_back(
        fmt::format("runs in \"{}\" instead: {} (on_unavailable is {})", id, first->message, on_unavailable));
    if (on_unavailable == "ask") {
      choice.degraded = Degraded{choice.candidates.front().backend, *first,
                                 lost_protections(input, choice.candidates.front().backend, choice.negotiated)};
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
