#include "core/keeper/operations.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);  // what the ABI allows a call after its deadline

}  // namespace

Result<Operations::Id> Operations::begin(std::int64_t deadline_ns, std::string what, Overdue overdue) {
  auto cancel_fd = std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!*cancel_fd) {
    const int error = errno;
    return unexpected(make_failure(FailureKind::unavailable, Phase::provision,
                                   fmt::format("the keeper has no descriptor left: {}", std::strerror(error)),
                                   "eventfd", error, "raise the limit of open files (ulimit -n)"));
  }
  const Id id = next_++;
  Operation& operation = operations_[id];
  operation.cancel_fd = std::move(cancel_fd);
  operation.deadline_ns = deadline_ns;
  operation.what = std::move(what);
  operation.overdue = std::move(overdue);
  if (deadline_ns != kNoDeadline) {
    operation.deadline_timer = loop_->at(deadline_ns, [this, id] { stop(id, ReplyStatus::timed_out); });
  }
  return id;
}

void Operations::run(Id id, Task task, const Done& done) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  const auto cancel_fd = found->second.cancel_fd;
  const std::int64_t deadline_ns = found->second.deadline_ns;
  auto work = [this, loop = loop_, id, cancel_fd, deadline_ns, task = std::move(task), done] {
    CallResult result;
    try {
      result = task(plugin::CallLimits{deadline_ns, cancel_fd->get()});
    } catch (const std::exception& error) {
      result = CallResult::failed(make_failure(FailureKind::protocol_error, Phase::provision, error.what(), "keeper"));
    }
    // Refused after the loop's end: then nobody waits, and `this` may be gone.
    loop->post([this, id, result = std::move(result), done]() mutable { finish(id, std::move(result), done); });
  };
  try {
    pool_.submit(std::move(work));
  } catch (const std::exception& error) {
    finish(id,
           CallResult::failed(make_failure(FailureKind::unavailable, Phase::provision,
                                           fmt::format("the keeper can't start a thread: {}", error.what()), "thread")),
           done);
  }
}

void Operations::stop(Id id, ReplyStatus status) {
  const auto found = operations_.find(id);
  if (found == operations_.end() || found->second.ending.stopped) return;
  Operation& operation = found->second;
  operation.ending.stopped = true;
  operation.ending.stop_status = status;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(operation.cancel_fd->get(), &one, sizeof one);
  operation.grace_timer = loop_->at(deadline_after(kGrace), [this, id] { give_up(id); });
}

void Operations::cancel_all() {
  for (const auto& [id, operation] : operations_) stop(id, ReplyStatus::cancelled);
}

void Operations::give_up(Id id) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  Operation& operation = found->second;
  operation.grace_timer = 0;
  if (operation.ending.abandoned) return;
  operation.ending.abandoned = true;
  Ending ending = operation.ending;
  ending.result = CallResult::failed(
      make_failure(FailureKind::protocol_error, Phase::provision,
                   fmt::format("{} did not return within 2 s of its {}", operation.what,
                               ending.stop_status == ReplyStatus::timed_out ? "deadline" : "cancellation"),
                   "overdue"));
  const Overdue overdue = operation.overdue;
  overdue(std::move(ending));
}

void Operations::finish(Id id, CallResult result, const Done& done) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  loop_->cancel(found->second.deadline_timer);
  loop_->cancel(found->second.grace_timer);
  Ending ending = std::move(found->second.ending);
  operations_.erase(found);
  ending.result = std::move(result);
  // A plugin can't tell whether the descriptor means the host or the deadline.
  const bool gave_way =
      ending.result.status == ReplyStatus::timed_out || ending.result.status == ReplyStatus::cancelled;
  if (ending.stopped && gave_way) ending.result.status = ending.stop_status;
  done(std::move(ending));
  if (operations_.empty() && when_empty_) when_empty_();
}

}  // namespace exechost::keeper
