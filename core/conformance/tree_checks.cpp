// Level 1: nothing of a command lives on. Seen by files that its processes write as long as they live, never by a
// list of processes: what hides from one list is in another.
#include <fmt/format.h>

#include <array>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"
#include "core/conformance/tree_shapes.hpp"
#include "core/conformance/waiting.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

enum class End { exit, timeout, cancel };

Verdict run_to_end(Subject& subject, const TreeShape& shape, End end, const std::string& beat) {
  const std::string last = end == End::exit ? fmt::format("until [ -s '{}' ]; do sleep 0.01; done; exit 5", beat)
                                            : std::string("exec sleep 60");
  Request request = subject.script(shape.script(beating(beat)) + "\n" + last);
  Subject::add_settings(request, {{"resources", {{"kill_grace", "200ms"}}}});
  if (end == End::timeout) request.timeout = 2s;
  auto started = subject.start(request);
  if (!started) return Verdict::failed(started.error().message);
  const bool began = becomes_true([&] { return is_beating(beat) || (*started)->finished(); }, 20s);
  if (end == End::cancel) (*started)->cancel();
  const ExecResult result = (*started)->wait();
  if (result.status == Status::failed) return Verdict::failed(fmt::format("{}: it {}", shape.name, in_words(result)));
  if (!began || !is_beating(beat)) {
    return Verdict::unchecked(fmt::format("the shape \"{}\" did not come to life: the command {}{}", shape.name,
                                          in_words(result),
                                          result.err.data.empty() ? "" : ", " + shown(result.err.data)));
  }
  const Status expected = end == End::exit      ? Status::exited
                          : end == End::timeout ? Status::timed_out
                                                : Status::cancelled;
  if (result.status != expected)
    return Verdict::failed(fmt::format("{}: expected {}, it {}", shape.name, to_string(expected), in_words(result)));
  return Verdict::passed();
}

Verdict dies_whole(Subject& subject, End end, std::string_view end_name) {
  if (!subject.claims("tree_kill")) return Verdict::unchecked(subject.not_claimed("tree_kill"));
  if (!subject.shares_workspace()) return Verdict::unchecked("files of the command are not on this machine");
  for (const TreeShape& shape : tree_shapes()) {
    const std::string beat = fmt::format("{}/beat-{}-{}", subject.scratch().workspace(), end_name, shape.file_name());
    auto verdict = run_to_end(subject, shape, end, beat);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
    if (beats_on(beat))
      return Verdict::failed(fmt::format("{}: a process lives on after the command's end by {}", shape.name, end_name));
  }
  return Verdict::passed();
}

}  // namespace

std::vector<Check> tree_checks() {
  return {{Level::streams, "tree.exit", "what a command left in the background ends with it",
           [](Subject& subject) { return dies_whole(subject, End::exit, "exit"); }},
          {Level::streams, "tree.timeout", "a deadline ends every process of the command",
           [](Subject& subject) { return dies_whole(subject, End::timeout, "timeout"); }},
          {Level::streams, "tree.cancel", "cancelling ends every process of the command",
           [](Subject& subject) { return dies_whole(subject, End::cancel, "cancel"); }}};
}

}  // namespace exechost::conformance
