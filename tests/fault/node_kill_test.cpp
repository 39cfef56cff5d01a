// The node tier's kill matrix: whatever ends a command, and however a part of it tried to get away,
// nothing of it is left. Proven by heartbeats that stop and by what this process, as everybody's
// subreaper, still has below it.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "tests/support/cgroups.hpp"
#include "tests/support/heartbeat.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;

// The test has seconds for what takes milliseconds; the promise is "within a second" of the death.
constexpr auto kAfterDeath = 1000ms;
constexpr auto kQuiet = 200ms;
constexpr std::size_t kIdLength = 32;  // of a ledger entry

using Cell = std::tuple<const char*, const char*>;  // account, how it gets away

class NodeKill : public ::testing::TestWithParam<Cell> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(std::get<0>(GetParam()), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    scene_->file("home/.config/exechost/settings.json",
                 R"({"admission": {"node": {"security": "full", "ask": "off"}}})", 0600);
    scene_->file("ws/beat", "");
    probe_ = scene_->install_probe();
  }

  std::string beat() const { return scene_->workspace() + "/beat"; }
  std::vector<std::string> command() const { return {probe_, "outlive", std::get<1>(GetParam()), beat()}; }

  // One command line: the keeper is a thread of the host.
  ProgramOptions one_process(std::vector<std::string> options) const {
    std::vector<std::string> arguments{"run", "--backend", "local"};
    for (auto& option : options) arguments.push_back(std::move(option));
    arguments.emplace_back("--");
    for (auto& word : command()) arguments.push_back(std::move(word));
    return scene_->cli(std::move(arguments));
  }
  // Host and keeper apart.
  ProgramOptions two_processes(const std::string& timeout_ms) const {
    ProgramOptions options = scene_->cli({});
    options.argv = {EXECHOST_NODE_HOST, test_prefix(), timeout_ms};
    for (auto& word : command()) options.argv.push_back(std::move(word));
    return options;
  }

  void expect_nothing_left(const std::vector<ProcessInfo>& left) const {
    EXPECT_TRUE(left.empty()) << to_text(left);
    EXPECT_FALSE(still_written(beat(), kQuiet));
    if (!cgroup_.empty()) {
      EXPECT_FALSE(std::filesystem::exists(cgroup_hierarchy() + cgroup_));
    }
  }
  // Waits until the command runs, and remembers its cgroup where it has one of its own.
  void wait_until_up(Program& program) {
    ASSERT_TRUE(program.wait_for_output("up\n"));
    ASSERT_TRUE(still_written(beat(), 20s));
    for (const auto& process : descendants_of(getpid())) {
      if (process.command.find(beat()) == std::string::npos) continue;
      std::ifstream file("/proc/" + std::to_string(process.pid) + "/cgroup");
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::") && line.find("/exechost-") != std::string::npos) cgroup_ = line.substr(3);
      }
    }
    // Root may always make one where there is a hierarchy to make it in.
    EXPECT_EQ(cgroup_.empty(), scene_->account().uid != 0 || cgroup_hierarchy().empty());
  }
  // Starts the heart, then does that to its own parent. Says "up" like the probe, once it is done.
  std::string with_supervisor(const std::string& signal) const {
    std::string script;
    for (const auto& word : command()) script += word + ' ';
    return script + ">/dev/null & while ! test -s " + beat() + "; do sleep 0.01; done; kill -" + signal +
           " $PPID; echo up; wait";
  }
  static pid_t keeper_of(pid_t host) {
    for (const auto& process : descendants_of(host)) {
      if (process.name == "exechost-keeper" && process.parent == host) return process.pid;
    }
    return 0;
  }

  std::unique_ptr<Scene> scene_;
  std::string probe_;
  std::string cgroup_;  // below the hierarchy
};

TEST_P(NodeKill, TimeoutOneProcess) {
  Program program(one_process({"--timeout", "2s"}));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.exit_status(), 124) << end.err;
  EXPECT_EQ(end.out, "up\n");
  EXPECT_LT(end.duration, 7s);
  EXPECT_GT(read_file(beat()).size(), 5U);  // it did run
  expect_nothing_left(end.left_behind);
}

TEST_P(NodeKill, TimeoutTwoProcesses) {
  Program program(two_processes("2000"));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.out, "up\nend: timed_out yes -\n") << end.err;
  expect_nothing_left(end.left_behind);
}

TEST_P(NodeKill, CancelOneProcess) {
  Program program(one_process({}));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  program.signal(SIGTERM);  // to the command's group
  program.signal(SIGTERM);  // to everything
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.exit_status(), 143) << end.err;
  expect_nothing_left(end.left_behind);
}

TEST_P(NodeKill, CancelTwoProcesses) {
  Program program(two_processes("60000"));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  program.signal(SIGTERM);
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.out, "up\nend: cancelled yes -\n") << end.err;
  expect_nothing_left(end.left_behind);
}

TEST_P(NodeKill, HostKilledOneProcess) {
  Program program(one_process({}));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  program.signal(SIGKILL);  // the keeper dies with it: only the guest is left to clean up
  EXPECT_EQ(program.finish().exit_status(), 137);
  expect_nothing_left(program.remaining(kAfterDeath));
}

TEST_P(NodeKill, HostKilledTwoProcesses) {
  Program program(two_processes("60000"));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  program.signal(SIGKILL);
  EXPECT_EQ(program.finish().exit_status(), 137);
  expect_nothing_left(program.remaining(kAfterDeath));
}

TEST_P(NodeKill, KeeperKilled) {
  Program program(two_processes("60000"));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  const pid_t keeper = keeper_of(program.pid());
  ASSERT_NE(keeper, 0);
  ASSERT_EQ(kill(keeper, SIGKILL), 0);
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.out, "up\nend: failed yes plugin_crashed\n") << end.err;
  expect_nothing_left(program.remaining(kAfterDeath));
}

TEST_P(NodeKill, HostAndKeeperKilledAtOnce) {
  Program program(two_processes("60000"));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  const pid_t keeper = keeper_of(program.pid());
  ASSERT_NE(keeper, 0);
  ASSERT_EQ(kill(keeper, SIGKILL), 0);
  program.signal(SIGKILL);
  program.finish();
  expect_nothing_left(program.remaining(kAfterDeath));
}

// The command stops the process that supervises it, which is of the same user.
TEST_P(NodeKill, TheSupervisorIsStopped) {
  Program program(scene_->cli({"run", "--backend", "local", "--timeout", "2s", "--shell", with_supervisor("STOP")}));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.exit_status(), 124) << end.err;
  expect_nothing_left(end.left_behind);
}

TEST_P(NodeKill, TheSupervisorIsStoppedAndTheHostKilled) {
  Program program(scene_->cli({"run", "--backend", "local", "--shell", with_supervisor("STOP")}));
  ASSERT_NO_FATAL_FAILURE(wait_until_up(program));
  program.signal(SIGKILL);
  EXPECT_EQ(program.finish().exit_status(), 137);
  expect_nothing_left(program.remaining(kAfterDeath));
}

// Killing it takes the proof away: with a cgroup all is killed all the same, and either way the result
// says that the command's end is not known.
TEST_P(NodeKill, TheSupervisorIsKilled) {
  Program program(scene_->cli({"run", "--json", "--backend", "local", "--shell", with_supervisor("KILL")}));
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.exit_status(), 125) << end.err;
  EXPECT_NE(end.out.find("environment_lost"), std::string::npos) << end.out;
  if (scene_->account().uid == 0 && !cgroup_hierarchy().empty()) expect_nothing_left(program.remaining(kAfterDeath));
}

// At whatever instant, also while nothing has started yet.
TEST_P(NodeKill, HostKilledAtAnyInstant) {
  for (int after = 0; after <= 60; after += 6) {
    Program program(one_process({}));
    program.finish(std::chrono::milliseconds(after));  // kills it when the time is up
    const auto left = program.remaining(kAfterDeath);
    EXPECT_TRUE(left.empty()) << "after " << after << " ms\n" << to_text(left);
  }
  expect_nothing_left({});
  // Cgroups are named by the ledger's entries, which are there since their hosts had no time to remove them.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scene_->runtime_folder())) {
    const std::string id = entry.path().stem().string();
    if (entry.is_regular_file() && id.size() == kIdLength) {
      EXPECT_THAT(cgroups_of(id), ::testing::IsEmpty()) << id;
    }
  }
}

// A keeper that is killed while it finds out whether it can make cgroups leaves one that no ledger knows.
TEST(NodeCgroups, OneThatWasBeingTriedIsTakenAwayByTheNext) {
  std::string why_not;
  const auto scene = Scene::make("root", Place::var_tmp, why_not);
  if (!scene || cgroup_hierarchy().empty()) GTEST_SKIP() << "only root, with a cgroup version 2 hierarchy, makes any";
  scene->file("home/.config/exechost/settings.json", R"({"admission": {"node": {"security": "full", "ask": "off"}}})",
              0600);
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  std::string space = std::filesystem::read_symlink("/proc/self/ns/pid").string();  // "pid:[NUMBER]"
  space = space.substr(5, space.size() - 6);
  const std::string trials = own_cgroup() + "/exechost-trial-" + space + "-";
  const std::string left = trials + std::to_string(dead) + "-1";
  const std::string in_use = trials + std::to_string(::getpid()) + "-1";
  for (const std::string& path : {left, in_use}) ASSERT_TRUE(std::filesystem::create_directory(path));

  const ProgramEnd end = scene->run({"run", "--backend", "local", "--", "true"});

  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(in_use));
  for (const std::string& path : {left, in_use}) ::rmdir(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, NodeKill,
    ::testing::Combine(::testing::Values("root", "user"),
                       ::testing::Values("plain", "double_fork", "setsid", "daemon", "ignores_signals")),
    [](const auto& tested) { return std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param); });

}  // namespace
}  // namespace exechost::test
