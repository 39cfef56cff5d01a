#include "support.hpp"

#include <csignal>
#include <filesystem>

namespace exechost::test {

using keeper::ExecutionEvent;

ScratchFolder::ScratchFolder() {
  std::string pattern = ::testing::TempDir() + "/exechost-execution-XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void FakeExecution::emit(ExecutionEvent::Kind kind, int wait_status) {
  ExecutionEvent event;
  event.kind = kind;
  event.wait_status = wait_status;
  handler(event);
}

void FakeExecution::confined(bool seccomp, int landlock_abi) {
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::confined;
  event.seccomp = seccomp;
  event.landlock_abi = landlock_abi;
  handler(event);
}

void FakeExecution::failed(FailureKind kind, Started was_started, std::string message) {
  close_streams();
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::failed;
  event.failure.kind = kind;
  event.failure.phase = Phase::spawn;
  event.failure.message = std::move(message);
  event.was_started = was_started;
  handler(event);
}

void FakeExecution::close_streams() {
  for (UniqueFd& fd : stdio) fd.reset();
}

void FakeExecution::gone() {
  close_streams();
  emit(ExecutionEvent::Kind::gone);
}

environment::Acquired ScriptedKeeper::lease() {
  environment::Acquired acquired;
  acquired.status = keeper::ReplyStatus::ok;
  acquired.lease.environment = 7;
  acquired.lease.id = "0123456789abcdef0123456789abcdef";
  return acquired;
}

environment::EnvironmentSource::Ticket ScriptedKeeper::acquire(environment::EnvironmentRequest,
                                                               std::function<void(environment::Acquired)> handler) {
  ++acquisitions;
  reactor_.post([this, handler = std::move(handler)] {
    if (on_acquire) return on_acquire(handler);
    handler(lease());
  });
  return 1;
}

void ScriptedKeeper::release(const environment::Lease&, environment::Release how, std::int64_t,
                             std::function<void(Reply)> handler) {
  releases.push_back(how);
  reactor_.post([this, handler = std::move(handler)] {
    if (on_release) return on_release(handler);
    Reply reply;
    reply.status = keeper::ReplyStatus::ok;
    handler(reply);
  });
}

environment::Ticket ScriptedKeeper::spawn(const keeper::SpawnRequest& request,
                                          std::function<void(ExecutionEvent)> handler) {
  execution = std::make_shared<FakeExecution>();
  execution->request = request;
  for (std::size_t i = 0; i < 3; ++i) execution->stdio[i].reset(::fcntl(request.stdio[i], F_DUPFD_CLOEXEC, 3));
  execution->handler = std::move(handler);
  reactor_.post([this, started = execution] {
    if (on_spawn) on_spawn(*started);
  });
  return 2;
}

void ScriptedKeeper::signal(environment::Ticket, int number) {
  execution->signals.push_back(number);
  reactor_.post([this, target = execution, number] {
    if (on_signal) return on_signal(*target, number);
    if (number != SIGKILL) return;
    target->killed(SIGKILL);
    target->gone();
  });
}

void ScriptedKeeper::cancel(environment::Ticket) {
  if (on_cancel) reactor_.post(on_cancel);
}

RunHarness::RunHarness()
    : keeper(std::make_shared<ScriptedKeeper>(reactor)),
      plan(std::make_shared<plan::Plan>()),
      future_(promise_.get_future()) {
  plan->backend = "fake";
  plan->tier = "sandbox";
  plan->argv = {"command"};
  plan->cwd = "/";
  plan->guest = plan::GuestEntry::control_fd;
  spec.streams.cap_bytes = 1024UL * 1024;
}

RunHarness::~RunHarness() {
  // What a test left undone must not outlive the keeper its handlers point to.
  on_reactor(reactor, [this] {
    the_run.reset();
    if (keeper->execution) keeper->execution->handler = nullptr;
    return 0;
  });
}

void RunHarness::start() {
  spec.plan = plan;
  if (auto script = keeper->on_spawn) {
    keeper->on_spawn = [this, script](FakeExecution& execution) {
      spawned_.set();
      script(execution);
    };
  } else {
    keeper->on_spawn = [this](FakeExecution&) { spawned_.set(); };
  }
  on_reactor(reactor, [this] {
    the_run = std::make_shared<execution::Run>(reactor, keeper, keeper, spec, limits);
    the_run->start([this](ExecResult result) { promise_.set_value(std::move(result)); });
    return 0;
  });
}

ExecResult RunHarness::result() {
  if (future_.wait_for(kPatience) != std::future_status::ready) {
    ADD_FAILURE() << "the run did not end";
    return {};
  }
  return future_.get();
}

bool RunHarness::done_within(std::chrono::milliseconds span) {
  return future_.wait_for(span) == std::future_status::ready;
}

void RunHarness::cancel() {
  reactor.post([run = the_run] { run->cancel(); });
}

void RunHarness::with_execution(const std::function<void(FakeExecution&)>& work) {
  on_reactor(reactor, [&] {
    work(*keeper->execution);
    return 0;
  });
}

bool RunHarness::spawned() { return spawned_.wait(); }

}  // namespace exechost::test
