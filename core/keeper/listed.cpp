#include "core/keeper/listed.hpp"

#include <fmt/format.h>

#include "core/keeper/failures.hpp"
#include "core/keeper/wire.hpp"

namespace exechost::keeper {
namespace {

constexpr std::size_t kMaxListBytes = 16UL * 1024 * 1024;  // as any answer

}  // namespace

Result<nlohmann::json> parse_listed(const std::string& answer) {
  const auto wrong = [](const char* rule) {
    return unexpected(make_failure(FailureKind::protocol_error, Phase::cleanup,
                                   fmt::format("the backend's answer to list {}", rule), "list"));
  };
  auto body = parse_bounded(answer, kMaxListBytes);
  if (!body) return unexpected(body.error());
  if (!body->is_array()) return wrong("is not an array");
  nlohmann::json listed = nlohmann::json::array();
  for (const auto& item : *body) {
    const bool named = item.is_object() && item.contains("name") && item.at("name").is_string();
    const bool labelled = named && item.contains("labels") && item.at("labels").is_object();
    if (!labelled) return wrong("has an element without \"name\" and \"labels\"");
    for (const auto& label : item.at("labels")) {
      if (!label.is_string()) return wrong("has a label that is not a text");
    }
    listed.push_back({{"name", item.at("name")}, {"labels", item.at("labels")}});
  }
  return listed;
}

}  // namespace exechost::keeper
