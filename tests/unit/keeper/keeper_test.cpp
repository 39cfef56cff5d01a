// The keeper doing its work, in both placements: one set of tests.
#include <gmock/gmock.h>

#include "tests/unit/keeper/keeper_fixture.hpp"

namespace exechost::keeper {
namespace {

using test::read_all;
using test::read_line;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Placements, KeeperTest, ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child),
                         placement_name);

TEST_P(KeeperTest, Probes) {
  ProbeRequest request;
  request.plugin = victim("plain");
  const Reply reply = call(request);
  ASSERT_EQ(reply.status, ReplyStatus::ok) << describe(reply.failure);
  EXPECT_EQ(reply.body.at("ready"), true);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperTest, RunsACommandThroughTheGuest) {
  const auto environment = open();
  EXPECT_EQ(ledger_entries(), 1U);
  Running run = shell(environment, "echo out; exit 7");
  EXPECT_EQ(read_all(run.out.get()), "out\n");
  EXPECT_THAT(run.trace->wait_for_end(), ElementsAre(Kind::confined, Kind::started, Kind::exited, Kind::gone));
  const ExecutionEvent exited = run.trace->wait(Kind::exited);
  EXPECT_EQ(exited.wait_status, W_EXITCODE(7, 0));
  EXPECT_GT(exited.usage.max_rss_bytes, 0U);
  EXPECT_TRUE(run.trace->wait(Kind::confined).seccomp);
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperTest, RunsACommandWithoutTheGuest) {
  const auto environment = open();
  SpawnRequest request = request_for(environment, {"/bin/sh", "-c", "echo $A; exit 3"});
  request.variables = {"A=b"};
  request.use_guest = false;
  Running run = spawn(request);
  EXPECT_EQ(read_all(run.out.get()), "b\n");
  EXPECT_THAT(run.trace->wait_for_end(), ElementsAre(Kind::started, Kind::exited, Kind::gone));
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, W_EXITCODE(3, 0));
}

TEST_P(KeeperTest, ReportsDeathBySignal) {
  Running run = shell(open(), "kill -SEGV $$");
  run.trace->wait_for_end();
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status & 0x7f, SIGSEGV);
}

TEST_P(KeeperTest, ForwardsSignals) {
  const auto environment = open();
  Running run = shell(environment, "trap 'exit 5' TERM; echo ready; while :; do :; done");
  ASSERT_EQ(read_line(run.out.get()), "ready");
  signal(run, SIGTERM);
  run.trace->wait_for_end();
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, W_EXITCODE(5, 0));
}

TEST_P(KeeperTest, HoldsSignalsUntilTheCommandHasStarted) {
  const auto environment = open();
  Running run = shell(environment, "exec sleep 1000");
  signal(run, SIGINT);
  run.trace->wait_for_end();
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, SIGINT);
}

TEST_P(KeeperTest, KillsTheWholeTree) {
  const auto environment = open();
  Running run = shell(environment, "trap '' TERM INT HUP; setsid sh -c 'sleep 1000 & echo $!; wait' & sleep 1000");
  const int stray = std::stoi(read_line(run.out.get()));
  ASSERT_EQ(::kill(stray, 0), 0);
  signal(run, SIGKILL);
  EXPECT_THAT(run.trace->wait_for_end(), ElementsAre(Kind::confined, Kind::started, Kind::exited, Kind::gone));
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, SIGKILL);
  EXPECT_TRUE(is_gone(stray));
  // The environment is still good.
  Running after = shell(environment, "exit 0");
  EXPECT_EQ(after.trace->wait(Kind::exited).wait_status, 0);
}

TEST_P(KeeperTest, BackgroundProcessesEndWithTheCommand) {
  Running run = shell(open(), "setsid sleep 1000 > /dev/null & echo $!");
  const int stray = std::stoi(read_line(run.out.get()));
  run.trace->wait_for_end();
  EXPECT_TRUE(is_gone(stray));
}

TEST_P(KeeperTest, SaysWhyACommandWasNotStarted) {
  const auto environment = open();
  Running missing = spawn(request_for(environment, {"no-such-\xff-command"}));
  EXPECT_EQ(missing.trace->wait_for_end().back(), Kind::failed);
  ExecutionEvent event = missing.trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::spawn_failed);
  EXPECT_EQ(event.failure.error_number, ENOENT);
  EXPECT_EQ(event.failure.step, "exec");
  EXPECT_EQ(event.failure.backend, "plain");
  EXPECT_THAT(event.failure.message, HasSubstr("was not found in the environment"));
  EXPECT_EQ(event.was_started, Started::no);

  event = spawn(request_for(environment, {"/etc/passwd"})).trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.error_number, EACCES);

  SpawnRequest nowhere = request_for(environment, {"true"});
  nowhere.cwd = "/no/such/folder";
  event = spawn(nowhere).trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.step, "working_directory");
  EXPECT_THAT(event.failure.message, HasSubstr("/no/such/folder"));

  event = spawn(request_for(environment, {})).trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::invalid_request);

  SpawnRequest plain = request_for(environment, {"/no/such/program"});
  plain.use_guest = false;
  event = spawn(plain).trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::spawn_failed);
  EXPECT_EQ(event.failure.error_number, ENOENT);
  EXPECT_EQ(event.was_started, Started::no);

  event = spawn(request_for(4711, {"true"})).trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::environment_lost);
  EXPECT_EQ(close(4711).failure.kind, FailureKind::environment_lost);
}

TEST_P(KeeperTest, LargeArgumentsThatAreNoTextArriveExactly) {
  std::vector<std::string> argv{"/usr/bin/printf", "%s"};
  std::string expected;
  for (int index = 0; index < 15; ++index) {
    std::string argument(100UL * 1024, static_cast<char>(0x80 + index));
    argument += "\n\xff\xfe";
    expected += argument;
    argv.push_back(argument);
  }
  Running run = spawn(request_for(open(), argv));
  EXPECT_TRUE(read_all(run.out.get()) == expected) << "the bytes differ";
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, 0);
}

TEST_P(KeeperTest, ManyCommandsAtATime) {
  const auto environment = open();
  std::vector<Running> runs;
  for (int index = 0; index < 64; ++index) {
    runs.push_back(shell(environment, "echo " + std::to_string(index) + "; exit " + std::to_string(index)));
  }
  for (int index = 0; index < 64; ++index) {
    auto& run = runs[static_cast<std::size_t>(index)];
    EXPECT_EQ(read_all(run.out.get()), std::to_string(index) + "\n");
    EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, W_EXITCODE(index, 0));
    EXPECT_EQ(run.trace->wait_for_end().back(), Kind::gone);
  }
}

TEST_P(KeeperTest, ClosingAnEnvironmentEndsWhatRunsInIt) {
  const auto environment = open();
  Running run = shell(environment, "echo $$; exec sleep 1000");
  const int pid = std::stoi(read_line(run.out.get()));
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
  EXPECT_EQ(run.trace->wait_for_end().back(), Kind::gone);
  EXPECT_TRUE(is_gone(pid));
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperTest, EverythingIsGoneASecondAfterTheHost) {
  const auto environment = open();
  std::vector<int> pids;
  std::vector<Running> runs;
  for (int index = 0; index < 5; ++index) {
    runs.push_back(shell(environment, "trap '' TERM HUP; setsid sleep 1000 & echo $!; echo $$; sleep 1000"));
    pids.push_back(std::stoi(read_line(runs.back().out.get())));
    pids.push_back(std::stoi(read_line(runs.back().out.get())));
  }
  open(victim("moody"));
  EXPECT_EQ(ledger_entries(), 2U);
  close_client();
  const auto all_gone = [&] { return std::all_of(pids.begin(), pids.end(), is_gone) && ledger_entries() == 0; };
  EXPECT_TRUE(test::eventually(all_gone, 1000));
}

}  // namespace
}  // namespace exechost::keeper
