#include "tests/mutants/backend.hpp"

#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/mutants/environment.hpp"
#include "tests/mutants/launch.hpp"
#include "tests/mutants/runner/runner.hpp"

namespace mutants {

namespace sdk = exechost::sdk;
using nlohmann::json;

namespace {

constexpr std::int64_t kTooLongNs = 10'000'000'000;
constexpr int kPauseMs = 20;

sdk::Failure failure_of(sdk::Kind kind, sdk::Phase phase, std::string message, int error = 0) {
  sdk::Failure failure;
  failure.kind = kind;
  failure.phase = phase;
  failure.message = std::move(message);
  failure.error_number = error;
  return failure;
}

// Where the guest is inside: there is no inside, so where it is on this machine.
json guest_path(const json& document) {
  const json init = document.value("init", json());
  return init.is_object() ? init.value("source", json("")) : json("");
}

}  // namespace

sdk::Outcome<std::unique_ptr<sdk::Backend>> MutantBackend::make(sdk::Host host, const Variant& variant,
                                                                std::string_view settings) {
  const json parsed = json::parse(settings);
  const std::string name = parsed.value("fault", "none");
  const auto fault = find_fault(name);
  if (!fault) {
    return failure_of(sdk::Kind::invalid_request, sdk::Phase::provision, "there is no fault \"" + name + '"');
  }
  if (!variant.has(fault->needs)) {
    return failure_of(sdk::Kind::invalid_request, sdk::Phase::provision,
                      "the fault \"" + name + "\" does not show in backend \"" + std::string(variant.id) + '"');
  }
  return std::unique_ptr<sdk::Backend>(
      std::make_unique<MutantBackend>(host, variant, fault->fault, parsed.value("resource_folder", "")));
}

sdk::Outcome<std::string> MutantBackend::try_runner(const sdk::Call& call) const {
  Launch what;
  what.runner = variant_.runner;
  what.options = {"--namespaces"};
  if (variant_.gives == Needs::offline) what.options.emplace_back("--offline");
  what.command.arguments = {"/bin/true"};
  auto runner = launch(host_, what, call);
  if (!runner) return runner.failure();
  if (auto gone = call.wait_for(runner->process.pidfd()); !gone) return gone.failure();
  Report report;
  const bool told = ::read(runner->status.get(), &report, sizeof report) == static_cast<ssize_t>(sizeof report);
  if (told && report.kind == Report::started) return std::string();
  return std::string("no namespaces can be made: ") + std::strerror(told ? report.value : EIO);
}

sdk::Outcome<std::string> MutantBackend::probe(const sdk::Call& call) {
  if (fault_ == Fault::probe_leaves_resource) {
    resources_.add("exechost-probe-" + std::to_string(::getpid()) + '-' + std::to_string(probes_++),
                   {{"exechost.id", "probe"}});
  }
  auto problem = try_runner(call);
  if (!problem) return problem.failure();
  if (!problem->empty()) return json{{"ready", false}, {"reason", *problem}, {"capabilities", json::object()}}.dump();
  json capabilities = json::parse(variant_.claims);
  for (json& capability : capabilities) capability["evidence"] = "a command was run";
  return json{{"ready", true}, {"capabilities", std::move(capabilities)}}.dump();
}

sdk::Outcome<sdk::Opened> MutantBackend::open(std::string_view text, const sdk::Call& call) {
  json document = json::parse(text);
  if (fault_ == Fault::changes_directory && ::chdir("/tmp") != 0) return sdk::Failure{};
  if (fault_ == Fault::ignores_cancel) {
    const std::int64_t until = host_.now_ns() + kTooLongNs;
    while (host_.now_ns() < until) ::usleep(kPauseMs * 1000U);
  }
  if (auto stop = call.should_stop()) return *stop;
  const int error = resources_.add(document.value("name", ""), document.value("labels", json::object()));
  if (error != 0) {
    return failure_of(sdk::Kind::provision_failed, sdk::Phase::provision, "the environment's file can't be made",
                      error);
  }
  if (fault_ == Fault::leaks_resource_when_open_fails) {
    return failure_of(sdk::Kind::provision_failed, sdk::Phase::provision, "the environment could not be finished");
  }
  const json answer{{"init", guest_path(document)}, {"details", json::object()}};
  MutantEnvironment::Parts parts{host_, variant_, fault_, resources_, std::move(document)};
  return sdk::Opened{std::make_unique<MutantEnvironment>(std::move(parts)), answer.dump()};
}

sdk::Outcome<void> MutantBackend::reap(std::string_view entry, const sdk::Call& /*call*/) {
  if (fault_ == Fault::reap_does_nothing) return {};
  const int error = resources_.remove(json::parse(entry).value("name", ""));
  if (error == 0) return {};
  return failure_of(sdk::Kind::unavailable, sdk::Phase::cleanup, "the environment's file can't be removed", error);
}

sdk::Outcome<std::string> MutantBackend::list(const sdk::Call& /*call*/) {
  return fault_ == Fault::list_is_empty ? std::string("[]") : resources_.list().dump();
}

}  // namespace mutants
