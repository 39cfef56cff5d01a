// A backend that does what its settings tell it to do wrong: {"create": MOOD, "open": MOOD, ...}.
// Moods: "ok", "fail", "throw", "throw_int", "bad_alloc", "null", "block" (until the call is
// stopped), "stubborn" (open only: blocks for 3 s and ignores everything).
#include <unistd.h>

#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "exechost/backend.hpp"

namespace {

namespace sdk = exechost::sdk;
using nlohmann::json;

sdk::Failure told_to_fail(sdk::Kind kind, sdk::Phase phase) {
  sdk::Failure failure;
  failure.kind = kind;
  failure.phase = phase;
  failure.message = "told to fail";
  failure.hint = "tell it something else";
  failure.error_number = 28;
  failure.step = "mood";
  failure.code = "E-MOOD";
  failure.request_id = "r-1";
  return failure;
}

// Nothing: go on.
std::optional<sdk::Failure> act(const std::string& mood, sdk::Kind kind, sdk::Phase phase, const sdk::Call& call) {
  if (mood == "fail") return told_to_fail(kind, phase);
  if (mood == "throw") throw std::runtime_error("told to throw");
  if (mood == "throw_int") throw 42;  // NOLINT(hicpp-exception-baseclass): the point
  if (mood == "bad_alloc") throw std::bad_alloc();
  if (mood == "block") {
    call.progress("waiting to be stopped");
    return call.wait_for(-1).failure();
  }
  if (mood == "stubborn") ::sleep(3);
  return std::nullopt;
}

class MoodyExecution final : public sdk::Execution {
 public:
  explicit MoodyExecution(std::string mood) : mood_(std::move(mood)) {}
  int event_fd() override {
    if (mood_ == "throw") throw std::runtime_error("no descriptor today");
    return -1;
  }
  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& call) override {
    if (auto failure = act(mood_, sdk::Kind::environment_lost, sdk::Phase::run, call)) return *failure;
    return std::optional<sdk::Event>();
  }
  int signal(int /*number*/) override {
    if (mood_ == "throw") throw std::runtime_error("no signals today");
    return 0;
  }

 private:
  std::string mood_;
};

class MoodyEnvironment final : public sdk::Environment {
 public:
  explicit MoodyEnvironment(json settings) : settings_(std::move(settings)) {}
  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& /*request*/,
                                                      const sdk::Call& call) override {
    const std::string mood = settings_.value("spawn", "ok");
    if (auto failure = act(mood, sdk::Kind::spawn_failed, sdk::Phase::spawn, call)) return *failure;
    if (mood == "null") return std::unique_ptr<sdk::Execution>();
    return std::unique_ptr<sdk::Execution>(std::make_unique<MoodyExecution>(settings_.value("wait", "ok")));
  }
  // Fails once, so that a second attempt shows that the object is still there.
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& call) override {
    const std::string mood = std::exchange(settings_["close"], json("ok")).get<std::string>();
    if (auto failure = act(mood, sdk::Kind::unavailable, sdk::Phase::cleanup, call)) return *failure;
    return {};
  }
  const void* get_extension(std::string_view id) override {
    if (id == "throw") throw std::runtime_error("no extensions today");
    return id == "exechost.test/1" ? static_cast<const void*>(this) : nullptr;
  }

 private:
  json settings_;
};

class MoodyBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host /*host*/, std::string_view settings,
                                                            const sdk::Call& call) {
    json parsed = json::parse(settings);
    const std::string mood = parsed.value("create", "ok");
    if (auto failure = act(mood, sdk::Kind::unavailable, sdk::Phase::provision, call)) return *failure;
    if (mood == "null") return std::unique_ptr<sdk::Backend>();
    if (!parsed.contains("close")) parsed["close"] = "ok";
    return std::unique_ptr<sdk::Backend>(std::make_unique<MoodyBackend>(std::move(parsed)));
  }
  explicit MoodyBackend(json settings) : settings_(std::move(settings)) {}

  sdk::Outcome<std::string> probe(const sdk::Call& call) override {
    const std::string mood = settings_.value("probe", "ok");
    if (auto failure = act(mood, sdk::Kind::unavailable, sdk::Phase::provision, call)) return *failure;
    if (mood == "null") return std::string("this is not JSON");
    return std::string(R"({"ready":true,"capabilities":{}})");
  }
  sdk::Outcome<sdk::Opened> open(std::string_view /*document*/, const sdk::Call& call) override {
    const std::string mood = settings_.value("open", "ok");
    if (auto failure = act(mood, sdk::Kind::provision_failed, sdk::Phase::provision, call)) return *failure;
    if (mood == "null") return sdk::Opened{};
    return sdk::Opened{std::make_unique<MoodyEnvironment>(settings_), "{}"};
  }
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& call) override {
    if (auto failure = act(settings_.value("reap", "ok"), sdk::Kind::unavailable, sdk::Phase::cleanup, call))
      return *failure;
    return {};
  }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  json settings_;
};

}  // namespace

EXECHOST_PLUGIN(MoodyBackend, VICTIM_ID, "1.0.0");
