#include "script_reader.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <utility>

namespace scripted {

namespace sdk = exechost::sdk;
using nlohmann::json;

namespace {

constexpr int kMaxDelayMs = 3'600'000;
constexpr int kMaxSignal = 64;
constexpr int kMaxExitCode = 255;
constexpr int kMaxErrno = 4095;

// In the order of eh_kind and eh_phase.
constexpr std::array<std::string_view, 9> kKinds{"invalid_request",  "unsupported",    "unavailable",
                                                 "provision_failed", "spawn_failed",   "denied",
                                                 "environment_lost", "protocol_error", "plugin_crashed"};
constexpr std::array<std::string_view, 5> kPhases{"provision", "spawn", "run", "collect", "cleanup"};

sdk::Failure wrong(std::string message, int error = 0) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::invalid_request;
  failure.phase = sdk::Phase::provision;
  failure.step = "script";
  failure.message = std::move(message);
  failure.error_number = error;
  failure.hint = "docs/backends/scripted.md describes scripts";
  return failure;
}

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

sdk::Phase phase_of(Point point) {
  switch (point) {
    case Point::spawn: return sdk::Phase::spawn;
    case Point::run: return sdk::Phase::run;
    case Point::close:
    case Point::reap:
    case Point::list: return sdk::Phase::cleanup;
    default: return sdk::Phase::provision;
  }
}

// Remembers the first thing that is wrong; what is read after that does not matter.
class Reader {
 public:
  const std::string& problem() const { return problem_; }

  Script script(const json& document) {
    Script script;
    if (!object(document, "", {"claims", "rules"})) return script;
    if (document.contains("claims")) script.claims = claims(document["claims"]);
    if (!document.contains("rules")) return script;
    if (!document["rules"].is_array()) return note("/rules", "must be a list"), script;
    for (std::size_t index = 0; index < document["rules"].size(); ++index) {
      script.rules.push_back(rule(document["rules"][index], "/rules/" + std::to_string(index)));
    }
    return script;
  }

 private:
  void note(const std::string& where, const std::string& what) {
    if (problem_.empty()) problem_ = (where.empty() ? std::string("/") : where) + ": " + what;
  }

  bool object(const json& value, const std::string& where, std::initializer_list<std::string_view> known) {
    if (!value.is_object()) return note(where, "must be an object"), false;
    for (const auto& [name, ignored] : value.items()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return note(where, "has the unknown member \"" + name + "\" (known: " + listed(known) + ')'), false;
    }
    return true;
  }

  std::string text(const json& value, const std::string& where) {
    if (value.is_string()) return value.get<std::string>();
    return note(where, "must be a text"), std::string();
  }

  bool flag(const json& value, const std::string& where) {
    if (value.is_boolean()) return value.get<bool>();
    return note(where, "must be true or false"), false;
  }

  std::int64_t number(const json& value, const std::string& where, std::int64_t least, std::int64_t most) {
    if (value.is_number_integer() && value >= least && value <= most) return value.get<std::int64_t>();
    return note(where, "must be a number from " + std::to_string(least) + " to " + std::to_string(most)), least;
  }

  template <std::size_t count>
  std::size_t choice(const json& value, const std::string& where, const std::array<std::string_view, count>& names) {
    for (std::size_t index = 0; index < count; ++index) {
      if (value == names[index]) return index;
    }
    return note(where, value.dump() + " is none of " + listed(names)), 0;
  }

  json claims(const json& value) {
    if (!value.is_object()) return note("/claims", "must be an object"), json::object();
    for (const auto& [name, claim] : value.items()) {
      const std::string where = "/claims/" + name;
      if (!object(claim, where, {"grade", "by", "evidence"})) return json::object();
      for (const auto& [member, content] : claim.items()) text(content, where + '/' + member);
    }
    return value;
  }

  sdk::Failure failure(const json& value, const std::string& where, Point point) {
    sdk::Failure failure;
    failure.phase = phase_of(point);
    failure.message = "the script says so";
    if (!object(value, where, {"kind", "phase", "message", "hint", "errno", "step", "code", "request_id"})) {
      return failure;
    }
    if (!value.contains("kind")) return note(where, "needs a \"kind\""), failure;
    failure.kind = static_cast<sdk::Kind>(EH_INVALID_REQUEST +
                                          static_cast<eh_kind>(choice(value["kind"], where + "/kind", kKinds)));
    if (value.contains("phase")) {
      failure.phase = static_cast<sdk::Phase>(EH_PHASE_PROVISION +
                                              static_cast<eh_phase>(choice(value["phase"], where + "/phase", kPhases)));
    }
    if (value.contains("errno")) {
      failure.error_number = static_cast<int>(number(value["errno"], where + "/errno", 0, kMaxErrno));
    }
    for (const auto& [name, target] :
         {std::pair{"message", &failure.message}, std::pair{"hint", &failure.hint}, std::pair{"step", &failure.step},
          std::pair{"code", &failure.code}, std::pair{"request_id", &failure.request_id}}) {
      if (value.contains(name)) *target = text(value[name], where + '/' + name);
    }
    return failure;
  }

  int end(const json& value, const std::string& where) {
    if (!object(value, where, {"exit_code", "signal", "wait_status"})) return 0;
    if (value.size() != 1) return note(where, "needs one of exit_code, signal and wait_status"), 0;
    if (value.contains("exit_code")) {
      return W_EXITCODE(static_cast<int>(number(value["exit_code"], where + "/exit_code", 0, kMaxExitCode)), 0);
    }
    if (value.contains("signal")) return static_cast<int>(number(value["signal"], where + "/signal", 1, kMaxSignal));
    return static_cast<int>(number(value["wait_status"], where + "/wait_status", 0, 0xffff));
  }

  void read_when(const json& value, const std::string& where, Rule& rule) {
    constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
    if (value.contains("from")) rule.from = static_cast<unsigned>(number(value["from"], where + "/from", 1, kMost));
    if (value.contains("to")) rule.to = static_cast<unsigned>(number(value["to"], where + "/to", 1, kMost));
    if (value.contains("per")) {
      constexpr std::array<std::string_view, 2> kPer{"backend", "environment"};
      rule.per_environment = choice(value["per"], where + "/per", kPer) == 1;
    }
    if (value.contains("delay_ms")) {
      rule.delay_ms = static_cast<int>(number(value["delay_ms"], where + "/delay_ms", 0, kMaxDelayMs));
    }
    if (value.contains("stubborn")) rule.stubborn = flag(value["stubborn"], where + "/stubborn");
    if (value.contains("after_bytes")) {
      rule.after_bytes = static_cast<std::uint64_t>(
          number(value["after_bytes"], where + "/after_bytes", 0, std::numeric_limits<std::int64_t>::max()));
    }
  }

  void read_what(const json& value, const std::string& where, Rule& rule) {
    if (value.contains("fail")) rule.fail = failure(value["fail"], where + "/fail", rule.at);
    if (value.contains("status")) {
      rule.status =
          static_cast<std::int32_t>(number(value["status"], where + "/status", std::numeric_limits<std::int32_t>::min(),
                                           std::numeric_limits<std::int32_t>::max()));
    }
    if (value.contains("answer")) {
      const json& answer = value["answer"];
      rule.answer = answer.is_string() ? answer.get<std::string>() : answer.dump();
    }
    if (value.contains("throw")) rule.throws = text(value["throw"], where + "/throw");
    if (value.contains("crash")) rule.crash = flag(value["crash"], where + "/crash");
    if (value.contains("end")) rule.end = end(value["end"], where + "/end");
    if (value.contains("never")) {
      constexpr std::array<std::string_view, 2> kNever{"started", "ended"};
      rule.never = choice(value["never"], where + "/never", kNever) == 0 ? Never::started : Never::ended;
    }
  }

  // What would be silently without effect is refused: a test would wait for it.
  void check(const json& value, const std::string& where, const Rule& rule) {
    int actions = 0;
    for (const char* const name : {"fail", "status", "answer", "throw", "crash", "end", "never"}) {
      actions += value.contains(name) ? 1 : 0;
    }
    const bool in_environment = rule.at == Point::spawn || rule.at == Point::run || rule.at == Point::close;
    const bool answers = rule.at == Point::probe || rule.at == Point::open || rule.at == Point::list;
    const std::string point(kPoints.at(static_cast<std::size_t>(rule.at)));
    if (actions > 1) note(where, "has more than one of fail, status, answer, throw, crash, end, never");
    if (rule.answer && !answers) note(where, "has an \"answer\", which " + point + " does not give");
    if (rule.per_environment && !in_environment) note(where, point + " does not happen in an environment");
    for (const char* const name : {"end", "never", "after_bytes"}) {
      if (value.contains(name) && rule.at != Point::run) note(where, '"' + std::string(name) + "\" is for run only");
    }
    if (rule.after_bytes && actions == 0) note(where, "says nothing about what comes after \"after_bytes\"");
    if (rule.after_bytes && rule.never != Never::nothing) note(where, "has both \"after_bytes\" and \"never\"");
    if (rule.stubborn && rule.at == Point::run && rule.never == Never::nothing) {
      note(where, "\"stubborn\" is for \"never\" in a run");
    }
    if (rule.from > rule.to) note(where, "\"from\" is above \"to\"");
  }

  Rule rule(const json& value, const std::string& where) {
    Rule rule;
    if (!object(value, where,
                {"at", "per", "from", "to", "delay_ms", "stubborn", "after_bytes", "fail", "status", "answer", "throw",
                 "crash", "end", "never"})) {
      return rule;
    }
    if (!value.contains("at")) return note(where, "needs an \"at\""), rule;
    rule.at = static_cast<Point>(choice(value["at"], where + "/at", kPoints));
    read_when(value, where, rule);
    read_what(value, where, rule);
    check(value, where, rule);
    return rule;
  }

  std::string problem_;
};

sdk::Outcome<json> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return wrong("the script \"" + path + "\" can't be read", errno);
  json document = json::parse(text.str(), nullptr, false);
  if (document.is_discarded()) return wrong("the script \"" + path + "\" is not JSON");
  return document;
}

}  // namespace

sdk::Outcome<Script> read_script(const json& document, const std::string& name) {
  Reader reader;
  Script script = reader.script(document);
  if (!reader.problem().empty()) return wrong(name + ": " + reader.problem());
  return script;
}

sdk::Outcome<Script> script_from_settings(std::string_view settings) {
  const json parsed = json::parse(settings);
  const std::string file = parsed.value("script_file", "");
  if (parsed.contains("script") && !file.empty()) return wrong("both script and script_file are set; one is enough");
  if (file.empty()) return read_script(parsed.value("script", json::object()), "script");
  auto document = read_file(file);
  if (!document) return document.failure();
  return read_script(*document, "script \"" + file + '"');
}

}  // namespace scripted
