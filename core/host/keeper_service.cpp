#include "core/host/keeper_service.hpp"

#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <optional>
#include <utility>

#include "core/keeper/client.hpp"
#include "core/keeper/placement.hpp"

namespace exechost::host {
namespace {

// keeper::Client as a KeeperPort that remembers whether its keeper has died. Reactor thread only,
// but for died().
class ClientPort : public environment::KeeperPort {
 public:
  ClientPort(Reactor& reactor, UniqueFd socket) : client_(std::in_place, reactor, std::move(socket)) {}

  bool died() const { return died_->load(); }
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
    return [died = died_, handler = std::move(handler)](Message message) {
      if (says_keeper_died(message.failure)) *died = true;
      handler(std::move(message));
    };
  }

  std::optional<keeper::Client> client_;
  std::shared_ptr<std::atomic<bool>> died_ = std::make_shared<std::atomic<bool>>(false);
};

template <class Work>
auto on_reactor(Reactor& reactor, Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto done = task.get_future();
  reactor.post([&task] { task(); });
  return done.get();
}

}  // namespace

struct KeeperService::Generation {
  std::unique_ptr<keeper::RunningKeeper> keeper;
  std::shared_ptr<ClientPort> port;
};

KeeperService::KeeperService(const Context& context, Reactor& reactor) : context_(context), reactor_(reactor) {}

KeeperService::~KeeperService() {
  if (!current_) return;
  on_reactor(reactor_, [this] {
    current_->port->shut_down();
    return 0;
  });
}

bool KeeperService::alive(const Generation& generation) {
  if (generation.port->died()) return false;
  const int pid = generation.keeper->pid();
  if (pid == 0) return true;
  siginfo_t info{};
  const int looked = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return looked == 0 ? info.si_pid == 0 : errno != ECHILD;
}

Result<std::shared_ptr<environment::KeeperPort>> KeeperService::port() {
  const std::lock_guard lock(mutex_);
  // Runs that still use a dead keeper's port hear of its death from the port.
  if (current_ && !alive(*current_)) {
    reactor_.post([port = std::move(current_->port)] {});  // destroyed there
    current_.reset();
  }
  if (!current_) {
    auto started = start();
    if (!started) return unexpected(started.error());
    current_ = std::move(*started);
  }
  return current_->port;
}

int KeeperService::pid() {
  const std::lock_guard lock(mutex_);
  return current_ ? current_->keeper->pid() : 0;
}

Result<std::unique_ptr<KeeperService::Generation>> KeeperService::start() {
  keeper::KeeperOptions options;
  options.ledger_folder = context_.ledger_dir();
  options.guest_path = context_.installation->guest_program;
  auto running = keeper::start(context_.placement, context_.installation->keeper_program, options);
  if (!running) return unexpected(running.error());
  auto generation = std::make_unique<Generation>();
  generation->keeper = std::move(*running);
  UniqueFd socket = generation->keeper->take_socket();
  generation->port = on_reactor(reactor_, [&] { return std::make_shared<ClientPort>(reactor_, std::move(socket)); });
  return generation;
}

}  // namespace exechost::host
