// Level 1: signals, deadlines and cancelling.
#include <fmt/format.h>

#include <csignal>
#include <thread>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"
#include "core/conformance/waiting.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

Verdict signals_arrive(Subject& subject) {
  if (!subject.claims("signals")) return Verdict::unchecked(subject.not_claimed("signals"));
  for (const auto& [number, name] :
       {std::pair{SIGTERM, "TERM"}, std::pair{SIGINT, "INT"}, std::pair{SIGUSR1, "USR1"}}) {
    Request request = subject.script(fmt::format(
        "trap 'echo caught; exit 9' {}; echo ready; n=0; while [ $n -lt 200 ]; do sleep 0.05; n=$((n+1)); done", name));
    std::atomic<bool> ready = false;
    request.on_output = [&ready](StdStream, std::string_view) { ready = true; };
    auto started = subject.start(request);
    if (!started) return Verdict::failed(started.error().message);
    if (!becomes_true([&] { return ready.load() || (*started)->finished(); }, 20s) || (*started)->finished())
      return Verdict::failed(fmt::format("a command that waits for {} {}", name, in_words((*started)->wait())));
    if (auto sent = (*started)->signal(number); !sent)
      return Verdict::failed(fmt::format("{} can't be sent: {}", name, sent.error().message));
    // Its shell may say on stderr what the signal did to the sleep beside it.
    const ExecResult& result = (*started)->wait();
    auto verdict = first_failure({exits_with(fmt::format("a command that catches {}", name), result, 9),
                                  same_bytes("what it says", result.out.data, "ready\ncaught\n")});
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  return Verdict::passed();
}

Verdict ends_in_time(const ExecResult& result, std::string_view what, Status expected, std::chrono::milliseconds from,
                     std::chrono::milliseconds to, std::chrono::milliseconds took) {
  if (result.status != expected)
    return Verdict::failed(fmt::format("{}: expected {}, it {}", what, to_string(expected), in_words(result)));
  if (took < from || took > to) {
    return Verdict::failed(
        fmt::format("{}: took {} ms, expected {} to {} ms", what, took.count(), from.count(), to.count()));
  }
  return Verdict::passed();
}

Verdict deadline_while_running(Subject& subject) {
  // The command ends at the first polite signal: grace is not waited for.
  Request request = subject.script("exec sleep 60");
  request.timeout = 1500ms;
  const ExecResult result = subject.run(request);
  auto verdict = ends_in_time(result, "a deadline of 1.5 s", Status::timed_out, 1500ms, 4000ms, result.duration);
  if (verdict.kind != Verdict::Kind::passed) return verdict;
  Request deaf = subject.script("trap '' TERM INT HUP; while :; do sleep 0.1; done");
  deaf.timeout = 1500ms;
  Subject::add_settings(deaf, {{"resources", {{"kill_grace", "500ms"}}}});
  const ExecResult killed = subject.run(deaf);
  return ends_in_time(killed, "a deadline of 1.5 s for a command that is deaf to signals", Status::timed_out, 1500ms,
                      5000ms, killed.duration);
}

// Wherever it has come to, the deadline ends it, and it is the deadline that is reported.
Verdict deadline_anywhere(Subject& subject) {
  for (const auto timeout : {1ms, 3ms, 10ms, 30ms, 100ms, 300ms}) {
    Request request = subject.script("exec sleep 60");
    request.timeout = timeout;
    Subject::add_settings(request, {{"resources", {{"kill_grace", "100ms"}}}});
    const ExecResult result = subject.run(request);
    auto verdict = ends_in_time(result, fmt::format("a deadline of {} ms", timeout.count()), Status::timed_out, 0ms,
                                timeout + 4000ms, result.duration);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  return Verdict::passed();
}

Verdict cancel_anywhere(Subject& subject) {
  for (const auto after : {0ms, 3ms, 10ms, 30ms, 100ms, 1000ms}) {
    auto started = subject.start(subject.script("exec sleep 60"));
    if (!started) return Verdict::failed(started.error().message);
    std::this_thread::sleep_for(after);
    const auto began = std::chrono::steady_clock::now();
    (*started)->cancel();
    const ExecResult result = (*started)->wait();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    auto verdict =
        ends_in_time(result, fmt::format("cancelled after {} ms", after.count()), Status::cancelled, 0ms, 4000ms, took);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  return Verdict::passed();
}

}  // namespace

std::vector<Check> stop_checks() {
  return {{Level::streams, "signals", "signals reach the command", signals_arrive},
          {Level::streams, "deadline.running", "a deadline ends a running command in time", deadline_while_running},
          {Level::streams, "deadline.anywhere", "a deadline ends it in every phase, and is what is reported",
           deadline_anywhere},
          {Level::streams, "cancel.anywhere", "cancelling ends it in every phase, and is what is reported",
           cancel_anywhere}};
}

}  // namespace exechost::conformance
