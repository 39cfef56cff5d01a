// Sessions beside each other, sessions that are gone, and that nothing runs twice.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <future>
#include <set>

#include "exechost/session.hpp"
#include "tests/contract/behaviours/place.hpp"
#include "tests/support/guests.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BesideEachOther : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, BesideEachOther,
                         ::testing::Values(Where::alone, Where::session, Where::node, Where::node_session), place_name);

// Elsewhere: two sessions with one target share a connection, and whoever ends first takes the other's away.
TEST_P(BesideEachOther, TheEndOfOneHostIsNotTheOthers) {
  const Barrier barrier(path("barrier"));
  const Witness witness(path("witness"));
  auto first = std::make_unique<ExecHost>(options_of_host());
  EXPECT_EQ(first->run(script("exit 3")).exit_code, 3);
  Execution running = start(script(witness.hold() + barrier.wait() + "echo b"));
  ASSERT_TRUE(witness.wait_held());
  first.reset();
  barrier.open();
  EXPECT_EQ(running.wait().out.data, "b\n") << why(running.wait());
}

class SessionsByName : public InASession {
 protected:
  ProgramEnd command(std::vector<std::string> arguments) const {
    ProgramOptions options = scene_->cli(std::move(arguments));
    options.leaves_a_keeper = true;
    return run_program(options);
  }
  pid_t keeper() const {
    const auto found = keepers_of(*scene_);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? -1 : found.front();
  }
  // What holds the environment of a session is killed from outside.
  void lose_environments() const {
    for (const pid_t guest : serving_guests(keeper())) {
      EXPECT_EQ(::kill(guest, SIGKILL), 0);
      EXPECT_TRUE(wait_until_ended(guest, 20s));
    }
  }
};

TEST_F(SessionsByName, TheEndOfOneIsNotTheOthers) {
  const Barrier barrier(path("barrier"));
  const Witness witness(path("witness"));
  ASSERT_EQ(host().session("a").run(shell_request("echo > /tmp/mark")).exit_code, 0);
  auto running = host().session("b").start(shell_request(witness.hold() + barrier.wait() + "ls /tmp; echo b"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  EXPECT_EQ(command({"stop", "a"}).exit_status(), 0);
  barrier.open();
  EXPECT_EQ(running->wait().out.data, "b\n") << why(running->wait());
}

// Elsewhere: the second clean-up throws, or takes what a new session has made in the meantime.
TEST_F(SessionsByName, CleaningUpTwiceIsHarmless) {
  ASSERT_EQ(host().session("a").run(shell_request("true")).exit_code, 0);
  lose_environments();
  EXPECT_TRUE(host().session("a").stop()) << "although there was nothing any more";
  const auto again = host().session("a").stop();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, FailureKind::invalid_request);
  EXPECT_EQ(command({"stop", "--all"}).exit_status(), 0);
  EXPECT_EQ(command({"stop", "--all"}).exit_status(), 0);
  EXPECT_EQ(host().session("a").run(shell_request("echo on")).out.data, "on\n");
}

class CleaningUp : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, CleaningUp,
                         ::testing::Values(Where::alone, Where::session, Where::node, Where::node_session), place_name);

TEST_P(CleaningUp, CancellingTwiceAndTooLateIsHarmless) {
  const Witness witness(path("witness"));
  Execution running = start(script(witness.hold() + "sleep 1000"));
  ASSERT_TRUE(witness.wait_held());
  running.cancel();
  running.cancel();
  EXPECT_EQ(running.wait().status, Status::cancelled);
  running.cancel();
  EXPECT_FALSE(running.signal(SIGTERM)) << "it has ended";
  EXPECT_EQ(running.wait().status, Status::cancelled);
  Execution ended = start(script("exit 4"));
  EXPECT_EQ(ended.wait().exit_code, 4);
  ended.cancel();
  EXPECT_EQ(ended.wait().exit_code, 4);
  EXPECT_EQ(run("echo on").out.data, "on\n");
}

// Elsewhere: two that come at once make two, or fail on each other's name.
TEST_F(SessionsByName, WhoeverComesFirstOpensItForAll) {
  constexpr int kHosts = 8;
  std::vector<std::unique_ptr<ExecHost>> hosts;
  for (int i = 0; i < kHosts; ++i) hosts.push_back(std::make_unique<ExecHost>(options_of_host()));
  std::vector<std::future<ExecResult>> running;
  for (int i = 0; i < kHosts; ++i) {
    running.push_back(std::async(std::launch::async, [host = hosts[static_cast<std::size_t>(i)].get(), i] {
      Request request = sh_request("echo >> /tmp/all; exit " + std::to_string(i));
      request.session = "crowd";
      return host->run(request);
    }));
  }
  std::set<std::string> environments;
  for (int i = 0; i < kHosts; ++i) {
    const ExecResult result = running[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(result.exit_code, i) << why(result);
    EXPECT_FALSE(result.environment_recreated);
    environments.insert(result.environment_id);
  }
  EXPECT_EQ(environments.size(), 1U);
  EXPECT_EQ(serving_guests(keeper()).size(), 1U);
  EXPECT_EQ(hosts.front()->session("crowd").run(shell_request("wc -l < /tmp/all")).out.data, "8\n");
}

// Elsewhere: a container that was removed makes every later command fail, or is made again without a word.
TEST_F(SessionsByName, OneThatWasGoneIsMadeAgainAndThatIsSaidOnce) {
  const auto run_json = [&](const std::string& text) {
    const ProgramEnd end = command({"run", "--json", "--session", "s", "--shell", text});
    return json::parse(end.out, nullptr, false);
  };
  const json first = run_json("echo > /tmp/mark; echo ran >> ran");
  EXPECT_EQ(first.at("environment_recreated"), false);
  lose_environments();
  const json second = run_json("ls /tmp; echo ran >> ran; echo hi");
  EXPECT_EQ(second.at("environment_recreated"), true);
  EXPECT_EQ(second.at("stdout"), "hi\n");
  EXPECT_EQ(second.at("warnings"), json::array({"the session's environment was gone; the command ran in a new one"}));
  const json third = run_json("echo hi");
  EXPECT_EQ(third.at("environment_recreated"), false);
  EXPECT_EQ(third.at("warnings"), json::array());
  EXPECT_EQ(third.at("environment_id"), second.at("environment_id"));
  EXPECT_EQ(read_file(path("ran")), "ran\nran\n") << "each command once";
}

class NeverTwice : public InEachPlace {
 protected:
  std::string ran() const { return std::filesystem::exists(path("ran")) ? read_file(path("ran")) : ""; }
  // A backend that does as it is told, with this machine as what may be tried instead.
  ExecResult scripted(const json& rule, const std::string& text) {
    user_settings(R"({"admission": {"node": {"security": "full", "ask": "off"}}})");
    Request request = shell_request(text);
    request.settings_json = json{{"backend", "scripted"},
                                 {"fallback", {"local"}},
                                 {"on_unavailable", "open"},
                                 {"best_effort", {"*"}},
                                 {"plugins", {{"directories", {EXECHOST_SCRIPTED_FOLDER}}}},
                                 {"backends", {{"scripted", {{"script", {{"rules", {rule}}}}}}}}}
                                .dump();
    return host().run(placed(request));
  }
};
INSTANTIATE_TEST_SUITE_P(In, NeverTwice, ::testing::Values(Where::alone, Where::session, Where::node), place_name);

// Elsewhere: that an environment is gone is guessed from what a command prints, and the command is run again.
TEST_P(NeverTwice, WhatACommandSaysIsNoReasonToRunItAgain) {
  for (const char* text :
       {"Error: No such container: x", "Error response from daemon: container is not running",
        "bwrap: Can't chdir to /x: No such file or directory", "ssh: connect to host x port 22: Connection refused",
        "exechost: the environment went away", "timeout", "[Command timed out after 1s]"}) {
    std::filesystem::remove(path("ran"));
    const ExecResult result =
        run(std::string("echo ran >> ran; echo \"") + text + "\"; echo \"" + text + "\" >&2; exit 1");
    EXPECT_EQ(result.status, Status::exited) << why(result);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out.data, std::string(text) + "\n");
    EXPECT_FALSE(result.environment_recreated);
    EXPECT_THAT(result.attempts, IsEmpty());
    EXPECT_EQ(ran(), "ran\n") << text;
  }
}

class NeverTwiceInASandbox : public NeverTwice {};
INSTANTIATE_TEST_SUITE_P(In, NeverTwiceInASandbox, ::testing::Values(Where::alone, Where::session), place_name);

// Elsewhere: every failure is tried three times, also one that came after the command had done its work.
TEST_P(NeverTwiceInASandbox, OneThatMayHaveStartedIsNotRunElsewhere) {
  const ExecResult lost =
      scripted({{"at", "run"}, {"after_bytes", 4}, {"fail", {{"kind", "environment_lost"}, {"message", "gone"}}}},
               "echo ran >> ran; echo out; sleep 1000");
  EXPECT_EQ(lost.status, Status::failed) << lost.to_json();
  EXPECT_EQ(lost.started, Started::yes);
  EXPECT_THAT(lost.attempts, IsEmpty());
  EXPECT_EQ(lost.backend, "scripted");
  EXPECT_EQ(ran(), "ran\n");
}

TEST_P(NeverTwiceInASandbox, OneThatProvablyHasNotStartedIsRunOnceElsewhere) {
  const ExecResult result =
      scripted({{"at", "open"}, {"fail", {{"kind", "unavailable"}, {"message", "no room"}}}}, "echo ran >> ran");
  EXPECT_EQ(result.exit_code, 0) << why(result);
  EXPECT_EQ(result.backend, "local");
  ASSERT_EQ(result.attempts.size(), 1U);
  EXPECT_EQ(result.attempts.front().backend, "scripted");
  EXPECT_EQ(ran(), "ran\n");
}

TEST_P(NeverTwiceInASandbox, AnEnvironmentThatVanishesTakesItsCommandWithIt) {
  const Witness witness(path("witness"));
  Request request = script("echo ran >> ran; " + witness.hold() + "sleep 1000");
  json settings = request.settings_json.empty() ? json::object() : json::parse(request.settings_json);
  settings["on_unavailable"] = "open";
  request.settings_json = settings.dump();
  Execution running = start(request);
  ASSERT_TRUE(witness.wait_held());
  const auto guests = serving_guests(getpid());
  ASSERT_EQ(guests.size(), 1U);
  ASSERT_EQ(::kill(guests.front(), SIGKILL), 0);
  const ExecResult& result = running.wait();
  ASSERT_TRUE(result.failure) << result.to_json();
  EXPECT_EQ(result.failure->kind, FailureKind::environment_lost) << describe(*result.failure);
  EXPECT_NE(result.started, Started::no);
  EXPECT_THAT(result.attempts, IsEmpty());
  EXPECT_TRUE(witness.wait_let_go());
  EXPECT_EQ(ran(), "ran\n");
}

}  // namespace
}  // namespace exechost::test
