#include "guest/exec/process_tree.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>

namespace exechost::guest {

namespace {

// Between two rounds of a walk: orphans arrive without an event of their own.
constexpr long kRoundNs = 5'000'000;

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// True when no child is left. Bounded: a fork bomb ends children as fast as they can be reaped.
bool reap_ended() {
  constexpr int kReapedPerRound = 4096;
  for (int i = 0; i < kReapedPerRound; ++i) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0) return errno == ECHILD;
    if (pid == 0) return false;
  }
  return false;
}

}  // namespace

Outcome ProcessTree::prepare(bool served) {
  if (const Outcome outcome = cgroup_.make(); !outcome.ok()) return outcome;
  is_init_ = ::getpid() == 1;
  if (is_init_) return success();
  // A command of the same user may stop its guest. When the launcher dies nobody else would continue it
  // to do its last work; else the signal means nothing.
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGCONT), 0UL, 0UL, 0UL);
  // Absent without CONFIG_PROC_CHILDREN or /proc: then only the command's group can be killed.
  children_.open();
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) == 0) return success();
  // Where a system has no such thing (emulators of one) orphans go to process 1. When that is the guest that serves,
  // nothing is lost: this process proves nothing, and that one kills what came to it.
  adopts_ = false;
  return served && errno == EINVAL && ::getppid() == 1 ? success() : failure(Step::session, errno);
}

void ProcessTree::kill_children() const {
  children_.for_each([](pid_t pid) { ::kill(pid, SIGKILL); });
}

void ProcessTree::kill_all(pid_t group) const {
  if (is_init_) {
    ::kill(-1, SIGKILL);
    return;
  }
  cgroup_.kill();
  // The group may be gone already; its number can't have been reused while we have not reaped its leader.
  if (group > 1) ::kill(-group, SIGKILL);
  kill_children();
}

bool ProcessTree::kill_and_reap(int timeout_ms) const {
  const long end = now_ms() + timeout_ms;
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  for (;;) {
    kill_all(0);
    if (reap_ended() && cgroup_.is_empty()) return adopts_;
    if (now_ms() >= end) return false;
    constexpr timespec kRound{0, kRoundNs};
    ::sigtimedwait(&child, nullptr, &kRound);
  }
}

}  // namespace exechost::guest
