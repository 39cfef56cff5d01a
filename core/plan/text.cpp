// A plan for a person's eyes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <iterator>

#include "core/base/utf8.hpp"
#include "core/plan/environment.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/shell_words.hpp"

namespace exechost::plan {
namespace {

constexpr std::size_t kWidth = 110;
constexpr std::size_t kLabel = 16;

std::string shown(std::string_view text) { return escape_for_terminal(to_valid_utf8(text)); }

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

// A setting's value: sizes and times with their unit, texts without quotes.
std::string value_text(const std::string& name, const std::string& value_json) {
  constexpr std::array<std::string_view, 5> kSizes{"resources.memory", "resources.disk", "resources.tmp_size",
                                                   "resources.home_size", "resources.output_cap"};
  constexpr std::array<std::string_view, 4> kTimes{"resources.timeout", "resources.kill_grace", "session.idle_timeout",
                                                   "session.max_lifetime"};
  const nlohmann::json value = nlohmann::json::parse(value_json, nullptr, false);
  if (value.is_null()) return "none";
  if (value.is_string()) return shown(value.get<std::string>());
  if (value.is_number_integer() && std::find(kSizes.begin(), kSizes.end(), name) != kSizes.end()) {
    return bytes_text(value.get<std::uint64_t>());
  }
  if (value.is_number_integer() && std::find(kTimes.begin(), kTimes.end(), name) != kTimes.end()) {
    const auto milliseconds = value.get<std::uint64_t>();
    return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
  }
  return shown(value_json);
}

class Page {
 public:
  void line(std::string_view label, std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "{:<{}}{}\n", label, kLabel, text);
  }
  // One item per line.
  void list(std::string_view label, const std::vector<std::string>& items, std::string_view none = {}) {
    if (items.empty()) {
      if (!none.empty()) line(label, none);
      return;
    }
    for (std::size_t i = 0; i < items.size(); ++i) line(i == 0 ? label : "", items[i]);
  }
  // Many short items, wrapped.
  void words(std::string_view label, const std::vector<std::string>& items, std::string_view none) {
    std::vector<std::string> lines;
    for (const std::string& item : items) {
      if (lines.empty() || lines.back().size() + item.size() + 1 > kWidth - kLabel) {
        lines.push_back(item);
      } else {
        lines.back() += ' ' + item;
      }
    }
    list(label, lines, none);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_view(Page& page, const View& view, bool carried_out) {
  if (!carried_out) {
    page.line("files", "the backend does NOT carry out the lists of files below: best_effort accepts that");
    page.line("", "what is called private or hidden is this machine's own, and readable");
  }
  const auto of = [&](std::initializer_list<Access> wanted) {
    std::vector<std::string> items;
    for (const ViewEntry& entry : view.entries) {
      if (std::find(wanted.begin(), wanted.end(), entry.access) == wanted.end()) continue;
      std::string item = shown(entry.path);
      if (!entry.source.empty()) item += fmt::format(" (the host's {})", shown(entry.source));
      if (entry.access == Access::private_) item += fmt::format(" (up to {})", bytes_text(entry.size_bytes));
      if (!entry.reason.empty()) item += fmt::format("  [{}]", shown(entry.reason));
      items.push_back(std::move(item));
    }
    return items;
  };
  page.list("writable", of({Access::rw}), "nothing of this machine");
  page.list("private", of({Access::private_}));
  page.list("readable", of({Access::ro}), "nothing of this machine");
  page.list("hidden", of({Access::hidden, Access::masked}));
}

void add_environment(Page& page, const Plan& plan) {
  std::vector<std::string> names;
  for (const auto& [name, value] : plan.environment) names.push_back(shown(name));
  page.words("variables", names, "none");
  std::vector<std::string> withheld;
  for (const std::string& name : plan.removed_environment) withheld.push_back(shown(name));
  page.words("withheld", withheld, "none");
}

void add_settings(Page& page, const std::vector<SettingReport>& reports) {
  std::vector<std::string> items;
  for (const SettingReport& report : reports) {
    std::string item = fmt::format("{:<28} {}", report.name, value_text(report.name, report.effective));
    if (report.requested != "null" && report.requested != report.effective) {
      item += fmt::format(" (requested: {})", value_text(report.name, report.requested));
    }
    item += fmt::format("  {}", report.grade);
    if (!report.enforced_by.empty()) item += fmt::format(" by {}", shown(report.enforced_by));
    if (report.requested != "null") item += fmt::format(", from {}", shown(report.origin));
    items.push_back(std::move(item));
  }
  page.list("settings", items);
}

std::string network_text(const NetworkPolicy& network) {
  if (network.mode == "none") return "none: no address can be reached";
  if (network.mode == "full") return "full: everything this machine reaches";
  return fmt::format("filtered: only {}", fmt::join(network.allowed_domains, ", "));
}

std::string fallback_text(const Plan& plan) {
  if (plan.on_unavailable == "closed") return "refuse";
  if (plan.on_unavailable == "ask") return "ask a person about the next, else refuse";
  return fmt::format("run in the next of: {}", shown(fmt::format("{}", fmt::join(plan.fallback, ", "))));
}

}  // namespace

std::string to_text(const Plan& plan) {
  Page page;
  page.line("command", shell_line(plan.argv));
  page.line("starts in", shown(plan.cwd));
  page.line("tier", plan.tier);
  if (plan.tier == "node") {
    page.line("backend", fmt::format("{} (a plain process of this machine, no plugin)", plan.backend));
  } else {
    page.line("backend", fmt::format("{} ({}, sha256 {})", plan.backend, shown(plan.backend_library),
                                     plan.backend_library_sha256.empty() ? "unknown" : plan.backend_library_sha256));
  }
  page.line("profile", shown(plan.profile));
  if (plan.persistent) page.line("session", plan.session.empty() ? "lasting, without a name" : shown(plan.session));
  if (plan.shell) page.line("shell", "/bin/bash (/bin/sh where there is none), goes on from the session's last one");
  if (!plan.image.empty()) page.line("image", shown(plan.image));
  if (plan.tier == "node") {
    page.line("files", "everything that you can read and write");
  } else {
    page.line("workspace", fmt::format("{} ({})", shown(plan.workspace), plan.workspace_mode));
    add_view(page, plan.view, plan.view_carried_out);
  }
  page.line("network", shown(network_text(plan.network)));
  if (plan.network.mode != "none" && !plan.network.denied_domains.empty()) {
    page.line("", fmt::format("never {}", shown(fmt::format("{}", fmt::join(plan.network.denied_domains, ", ")))));
  }
  add_environment(page, plan);
  page.list("isolation", plan.isolation);
  add_settings(page, plan.settings);

  std::vector<std::string> candidates;
  for (const Candidate& candidate : plan.candidates) {
    candidates.push_back(
        !candidate.rejected
            ? fmt::format("{}: {}", shown(candidate.backend), candidate.backend == plan.backend ? "chosen" : "possible")
            : fmt::format("{}: {}: {}", shown(candidate.backend), to_string(candidate.rejected->kind),
                          shown(candidate.rejected->message)));
  }
  page.list("candidates", candidates);
  // Chosen by its name, the node tier has none.
  if (plan.candidates.size() != 1 || plan.tier != "node") page.line("fallback", fallback_text(plan));
  if (plan.degraded) {
    page.line("degraded",
              fmt::format("{} can't be used: {}", shown(plan.degraded->wanted), shown(plan.degraded->reason.message)));
    page.list("lost", plan.degraded->lost);
  }
  std::vector<std::string> warnings;
  for (const std::string& warning : plan.warnings) warnings.push_back(shown(warning));
  page.list("warnings", warnings);
  return page.take();
}

}  // namespace exechost::plan
