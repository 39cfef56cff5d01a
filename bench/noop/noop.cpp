// A backend whose commands end, with status 0, the moment they start.
#include <sys/eventfd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "exechost/backend.hpp"

namespace {

namespace sdk = exechost::sdk;

constexpr const char* kCapabilities[] = {"files",        "processes", "syscalls", "users",
                                         "network.none", "stdin",     "signals",  "tree_kill"};

class NoopExecution final : public sdk::Execution {
 public:
  int event_fd() override { return ready_.get(); }

  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& /*call*/) override {
    sdk::Event event;  // started
    if (told_) event.kind = sdk::Event::Kind::ended;
    told_ = true;
    return std::optional<sdk::Event>(event);
  }

  int signal(int /*number*/) override { return 0; }

 private:
  sdk::Fd ready_{::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};  // never read: there is always something to say
  bool told_ = false;
};

class NoopEnvironment final : public sdk::Environment {
 public:
  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& /*request*/,
                                                      const sdk::Call& /*call*/) override {
    return std::unique_ptr<sdk::Execution>(std::make_unique<NoopExecution>());
  }
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& /*call*/) override { return {}; }
};

class NoopBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host /*host*/, std::string_view /*settings*/,
                                                            const sdk::Call& /*call*/) {
    return std::unique_ptr<sdk::Backend>(std::make_unique<NoopBackend>());
  }

  sdk::Outcome<std::string> probe(const sdk::Call& /*call*/) override {
    std::string capabilities;
    for (const char* name : kCapabilities) {
      if (!capabilities.empty()) capabilities += ',';
      capabilities += '"' + std::string(name) + R"(":{"grade":"kernel","evidence":"nothing runs"})";
    }
    return R"({"ready":true,"capabilities":{)" + capabilities + "}}";
  }

  sdk::Outcome<sdk::Opened> open(std::string_view /*document*/, const sdk::Call& /*call*/) override {
    return sdk::Opened{std::make_unique<NoopEnvironment>(), R"({"init":"","details":{}})"};
  }

  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }
};

}  // namespace

EXECHOST_PLUGIN(NoopBackend, "noop", "1.0.0");
