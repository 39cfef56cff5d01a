// Level 3: claimed limits hold, and are no tighter than asked.
#include <fmt/format.h>

#include <cstdlib>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {
namespace {

using nlohmann::json;

ExecResult limited(Subject& subject, const std::string& script, const char* name, const json& value) {
  Request request = subject.script(script);
  Subject::add_settings(request, {{"resources", {{name, value}}}});
  return subject.run(request);
}

// tail(1) keeps a line of 300 MB in memory.
Verdict memory(Subject& subject) {
  if (!subject.claims("memory")) return Verdict::unchecked(subject.not_claimed("memory"));
  constexpr const char* kScript = "head -c 300000000 /dev/zero | tail | wc -c | tr -d ' '";
  const ExecResult little = limited(subject, kScript, "memory", "100m");
  if (little.status == Status::failed) return Verdict::failed(fmt::format("with 100 MiB it {}", in_words(little)));
  if (little.out.data == "300000000\n")
    return Verdict::failed("300 MB are kept in memory although 100 MiB are allowed");
  const ExecResult enough = limited(subject, kScript, "memory", "1g");
  if (enough.out.data != "300000000\n")
    return Verdict::failed(fmt::format("300 MB in memory are not possible with 1 GiB: it {}", in_words(enough)));
  return Verdict::passed();
}

// Seconds of processor time that a shell's `times` says its children used: the second line, "0m1.98s 0m0.00s".
double children_seconds(const std::string& times) {
  const std::size_t line = times.find('\n');
  if (line == std::string::npos) return -1;
  const char* at = times.c_str() + line + 1;
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    char* end = nullptr;
    const double minutes = std::strtod(at, &end);
    if (*end != 'm') return -1;
    seconds += minutes * 60 + std::strtod(end + 1, &end);
    if (*end != 's') return -1;
    at = end + 1;
  }
  return seconds;
}

// How much of 2 s of the processor a loop gets; negative: it can't be found out.
struct Loop {
  double seconds = -1;
  Verdict verdict;
};
Loop loop_for(Subject& subject, const json& cores) {
  constexpr const char* kScript = "timeout 2 sh -c 'while :; do :; done'; times";
  const ExecResult result = limited(subject, kScript, "cpu", cores);
  Loop loop;
  if (result.status != Status::exited) {
    loop.verdict = Verdict::failed(fmt::format("with cpu {} it {}", cores.dump(), in_words(result)));
    return loop;
  }
  loop.seconds = children_seconds(result.out.data);
  if (loop.seconds < 0)
    loop.verdict = Verdict::unchecked("the shell's `times` can't be read: " + shown(result.out.data));
  return loop;
}

// A tenth: on a busy machine no loop gets a whole core, and half of one would limit nothing.
Verdict cpu(Subject& subject) {
  if (!subject.claims("cpu")) return Verdict::unchecked(subject.not_claimed("cpu"));
  constexpr int kAttempts = 3;
  constexpr double kTooMuch = 0.4;  // 0.2 s are allowed
  constexpr double kEnough = 0.6;
  Loop tenth;
  Loop whole;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    tenth = loop_for(subject, 0.1);
    if (tenth.verdict.kind != Verdict::Kind::passed) return tenth.verdict;
    if (tenth.seconds > kTooMuch)
      return Verdict::failed(fmt::format("{:.2f} s of processor time in 2 s with a tenth of a core", tenth.seconds));
    whole = loop_for(subject, 1);
    if (whole.verdict.kind != Verdict::Kind::passed) return whole.verdict;
    // Else the machine is busy with other things, and little time shows no limit.
    if (whole.seconds > kEnough) return Verdict::passed();
  }
  return Verdict::unchecked(
      fmt::format("this machine is busy: a loop gets {:.2f} s in 2 s with a whole core", whole.seconds));
}

Verdict processes(Subject& subject) {
  if (!subject.claims("pids")) return Verdict::unchecked(subject.not_claimed("pids"));
  constexpr const char* kScript = "i=0; while [ $i -lt 80 ]; do sleep 3 & i=$((i+1)); done; echo all";
  const ExecResult few = limited(subject, kScript, "pids", 30);
  if (few.status == Status::failed) return Verdict::failed(fmt::format("with 30 processes it {}", in_words(few)));
  if (few.out.data == "all\n") return Verdict::failed("80 processes are started although 30 are allowed");
  return exact("80 processes with 300 allowed", limited(subject, kScript, "pids", 300), "all\n");
}

Verdict disk(Subject& subject) {
  if (!subject.claims("disk")) return Verdict::unchecked(subject.not_claimed("disk"));
  const std::string file = subject.private_file();
  const std::string script = fmt::format("head -c 200000000 /dev/zero > {0} && echo written; rm -f {0}", file);
  const ExecResult little = limited(subject, script, "disk", "100m");
  if (little.status == Status::failed) return Verdict::failed(fmt::format("with 100 MiB it {}", in_words(little)));
  if (little.out.data == "written\n") return Verdict::failed("200 MB are written although 100 MiB are allowed");
  return exact("200 MB with 1 GiB allowed", limited(subject, script, "disk", "1g"), "written\n");
}

}  // namespace

std::vector<Check> limit_checks() {
  return {{Level::limits, "limits.memory", "a memory limit stops who exceeds it", memory},
          {Level::limits, "limits.cpu", "a part of a core is that part", cpu},
          {Level::limits, "limits.pids", "a process limit stops who exceeds it", processes},
          {Level::limits, "limits.disk", "a disk limit stops who exceeds it", disk}};
}

}  // namespace exechost::conformance
