#include "core/node/local_backend.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <cstring>
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

class LocalEnvironment final : public sdk::Environment {
 public:
  // `cgroups`: the folder for cgroups; empty: there are none.
  LocalEnvironment(sdk::Host host, std::string name, std::string cgroups)
      : host_(host), name_(std::move(name)), cgroups_(std::move(cgroups)) {}

  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& call) override {
    sdk::Failure failure;
    failure.phase = sdk::Phase::spawn;
    if (!request.has_guest()) {
      failure.kind = sdk::Kind::unsupported;
      failure.message = "the node tier starts commands through exechost-guest only";
      return failure;
    }
    sdk::ProcessSpec spec;
    spec.arguments = request.arguments();
    std::string cgroup;
    if (!cgroups_.empty()) {
      auto made = make_cgroup(cgroups_, fmt::format("{}-{}", name_, next_++));
      if (!made) {
        // The plan promised it: running with less is not the keeper's to decide.
        failure.kind = sdk::Kind::spawn_failed;
        failure.error_number = errno;
        failure.step = "cgroup";
        failure.message = fmt::format("no cgroup for the command in {}: {}", cgroups_, std::strerror(errno));
        return failure;
      }
      cgroup = std::move(*made);
      remember(cgroup);
      spec.arguments.push_back("--cgroup=" + cgroup);
    }
    spec.descriptors = {request.stdin_fd(), request.stdout_fd(), request.stderr_fd(), request.control_fd()};
    // It must live when the keeper is killed: it is what ends the command then.
    spec.outlives_keeper = true;
    auto guest = host_.spawn(spec, call);
    if (!guest) {
      if (!cgroup.empty()) remove_cgroup(cgroup);
      return guest.failure();
    }
    return std::unique_ptr<sdk::Execution>(
        std::make_unique<LocalExecution>(host_, std::move(*guest), std::move(cgroup)));
  }

  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& call) override {
    const std::lock_guard lock(mutex_);
    while (!used_.empty()) {
      if (remove_cgroup(used_.back())) {
        used_.pop_back();
        continue;
      }
      kill_cgroup(used_.back());
      if (call.should_stop()) {
        sdk::Failure failure;
        failure.kind = sdk::Kind::environment_lost;
        failure.phase = sdk::Phase::cleanup;
        failure.step = "cgroup";
        failure.message = fmt::format("the processes in {} could not be ended in time", used_.back());
        return failure;
      }
      constexpr int kPauseMs = 2;
      ::poll(nullptr, 0, kPauseMs);
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

  // The guest ends its command when the keeper is gone, and removes the cgroup. Only where both were
  // killed at once is something left, and then nothing says where.
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
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
