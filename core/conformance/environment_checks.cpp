// Level 2: an environment holds several commands, ends whole, and is known as long as it exists.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "core/conformance/check.hpp"
#include "core/conformance/environment_list.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"
#include "core/conformance/waiting.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

Verdict several_commands(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  for (int i = 0; i < 3; ++i) {
    auto verdict = exact(fmt::format("command {} in one environment", i + 1),
                         (*link)->run(*place, fmt::format("echo {0}; exit {0}", i)), fmt::format("{}\n", i), {}, i);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  std::vector<std::future<ExecResult>> together;
  for (int i = 0; i < 4; ++i) {
    together.push_back(std::async(std::launch::async, [&link, &place, i] {
      return (*link)->run(*place, fmt::format("sleep 0.{0}; echo {0}; exit {0}", i + 1));
    }));
  }
  for (int i = 0; i < 4; ++i) {
    auto verdict = exact(fmt::format("command {} of 4 at the same time in one environment", i + 1),
                         together[static_cast<std::size_t>(i)].get(), fmt::format("{}\n", i + 1), {}, i + 1);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  return Verdict::passed();
}

Verdict one_dies_alone(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  // The other runs before the first is started and until it has been killed, however slow this machine is.
  auto other = (*link)->begin(*place, "read -r line; echo on; exit 3");
  if (!other) return failed("a command", other.error());
  if (!becomes_true([&] { return other->running(); }, 20s)) return Verdict::failed("a command did not start");
  const ExecResult killed = (*link)->run(*place, "exec sleep 60", 1s);
  if (killed.status != Status::timed_out)
    return Verdict::failed(fmt::format("a command with a deadline of 1 s {}", in_words(killed)));
  other->close_input();
  auto verdict = exact("a command beside one that is killed", other->wait(), "on\n", {}, 3);
  if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  return verdict;
}

// plugin.h: a plugin does not change what belongs to the whole process.
Verdict process_unchanged(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  if (auto listed = (*link)->list(); !listed) return failed("list", listed.error());
  const std::string folder = (*link)->keeper_folder();
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  const ExecResult result = (*link)->run(*place, "exit 0");
  if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  if ((*link)->keeper_folder() != folder)
    return Verdict::failed(
        fmt::format("the process that loaded it is in {} now instead of {}", (*link)->keeper_folder(), folder));
  return exits_with("exit 0", result, 0);
}

Verdict close_ends_commands(Subject& subject) {
  if (!subject.claims("tree_kill")) return Verdict::unchecked(subject.not_claimed("tree_kill"));
  if (!subject.shares_workspace()) return Verdict::unchecked("files of the command are not on this machine");
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  const std::string beat = subject.scratch().workspace() + "/beat-close";
  if (auto begun = (*link)->begin(*place, beating(beat)); !begun) return failed("a command", begun.error());
  if (!becomes_true([&] { return is_beating(beat); }, 20s)) return Verdict::failed("the command did not start");
  if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  if (beats_on(beat)) return Verdict::failed("a command runs on after its environment was closed");
  return Verdict::passed();
}

Verdict listed_while_open(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  EnvironmentList list(**link);
  if (auto verdict = list.expect({}, "before anything is opened"); verdict.kind != Verdict::Kind::passed)
    return verdict;
  auto first = (*link)->open();
  if (!first) return failed("open", first.error());
  auto second = (*link)->open();
  if (!second) return failed("open", second.error());
  // Processes alone end with the keeper: a backend that has nothing else has nothing to list.
  const bool lasting = must_list(subject.statement());
  if (auto verdict = list.expect_open({&*first, &*second}, lasting); verdict.kind != Verdict::Kind::passed)
    return verdict;
  if (auto closed = (*link)->close(*first); !closed) return failed("close", closed.error());
  if (auto verdict = list.expect_open({&*second}, lasting); verdict.kind != Verdict::Kind::passed) return verdict;
  if (auto closed = (*link)->close(*second); !closed) return failed("close", closed.error());
  return list.expect({}, "after everything was closed");
}

Verdict cancelled_open_leaves_nothing(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  for (int i = 0; i < 5; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const keeper::Reply reply = (*link)->open_and_cancel();
    const auto took = std::chrono::steady_clock::now() - began;
    // A quick backend may have been done before.
    if (reply.status == keeper::ReplyStatus::failed || reply.status == keeper::ReplyStatus::timed_out)
      return failed("an open that was cancelled", reply.failure);
    if (took > 4s) return Verdict::failed("an open that was cancelled took more than 4 s to end");
    if (reply.status == keeper::ReplyStatus::ok) {
      OpenPlace place;
      place.number = reply.body.value("environment", std::uint64_t{0});
      if (auto closed = (*link)->close(place); !closed) return failed("close", closed.error());
    }
  }
  return EnvironmentList(**link).expect({}, "after opens that were cancelled");
}

Verdict deadline_in_open_leaves_nothing(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  for (const auto time : {0ms, 1ms, 3ms, 10ms}) {
    const auto began = std::chrono::steady_clock::now();
    auto place = (*link)->open(time);
    const auto took = std::chrono::steady_clock::now() - began;
    if (took > 5s) return Verdict::failed(fmt::format("an open with {} ms took more than 5 s", time.count()));
    if (!place) continue;
    if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  }
  return EnvironmentList(**link).expect({}, "after opens whose deadline passed");
}

Verdict state_lasts(Subject& subject) {
  if (!subject.claims("persistent")) return Verdict::unchecked(subject.not_claimed("persistent"));
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  const std::string file = subject.private_file();
  auto verdict = first_failure({exact("a file made by one command", (*link)->run(*place, "echo kept > " + file), {}),
                                exact("read by the next", (*link)->run(*place, "cat " + file), "kept\n")});
  if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  return verdict;
}

}  // namespace

std::vector<Check> environment_checks() {
  return {{Level::environments, "environment.commands", "one environment runs several commands, also at once",
           several_commands},
          {Level::environments, "environment.kill", "killing one command leaves the others of its environment",
           one_dies_alone},
          {Level::environments, "environment.process", "the process that loads it stays as it was", process_unchanged},
          {Level::environments, "environment.state", "what one command leaves is there for the next", state_lasts},
          {Level::environments, "environment.close", "closing ends what still runs in it", close_ends_commands},
          {Level::environments, "environment.list", "the list shows exactly what is open", listed_while_open},
          {Level::environments, "environment.cancel", "an open that is cancelled leaves nothing",
           cancelled_open_leaves_nothing},
          {Level::environments, "environment.deadline", "an open whose deadline passes leaves nothing",
           deadline_in_open_leaves_nothing}};
}

}  // namespace exechost::conformance
