// Named sessions: environments that programs of one user share by name, and that outlive them.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/contract/session/named_scene.hpp"
#include "tests/support/guests.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Named : public NamedScene {
 protected:
  static std::vector<std::string> names_of(ExecHost& host) {
    const auto listed = host.sessions_json();
    EXPECT_TRUE(listed) << listed.error().message;
    std::vector<std::string> names;
    for (const auto& session : json::parse(listed ? *listed : "[]")) names.push_back(session.at("name"));
    return names;
  }
};

TEST_F(Named, IsTheSameForEveryHostAndOutlivesThem) {
  std::string id;
  {
    const auto host = make_host();
    const ExecResult first = host->session("build").run(shell_request("echo kept > /tmp/mark"));
    ASSERT_EQ(first.exit_code, 0) << (first.failure ? first.failure->message : "");
    EXPECT_EQ(first.session, "build");
    id = first.environment_id;
  }
  const auto host = make_host();
  const ExecResult second = host->session("build").run(shell_request("cat /tmp/mark"));
  EXPECT_EQ(second.out.data, "kept\n");
  EXPECT_EQ(second.environment_id, id);
  EXPECT_FALSE(second.environment_recreated);
  EXPECT_EQ(command({"run", "--session", "build", "--shell", "cat /tmp/mark"}).out, "kept\n");
  EXPECT_EQ(keepers().size(), 1u);
}

TEST_F(Named, DifferentNamesAndOwnersNeverShare) {
  const auto host = make_host();
  ASSERT_EQ(host->session("one").run(shell_request("echo > /tmp/mark")).exit_code, 0);
  EXPECT_EQ(host->session("two").run(shell_request("ls /tmp")).out.data, "");
  HostOptions options = host_options(*scene_, KeeperPlacement::in_process);
  options.session_owner = "somebody";
  ExecHost other(options);
  EXPECT_EQ(other.session("one").run(shell_request("ls /tmp")).out.data, "");
  EXPECT_THAT(names_of(*host), ElementsAre("one", "two"));
  EXPECT_THAT(names_of(other), ElementsAre("one"));
  EXPECT_EQ(host->run(shell_request("ls /tmp")).out.data, "") << "without a name it is the host's own";
}

TEST_F(Named, FilesAreCopiedByItsNameFromAnywhere) {
  const auto host = make_host();
  ASSERT_EQ(host->session("s").run(shell_request("echo out > /tmp/mark; mkdir inner; echo in > inner/file")).exit_code,
            0);
  const auto from_outside = [this](std::vector<std::string> arguments) {
    ProgramOptions options = cli(std::move(arguments));
    options.cwd = scene_->outside();
    return run_program(options);
  };
  EXPECT_EQ(from_outside({"cp", "s:/tmp/mark", "mark"}).exit_status(), 0);
  EXPECT_EQ(read_file(scene_->outside() + "/mark"), "out\n");
  // Paths in it begin where it was opened.
  const ProgramEnd relative = from_outside({"cp", "s:inner/file", "."});
  EXPECT_EQ(relative.exit_status(), 0) << relative.err;
  EXPECT_EQ(read_file(scene_->outside() + "/file"), "in\n");
  const ProgramEnd in = from_outside({"cp", "mark", "s:inner"});
  EXPECT_EQ(in.exit_status(), 0) << in.err;
  EXPECT_EQ(in.err, "");
  EXPECT_EQ(read_file(scene_->workspace() + "/inner/mark"), "out\n");
  // A command there laid a link for whoever copies into its workspace from elsewhere.
  ASSERT_EQ(host->session("s").run(sh_request("ln -s " + scene_->outside() + " trap")).exit_code, 0);
  EXPECT_NE(from_outside({"cp", "s:/tmp/mark", scene_->workspace() + "/trap/laid"}).exit_status(), 0);
  EXPECT_FALSE(std::filesystem::exists(scene_->outside() + "/laid"));
  // A run has to be where it was opened.
  const ProgramEnd refused = from_outside({"run", "--session", "s", "--", "true"});
  EXPECT_EQ(refused.exit_status(), 125);
  EXPECT_THAT(refused.err, HasSubstr("different: workspace"));
  EXPECT_THAT(refused.err, HasSubstr("--workspace " + scene_->workspace()));
}

TEST_F(Named, AWrongNameIsNoNewSessionInSilence) {
  write_file(scene_->workspace() + "/file", "x");
  const ProgramEnd from = command({"cp", "none:/tmp/file", "."});
  EXPECT_NE(from.exit_status(), 0);
  EXPECT_THAT(from.err, HasSubstr("there is no session \"none\""));
  const ProgramEnd to = command({"cp", "file", "none:/tmp"});
  EXPECT_EQ(to.exit_status(), 0) << to.err;
  EXPECT_THAT(to.err, HasSubstr("session \"none\" was not there"));
  EXPECT_THAT(command({"logs", "nobody"}).err, HasSubstr("there is no session \"nobody\""));
  EXPECT_THAT(command({"logs", "none"}).err, HasSubstr("no command in the background"));
}

TEST_F(Named, TheFirstOneOfAFreshUserIsTheSamePlaceForTheNextRun) {
  std::string why_not;
  // Where ExecHost's own folders would be seen by commands.
  scene_ = Scene::make(geteuid() == 0 ? "root" : "user", Place::srv, why_not);
  if (!scene_) {
    scene_ = own_scene();
    GTEST_SKIP() << why_not;
  }
  ASSERT_EQ(command({"run", "--session", "s", "--", "true"}).exit_status(), 0);
  const ProgramEnd again = command({"run", "--session", "s", "--", "true"});
  EXPECT_EQ(again.exit_status(), 0) << again.err;
  const ProgramEnd copy = command({"run", "--set", "workspace.mode=\"copy\"", "--", "true"});
  EXPECT_EQ(copy.exit_status(), 0) << copy.err;
  const ProgramEnd after_the_copy = command({"run", "--session", "s", "--", "true"});
  EXPECT_EQ(after_the_copy.exit_status(), 0) << after_the_copy.err;
}

TEST_F(Named, AnotherWorkspaceModeIsNamed) {
  ASSERT_EQ(command({"run", "--session", "s", "--set", "workspace.mode=\"copy\"", "--", "true"}).exit_status(), 0);
  const ProgramEnd refused = command({"run", "--session", "s", "--", "true"});
  EXPECT_THAT(refused.err, HasSubstr("workspace.mode (copy, now direct)"));
  EXPECT_THAT(refused.err, testing::Not(HasSubstr("--workspace")));
}

TEST_F(Named, AnotherPlaceIsRefusedByNameOrMadeAnew) {
  const auto host = make_host();
  const Session session = host->session("s");
  const ExecResult first = session.run(shell_request("echo > /tmp/mark"));
  Request other = shell_request("ls /tmp; touch " + scene_->workspace() + "/ran");
  other.settings_json = R"({"filesystem": {"allow_write": [")" + scene_->outside() + R"("]}})";
  const ExecResult refused = session.run(other);
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->kind, FailureKind::invalid_request);
  EXPECT_EQ(refused.started, Started::no);
  EXPECT_THAT(refused.failure->message, HasSubstr(scene_->outside() + " ("));
  EXPECT_THAT(refused.failure->hint, HasSubstr("--recreate"));
  EXPECT_EQ(session.run(shell_request("ls /tmp")).out.data, "mark\n") << "it is untouched";
  other.recreate_session = true;
  const ExecResult anew = session.run(other);
  EXPECT_EQ(anew.out.data, "") << (anew.failure ? anew.failure->message : "");
  EXPECT_EQ(anew.status, Status::exited);
  EXPECT_NE(anew.environment_id, first.environment_id);
  EXPECT_EQ(session.run(other).environment_id, anew.environment_id) << "the same place now: nothing to make anew";
}

TEST_F(Named, ManyProgramsAtOnceOpenOne) {
  constexpr int kPrograms = 20;
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < kPrograms; ++i) {
    programs.push_back(std::make_unique<Program>(
        cli({"run", "--json", "--session", "crowd", "--shell", "echo >> /tmp/all; cat; exit " + std::to_string(i)})));
  }
  std::set<std::string> environments;
  for (int i = 0; i < kPrograms; ++i) {
    const json result = json::parse(programs[static_cast<std::size_t>(i)]->finish().out);
    EXPECT_EQ(result.at("exit_code"), i) << result.at("failure");
    environments.insert(result.at("environment_id"));
  }
  EXPECT_EQ(environments.size(), 1u);
  EXPECT_EQ(keepers().size(), 1u);
  EXPECT_EQ(command({"run", "--session", "crowd", "--shell", "grep -c '' /tmp/all"}).out, "20\n");
}

TEST_F(Named, WhatRunsEndsWithItsProgramAndTheSessionStays) {
  const auto host = make_host();
  const std::string id = host->session("s").run(shell_request("true")).environment_id;
  const Witness witness(scene_->workspace() + "/witness");
  Program program(cli({"run", "--session", "s", "--shell", witness.hold() + "(setsid sleep 100 &); sleep 100"}));
  ASSERT_TRUE(witness.wait_held());
  program.signal(SIGKILL);
  EXPECT_TRUE(witness.wait_let_go());
  const ExecResult after = host->session("s").run(shell_request("true"));
  EXPECT_EQ(after.environment_id, id) << (after.failure ? after.failure->message : "");
}

TEST_F(Named, StopEndsWhatRunsInIt) {
  const auto host = make_host();
  const Witness witness(scene_->workspace() + "/witness");
  auto running = host->session("s").start(shell_request(witness.hold() + "sleep 100"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  EXPECT_EQ(command({"stop", "s"}).exit_status(), 0);
  EXPECT_TRUE(witness.let_go()) << "stopped means gone";
  const ExecResult& result = running->wait();
  EXPECT_THAT(names_of(*host), IsEmpty());
  EXPECT_NE(result.status, Status::exited);
  const auto again = host->session("s").stop();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, FailureKind::invalid_request);
  EXPECT_THAT(again.error().hint, HasSubstr("exechost ps"));
}

TEST_F(Named, PsShowsWhatIsOpen) {
  EXPECT_THAT(command({"ps"}).err, HasSubstr("no session is open"));
  EXPECT_THAT(keepers(), IsEmpty()) << "asking starts none";
  const auto host = make_host();
  const Witness witness(scene_->workspace() + "/witness");
  auto running = host->session("busy").start(shell_request(witness.hold() + "sleep 100"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  ASSERT_EQ(host->session("quiet").run(shell_request("true")).exit_code, 0);
  const ProgramEnd shown = command({"ps"});
  EXPECT_THAT(shown.out, HasSubstr("busy     bwrap    1 command runs"));
  EXPECT_THAT(shown.out, HasSubstr("quiet    bwrap    idle, ends in 4 min"));
  running->cancel();
}

TEST_F(Named, AnIdleOneEndsButNotWhileSomethingRuns) {
  const auto host = make_host();
  Request request = shell_request("echo > /tmp/mark");
  request.settings_json = R"({"session": {"idle_timeout": "200ms"}})";
  const Barrier barrier(scene_->workspace() + "/barrier");
  const Witness witness(scene_->workspace() + "/witness");
  Request slow = request;
  slow.shell = witness.hold() + "sleep 1; ls /tmp";  // longer than it may be idle
  const Session session = host->session("s");
  ASSERT_EQ(session.run(request).exit_code, 0);
  const ExecResult kept = session.run(slow);
  EXPECT_EQ(kept.out.data, "mark\n");
  // A process of the environment that no command has: its first.
  const auto guests = descendants_of(keeper());
  ASSERT_THAT(guests, Not(IsEmpty()));
  for (const auto& process : guests) EXPECT_TRUE(wait_until_ended(process.pid, 20s)) << process.command;
  request.shell = "ls /tmp";
  const ExecResult fresh = session.run(request);
  EXPECT_EQ(fresh.out.data, "");
  EXPECT_FALSE(fresh.environment_recreated) << "nothing was lost";
}

TEST_F(Named, AnOldOneEndsWhateverRunsInIt) {
  const auto host = make_host();
  Request request = shell_request("sleep 100");
  request.settings_json = R"({"session": {"max_lifetime": "700ms"}})";
  const ExecResult old = host->session("s").run(request);
  EXPECT_NE(old.status, Status::exited);
  request.shell = "true";
  const ExecResult fresh = host->session("s").run(request);
  EXPECT_EQ(fresh.exit_code, 0) << (fresh.failure ? fresh.failure->message : "");
  EXPECT_NE(fresh.environment_id, old.environment_id);
}

TEST_F(Named, OneThatVanishedBetweenRunsIsMadeAgainOnce) {
  const auto host = make_host();
  const Session session = host->session("s");
  const ExecResult first = session.run(shell_request("echo > /tmp/mark"));
  for (const auto& process : descendants_of(keeper())) ::kill(process.pid, SIGKILL);
  const ExecResult second = session.run(shell_request("ls /tmp; echo ran"));
  EXPECT_EQ(second.out.data, "ran\n") << (second.failure ? second.failure->message : "");
  EXPECT_TRUE(second.environment_recreated);
  EXPECT_NE(second.environment_id, first.environment_id);
  EXPECT_FALSE(session.run(shell_request("true")).environment_recreated);
}

// One program hears of it by its command, the other by the next.
TEST_F(Named, OneThatVanishesDuringARunOfAnotherProgramIsSaidToBeNew) {
  const auto host = make_host();
  const auto other = make_host();
  ASSERT_EQ(other->session("s").run(shell_request("echo > /tmp/mark")).exit_code, 0);
  const Witness witness(scene_->workspace() + "/witness");
  auto running = host->session("s").start(sh_request(witness.hold() + "sleep 100"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  for (const pid_t guest : serving_guests()) ::kill(guest, SIGKILL);
  const ExecResult& lost = running->wait();
  ASSERT_TRUE(lost.failure) << lost.to_json();
  EXPECT_EQ(lost.failure->kind, FailureKind::environment_lost);
  const ExecResult next = other->session("s").run(shell_request("ls /tmp; echo ran"));
  EXPECT_EQ(next.out.data, "ran\n") << next.to_json();
  EXPECT_TRUE(next.environment_recreated);
  EXPECT_FALSE(host->session("s").run(shell_request("true")).environment_recreated);
}

TEST_F(Named, AKeeperThatWasKilledIsReplacedAndItsSessionsAreSaidToBeNew) {
  const auto host = make_host();
  const Session session = host->session("s");
  ASSERT_EQ(session.run(shell_request("echo > /tmp/mark")).exit_code, 0);
  const pid_t old = keeper();
  const auto family = descendants_of(old);
  ASSERT_EQ(::kill(old, SIGKILL), 0);
  EXPECT_TRUE(ended(old));
  for (const auto& process : family) EXPECT_TRUE(wait_until_ended(process.pid, 2s)) << process.command;
  const ExecResult second = make_host()->session("s").run(shell_request("ls /tmp; echo ran"));
  EXPECT_EQ(second.out.data, "ran\n") << (second.failure ? second.failure->message : "");
  EXPECT_TRUE(second.environment_recreated);
  EXPECT_NE(keeper(), old);
  // The host that had the dead one finds the new one, too.
  const ExecResult third = session.run(shell_request("echo on"));
  EXPECT_EQ(third.environment_id, second.environment_id) << (third.failure ? third.failure->message : "");
  EXPECT_FALSE(third.environment_recreated);
}

TEST_F(Named, AKeeperThatIsToldToEndLeavesNothing) {
  const auto host = make_host();
  const Witness witness(scene_->workspace() + "/witness");
  auto running = host->session("s").start(shell_request(witness.hold() + "(setsid sleep 100 &); sleep 100"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  const pid_t pid = keeper();
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  EXPECT_TRUE(ended(pid));
  EXPECT_TRUE(witness.let_go());
  ASSERT_TRUE(running->wait().failure);
  EXPECT_FALSE(std::filesystem::exists(scene_->runtime_folder() + "/exechost/keepers/shared.sock"));
  EXPECT_TRUE(std::filesystem::is_empty(scene_->runtime_folder() + "/exechost/ledger"));
}

TEST_F(Named, AKeeperThatNobodyCanFindEnds) {
  const auto host = make_host();
  const Witness witness(scene_->workspace() + "/witness");
  auto running = host->session("s").start(shell_request(witness.hold() + "(setsid sleep 100 &); sleep 100"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  const pid_t pid = keeper();
  std::filesystem::remove_all(scene_->runtime_folder() + "/exechost/keepers");
  EXPECT_TRUE(ended(pid));
  EXPECT_TRUE(witness.let_go());
}

TEST_F(Named, AKeeperThatNobodyNeedsEnds) {
  ASSERT_EQ(command({"run", "--session", "s", "--", "true"}).exit_status(), 0);
  const pid_t pid = keeper();
  ASSERT_EQ(command({"stop", "--all"}).exit_status(), 0);
  EXPECT_TRUE(ended(pid));
  EXPECT_FALSE(std::filesystem::exists(scene_->runtime_folder() + "/exechost/keepers/shared.sock"));
}

TEST_F(Named, ItsSocketIsNowhereInTheSandbox) {
  const auto host = make_host();
  const ExecResult result = host->session("s").run(
      shell_request("ls -A " + scene_->runtime_folder() + "/exechost; ls /proc/*/fd 2>&1 | grep -c socket"));
  EXPECT_THAT(result.out.data, Not(HasSubstr("keepers")));
}

TEST_F(Named, OneThatDoesNotPersistCanHaveNoName) {
  const ProgramEnd end = command({"run", "--session", "s", "--no-persistent", "--", "true"});
  EXPECT_EQ(end.exit_status(), 125);
  EXPECT_THAT(end.err, HasSubstr("session.persistent is false"));
  EXPECT_THAT(keepers(), IsEmpty());
}

}  // namespace
}  // namespace exechost::test
