#include "tests/mutants/execution.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "tests/mutants/end_faults.hpp"
#include "tests/mutants/runner/runner.hpp"

namespace mutants {

namespace sdk = exechost::sdk;

namespace {

constexpr int kPatienceMs = 2000;
constexpr int kShellsNotFound = 127;

sdk::Event event_of(sdk::Event::Kind kind, int wait_status = 0) {
  sdk::Event event;
  event.kind = kind;
  event.wait_status = wait_status;
  return event;
}

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

}  // namespace

sdk::Outcome<std::unique_ptr<sdk::Execution>> MutantExecution::follow(Parts parts) {
  auto made = std::make_unique<MutantExecution>(std::move(parts));
  if (!made->begin()) {
    sdk::Failure failure;
    failure.kind = sdk::Kind::spawn_failed;
    failure.phase = sdk::Phase::spawn;
    failure.error_number = errno;
    failure.step = "epoll";
    failure.message = "the command can't be watched";
    return failure;
  }
  return std::unique_ptr<sdk::Execution>(std::move(made));
}

MutantExecution::MutantExecution(Parts parts)
    : parts_(std::move(parts)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      nudge_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      never_(::eventfd(0, EFD_CLOEXEC)) {
  const std::lock_guard lock(parts_.siblings->mutex);
  parts_.siblings->all.insert(this);
}

MutantExecution::~MutantExecution() {
  {
    const std::lock_guard lock(parts_.siblings->mutex);
    parts_.siblings->all.erase(this);
  }
  parts_.runner.leash.reset();  // its end ends the command
  pollfd gone{parts_.runner.process.pidfd(), POLLIN, 0};
  while (::poll(&gone, 1, kPatienceMs) < 0 && errno == EINTR) {
  }
}

bool MutantExecution::watch(int fd) const {
  epoll_event readable{};
  readable.events = EPOLLIN;
  readable.data.fd = fd;
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &readable) == 0;
}

bool MutantExecution::begin() {
  return events_ && nudge_ && watch(parts_.runner.status.get()) && watch(parts_.runner.process.pidfd()) &&
         watch(nudge_.get());
}

int MutantExecution::event_fd() {
  return parts_.fault == Fault::never_readable_event_fd ? never_.get() : events_.get();
}

MutantExecution::News MutantExecution::wait(const sdk::Call& /*call*/) {
  if (is_readable(nudge_.get())) return std::optional(event_of(sdk::Event::Kind::ended));
  if (parts_.runner.status) {
    News news = read_report();
    if (!news || news->has_value()) return news;
  }
  if (!runner_is_gone() || !relays_are_done()) return std::optional<sdk::Event>();
  return ended();
}

MutantExecution::News MutantExecution::read_report() {
  Report report;
  const ssize_t count = ::read(parts_.runner.status.get(), &report, sizeof report);
  if (count < 0) return std::optional<sdk::Event>();
  if (count != static_cast<ssize_t>(sizeof report)) {
    parts_.runner.status.reset();  // its end: the runner itself says the rest
    return std::optional<sdk::Event>();
  }
  switch (report.kind) {
    case Report::started: return started();
    case Report::not_started: return not_started(report.value, false);
    case Report::no_place: return not_started(report.value, true);
    default: wait_status_ = report.value; return std::optional<sdk::Event>();
  }
}

MutantExecution::News MutantExecution::started() {
  if (parts_.fault == Fault::ended_before_output) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(nudge_.get(), &one, sizeof one);
  }
  // Run once more, it would be told once more.
  if (std::exchange(started_, true)) return std::optional<sdk::Event>();
  return std::optional(event_of(sdk::Event::Kind::started));
}

MutantExecution::News MutantExecution::not_started(int error, bool no_place) {
  if (parts_.fault == Fault::spawn_failure_as_127 && !no_place) {
    wait_status_ = W_EXITCODE(kShellsNotFound, 0);
    return std::optional<sdk::Event>();
  }
  sdk::Failure failure;
  failure.kind = sdk::Kind::spawn_failed;
  failure.phase = sdk::Phase::spawn;
  failure.error_number = error;
  failure.step = no_place ? "namespaces" : "exec";
  failure.message =
      no_place ? "no namespaces could be made for the command" : '"' + parts_.program + "\" could not be started";
  return failure;
}

MutantExecution::News MutantExecution::ended() {
  if (parts_.fault == Fault::double_started_event && !std::exchange(told_twice_, true)) {
    return std::optional(event_of(sdk::Event::Kind::started));
  }
  // Without a report the runner was killed, and with it everything.
  return std::optional(event_of(sdk::Event::Kind::ended, told_status(wait_status_.value_or(SIGKILL), parts_.fault)));
}

bool MutantExecution::runner_is_gone() const { return parts_.runner.process.try_wait().has_value(); }

// Output that is still on its way is the command's too. Input that nobody reads any more is not.
bool MutantExecution::relays_are_done() {
  for (const auto& relay : parts_.relays) {
    if (parts_.fault == Fault::swallows_stdin_eof || parts_.fault == Fault::closes_stdin_early) continue;
    if (is_readable(relay->done_fd())) continue;
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, parts_.runner.process.pidfd(), nullptr);
    watch(relay->done_fd());
    return false;
  }
  return true;
}

int MutantExecution::send(int number) {
  const std::lock_guard lock(mutex_);
  if (runner_is_gone()) return -ESRCH;
  const auto byte = static_cast<unsigned char>(number);
  return ::send(parts_.runner.leash.get(), &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : -ESRCH;
}

int MutantExecution::signal(int number) {
  if (number == SIGKILL && parts_.fault == Fault::kills_other_commands) {
    const std::lock_guard lock(parts_.siblings->mutex);
    for (MutantExecution* const execution : parts_.siblings->all) execution->send(SIGKILL);
    return 0;
  }
  if (number == SIGKILL && parts_.fault == Fault::ignores_kill) return 0;
  if (number != SIGKILL && parts_.guest) return -ENOTSUP;  // the guest's to send
  if (number != SIGKILL && parts_.fault == Fault::ignores_signals) return 0;
  return send(number);
}

}  // namespace mutants
