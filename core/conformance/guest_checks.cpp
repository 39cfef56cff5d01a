// Level 1: the backend's own way to end a tree, when the guest does not do it. It may be stopped by a debugger, out of
// memory, or taken over by the command it supervises.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <vector>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"
#include "core/conformance/tree_shapes.hpp"
#include "core/conformance/waiting.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

constexpr auto kDeadline = 3000ms;
constexpr auto kForTheKill = 2500ms;

struct Seen {
  std::string name;
  pid_t parent = 0;
};

// proc(5): PID (NAME) STATE PPID ...
std::map<pid_t, Seen> all_processes() {
  std::map<pid_t, Seen> seen;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string number = entry.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = read_file(entry.path() / "stat");
    const std::size_t open = stat.find('(');
    const std::size_t close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 4 > stat.size()) continue;
    seen[static_cast<pid_t>(std::stol(number))] = {
        stat.substr(open + 1, close - open - 1),
        static_cast<pid_t>(std::strtol(stat.c_str() + close + 4, nullptr, 10))};
  }
  return seen;
}

// Guests among this process's descendants. One that supervises has forked: the command is its child.
std::vector<pid_t> guests() {
  const auto seen = all_processes();
  std::vector<pid_t> found;
  for (const auto& [pid, process] : seen) {
    if (process.name != "exechost-guest") continue;
    pid_t ancestor = process.parent;
    for (auto at = seen.find(ancestor); at != seen.end() && ancestor != ::getpid(); at = seen.find(ancestor))
      ancestor = at->second.parent;
    if (ancestor == ::getpid()) found.push_back(pid);
  }
  return found;
}

Verdict without_the_guest(Subject& subject, int number, std::string_view what) {
  if (!subject.claims("tree_kill")) return Verdict::unchecked(subject.not_claimed("tree_kill"));
  if (subject.statement().guest == plan::GuestEntry::none) return Verdict::unchecked("it takes no guest");
  if (!subject.shares_workspace()) return Verdict::unchecked("its processes are not on this machine");
  const std::string beat = fmt::format("{}/beat-guest-{}", subject.scratch().workspace(), number);
  Request request = subject.script(tree_shapes().back().script(beating(beat)) + "\nexec sleep 60");
  Subject::add_settings(request, {{"resources", {{"kill_grace", "200ms"}}}});
  request.timeout = kDeadline;
  auto started = subject.start(request);
  if (!started) return Verdict::failed(started.error().message);
  if (!becomes_true([&] { return is_beating(beat) || (*started)->finished(); }, 20s) || (*started)->finished())
    return Verdict::failed(fmt::format("the command {}", in_words((*started)->wait())));
  const auto found = guests();
  bool sent = false;
  bool refused = false;
  for (const pid_t pid : found) {
    if (::kill(pid, number) == 0)
      sent = true;
    else if (errno != ESRCH)  // one that ended by itself since it was seen refused nothing
      refused = true;
  }
  if (!sent || refused) {
    (*started)->cancel();
    (*started)->wait();
    return Verdict::unchecked(refused ? "its guest can't be signalled from here" : "its guest is not seen from here");
  }
  const ExecResult result = (*started)->wait();
  // However it is reported: nothing may be left, unless that was never promised and the result says so.
  const bool lives = beats_on(beat);
  const bool emulated = subject.statement().capability("tree_kill").grade == plan::Grade::emulated;
  if (lives && emulated && result.failure && result.failure->kind == FailureKind::environment_lost)
    return Verdict::unchecked("tree_kill is only claimed as emulated, and the result says that something may be left");
  if (lives)
    return Verdict::failed(fmt::format("a process lives on after the end of a command whose guest was {}", what));
  if (number == SIGSTOP && result.status != Status::timed_out)
    return Verdict::failed(
        fmt::format("a command whose guest was {}: expected timed_out, it {}", what, in_words(result)));
  // It was not signal 9 that ended it, but what comes when that has done nothing.
  const bool destroyed = std::any_of(result.warnings.begin(), result.warnings.end(), [](const std::string& warning) {
    return warning.find("environment was destroyed") != std::string::npos;
  });
  // (A guest that is reached by streams is its environment's, so there the plugin is asked by that.)
  if (number == SIGSTOP && destroyed && subject.statement().guest == plan::GuestEntry::control_fd)
    return Verdict::failed(
        fmt::format("signal 9 to a command whose guest was {} did nothing: its environment had to be destroyed", what));
  if (result.duration > kDeadline + kForTheKill)
    return Verdict::failed(fmt::format("a command whose guest was {} took {} ms to end after its deadline", what,
                                       (result.duration - kDeadline).count()));
  return Verdict::passed();
}

}  // namespace

std::vector<Check> guest_checks() {
  return {{Level::streams, "tree.stopped_guest", "a deadline ends every process also when the guest is stopped",
           [](Subject& subject) { return without_the_guest(subject, SIGSTOP, "stopped"); }},
          {Level::streams, "tree.killed_guest", "nothing runs on when the guest is killed",
           [](Subject& subject) { return without_the_guest(subject, SIGKILL, "killed"); }}};
}

}  // namespace exechost::conformance
