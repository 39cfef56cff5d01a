#include "core/node/local_backend.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/node/cgroup.hpp"
#include "core/node/local_execution.hpp"
#include "exechost/backend.hpp"

namespace exechost::node {
namespace {

using nlohmann::json;

// Kills what is in it and removes it.
sdk::Outcome<void> end_cgroup(const std::string& path, const sdk::Call& call) {
  constexpr int kPauseMs = 2;
  for (; !remove_cgroup(path); ::poll(nullptr, 0, kPauseMs)) {
    kill_cgroup(path);
    if (!call.should_stop()) continue;
    sdk::Failure failure;
    failure.kind = sdk::Kind::environment_lost;
    failure.phase = sdk::Phase::cleanup;
    failure.step = "cgroup";
    failure.message = fmt::format("the processes in {} could not be ended in time", path);
    return failure;
  }
  return {};
}

class LocalEnvironment final : public sdk::Environment {
 public:
  // `cgroups`: the folder for cgroups; empty: there are none.
  LocalEnvironment(sdk::Host host, std::string name, std::string cgroups)
      : host_(host), name_(std::move(name)), cgroups_(std::move(cgroups)) {}

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
    std::string cgroup;
    if (!cgroups_.empty()) {
      // Made by the guest, which does not start the command without it: the plan has promised it.
      cgroup = fmt::format("{}/{}-{}", cgroups_, name_, next_++);
      remember(cgroup);
      spec.arguments.push_back("--cgroup=" + cgroup);
    }
    spec.descriptors = {request.stdin_fd(), request.stdout_fd(), request.stderr_fd(), request.control_fd()};
    // It must live when the keeper is killed: it is what ends the command then.
    spec.outlives_keeper = true;
    auto guest = host_.spawn(spec, call);
    if (!guest) return guest.failure();
    return std::unique_ptr<sdk::Execution>(
        std::make_unique<LocalExecution>(host_, std::move(*guest), std::move(cgroup)));
  }

  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& call) override {
    const std::lock_guard lock(mutex_);
    for (; !used_.empty(); used_.pop_back()) {
      if (auto ended = end_cgroup(used_.back(), call); !ended) return ended;
    }
    return {};
  }

 private:
  void remember(const std::string& cgroup) {
    const std::lock_guard lock(mutex_);
    used_.push_back(cgroup);
  }

  sdk::Host host_;
  std::string name_;
  std::string cgroups_;
  std::atomic<unsigned> next_ = 0;
  std::mutex mutex_;
  std::vector<std::string> used_;  // guarded by mutex_; most are gone already
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
    return json{{"ready", true}, {"capabilities", std::move(capabilities)}}.dump();
  }

  sdk::Outcome<sdk::Opened> open(std::string_view text, const sdk::Call& /*call*/) override {
    const json document = json::parse(text);
    const json answer{{"init", document.at("init").at("source")}, {"details", json::object()}};
    return sdk::Opened{std::make_unique<LocalEnvironment>(host_, document.at("name").get<std::string>(), place_.folder),
                       answer.dump()};
  }

  // The guest ends its command when the keeper is gone, and removes the cgroup. Only where guest and
  // keeper were killed at one instant is something left: found by its name where it has a cgroup.
  sdk::Outcome<void> reap(std::string_view entry, const sdk::Call& call) override {
    if (place_.folder.empty()) return {};
    const std::string prefix = json::parse(entry).at("name").get<std::string>() + '-';
    for (const std::string& path : cgroups_named(place_.folder, prefix)) {
      if (auto ended = end_cgroup(path, call); !ended) return ended;
    }
    return {};
  }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  sdk::Host host_;
  CgroupPlace place_;
};

}  // namespace

eh_status create_local_backend(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** backend) {
  return sdk::detail::create<LocalBackend>(host, settings, call, backend);
}

}  // namespace exechost::node
