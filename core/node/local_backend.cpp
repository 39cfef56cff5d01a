#include "core/node/local_backend.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/node/cgroup.hpp"
#include "core/node/local_execution.hpp"
#include "exechost/backend.hpp"

namespace exechost::node {
namespace {

using nlohmann::json;

// Kills what is in them and removes them.
sdk::Outcome<void> end_cgroups(const CommandCgroups& cgroups, const sdk::Call& call) {
  constexpr int kPauseMs = 2;
  for (; !cgroups.remove(); ::poll(nullptr, 0, kPauseMs)) {
    cgroups.kill();
    if (!call.should_stop()) continue;
    sdk::Failure failure;
    failure.kind = sdk::Kind::environment_lost;
    failure.phase = sdk::Phase::cleanup;
    failure.step = "cgroup";
    failure.message = fmt::format("the processes in {}-* could not be ended in time", cgroups.base());
    return failure;
  }
  return {};
}

class LocalEnvironment final : public sdk::Environment {
 public:
  LocalEnvironment(sdk::Host host, CommandCgroups cgroups, sdk::OpenEnvironments::Entry listed)
      : host_(host), cgroups_(std::move(cgroups)), listed_(std::move(listed)) {}

  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& call) override {
    if (!request.has_guest()) {
      sdk::Failure failure;
      failure.phase = sdk::Phase::spawn;
      failure.kind = sdk::Kind::unsupported;
      failure.message = "the node tier starts commands through exechost-guest only";
      return failure;
    }
    sdk::ProcessSpec spec;
    spec.arguments = request.arguments();
    const bool serves = spec.arguments.size() > 1 && spec.arguments[1] == "serve";
    CommandCgroups cgroups = serves ? cgroups_ : cgroups_.only(next_++);
    // Made by the guest, which does not start a command without it: the plan has promised it.
    if (cgroups.any()) spec.arguments.push_back("--cgroup=" + (serves ? cgroups.base() : cgroups.path()));
    spec.descriptors = {request.stdin_fd(), request.stdout_fd(), request.stderr_fd(), request.control_fd()};
    // It must live when the keeper is killed: it is what ends the command then.
    spec.outlives_keeper = true;
    auto guest = host_.spawn(spec, call);
    if (!guest) return guest.failure();
    return std::unique_ptr<sdk::Execution>(
        std::make_unique<LocalExecution>(host_, std::move(*guest), std::move(cgroups)));
  }

  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& call) override { return end_cgroups(cgroups_, call); }

 private:
  sdk::Host host_;
  CommandCgroups cgroups_;
  sdk::OpenEnvironments::Entry listed_;
  std::atomic<unsigned> next_ = 0;
};

class LocalBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host host, std::string_view /*settings*/,
                                                            const sdk::Call& /*call*/) {
    return std::unique_ptr<sdk::Backend>(std::make_unique<LocalBackend>(host));
  }

  explicit LocalBackend(sdk::Host host) : host_(host), place_(find_cgroup_place()) {}

  sdk::Outcome<std::string> probe(const sdk::Call& /*call*/) override {
    json capabilities;
    for (const char* name : {"network.full", "stdin", "pty", "resize", "signals"}) {
      capabilities[name] = {{"grade", "kernel"}};
    }
    if (place_.folder.empty()) {
      capabilities["tree_kill"] = {{"grade", "emulated"}, {"by", "child subreaper"}, {"evidence", place_.evidence}};
    } else {
      capabilities["tree_kill"] = {{"grade", "kernel"}, {"by", "cgroup.kill"}, {"evidence", place_.evidence}};
    }
    // How a guest that serves many commands finds what one of them has left (proc_pid_task(5)).
    if (::access("/proc/thread-self/children", R_OK) == 0) {
      capabilities["persistent"] = {{"grade", "kernel"}};
    } else {
      capabilities["persistent"] = {{"grade", "unsupported"},
                                    {"evidence", "/proc/thread-self/children is missing: no CONFIG_PROC_CHILDREN"}};
    }
    return json{{"ready", true}, {"capabilities", std::move(capabilities)}}.dump();
  }

  sdk::Outcome<sdk::Opened> open(std::string_view text, const sdk::Call& /*call*/) override {
    const json document = json::parse(text);
    const json answer{{"init", document.at("init").at("source")}, {"details", json::object()}};
    auto listed = open_.add(json{{"name", document.at("name")}, {"labels", document.at("labels")}}.dump());
    return sdk::Opened{std::make_unique<LocalEnvironment>(host_, cgroups_of(document), std::move(listed)),
                       answer.dump()};
  }

  // The guest ends its command when the keeper is gone, and removes the cgroup. Only where guest and
  // keeper were killed at one instant is something left: found by its name where it has a cgroup.
  sdk::Outcome<void> reap(std::string_view entry, const sdk::Call& call) override {
    return end_cgroups(cgroups_of(json::parse(entry)), call);
  }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return open_.list(); }

 private:
  CommandCgroups cgroups_of(const json& named) const { return {place_.folder, named.at("name").get<std::string>()}; }

  sdk::Host host_;
  CgroupPlace place_;
  sdk::OpenEnvironments open_;
};

}  // namespace

eh_status create_local_backend(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** backend) {
  return sdk::detail::create<LocalBackend>(host, settings, call, backend);
}

}  // namespace exechost::node
