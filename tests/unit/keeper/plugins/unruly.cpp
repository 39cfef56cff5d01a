// A backend that breaks its word in the way its settings say ({"mode": ...}):
//   silent     nothing is started, no event ever comes, signals do nothing; close works
//   at_once    nothing is started, and it says at once that it ended with status 3
//   lost       nothing is started, and it says at once that the environment is lost
//   junk       plays a guest that sends a packet that is no message; ends when killed
//   backwards  plays a guest that reports an exit before a start; ends when killed
//   twice      plays a guest that starts, exits, and exits again; ends when killed
//   vanishes   plays a guest that starts and goes away; ends when killed
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "exechost/backend.hpp"
#include "guest/protocol.hpp"

namespace {

namespace sdk = exechost::sdk;
namespace guest = exechost::guest;

class UnrulyExecution final : public sdk::Execution {
 public:
  UnrulyExecution(std::string mode, int control_fd)
      : mode_(std::move(mode)), event_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (control_fd >= 0) control_fd_ = ::fcntl(control_fd, F_DUPFD_CLOEXEC, 0);
    if (mode_ == "at_once" || mode_ == "lost") wake();
    if (mode_ == "junk") [[maybe_unused]]
      const ssize_t sent = ::send(control_fd_, "junk", 4, MSG_NOSIGNAL);
    if (mode_ == "backwards") say(guest::MessageType::exited);
    if (mode_ == "twice" || mode_ == "vanishes") {
      say(guest::MessageType::confined);
      say(guest::MessageType::started);
    }
    if (mode_ == "twice") {
      say(guest::MessageType::exited);
      say(guest::MessageType::exited);
    }
    if (mode_ == "vanishes") ::close(std::exchange(control_fd_, -1));
  }
  ~UnrulyExecution() override {
    ::close(event_fd_);
    if (control_fd_ >= 0) ::close(control_fd_);
  }

  int event_fd() override { return event_fd_; }
  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& /*call*/) override {
    const std::lock_guard lock(mutex_);
    if (!ended_) return std::optional<sdk::Event>();
    if (mode_ == "lost") {
      sdk::Failure failure;
      failure.kind = sdk::Kind::environment_lost;
      failure.message = "told to be lost";
      return failure;
    }
    sdk::Event event;
    event.kind = sdk::Event::Kind::ended;
    event.wait_status = 3 << 8;
    return std::optional<sdk::Event>(event);
  }
  int signal(int number) override {
    if (number == 9 && mode_ != "silent") wake();
    return 0;
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    ::eventfd_write(event_fd_, 1);
  }
  void say(guest::MessageType type) const {
    guest::Message message;
    message.type = type;
    message.version = guest::kProtocolVersion;
    [[maybe_unused]] const ssize_t sent = ::send(control_fd_, &message, sizeof message, MSG_NOSIGNAL);
  }

  std::string mode_;
  int event_fd_;
  int control_fd_ = -1;
  std::mutex mutex_;
  bool ended_ = false;
};

class UnrulyEnvironment final : public sdk::Environment {
 public:
  explicit UnrulyEnvironment(std::string mode) : mode_(std::move(mode)) {}
  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& /*call*/) override {
    return std::unique_ptr<sdk::Execution>(std::make_unique<UnrulyExecution>(mode_, request.control_fd()));
  }
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& /*call*/) override { return {}; }

 private:
  std::string mode_;
};

class UnrulyBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host /*host*/, std::string_view settings,
                                                            const sdk::Call& /*call*/) {
    return std::unique_ptr<sdk::Backend>(
        std::make_unique<UnrulyBackend>(nlohmann::json::parse(settings).value("mode", "silent")));
  }
  explicit UnrulyBackend(std::string mode) : mode_(std::move(mode)) {}
  sdk::Outcome<std::string> probe(const sdk::Call& /*call*/) override {
    return std::string(R"({"ready":true,"capabilities":{}})");
  }
  sdk::Outcome<sdk::Opened> open(std::string_view /*document*/, const sdk::Call& /*call*/) override {
    return sdk::Opened{std::make_unique<UnrulyEnvironment>(mode_), R"({"init":"/guest"})"};
  }
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  std::string mode_;
};

}  // namespace

EXECHOST_PLUGIN(UnrulyBackend, "unruly", "1.0.0");
