// Level 0: commands start, end, and report how.
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

Verdict runs_a_command(Subject& subject) {
  return exact("echo", subject.run(subject.request({"/bin/echo", "hello"})), "hello\n");
}

// Paths are bytes but for the zero and the slash.
Verdict odd_folder(Subject& subject) {
  if (!subject.shares_workspace()) return Verdict::unchecked("no folder can be made where it runs");
  const std::string folder = subject.scratch().workspace() + "/two words\n\xc3\xbc\"'$HOME";
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) return Verdict::unchecked("the folder can't be made: " + error.message());
  Request request = subject.script("pwd -P; echo here > file");
  request.cwd = folder;
  auto verdict = exact("pwd in a folder with an unusual name", subject.run(request), folder + "\n");
  if (verdict.kind == Verdict::Kind::passed && read_file(folder + "/file") != "here\n")
    return Verdict::failed("what was written in a folder with an unusual name is not there");
  return verdict;
}

Verdict missing_folder(Subject& subject) {
  Request request = subject.request({"/bin/pwd"});
  request.cwd = "/no/such/folder";
  const ExecResult result = subject.run(request);
  if (result.status == Status::failed && result.started == Started::no) return Verdict::passed();
  return Verdict::failed(
      fmt::format("a working folder that is not there: expected a refusal, it {}", in_words(result)));
}

// Not all 256: what can be wrong is wrong at the edges.
Verdict exit_codes(Subject& subject) {
  for (const int code : {0, 1, 2, 3, 42, 63, 64, 77, 124, 125, 126, 127, 128, 129, 130, 137, 143, 192, 254, 255}) {
    const auto script = fmt::format("exit {}", code);
    auto verdict = exits_with(script, subject.run(subject.script(script)), code);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  return Verdict::passed();
}

Verdict signal_deaths(Subject& subject) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGFPE, SIGKILL, SIGSEGV, SIGPIPE, SIGALRM,
                           SIGTERM, SIGUSR1, SIGUSR2}) {
    const auto script = fmt::format("ulimit -c 0; kill -{} $$; sleep 20", number);
    const ExecResult result = subject.run(subject.script(script));
    if (result.status != Status::signaled || result.signal_number != number) {
      return Verdict::failed(fmt::format("a command that signal {} ended {}", number, in_words(result)));
    }
  }
  return Verdict::passed();
}

// A command that can't start is not one that ran and failed.
Verdict refused_start(const ExecResult& result, std::string_view what, int error_number) {
  if (result.status != Status::failed || !result.failure || result.failure->kind != FailureKind::spawn_failed) {
    return Verdict::failed(fmt::format("{}: expected the failure spawn_failed, it {}", what, in_words(result)));
  }
  if (result.started != Started::no) return Verdict::failed(fmt::format("{}: it is said to have started", what));
  if (result.failure->error_number != error_number) {
    return Verdict::failed(
        fmt::format("{}: errno is {} instead of {}", what, result.failure->error_number, error_number));
  }
  return Verdict::passed();
}

Verdict missing_program(Subject& subject) {
  return refused_start(subject.run(subject.request({"/no/such/program"})), "a program that is not there", ENOENT);
}

Verdict not_executable(Subject& subject) {
  return refused_start(subject.run(subject.request({"/etc/passwd"})), "a file that is not executable", EACCES);
}

Verdict runs_once(Subject& subject) {
  return exact("a command that fails", subject.run(subject.script("echo ran; echo failed >&2; exit 7")), "ran\n",
               "failed\n", 7);
}

Verdict says_when_it_ended(Subject& subject) {
  const ExecResult result = subject.run(subject.script("sleep 0.5; echo late; exit 3"));
  auto verdict = exact("a command that takes half a second", result, "late\n", {}, 3);
  if (verdict.kind == Verdict::Kind::passed && result.duration < 500ms)
    return Verdict::failed(
        fmt::format("a command of half a second is said to have taken {} ms", result.duration.count()));
  return verdict;
}

Verdict working_folder(Subject& subject) {
  Request request = subject.request({"/bin/pwd", "-P"});
  const ExecResult workspace = subject.run(request);
  request.cwd = "/usr";
  return first_failure({exact("pwd in the workspace", workspace, subject.scratch().workspace() + "\n"),
                        exact("pwd in /usr", subject.run(request), "/usr\n")});
}

Verdict no_more_descriptors(Subject& subject) {
  const ExecResult result = subject.run(subject.request({"/bin/ls", "/proc/self/fd"}));
  if (result.status == Status::exited && result.exit_code != 0)
    return Verdict::unchecked("the environment has no ls or no /proc/self/fd");
  return exact("ls of its own descriptors, the listing's included", result, "0\n1\n2\n3\n");
}

Verdict in_parallel(Subject& subject) {
  constexpr int kCommands = 8;
  std::vector<LiveCommand> running;
  for (int i = 0; i < kCommands; ++i) {
    auto started = subject.start(subject.script(fmt::format("sleep 0.2; echo out {0}; echo err {0} >&2; exit {0}", i)));
    if (!started) return Verdict::failed(fmt::format("command {}: {}", i, started.error().message));
    running.push_back(std::move(*started));
  }
  for (int i = 0; i < kCommands; ++i) {
    auto verdict =
        exact(fmt::format("command {} of {} at the same time", i, kCommands),
              running[static_cast<std::size_t>(i)]->wait(), fmt::format("out {}\n", i), fmt::format("err {}\n", i), i);
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  return Verdict::passed();
}

}  // namespace

std::vector<Check> exec_checks() {
  return {
      {Level::exec, "exec.runs", "a command runs and what it writes arrives", runs_a_command},
      {Level::exec, "exec.exit_codes", "exit codes from 0 to 255 are the command's own", exit_codes},
      {Level::exec, "exec.signals", "a command that a signal ended is reported so", signal_deaths},
      {Level::exec, "exec.missing_program", "a program that is not there is a spawn failure", missing_program},
      {Level::exec, "exec.not_executable", "a file that can't be executed is a spawn failure", not_executable},
      {Level::exec, "exec.once", "a command that fails ran once", runs_once},
      {Level::exec, "exec.end", "the end is reported when it is there, not before", says_when_it_ended},
      {Level::exec, "exec.cwd", "a command starts in the folder that was asked for", working_folder},
      {Level::exec, "exec.odd_cwd", "a folder's name may be any bytes", odd_folder},
      {Level::exec, "exec.missing_cwd", "a working folder that is not there is refused", missing_folder},
      {Level::exec, "exec.descriptors", "a command has its three streams and no other descriptor", no_more_descriptors},
      {Level::exec, "exec.parallel", "commands at the same time don't disturb each other", in_parallel}};
}

}  // namespace exechost::conformance
