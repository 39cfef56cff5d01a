// Level 4: after a crash nothing is left, or everything that is left can be removed by another process.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "core/base/unique_fd.hpp"
#include "core/cleanup/ledger.hpp"
#include "core/conformance/check.hpp"
#include "core/conformance/environment_list.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"
#include "core/conformance/tree_shapes.hpp"
#include "core/conformance/waiting.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

// What a keeper that was killed left is removed by the next one.
Verdict keeper_death(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  const std::string beat = subject.scratch().workspace() + "/beat-keeper";
  const bool watched = subject.claims("tree_kill") && subject.shares_workspace();
  if (watched) {
    if (auto begun = (*link)->begin(*place, beating(beat)); !begun) return failed("a command", begun.error());
    if (!becomes_true([&] { return is_beating(beat); }, 20s)) return Verdict::failed("the command did not start");
  }
  if (auto killed = (*link)->kill_keeper(); !killed) return failed("the keeper", killed.error());
  link->reset();

  auto other = subject.link();
  if (!other) return failed("another keeper", other.error());
  if (auto reaped = (*other)->reap(place->entry); !reaped) return failed("reap", reaped.error());
  if (watched && beats_on(beat)) return Verdict::failed("a command runs on after its keeper's death and reap");
  auto verdict = EnvironmentList(**other).expect({}, "after reap");
  if (verdict.kind != Verdict::Kind::passed) return verdict;
  if (auto again = (*other)->reap(place->entry); !again) return failed("reap, once more", again.error());
  return Verdict::passed();
}

Verdict reap_of_nothing(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  const std::string id(32, 'c');
  const nlohmann::json entry{{"schema", 1},
                             {"id", id},
                             {"backend", subject.id()},
                             {"name", "exechost-cccccccccccc"},
                             {"kind", "environment"},
                             {"labels", {{"exechost.id", id}}}};
  auto place = (*link)->open();
  if (!place) return failed("open", place.error());
  if (auto reaped = (*link)->reap(entry); !reaped) return failed("reap of what never was", reaped.error());
  auto verdict = exact("a command in another environment, afterwards", (*link)->run(*place, "echo here"), "here\n");
  if (auto closed = (*link)->close(*place); !closed) return failed("close", closed.error());
  return verdict;
}

// An `exechost run` of its own, to be killed.
class HostProcess {
 public:
  HostProcess(const Subject& subject, const std::string& script) {
    std::vector<std::string> texts{
        subject.options().exechost_program, "run",     "--quiet", "--backend", subject.id(), "--workspace",
        subject.scratch().workspace(),      "--shell", script};
    std::vector<std::string> variables;
    for (const auto& [name, value] : subject.scratch().environment()) variables.push_back(name + "=" + value);
    std::vector<char*> argv;
    std::vector<char*> environment;
    for (std::string& text : texts) argv.push_back(text.data());
    for (std::string& text : variables) environment.push_back(text.data());
    argv.push_back(nullptr);
    environment.push_back(nullptr);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; ++fd) ::posix_spawn_file_actions_adddup2(&actions, null.get(), fd);
    if (::posix_spawn(&pid_, argv.front(), &actions, nullptr, argv.data(), environment.data()) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~HostProcess() { kill(); }
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;
  bool started() const { return pid_ > 0; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

// What a host left that was killed together with its keeper is in the ledger.
Verdict reaped_by_the_ledger(Subject& subject) {
  auto link = subject.link();
  if (!link) return failed("a keeper", link.error());
  const auto ledger = cleanup::Ledger::open(subject.scratch().root() + "/run/exechost/ledger");
  if (!ledger) return failed("the ledger", ledger.error());
  for (const std::string& file : ledger->orphans()) {
    const auto entry = nlohmann::json::parse(read_file(file), nullptr, false);
    if (!entry.is_object()) return Verdict::failed(fmt::format("the ledger's entry \"{}\" is not JSON", file));
    if (auto reaped = (*link)->reap(entry); !reaped) return failed("reap", reaped.error());
  }
  return EnvironmentList(**link).expect({}, "after the hosts were killed and what they left was reaped");
}

Verdict host_death(Subject& subject) {
  if (!subject.claims("tree_kill")) return Verdict::unchecked(subject.not_claimed("tree_kill"));
  if (!subject.shares_workspace()) return Verdict::unchecked("files of the command are not on this machine");
  if (subject.options().exechost_program.empty()) return Verdict::unchecked("there is no exechost program to kill");
  for (const TreeShape& shape : tree_shapes()) {
    const std::string beat = fmt::format("{}/beat-host-{}", subject.scratch().workspace(), shape.file_name());
    HostProcess host(subject, shape.script(beating(beat)) + "\nexec sleep 60");
    if (!host.started()) return Verdict::unchecked("the exechost program can't be started");
    const auto stopped = [&] { return subject.options().stop.stop_requested(); };
    const bool began = becomes_true([&] { return is_beating(beat) || stopped(); }, 20s);
    if (stopped()) return Verdict::unchecked("the kit was stopped");
    if (!began) return Verdict::unchecked(fmt::format("the shape \"{}\" did not come to life", shape.name));
    host.kill();
    if (!becomes_true([&] { return !beats_on(beat); }, 10s))
      return Verdict::failed(fmt::format("{}: a process lives on 10 s after the host was killed", shape.name));
  }
  return reaped_by_the_ledger(subject);
}

}  // namespace

std::vector<Check> recovery_checks() {
  return {{Level::recovery, "recovery.keeper", "what a killed keeper left, another one removes; twice is no error",
           keeper_death},
          {Level::recovery, "recovery.nothing", "removing what never was succeeds and touches nothing else",
           reap_of_nothing},
          {Level::recovery, "recovery.host", "nothing runs on when the host is killed", host_death}};
}

}  // namespace exechost::conformance
