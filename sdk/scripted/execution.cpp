#include "execution.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "player.hpp"

namespace scripted {

namespace sdk = exechost::sdk;

namespace {

constexpr int kPerSecond = 1000;
constexpr long kNsPerMs = 1'000'000;

// The host starts every process in a session of its own, so its id is its group's too. A pidfd
// shows it in /proc (pidfd_open(2)).
pid_t group_of(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("Pid:", 0) == 0) return static_cast<pid_t>(std::stol(line.substr(4)));
  }
  return -1;
}

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

std::optional<sdk::Event> event_of(sdk::Event::Kind kind, int wait_status = 0) {
  sdk::Event event;
  event.kind = kind;
  event.wait_status = wait_status;
  return event;
}

const std::optional<sdk::Event> kNothing;

bool acts(const Rule& rule) { return rule.fail || rule.status || rule.throws || rule.crash; }

}  // namespace

ScriptedExecution::ScriptedExecution(sdk::Process process, bool has_process, const Rule* rule,
                                     std::unique_ptr<OutputCut> cut)
    : process_(std::move(process)),
      has_process_(has_process),
      rule_(rule),
      cut_(std::move(cut)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)),
      news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      group_(has_process ? group_of(process_.pidfd()) : -1) {}

ScriptedExecution::~ScriptedExecution() {
  const std::lock_guard lock(mutex_);
  kill_group();
}

int ScriptedExecution::watch(int fd) const {
  epoll_event readable{};
  readable.events = EPOLLIN;
  readable.data.fd = fd;
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &readable) == 0 ? 0 : errno;
}

void ScriptedExecution::unwatch(int fd) const { ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr); }

int ScriptedExecution::begin() {
  if (!events_ || !timer_ || !news_) return errno;
  // A timer of nothing would never ring.
  itimerspec span{};
  const int delay_ms = rule_ == nullptr ? 0 : rule_->delay_ms;
  span.it_value = {delay_ms / kPerSecond, delay_ms % kPerSecond * kNsPerMs + 1};
  if (::timerfd_settime(timer_.get(), 0, &span, nullptr) != 0) return errno;
  if (const int error = watch(timer_.get()); error != 0) return error;
  return watch(news_.get());
}

bool ScriptedExecution::was_killed() {
  const std::lock_guard lock(mutex_);
  return killed_;
}

ScriptedExecution::News ScriptedExecution::wait(const sdk::Call& /*call*/) {
  switch (stage_) {
    case Stage::delayed:
      if (!is_readable(timer_.get()) && !was_killed()) return kNothing;
      unwatch(timer_.get());
      stage_ = Stage::starting;
      return start();
    case Stage::starting: return start();
    case Stage::running: break;
  }
  return run();
}

ScriptedExecution::News ScriptedExecution::start() {
  if (rule_ != nullptr && rule_->never == Never::started) {
    if (!was_killed() || rule_->stubborn) return kNothing;
    sdk::Failure failure;
    failure.kind = sdk::Kind::spawn_failed;
    failure.phase = sdk::Phase::spawn;
    failure.message = "the command was ended before it had started";
    return failure;
  }
  stage_ = Stage::running;
  if (cut_) {
    cut_->begin();
    watch(cut_->done_fd());
  } else if (rule_ != nullptr && acts(*rule_)) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(news_.get(), &one, sizeof one);
  } else {
    watch(process_.pidfd());
  }
  return event_of(sdk::Event::Kind::started);
}

ScriptedExecution::News ScriptedExecution::run() {
  if (cut_) return is_readable(cut_->done_fd()) ? act() : News(kNothing);
  if (rule_ != nullptr && acts(*rule_)) return act();
  if (!is_readable(process_.pidfd())) return kNothing;
  if (rule_ != nullptr && rule_->never == Never::ended && (!was_killed() || rule_->stubborn)) {
    unwatch(process_.pidfd());  // the news is withheld; signal 9 makes some
    return kNothing;
  }
  return end();
}

// The output has come as far as the script wants it, or it did not say how far.
ScriptedExecution::News ScriptedExecution::act() {
  {
    const std::lock_guard lock(mutex_);
    kill_group();
  }
  if (auto failure = play_now(*rule_)) return *failure;
  // "end": when the process that was just killed has ended.
  cut_.reset();
  watch(process_.pidfd());
  return is_readable(process_.pidfd()) ? end() : News(kNothing);
}

ScriptedExecution::News ScriptedExecution::end() {
  const std::lock_guard lock(mutex_);
  // As long as it has not been waited for, nobody else can get its id: the group is surely ours.
  kill_group();
  group_ = -1;
  const std::optional<int> status = process_.try_wait();
  if (!status) return kNothing;
  return event_of(sdk::Event::Kind::ended, rule_ != nullptr && rule_->end ? *rule_->end : *status);
}

void ScriptedExecution::kill_group() {
  if (group_ > 1) ::kill(-group_, SIGKILL);
}

int ScriptedExecution::signal(int number) {
  const std::lock_guard lock(mutex_);
  if (has_process_ && group_ <= 1) return -ESRCH;
  if (number != SIGKILL) return !has_process_ || ::kill(-group_, number) == 0 ? 0 : -errno;
  killed_ = true;
  if (rule_ != nullptr && rule_->stubborn) return 0;
  kill_group();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(news_.get(), &one, sizeof one);
  return 0;
}

}  // namespace scripted
