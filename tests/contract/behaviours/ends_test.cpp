// How commands end before their time, and what is left of them then: nothing.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "tests/contract/behaviours/place.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// Processes that try to stay: in sessions of their own, orphaned, deaf to signals.
constexpr const char* kStaying =
    "(setsid sh -c 'trap \"\" TERM INT HUP; sleep 1000 & sleep 1000' &); nohup sleep 1000 >/dev/null 2>&1 & ";

class Ends : public InEachPlace {
 protected:
  Witness witness_{path("witness")};
};
INSTANTIATE_TEST_SUITE_P(In, Ends, ::testing::Values(Where::alone, Where::session, Where::node, Where::node_session),
                         place_name);

// Elsewhere: only the client of the sandbox is killed; what it had started goes on, fills the process limit, and a
// command that had timed out still has its effect.
TEST_P(Ends, ATimeOutEndsAllThatTheCommandStarted) {
  const std::string environment = run("true").environment_id;
  Request request = script(witness_.hold() + kStaying + "echo partial; trap '' TERM INT HUP; sleep 1000; touch late");
  request.timeout = 2s;
  request.settings_json = R"({"resources": {"kill_grace": "100ms"}})";
  const ExecResult result = host().run(placed(request));
  EXPECT_EQ(result.status, Status::timed_out) << why(result);
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_EQ(result.out.data, "partial\n") << "what it had said is not lost";
  EXPECT_TRUE(witness_.wait_held());
  EXPECT_TRUE(witness_.let_go());
  EXPECT_FALSE(std::filesystem::exists(path("late")));
  const ExecResult next = run("date");
  EXPECT_EQ(next.exit_code, 0) << why(next);
  if (where_ == Where::session) {
    EXPECT_EQ(next.environment_id, environment) << "the session is none the worse";
  }
}

TEST_P(Ends, ATimeOutOfTheCommandLineIsExitStatus124) {
  const ProgramEnd end = run_command_line({"sh", "-c", witness_.hold() + kStaying + "sleep 1000"}, {"--timeout", "2s"});
  EXPECT_EQ(end.exit_status(), 124) << end.err;
  EXPECT_TRUE(witness_.wait_held());
  EXPECT_TRUE(witness_.let_go());
}

// Elsewhere: the sandbox is thrown away with the command, or the command goes on.
TEST_P(Ends, AnInterruptIsExitStatus130AndEndsAllOfIt) {
  Program program(command_line({"sh", "-c", witness_.hold() + kStaying + "echo up; exec sleep 1000"}));
  ASSERT_TRUE(program.wait_for_output("up\n"));
  program.signal(SIGINT);
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.exit_status(), 130) << end.err;
  EXPECT_TRUE(witness_.wait_held());
  EXPECT_TRUE(witness_.let_go());
  EXPECT_EQ(run_command_line({"echo", "on"}).out, "on\n");
  // A command that ends with this status by itself was not interrupted.
  const json own = json::parse(run_command_line({"sh", "-c", "exit 130"}, {"--json"}).out);
  EXPECT_EQ(own.at("status"), "exited");
  EXPECT_EQ(own.at("exit_code"), 130);
}

TEST_P(Ends, CancelledMeansThatNothingIsLeft) {
  Execution running = start(script(witness_.hold() + kStaying + "trap '' TERM; sleep 1000"));
  ASSERT_TRUE(witness_.wait_held());
  running.cancel();
  EXPECT_EQ(running.wait().status, Status::cancelled) << why(running.wait());
  EXPECT_TRUE(witness_.let_go());
  EXPECT_EQ(run("echo on").out.data, "on\n");
}

// Elsewhere: the result waits for a process in the background that has the command's output open.
TEST_P(Ends, AProcessInTheBackgroundHoldsNothingUp) {
  for (const char* text : {"true && sleep 1000 & echo ok", "setsid sleep 1000 & echo ok",
                           "(nohup sleep 1000 &) ; echo ok", "cd / && sleep 1000 & sleep 1000 & echo ok"}) {
    Request request = script(witness_.hold() + text);
    request.timeout = 60s;
    const ExecResult result = host().run(request);
    EXPECT_EQ(result.status, Status::exited) << text << "\n" << why(result);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out.data, "ok\n") << text;
    EXPECT_TRUE(witness_.wait_held());
    EXPECT_TRUE(witness_.let_go()) << text;
  }
}

// Elsewhere: cleaning up is left to an exit handler, so whoever is killed leaves containers that run for ever.
TEST_P(Ends, TheOwnersDeathEndsAllOfIt) {
  // The part that cleans up lives on for a moment, or it dies, too.
  for (const auto placement : {KeeperPlacement::child, KeeperPlacement::in_process}) {
    const HostOptions options = host_options(*scene_, placement);
    const Witness witness(path(placement == KeeperPlacement::child ? "witness_child" : "witness_in_process"));
    const Request request = script(witness.hold() + kStaying + "trap '' TERM INT HUP; sleep 1000");
    const pid_t owner = ::fork();
    ASSERT_GE(owner, 0);
    if (owner == 0) {
      ExecHost host(options);
      host.run(request);
      ::_exit(0);
    }
    EXPECT_TRUE(witness.wait_held());
    EXPECT_EQ(::kill(owner, SIGKILL), 0);
    EXPECT_EQ(::waitpid(owner, nullptr, 0), owner);
    EXPECT_TRUE(witness.wait_let_go());
    const auto left = remaining_children({}, 20s);
    EXPECT_TRUE(left.empty()) << to_text(left);
    if (placement == KeeperPlacement::child) {
      EXPECT_TRUE(std::filesystem::is_empty(scene_->runtime_folder() + "/exechost/ledger"));
    }
  }
  EXPECT_EQ(run("echo on").out.data, "on\n");
}

}  // namespace
}  // namespace exechost::test
