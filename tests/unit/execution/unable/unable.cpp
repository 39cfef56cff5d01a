// A backend that claims everything and can open nothing: {"open": "fail"} fails at once, "block"
// waits until it is stopped. For tests of what the host does then.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/backend.hpp"

namespace {

namespace sdk = exechost::sdk;

class UnableBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host /*host*/, std::string_view settings,
                                                            const sdk::Call& /*call*/) {
    const bool blocks = settings.find("\"block\"") != std::string_view::npos;
    return std::unique_ptr<sdk::Backend>(std::make_unique<UnableBackend>(blocks));
  }
  explicit UnableBackend(bool blocks) : blocks_(blocks) {}

  sdk::Outcome<std::string> probe(const sdk::Call& /*call*/) override {
    std::string capabilities;
    for (const char* name : {"files", "syscalls", "processes", "users", "network.none", "pids", "stdin", "tree_kill"}) {
      capabilities +=
          (capabilities.empty() ? "\"" : ",\"") + std::string(name) + R"(":{"grade":"kernel","evidence":"claimed"})";
    }
    return R"({"ready":true,"capabilities":{)" + capabilities + "}}";
  }
  sdk::Outcome<sdk::Opened> open(std::string_view /*document*/, const sdk::Call& call) override {
    if (blocks_) return call.wait_for(-1).failure();
    sdk::Failure failure;
    failure.kind = sdk::Kind::provision_failed;
    failure.phase = sdk::Phase::provision;
    failure.message = "nothing can be opened here";
    return failure;
  }
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  bool blocks_;
};

}  // namespace

EXECHOST_PLUGIN(UnableBackend, "unable", "1.0.0");
