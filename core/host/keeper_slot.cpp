#include "core/host/keeper_slot.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <optional>
#include <utility>

#include "core/keeper/client.hpp"

namespace exechost::host {
namespace {

// keeper::Client as a KeeperPort that remembers whether its keeper has died, and that stays until everything that it
// was asked is answered, whoever else lets go of it. Reactor thread only, but for died().
class ClientPort : public environment::KeeperPort, public std::enable_shared_from_this<ClientPort> {
 public:
  ClientPort(Reactor& reactor, UniqueFd socket) : client_(std::in_place, reactor, std::move(socket)) {}

  bool died() const { return died_.load(); }
  // Closes the socket: the keeper removes what is left and ends. Nobody waits for a handler then.
  void shut_down() { client_.reset(); }

  environment::Ticket probe(const keeper::ProbeRequest& request, ReplyHandler handler) override {
    return client_ ? client_->probe(request, watch(std::move(handler))) : 0;
  }
  environment::Ticket open(const keeper::OpenRequest& request, ReplyHandler handler) override {
    return client_ ? client_->open(request, watch(std::move(handler))) : 0;
  }
  environment::Ticket spawn(const keeper::SpawnRequest& request, EventHandler handler) override {
    return client_ ? client_->spawn(request, watch(std::move(handler))) : 0;
  }
  environment::Ticket close(const keeper::CloseRequest& request, ReplyHandler handler) override {
    return client_ ? client_->close(request, watch(std::move(handler))) : 0;
  }
  environment::Ticket list(const keeper::ListRequest& request, ReplyHandler handler) override {
    return client_ ? client_->list(request, watch(std::move(handler))) : 0;
  }
  environment::Ticket reap(const keeper::ReapRequest& request, ReplyHandler handler) override {
    return client_ ? client_->reap(request, watch(std::move(handler))) : 0;
  }
  environment::Ticket sessions(const keeper::SessionsRequest& request, ReplyHandler handler) override {
    return client_ ? client_->sessions(request, watch(std::move(handler))) : 0;
  }
  void cancel(environment::Ticket request) override {
    if (client_) client_->cancel(request);
  }
  void signal(environment::Ticket execution, int number) override {
    if (client_) client_->signal(execution, number);
  }

 private:
  // The client's own word for it; a backend's crash is reported by a keeper that lives.
  static bool says_keeper_died(const Failure& failure) {
    return failure.kind == FailureKind::plugin_crashed && failure.step == "keeper";
  }
  template <class Message>
  std::function<void(Message)> watch(std::function<void(Message)> handler) {
    return [self = shared_from_this(), handler = std::move(handler)](Message message) {
      if (says_keeper_died(message.failure)) self->died_ = true;
      handler(std::move(message));
    };
  }

  std::optional<keeper::Client> client_;
  std::atomic<bool> died_ = false;
};

template <class Work>
auto on_reactor(Reactor& reactor, Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto done = task.get_future();
  reactor.post([&task] { task(); });
  return done.get();
}

}  // namespace

struct KeeperSlot::Generation {
  std::unique_ptr<keeper::RunningKeeper> keeper;
  std::shared_ptr<ClientPort> port;
};

KeeperSlot::KeeperSlot(Reactor& reactor, KeeperStart how) : reactor_(reactor), how_(std::move(how)) {}

KeeperSlot::~KeeperSlot() {
  if (!current_) return;
  on_reactor(reactor_, [this] {
    current_->port->shut_down();
    return 0;
  });
}

bool KeeperSlot::alive(const Generation& generation) {
  if (generation.port->died() || generation.keeper->has_ended()) return false;
  const int pid = generation.keeper->pid();
  if (pid == 0) return true;
  siginfo_t info{};
  const int looked = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return looked == 0 ? info.si_pid == 0 : errno != ECHILD;
}

Result<std::shared_ptr<environment::KeeperPort>> KeeperSlot::port() {
  const std::lock_guard lock(mutex_);
  // Whoever still waits for an answer of a dead keeper hears of its death from the port.
  if (current_ && !alive(*current_)) {
    reactor_.post([port = std::move(current_->port)] {});  // destroyed there
    current_.reset();
    crashes_.add(std::chrono::steady_clock::now());
  }
  if (!current_) {
    if (auto refused = refusal()) return unexpected(std::move(*refused));
    auto started = start();
    if (!started) return unexpected(started.error());
    current_ = std::move(*started);
  }
  return current_->port;
}

int KeeperSlot::pid() {
  const std::lock_guard lock(mutex_);
  return current_ ? current_->keeper->pid() : 0;
}

// Only one that a single plugin has for itself is held back: the shared one serves all the others too.
std::optional<Failure> KeeperSlot::refusal() const {
  if (how_.plugin.empty()) return std::nullopt;
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::provision;
  failure.step = "keeper";
  failure.backend = how_.plugin;
  if (crashes_.is_hopeless()) {
    failure.message =
        fmt::format("backend \"{}\" has crashed {} times and is not started any more", how_.plugin, crashes_.count());
    failure.hint = "`exechost conformance` may show why; a program that is started anew tries it again";
    return failure;
  }
  const auto wait = crashes_.wait(std::chrono::steady_clock::now());
  if (wait.count() == 0) return std::nullopt;
  failure.message = fmt::format("backend \"{}\" has crashed {} times and is started again in {} ms", how_.plugin,
                                crashes_.count(), wait.count());
  failure.hint = "try again then, or choose another backend";
  return failure;
}

Result<std::unique_ptr<KeeperSlot::Generation>> KeeperSlot::start() {
  auto running = how_.detached ? keeper::join_detached(*how_.detached, how_.program, how_.options)
                               : keeper::start(how_.placement, how_.program, how_.options);
  if (!running) return unexpected(running.error());
  auto generation = std::make_unique<Generation>();
  generation->keeper = std::move(*running);
  UniqueFd socket = generation->keeper->take_socket();
  generation->port = on_reactor(reactor_, [&] { return std::make_shared<ClientPort>(reactor_, std::move(socket)); });
  return generation;
}

}  // namespace exechost::host
