#include "core/conformance/environment_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace exechost::conformance {
namespace {

std::vector<std::string> names_of(const std::vector<nlohmann::json>& listed) {
  std::vector<std::string> names;
  for (const auto& item : listed) names.push_back(item.at("name").get<std::string>());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool must_list(const plan::Statement& statement) {
  return statement.boundary == "container" || statement.boundary == "vm" || statement.boundary == "remote_host" ||
         statement.capability("persistent").grade >= plan::Grade::emulated;
}

Verdict EnvironmentList::expect(const std::vector<const OpenPlace*>& places, std::string_view when) {
  const auto listed = link_.list();
  if (!listed) return Verdict::failed(fmt::format("list: {}", listed.error().message));
  std::vector<std::string> expected;
  for (const OpenPlace* place : places) expected.push_back(place->name());
  std::sort(expected.begin(), expected.end());
  const auto names = names_of(*listed);
  if (names != expected) {
    return Verdict::failed(
        fmt::format("list, {}: [{}] instead of [{}]", when, fmt::join(names, ", "), fmt::join(expected, ", ")));
  }
  for (const OpenPlace* place : places) {
    const auto item = std::find_if(listed->begin(), listed->end(),
                                   [&](const nlohmann::json& other) { return other.at("name") == place->name(); });
    for (const auto& [label, value] : place->entry.at("labels").items()) {
      if (item->at("labels").value(label, "") != value)
        return Verdict::failed(
            fmt::format("list, {}: {} has no label {}={}", when, place->name(), label, value.dump()));
    }
  }
  return Verdict::passed();
}

Verdict EnvironmentList::expect_open(const std::vector<const OpenPlace*>& places, bool lasting) {
  if (!lasting) {
    const auto listed = link_.list();
    if (listed && listed->empty()) return Verdict::passed();
  }
  return expect(places, fmt::format("with {} open", places.size()));
}

}  // namespace exechost::conformance
