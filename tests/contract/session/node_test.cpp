// Sessions of the node tier: one guest serves commands that have the rights to stop it and to kill it.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/cgroups.hpp"
#include "tests/support/keepers.hpp"
#include "tests/support/scene.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::IsEmpty;

// $guest: the process that serves the session; $PPID: the one that supervises this command.
constexpr const char* kGuest = "guest=$(awk '/^PPid:/ {print $2}' /proc/$PPID/status); ";

class NodeSession : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { become_subreaper(); }
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    scene_->file("home/.config/exechost/settings.json",
                 R"({"backend": "local", "session": {"name": "s"}, "resources": {"kill_grace": "200ms"},
                     "admission": {"node": {"security": "full", "ask": "off"}}})",
                 0600);
  }
  void TearDown() override {
    if (!scene_) return;
    end_keepers(*scene_);
    for (const std::string& id : environments_) EXPECT_THAT(cgroups_of(id), IsEmpty());
  }

  ProgramEnd command(std::vector<std::string> arguments) const {
    ProgramOptions options = scene_->cli(std::move(arguments));
    options.leaves_a_keeper = true;
    return run_program(options);
  }
  // A command of the session, its result as JSON.
  json run(const std::string& script, std::vector<std::string> options = {}) {
    std::vector<std::string> arguments{"run", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return result_of(command(std::move(arguments)));
  }
  json shell(const std::string& script) { return result_of(command({"run", "--json", "--shell", script})); }
  // One that goes on, and some of it in a session and a group of its own; all of it holds the witness.
  void start(const Witness& witness) {
    const ProgramEnd end =
        command({"start", "--detach", "--", "sh", "-c", witness.hold() + "setsid sh -c 'sleep 1000 & wait' & wait"});
    ASSERT_EQ(end.exit_status(), 0) << end.err;
    ASSERT_TRUE(witness.wait_held());
  }

  std::unique_ptr<Scene> scene_;
  std::vector<std::string> environments_;

 private:
  json result_of(const ProgramEnd& end) {
    json result = json::parse(end.out, nullptr, false);
    EXPECT_TRUE(result.is_object()) << end.out << end.err;
    if (!result.is_object()) return json::object();
    environments_.push_back(result.value("environment_id", ""));
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(As, NodeSession, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(NodeSession, OneGuestServesItAndShellScriptsGoOn) {
  const json first = shell("mkdir inner && cd inner && export X=1; umask 027; f() { echo \"f $X\"; }");
  ASSERT_EQ(first.at("status"), "exited") << first.dump(1);
  EXPECT_EQ(first.at("isolation"), json::array({"none"}));
  const json second = shell("pwd; umask; f");
  EXPECT_EQ(second.at("stdout"), scene_->workspace() + "/inner\n0027\nf 1\n");
  EXPECT_EQ(second.at("environment_id"), first.at("environment_id"));
  EXPECT_EQ(second.at("environment_recreated"), false);
  const json one = run(std::string(kGuest) + "echo $guest");
  const json other = run(std::string(kGuest) + "echo $guest");
  EXPECT_EQ(one.at("stdout"), other.at("stdout"));
  EXPECT_EQ(one.at("environment_id"), first.at("environment_id"));
  EXPECT_EQ(run("cat; exit 3", {}).at("exit_code"), 3);
}

TEST_P(NodeSession, ACommandThatEndsTakesOnlyItsOwnAlong) {
  const Witness other(scene_->workspace() + "/other");
  const Witness own(scene_->workspace() + "/own");
  scene_->give_to_account(other.path());
  scene_->give_to_account(own.path());
  start(other);
  const json result = run(own.hold() + "setsid sh -c 'sleep 1000 & sleep 1000' & exit 4");
  EXPECT_EQ(result.at("exit_code"), 4);
  EXPECT_TRUE(own.let_go());
  EXPECT_FALSE(other.let_go());
  EXPECT_EQ(command({"stop", "s"}).exit_status(), 0);
  EXPECT_TRUE(other.let_go());
}

TEST_P(NodeSession, ACommandKillsItsSupervisor) {
  const Witness other(scene_->workspace() + "/other");
  const Witness own(scene_->workspace() + "/own");
  scene_->give_to_account(other.path());
  scene_->give_to_account(own.path());
  start(other);
  const json result = run(own.hold() + "setsid sh -c 'sleep 1000 & sleep 1000' & kill -9 $PPID; sleep 1000");
  EXPECT_EQ(result.at("status"), "failed") << result.dump(1);
  EXPECT_EQ(result.at("failure").at("kind"), "environment_lost");
  EXPECT_NE(result.at("started"), "no");
  EXPECT_TRUE(own.let_go());
  EXPECT_FALSE(other.let_go()) << "another command has nothing to do with it";
  EXPECT_EQ(run("exit 5").at("exit_code"), 5);
}

TEST_P(NodeSession, ACommandKillsTheGuest) {
  const Witness other(scene_->workspace() + "/other");
  const Witness own(scene_->workspace() + "/own");
  scene_->give_to_account(other.path());
  scene_->give_to_account(own.path());
  start(other);
  const json result = run(kGuest + own.hold() + "setsid sh -c 'sleep 1000 & sleep 1000' & kill -9 $guest; sleep 1000");
  // Its supervisor may still have seen how it ended.
  EXPECT_TRUE(result.at("status") == "signaled" || result.at("failure").at("kind") == "environment_lost")
      << result.dump(1);
  EXPECT_NE(result.at("started"), "no");
  EXPECT_TRUE(own.wait_let_go());
  EXPECT_TRUE(other.wait_let_go());
  const json next = run("exit 5");
  EXPECT_EQ(next.at("exit_code"), 5);
  EXPECT_EQ(next.at("environment_recreated"), true);
  EXPECT_EQ(run("exit 5").at("environment_recreated"), false);
}

TEST_P(NodeSession, ACommandStopsTheGuestAndItsSupervisor) {
  for (const char* const whom : {"$PPID", "$guest $PPID"}) {
    SCOPED_TRACE(whom);
    const Witness own(scene_->workspace() + "/own");
    scene_->give_to_account(own.path());
    const json result =
        run(kGuest + own.hold() + "setsid sh -c 'sleep 1000 & sleep 1000' & kill -STOP " + whom + "; sleep 1000",
            {"--timeout", "500ms"});
    EXPECT_TRUE(result.at("status") == "timed_out" || result.at("failure").at("kind") == "environment_lost")
        << result.dump(1);
    EXPECT_TRUE(own.wait_let_go());
    EXPECT_EQ(run("exit 5").at("exit_code"), 5);
    ASSERT_EQ(::unlink(own.path().c_str()), 0);
  }
}

TEST_P(NodeSession, CgroupsThatACommandMakesGoWithIt) {
  if (cgroup_hierarchy().empty()) GTEST_SKIP() << "there is no cgroup version 2 hierarchy";
  // An ordinary user's command can't make any: then it is a command like all others.
  const std::string nested =
      "c=" + cgroup_hierarchy() + "$(sed -n s/^0:://p /proc/self/cgroup); mkdir -p $c/a/b $c/d 2>/dev/null; ";
  const json ended = run(nested + "exit 3");
  EXPECT_EQ(ended.at("exit_code"), 3);
  EXPECT_THAT(ended.at("warnings"), IsEmpty()) << ended.dump(1);
  EXPECT_THAT(cgroups_of(ended.at("environment_id")), IsEmpty());
  const json killed = run(nested + "kill -9 $PPID; sleep 1000");
  EXPECT_EQ(killed.at("failure").at("step"), "supervisor") << killed.dump(1);
  EXPECT_EQ(run("exit 4").at("environment_id"), ended.at("environment_id"));
  const json alone = run(nested + "exit 5", {"--set", "session.name=\"\""});
  EXPECT_EQ(alone.at("exit_code"), 5);
  EXPECT_THAT(alone.at("warnings"), IsEmpty()) << alone.dump(1);
}

// A copy is planned for a sandbox; nothing of it may run where nothing isolates it.
TEST_P(NodeSession, NoCopyJoinsIt) {
  ASSERT_EQ(run("exit 3").at("exit_code"), 3);
  scene_->file("ws/file", "x");
  const ProgramEnd copied =
      command({"cp", "--set", "backend=\"bwrap\"", "file", "s:" + scene_->outside() + "/written"});
  EXPECT_NE(copied.exit_status(), 0);
  EXPECT_NE(copied.err.find("different: backend (local, now bwrap)"), std::string::npos) << copied.err;
  EXPECT_FALSE(std::filesystem::exists(scene_->outside() + "/written"));
}

TEST_P(NodeSession, ItsKeeperIsKilled) {
  const Witness other(scene_->workspace() + "/other");
  scene_->give_to_account(other.path());
  start(other);
  EXPECT_EQ(run("exit 5").at("exit_code"), 5);
  const auto keepers = keepers_of(*scene_);
  ASSERT_EQ(keepers.size(), 1u);
  ASSERT_EQ(::kill(keepers.front(), SIGKILL), 0);
  EXPECT_TRUE(keeper_ended(keepers.front()));
  EXPECT_TRUE(other.wait_let_go());
  EXPECT_EQ(run("exit 6").at("environment_recreated"), true);
}

}  // namespace
}  // namespace exechost::test
