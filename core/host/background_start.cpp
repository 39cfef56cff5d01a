#include "core/host/background_start.hpp"

#include <chrono>
#include <utility>

#include "core/base/clock.hpp"
#include "core/execution/spawn_request.hpp"

namespace exechost::host {
namespace {

constexpr auto kCloseTime = std::chrono::seconds(10);

}  // namespace

BackgroundStart::BackgroundStart(std::shared_ptr<environment::KeeperPort> keeper,
                                 std::shared_ptr<environment::EnvironmentSource> environments,
                                 environment::EnvironmentRequest environment, BackgroundWish wish,
                                 std::int64_t deadline_ns)
    : keeper_(std::move(keeper)),
      environments_(std::move(environments)),
      wanted_(std::move(environment)),
      wish_(std::move(wish)),
      deadline_ns_(deadline_ns) {}

void BackgroundStart::begin(std::function<void(ExecResult)> done) {
  done_ = std::move(done);
  environments_->acquire(
      wanted_, [self = shared_from_this()](environment::Acquired acquired) { self->acquired(std::move(acquired)); });
}

void BackgroundStart::acquired(environment::Acquired acquired) {
  if (acquired.status != keeper::ReplyStatus::ok) {
    if (acquired.status == keeper::ReplyStatus::failed) {
      result_.failure = std::move(acquired.failure);
    } else {
      result_.status = acquired.status == keeper::ReplyStatus::timed_out ? Status::timed_out : Status::cancelled;
      result_.stopped_phase = Phase::provision;
    }
    return std::exchange(done_, nullptr)(std::move(result_));
  }
  lease_ = std::move(acquired.lease);
  result_.environment_id = lease_->id;
  result_.environment_recreated = lease_->replaces_lost;
  keeper::SpawnRequest request = execution::spawn_request(*wanted_.plan, *lease_);
  request.shell.reset();  // it takes no part in what goes on from script to script, and keeps nobody waiting
  request.background = keeper::BackgroundChoice{wish_.id, wish_.input, deadline_ns_, wanted_.plan->kill_grace};
  keeper_->spawn(request, [self = shared_from_this()](const keeper::ExecutionEvent& event) { self->heard(event); });
}

void BackgroundStart::heard(const keeper::ExecutionEvent& event) {
  if (!done_) return;
  switch (event.kind) {
    case keeper::ExecutionEvent::Kind::confined: return;
    case keeper::ExecutionEvent::Kind::started:
    case keeper::ExecutionEvent::Kind::exited:
    case keeper::ExecutionEvent::Kind::gone:
      result_.status = Status::exited;
      result_.started = Started::yes;
      return finish(environment::Release::intact);
    case keeper::ExecutionEvent::Kind::failed:
      result_.failure = event.failure;
      result_.started = event.was_started;
      return finish(event.failure.kind == FailureKind::environment_lost ? environment::Release::destroy
                                                                        : environment::Release::intact);
  }
}

void BackgroundStart::finish(environment::Release how) {
  environments_->release(*lease_, how, deadline_after(kCloseTime),
                         [self = shared_from_this(), done = std::exchange(done_, nullptr)](const keeper::Reply&) {
                           done(std::move(self->result_));
                         });
}

}  // namespace exechost::host
