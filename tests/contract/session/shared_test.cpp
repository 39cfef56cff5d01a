// The runs of one ExecHost share an environment, as long as they ask for the same place.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <set>

#include "tests/support/guests.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Shared : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  std::unique_ptr<ExecHost> make_host() { return std::make_unique<ExecHost>(host_options(*scene_, GetParam())); }
  std::unique_ptr<Scene> scene_ = own_scene();
};

INSTANTIATE_TEST_SUITE_P(With, Shared, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         [](const auto& tested) {
                           return std::string(tested.param == KeeperPlacement::child ? "child" : "in_process");
                         });

TEST_P(Shared, WhatOneRunLeavesIsThereForTheNext) {
  const auto host = make_host();
  const ExecResult first = host->run(sh_request("echo kept > /tmp/mark; echo $$"));
  const ExecResult second = host->run(sh_request("cat /tmp/mark"));
  EXPECT_EQ(second.out.data, "kept\n") << second.to_json();
  EXPECT_EQ(first.environment_id, second.environment_id);
  EXPECT_FALSE(second.environment_recreated);
  // It is theirs alone.
  EXPECT_EQ(make_host()->run(sh_request("cat /tmp/mark")).exit_code, 1);
}

TEST_P(Shared, EachCommandIsAsConfinedAsTheFirst) {
  const auto host = make_host();
  const std::string script =
      "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd|SigBlk|SigIgn):' /proc/self/status; ls /proc/self/fd; umask; "
      "set -- /proc/[0-9]*; echo $#; touch /usr/mark; cat /proc/net/dev | wc -l";
  const ExecResult first = host->run(sh_request(script));
  EXPECT_THAT(first.out.data, HasSubstr("Seccomp:\t2\n"));
  EXPECT_THAT(first.err.data, HasSubstr("Read-only file system"));
  for (int i = 0; i < 5; ++i) {
    const ExecResult next = host->run(sh_request(script));
    EXPECT_EQ(next.out.data, first.out.data);
    EXPECT_EQ(next.err.data, first.err.data);
    EXPECT_EQ(next.isolation, first.isolation);
  }
}

TEST_P(Shared, ManyAtOnceInOneEnvironment) {
  const auto host = make_host();
  constexpr int kCommands = 40;
  std::vector<std::future<ExecResult>> running;
  for (int i = 0; i < kCommands; ++i) {
    running.push_back(std::async(std::launch::async, [&host, i] {
      Request request = sh_request("cat; echo out " + std::to_string(i) + "; exit " + std::to_string(i));
      request.standard_input.kind = StdinSource::Kind::bytes;
      request.standard_input.bytes = "in " + std::to_string(i) + "\n";
      return host->run(request);
    }));
  }
  std::set<std::string> environments;
  for (int i = 0; i < kCommands; ++i) {
    const ExecResult result = running[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(result.exit_code, i) << result.to_json();
    EXPECT_EQ(result.out.data, "in " + std::to_string(i) + "\nout " + std::to_string(i) + "\n");
    environments.insert(result.environment_id);
  }
  EXPECT_EQ(environments.size(), 1u);
}

TEST_P(Shared, ATimeoutEndsOneTreeAndLeavesTheEnvironment) {
  const auto host = make_host();
  const Barrier barrier(scene_->workspace() + "/barrier");
  auto neighbour = host->start(sh_request("echo up; " + barrier.wait() + "exit 9"));
  ASSERT_TRUE(neighbour);
  const Witness witness(scene_->workspace() + "/witness");
  Request slow = sh_request(witness.hold() + "(setsid sleep 100 &); trap '' TERM; sleep 100");
  slow.timeout = 700ms;
  slow.settings_json = R"({"resources": {"kill_grace": "100ms"}})";
  const ExecResult timed_out = host->run(slow);
  EXPECT_EQ(timed_out.status, Status::timed_out) << timed_out.to_json();
  EXPECT_TRUE(witness.wait_held());
  EXPECT_TRUE(witness.let_go());
  barrier.open();
  const ExecResult& other = neighbour->wait();
  EXPECT_EQ(other.exit_code, 9) << other.to_json();
  EXPECT_EQ(other.environment_id, timed_out.environment_id);
  EXPECT_EQ(host->run(sh_request("echo on")).environment_id, timed_out.environment_id);
}

// Same user inside: a command can kill who supervises it. It gains nothing: all that it had dies.
TEST_P(Shared, ACommandThatKillsItsSupervisorIsGone) {
  const auto host = make_host();
  const Barrier barrier(scene_->workspace() + "/barrier");
  auto neighbour = host->start(sh_request(barrier.wait() + "exit 9"));
  ASSERT_TRUE(neighbour);
  const Witness witness(scene_->workspace() + "/witness");
  const ExecResult killer = host->run(sh_request(witness.hold() + "(setsid sleep 100 &); kill -9 $PPID; sleep 10"));
  EXPECT_EQ(killer.status, Status::failed) << killer.to_json();
  ASSERT_TRUE(killer.failure);
  EXPECT_EQ(killer.failure->kind, FailureKind::environment_lost);
  EXPECT_NE(killer.started, Started::no);
  EXPECT_TRUE(witness.wait_held());
  EXPECT_TRUE(witness.let_go());
  // Whoever else is in the environment has nothing to do with it.
  barrier.open();
  const ExecResult& other = neighbour->wait();
  EXPECT_EQ(other.exit_code, 9) << other.to_json();
  EXPECT_EQ(other.environment_id, killer.environment_id);
  EXPECT_EQ(host->run(sh_request("echo on")).environment_id, killer.environment_id);
}

TEST_P(Shared, AnotherPlaceIsAnotherEnvironment) {
  const auto host = make_host();
  const ExecResult usual = host->run(sh_request("echo > /tmp/mark"));
  Request other = sh_request("ls /tmp");
  other.settings_json = R"({"filesystem": {"allow_write": [")" + scene_->outside() + R"("]}})";
  const ExecResult there = host->run(other);
  EXPECT_EQ(there.status, Status::exited) << there.to_json();
  EXPECT_EQ(there.out.data, "");
  EXPECT_NE(there.environment_id, usual.environment_id);
  EXPECT_EQ(host->run(sh_request("ls /tmp")).out.data, "mark\n");
}

TEST_P(Shared, WithoutPersistenceEachRunHasItsOwn) {
  const auto host = make_host();
  std::set<std::string> environments;
  for (int i = 0; i < 3; ++i) {
    Request request = sh_request("ls /tmp; echo > /tmp/mark");
    request.settings_json = R"({"session": {"persistent": false}})";
    const ExecResult result = host->run(request);
    EXPECT_EQ(result.out.data, "");
    environments.insert(result.environment_id);
    EXPECT_THAT(serving_guests(getpid()), IsEmpty());  // gone before run returns
  }
  EXPECT_EQ(environments.size(), 3u);
}

TEST_P(Shared, AnIdleEnvironmentIsRemoved) {
  const auto host = make_host();
  Request request = sh_request("echo > /tmp/mark");
  request.settings_json = R"({"session": {"idle_timeout": "300ms"}})";
  const ExecResult first = host->run(request);
  ASSERT_EQ(first.exit_code, 0) << first.to_json();
  for (const pid_t guest : serving_guests(getpid())) EXPECT_TRUE(wait_until_ended(guest, 20s));
  EXPECT_THAT(serving_guests(getpid()), IsEmpty());
  request.argv = sh_request("ls /tmp; sleep 1").argv;  // longer than it may be idle
  const ExecResult second = host->run(request);
  EXPECT_EQ(second.out.data, "");
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_NE(second.environment_id, first.environment_id);
  EXPECT_FALSE(second.environment_recreated);  // nothing was lost
}

TEST_P(Shared, OneThatVanishedBetweenRunsIsMadeAgainOnce) {
  const auto host = make_host();
  const ExecResult first = host->run(sh_request("echo > /tmp/mark"));
  const auto guests = serving_guests(getpid());
  ASSERT_EQ(guests.size(), 1u);
  ASSERT_EQ(::kill(guests.front(), SIGKILL), 0);
  ASSERT_TRUE(wait_until_ended(guests.front(), 20s));
  const ExecResult second = host->run(sh_request("ls /tmp; echo ran"));
  EXPECT_EQ(second.out.data, "ran\n") << second.to_json();
  EXPECT_TRUE(second.environment_recreated);
  EXPECT_NE(second.environment_id, first.environment_id);
  const ExecResult third = host->run(sh_request("echo on"));
  EXPECT_FALSE(third.environment_recreated);
  EXPECT_EQ(third.environment_id, second.environment_id);
}

TEST_P(Shared, OneThatVanishesDuringARunIsLostAndNothingIsRunAgain) {
  const auto host = make_host();
  ASSERT_EQ(host->run(sh_request("true")).exit_code, 0);
  const Witness witness(scene_->workspace() + "/witness");
  std::vector<Execution> running;
  for (int i = 0; i < 3; ++i) {
    auto started =
        host->start(sh_request("echo ran >> " + scene_->workspace() + "/ran; " + witness.hold() + "sleep 100"));
    ASSERT_TRUE(started);
    running.push_back(std::move(*started));
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(witness.wait_held());
  const auto lines = [&] {
    const std::string text = read_file(scene_->workspace() + "/ran");
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto guests = serving_guests(getpid());
  ASSERT_EQ(guests.size(), 1u);
  ASSERT_EQ(::kill(guests.front(), SIGKILL), 0);
  for (Execution& execution : running) {
    const ExecResult& result = execution.wait();
    ASSERT_TRUE(result.failure) << result.to_json();
    EXPECT_EQ(result.failure->kind, FailureKind::environment_lost) << result.to_json();
    // The supervisor may have been killed before it came to say that the command had started.
    EXPECT_NE(result.started, Started::no);
  }
  EXPECT_TRUE(witness.let_go());
  EXPECT_EQ(lines(), 3);
  const ExecResult next = host->run(sh_request("echo on"));
  EXPECT_EQ(next.out.data, "on\n");
  EXPECT_TRUE(next.environment_recreated) << next.to_json();
  EXPECT_FALSE(host->run(sh_request("echo on")).environment_recreated);
}

TEST_P(Shared, TheEndOfTheHostIsTheEndOfTheEnvironment) {
  auto host = make_host();
  ASSERT_EQ(host->run(sh_request("true")).exit_code, 0);
  ASSERT_EQ(serving_guests(getpid()).size(), 1u);
  host.reset();
  EXPECT_THAT(serving_guests(getpid()), IsEmpty());
}

}  // namespace
}  // namespace exechost::test
