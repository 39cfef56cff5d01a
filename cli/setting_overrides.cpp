#include "cli/setting_overrides.hpp"

#include <fmt/format.h>

#include <utility>

namespace exechost::cli {
namespace {

using nlohmann::json;

// "a.b" -> "/a/b" with the two escapes of RFC 6901.
std::string pointer_of(std::string_view dotted) {
  std::string pointer = "/";
  for (const char character : dotted) {
    switch (character) {
      case '.': pointer += '/'; break;
      case '~': pointer += "~0"; break;
      case '/': pointer += "~1"; break;
      default: pointer += character;
    }
  }
  return pointer;
}

// The values of one --set: deep nesting is nobody's setting, and would cost stack later.
json parse_value(std::string_view text) {
  constexpr int kDeepest = 32;
  bool too_deep = false;
  const auto watch = [&too_deep](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) too_deep = true;
    return true;
  };
  json value = json::parse(text, watch, false);
  return too_deep ? json(json::value_t::discarded) : value;
}

// The object member a dotted name means; made on the way when `make`. Not a JSON pointer: that
// would take a member called "0" for an array index.
json* find_member(json& root, std::string_view dotted, bool make) {
  json* node = &root;
  while (true) {
    const std::size_t dot = dotted.find('.');
    const std::string key(dotted.substr(0, dot));
    if (make && node->is_null()) *node = json::object();
    if (!node->is_object() || (!make && !node->contains(key))) return nullptr;
    node = &(*node)[key];
    if (dot == std::string_view::npos) return node;
    dotted.remove_prefix(dot + 1);
  }
}

bool is_setting_name(std::string_view dotted) {
  if (dotted.empty() || dotted.front() == '.' || dotted.back() == '.') return false;
  return dotted.find("..") == std::string_view::npos;
}

}  // namespace

Failure usage_failure(std::string message, std::string hint) {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  return failure;
}

Result<void> SettingOverrides::set(std::string_view dotted, json value, const std::string& source) {
  const std::string pointer = pointer_of(dotted);
  for (const auto& [other, by] : sources_) {
    const bool overlaps = other == pointer || other.starts_with(pointer + "/") || pointer.starts_with(other + "/");
    if (overlaps) {
      return unexpected(usage_failure(fmt::format("the setting {} is given twice: by {} and by {}", dotted, by, source),
                                      "keep one of the two options"));
    }
  }
  *find_member(values_, dotted, true) = std::move(value);
  sources_.emplace(pointer, source);
  return {};
}

Result<void> SettingOverrides::set_from_text(std::string_view assignment, const std::string& source) {
  const std::size_t equals = assignment.find('=');
  const std::string_view dotted = assignment.substr(0, equals);
  if (equals == std::string_view::npos || !is_setting_name(dotted)) {
    return unexpected(usage_failure(fmt::format("{} \"{}\" is not NAME=JSON", source, assignment),
                                    "for example --set resources.pids=256 or --set 'image=\"debian:12\"'"));
  }
  const std::string_view text = assignment.substr(equals + 1);
  json value = parse_value(text);
  if (value.is_discarded()) {
    return unexpected(usage_failure(fmt::format("{} {}: the value \"{}\" is not JSON", source, dotted, text),
                                    fmt::format("text needs quotes of its own: --set '{}=\"...\"'", dotted)));
  }
  return set(dotted, std::move(value), source);
}

Result<Request> request_for(const std::vector<std::string>& assignments) {
  SettingOverrides overrides;
  for (const std::string& assignment : assignments) {
    if (auto done = overrides.set_from_text(assignment, "--set"); !done) return unexpected(done.error());
  }
  Request request;
  request.settings_json = overrides.values().dump();
  request.settings_origins = overrides.sources();
  return request;
}

bool SettingOverrides::has(std::string_view dotted) const {
  json copy = values_;
  return find_member(copy, dotted, false) != nullptr;
}

}  // namespace exechost::cli
