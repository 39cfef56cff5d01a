#include "exechost/exec_result.hpp"

#include <nlohmann/json.hpp>

#include "core/base/base64.hpp"
#include "core/base/utf8.hpp"
#include "core/execution/result_json.hpp"

namespace exechost {
namespace {

using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(to_valid_utf8(text)); }

// The values in reports are JSON text; one that isn't is shown as it is.
json parsed(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(to_valid_utf8(text)) : value;
}

json texts(const std::vector<std::string>& values) {
  json list = json::array();
  for (const std::string& value : values) list.push_back(to_valid_utf8(value));
  return list;
}

void add_stream(json& object, const std::string& name, const CapturedStream& stream) {
  if (is_valid_utf8(stream.data)) {
    object[name] = stream.data;
  } else {
    object[name + "_base64"] = base64_encode(stream.data);
  }
  object[name + "_bytes"] = stream.total_bytes;
}

json truncation(const CapturedStream& stream) {
  if (stream.dropped_bytes == 0) return nullptr;
  return {{"head_bytes", stream.head_bytes}, {"dropped_bytes", stream.dropped_bytes}};
}

json settings_json(const std::vector<SettingReport>& reports) {
  json list = json::array();
  for (const SettingReport& report : reports) {
    list.push_back({{"name", report.name},
                    {"requested", parsed(report.requested)},
                    {"effective", parsed(report.effective)},
                    {"grade", report.grade},
                    {"enforced_by", to_valid_utf8(report.enforced_by)},
                    {"origin", to_valid_utf8(report.origin)}});
  }
  return list;
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::exited: return "exited";
    case Status::signaled: return "signaled";
    case Status::timed_out: return "timed_out";
    case Status::cancelled: return "cancelled";
    case Status::resource_exhausted: return "resource_exhausted";
    case Status::failed: return "failed";
  }
  return "failed";
}

namespace execution {

json to_json(const Failure& failure) {
  return {{"kind", to_string(failure.kind)},
          {"phase", to_string(failure.phase)},
          {"message", to_valid_utf8(failure.message)},
          {"hint", text_or_null(failure.hint)},
          {"backend", text_or_null(failure.backend)},
          {"errno", failure.error_number == 0 ? json(nullptr) : json(failure.error_number)},
          {"step", text_or_null(failure.step)},
          {"code", text_or_null(failure.code)},
          {"request_id", text_or_null(failure.request_id)}};
}

json to_json(const ExecResult& result) {
  json object = {{"schema", 1}, {"status", to_string(result.status)}, {"started", to_string(result.started)}};
  object["exit_code"] = result.status == Status::exited ? json(result.exit_code) : json(nullptr);
  object["signal"] = result.status == Status::signaled ? json(result.signal_number) : json(nullptr);
  object["stopped_phase"] = result.stopped_phase ? json(to_string(*result.stopped_phase)) : json(nullptr);
  add_stream(object, "stdout", result.out);
  add_stream(object, "stderr", result.err);
  object["truncated"] = result.out.dropped_bytes != 0 || result.err.dropped_bytes != 0;
  object["truncation"] = {{"stdout", truncation(result.out)}, {"stderr", truncation(result.err)}};
  object["spill_path"] = {{"stdout", text_or_null(result.out.spill_path)},
                          {"stderr", text_or_null(result.err.spill_path)}};
  object["undelivered"] = {{"stdout", text_or_null(result.out.undelivered)},
                           {"stderr", text_or_null(result.err.undelivered)}};
  object["pipes_held_open"] = result.pipes_held_open;
  object["duration_ms"] = result.duration.count();
  json phases = json::object();
  for (const auto& [phase, time] : result.phase_times) phases[phase] = static_cast<double>(time.count()) / 1000.0;
  object["phases_ms"] = phases;
  object["usage"] = {{"user_time_us", result.usage.user_time.count()},
                     {"system_time_us", result.usage.system_time.count()},
                     {"max_rss_bytes", result.usage.max_rss_bytes}};
  object["tier"] = text_or_null(result.tier);
  object["backend"] = text_or_null(result.backend);
  object["environment_id"] = text_or_null(result.environment_id);
  object["environment_recreated"] = result.environment_recreated;
  object["session"] = text_or_null(result.session);
  object["isolation"] = texts(result.isolation);
  object["settings"] = settings_json(result.settings);
  object["denials"] = json::array();
  json attempts = json::array();
  for (const Attempt& attempt : result.attempts) {
    attempts.push_back({{"backend", attempt.backend}, {"failure", to_json(attempt.failure)}});
  }
  object["attempts"] = std::move(attempts);
  object["approval"] = result.approval.empty() ? json(nullptr) : json{{"answer", result.approval}};
  object["warnings"] = texts(result.warnings);
  object["failure"] = result.failure ? to_json(*result.failure) : json(nullptr);
  return object;
}

}  // namespace execution

std::string ExecResult::to_json() const { return execution::to_json(*this).dump(); }

}  // namespace exechost
