#include "backend.hpp"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

#include "execution.hpp"
#include "output_cut.hpp"
#include "script_reader.hpp"

namespace scripted {

namespace sdk = exechost::sdk;
using nlohmann::json;

namespace {

// Where the guest is inside: there is no inside, so where it is on this machine.
std::string guest_path(std::string_view document) {
  const json init = json::parse(document).value("init", json());
  return init.is_object() ? init.value("source", "") : "";
}

// The host starts absolute paths only. A name that is nowhere stays one: the host then says why not.
std::string find_program(const std::string& name, const std::vector<std::string>& environment) {
  constexpr std::string_view kPath = "PATH=";
  if (name.find('/') != std::string::npos) return name;
  std::string_view rest = "/usr/bin:/bin";
  for (const std::string& variable : environment) {
    if (variable.rfind(kPath, 0) == 0) rest = std::string_view(variable).substr(kPath.size());
  }
  for (;;) {
    const std::size_t colon = rest.find(':');
    std::string program = std::string(rest.substr(0, colon)) + '/' + name;
    if (::access(program.c_str(), X_OK) == 0) return program;
    if (colon == std::string_view::npos) return '/' + name;
    rest.remove_prefix(colon + 1);
  }
}

sdk::Failure not_watched(const char* step, int error) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::spawn_failed;
  failure.phase = sdk::Phase::spawn;
  failure.step = step;
  failure.error_number = error;
  failure.message = "the command can't be watched";
  return failure;
}

}  // namespace

const Rule* ScriptedEnvironment::next(Point at) {
  const unsigned of_backend = stage_->counts.next(at);
  return stage_->script.rule_for(at, of_backend, counts_.next(at));
}

sdk::Outcome<std::unique_ptr<sdk::Execution>> ScriptedEnvironment::spawn(const sdk::SpawnRequest& request,
                                                                         const sdk::Call& call) {
  if (auto failure = play(next(Point::spawn), call)) return *failure;
  const Rule* const rule = next(Point::run);
  const bool starts = rule == nullptr || rule->never != Never::started;
  std::unique_ptr<OutputCut> cut;
  sdk::Process process;
  if (starts) {
    sdk::ProcessSpec spec;
    spec.arguments = request.arguments();
    spec.environment = request.environment();
    if (!request.has_guest() && !spec.arguments.empty()) {
      spec.arguments.front() = find_program(spec.arguments.front(), spec.environment);
    }
    spec.working_directory = request.working_directory();
    spec.descriptors = {request.stdin_fd(), request.stdout_fd(), request.stderr_fd()};
    if (request.has_guest()) spec.descriptors.push_back(request.control_fd());  // becomes 3
    if (rule != nullptr && rule->after_bytes) {
      cut = OutputCut::make(request.stdout_fd(), *rule->after_bytes);
      if (!cut) return not_watched("pipe", errno);
      spec.descriptors[1] = cut->write_end();
    }
    sdk::Outcome<sdk::Process> started = stage_->host.spawn(spec, call);
    if (!started) return started.failure();
    process = std::move(*started);
  }
  auto execution = std::make_unique<ScriptedExecution>(std::move(process), starts, rule, std::move(cut));
  if (const int error = execution->begin(); error != 0) return not_watched("epoll", error);
  return std::unique_ptr<sdk::Execution>(std::move(execution));
}

// A process is all there ever is of it, and the host has released every execution.
sdk::Outcome<void> ScriptedEnvironment::close(bool /*purge*/, const sdk::Call& call) {
  if (auto failure = play(next(Point::close), call)) return *failure;
  return {};
}

sdk::Outcome<std::unique_ptr<sdk::Backend>> ScriptedBackend::create(sdk::Host host, std::string_view settings,
                                                                    const sdk::Call& call) {
  auto script = script_from_settings(settings);
  if (!script) return script.failure();
  const unsigned made = count_create(std::string(settings));
  if (auto failure = play(script->rule_for(Point::create, made), call)) return *failure;
  return std::unique_ptr<sdk::Backend>(
      std::make_unique<ScriptedBackend>(std::make_shared<Stage>(host, std::move(*script))));
}

sdk::Outcome<std::string> ScriptedBackend::probe(const sdk::Call& call) {
  const Rule* const rule = stage_->next(Point::probe);
  if (auto failure = play(rule, call)) return *failure;
  if (rule != nullptr && rule->answer) return *rule->answer;
  json capabilities = json::object();
  for (const char* const name : {"network.full", "stdin", "pty", "signals"}) {
    capabilities[name] = {{"grade", "kernel"}, {"evidence", "plain processes"}};
  }
  capabilities["tree_kill"] = {{"grade", "advisory"}, {"evidence", "process group: setsid leaves it"}};
  capabilities.update(stage_->script.claims);
  return json{{"ready", true}, {"capabilities", std::move(capabilities)}}.dump();
}

sdk::Outcome<sdk::Opened> ScriptedBackend::open(std::string_view document, const sdk::Call& call) {
  const Rule* const rule = stage_->next(Point::open);
  if (auto failure = play(rule, call)) return *failure;
  const json answer{{"init", guest_path(document)}, {"details", json::object()}};
  return sdk::Opened{std::make_unique<ScriptedEnvironment>(stage_),
                     rule != nullptr && rule->answer ? *rule->answer : answer.dump()};
}

sdk::Outcome<void> ScriptedBackend::reap(std::string_view /*entry*/, const sdk::Call& call) {
  if (auto failure = play(stage_->next(Point::reap), call)) return *failure;
  return {};
}

sdk::Outcome<std::string> ScriptedBackend::list(const sdk::Call& call) {
  const Rule* const rule = stage_->next(Point::list);
  if (auto failure = play(rule, call)) return *failure;
  return rule != nullptr && rule->answer ? *rule->answer : std::string("[]");
}

}  // namespace scripted
