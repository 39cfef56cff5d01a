// The state machine of one run against a keeper that does what each test says.
#include <gmock/gmock.h>
#include <csignal>

#include "support.hpp"

namespace exechost::execution {
namespace {

using keeper::ReplyStatus;
using test::FakeExecution;
using test::RunHarness;
using namespace std::chrono_literals;

class RunTest : public ::testing::Test {
 protected:
  void exits_with(int code) {
    harness.keeper->on_spawn = [code](FakeExecution& execution) {
      execution.confined();
      execution.started();
      execution.exited(code);
      execution.gone();
    };
  }
  void stays_running() {
    harness.keeper->on_spawn = [](FakeExecution& execution) {
      execution.confined();
      execution.started();
    };
  }
  void acquire_fails(FailureKind kind) {
    harness.keeper->on_acquire = [kind](const auto& handler) {
      environment::Acquired acquired;
      acquired.status = ReplyStatus::failed;
      acquired.failure.kind = kind;
      acquired.failure.phase = Phase::provision;
      acquired.failure.message = "scripted";
      handler(acquired);
    };
  }
  void expire_after(std::chrono::milliseconds span) { harness.spec.deadline_ns = deadline_after(span); }

  RunHarness harness;
};

TEST_F(RunTest, ExitCodeAndPhases) {
  exits_with(42);
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_EQ(result.exit_code, 42);
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_FALSE(result.failure);
  EXPECT_FALSE(result.stopped_phase);
  EXPECT_EQ(result.environment_id, "0123456789abcdef0123456789abcdef");
  for (const char* phase : {"provision", "spawn", "run", "collect", "cleanup"}) {
    EXPECT_EQ(result.phase_times.count(phase), 1u) << phase;
  }
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::intact});
}

TEST_F(RunTest, WhatTheCommandGets) {
  harness.plan->argv = {"tool", "", "--", "\xff\n"};
  harness.plan->environment = {{"A", "1"}, {"B", "x=y"}};
  harness.plan->cwd = "/work";
  exits_with(0);
  harness.run();
  const keeper::SpawnRequest& request = harness.keeper->execution->request;
  EXPECT_EQ(request.argv, harness.plan->argv);
  EXPECT_THAT(request.variables, ::testing::ElementsAre("A=1", "B=x=y"));
  EXPECT_EQ(request.cwd, "/work");
  EXPECT_EQ(request.environment, 7u);
  EXPECT_TRUE(request.use_guest);
}

TEST_F(RunTest, ASignalIsNotAnExitCode) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
    execution.killed(SIGSEGV);
    execution.gone();
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::signaled);
  EXPECT_EQ(result.signal_number, SIGSEGV);
}

TEST_F(RunTest, AFailedOpenIsNotStarted) {
  acquire_fails(FailureKind::provision_failed);
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::failed);
  EXPECT_EQ(result.started, Started::no);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::provision_failed);
  EXPECT_EQ(result.failure->backend, "fake");
  EXPECT_TRUE(harness.keeper->releases.empty());
}

TEST_F(RunTest, ASpawnThatFailedLeavesTheEnvironmentIntact) {
  harness.keeper->on_spawn = [](FakeExecution& execution) { execution.failed(FailureKind::spawn_failed, Started::no); };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::failed);
  EXPECT_EQ(result.started, Started::no);
  EXPECT_EQ(result.failure->kind, FailureKind::spawn_failed);
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::intact});
}

TEST_F(RunTest, AKeeperThatDiedDuringTheSpawnLeavesTheStartUnknown) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.failed(FailureKind::plugin_crashed, Started::unknown);
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::plugin_crashed);
  EXPECT_EQ(result.started, Started::unknown) << "nobody is left to say that it had not started";
}

TEST_F(RunTest, AKeeperThatDiedLaterDoesNotUndoTheStart) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
    execution.failed(FailureKind::plugin_crashed, Started::unknown);
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::failed);
  EXPECT_EQ(result.started, Started::yes);
}

TEST_F(RunTest, ALostEnvironmentIsDestroyed) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
    execution.failed(FailureKind::environment_lost, Started::yes);
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::environment_lost);
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::destroy});
}

TEST_F(RunTest, GoneWithoutAWordIsAFailureWithUnknownStart) {
  harness.keeper->on_spawn = [](FakeExecution& execution) { execution.gone(); };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::environment_lost);
  EXPECT_EQ(result.started, Started::unknown);
}

// ---- confinement --------------------------------------------------------------------

TEST_F(RunTest, AStartWithoutConfinementIsKilled) {
  harness.keeper->on_spawn = [](FakeExecution& execution) { execution.started(); };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::protocol_error);
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_EQ(harness.keeper->execution->signals, std::vector{SIGKILL});
}

TEST_F(RunTest, AConfinementWithoutItsFilterIsKilled) {
  harness.keeper->on_spawn = [](FakeExecution& execution) { execution.confined(false); };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::protocol_error);
  EXPECT_THAT(result.failure->message, ::testing::HasSubstr("\"base\""));
  EXPECT_EQ(harness.keeper->execution->signals, std::vector{SIGKILL});
}

TEST_F(RunTest, ACommandWithoutLandlockOnAKernelThatHasItIsKilled) {
  harness.plan->confinement.landlock_required = true;
  harness.keeper->on_spawn = [](FakeExecution& execution) { execution.confined(true, 0); };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::protocol_error);
  EXPECT_THAT(result.failure->message, ::testing::HasSubstr("Landlock"));
  EXPECT_EQ(harness.keeper->execution->signals, std::vector{SIGKILL});
}

TEST_F(RunTest, WithoutAGuestNothingIsConfinedAndNothingIsExpected) {
  harness.plan->guest = plan::GuestEntry::none;
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.started();
    execution.exited(0);
    execution.gone();
  };
  EXPECT_EQ(harness.run().status, Status::exited);
  EXPECT_FALSE(harness.keeper->execution->request.use_guest);
}

// ---- deadline and cancellation ------------------------------------------------------

TEST_F(RunTest, TheDeadlineKillsARunningCommand) {
  stays_running();
  expire_after(50ms);
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::timed_out);
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_EQ(result.stopped_phase, Phase::run);
  EXPECT_EQ(harness.keeper->execution->signals, std::vector{SIGKILL});
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::intact});
}

TEST_F(RunTest, TheDeadlineCancelsAnOpen) {
  std::function<void(environment::Acquired)> waiting;
  harness.keeper->on_acquire = [&](const auto& handler) { waiting = handler; };
  harness.keeper->on_cancel = [&] {
    environment::Acquired acquired;
    acquired.status = ReplyStatus::cancelled;
    waiting(acquired);
  };
  expire_after(50ms);
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::timed_out) << "the first reason counts, not how the backend put it";
  EXPECT_EQ(result.started, Started::no);
  EXPECT_EQ(result.stopped_phase, Phase::provision);
  waiting = nullptr;
}

TEST_F(RunTest, AnOpenThatIsReadyDespiteTheCancelIsClosedUnused) {
  std::function<void(environment::Acquired)> waiting;
  harness.keeper->on_acquire = [&](const auto& handler) { waiting = handler; };
  harness.keeper->on_cancel = [&] { waiting(test::ScriptedKeeper::lease()); };
  harness.start();
  harness.cancel();
  const ExecResult result = harness.result();
  EXPECT_EQ(result.status, Status::cancelled);
  EXPECT_EQ(result.started, Started::no);
  EXPECT_EQ(harness.keeper->execution, nullptr);
  EXPECT_EQ(harness.keeper->releases.size(), 1u);
  waiting = nullptr;
}

TEST_F(RunTest, ABackendThatIgnoresTheCancelIsGivenUpAndCleanedUpAfter) {
  std::function<void(environment::Acquired)> waiting;
  harness.keeper->on_acquire = [&](const auto& handler) { waiting = handler; };
  harness.limits.give_up_open = 50ms;
  harness.start();
  harness.cancel();
  const ExecResult result = harness.result();
  EXPECT_EQ(result.status, Status::cancelled);
  EXPECT_EQ(result.warnings.size(), 1u);
  EXPECT_TRUE(harness.keeper->releases.empty());
  test::on_reactor(harness.reactor, [&] {
    waiting(test::ScriptedKeeper::lease());
    waiting = nullptr;
    return 0;
  });
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::intact})
      << "what came too late is put away; others may be in it";
}

TEST_F(RunTest, CancelKillsARunningCommandAndWaitsUntilItIsGone) {
  stays_running();
  harness.keeper->on_signal = [](FakeExecution&, int) {};
  harness.start();
  ASSERT_TRUE(harness.spawned());
  harness.cancel();
  EXPECT_FALSE(harness.done_within(100ms)) << "nothing has proved yet that it is gone";
  harness.with_execution([](FakeExecution& execution) {
    execution.killed(SIGKILL);
    execution.gone();
  });
  const ExecResult result = harness.result();
  EXPECT_EQ(result.status, Status::cancelled);
  EXPECT_EQ(result.signal_number, 0) << "our own signal is not how the command ended";
}

TEST_F(RunTest, OneKillIsSentHoweverOftenItIsCancelled) {
  stays_running();
  harness.keeper->on_signal = [](FakeExecution&, int) {};
  harness.start();
  ASSERT_TRUE(harness.spawned());
  for (int i = 0; i < 5; ++i) harness.cancel();
  harness.with_execution([](FakeExecution& execution) { execution.gone(); });
  EXPECT_EQ(harness.result().status, Status::cancelled);
  EXPECT_EQ(harness.keeper->execution->signals, std::vector{SIGKILL});
}

TEST_F(RunTest, WithoutProofOfTheEndTheEnvironmentIsDestroyed) {
  stays_running();
  harness.keeper->on_signal = [](FakeExecution&, int) {};
  harness.limits.kill = 50ms;
  expire_after(20ms);
  harness.limits.drain = 50ms;
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::timed_out);
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::destroy});
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_THAT(result.warnings[0], ::testing::HasSubstr("environment_lost"));
  EXPECT_TRUE(result.pipes_held_open) << "the scripted command still holds its pipes";
}

TEST_F(RunTest, AnExitThatIsNotFollowedByGoneIsBoundedToo) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
    execution.exited(3);
    execution.close_streams();
  };
  harness.limits.kill = 50ms;
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(harness.keeper->releases, std::vector{environment::Release::destroy});
}

TEST_F(RunTest, TheCommandsEndWinsOverALaterCancel) {
  exits_with(5);
  std::function<void(keeper::Reply)> closing;
  test::Event released;
  harness.keeper->on_release = [&](const auto& handler) {
    closing = handler;
    released.set();
  };
  harness.start();
  ASSERT_TRUE(released.wait());
  harness.cancel();
  test::on_reactor(harness.reactor, [&] {
    keeper::Reply reply;
    reply.status = ReplyStatus::ok;
    closing(reply);
    closing = nullptr;
    return 0;
  });
  const ExecResult result = harness.result();
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_EQ(result.exit_code, 5);
}

TEST_F(RunTest, ACloseThatFailsIsAWarning) {
  exits_with(0);
  harness.keeper->on_release = [](const auto& handler) {
    keeper::Reply reply;
    reply.failure.message = "busy";
    handler(reply);
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::exited);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings[0], ::testing::HasSubstr("busy"));
}

TEST_F(RunTest, ACloseThatNeverAnswersIsBounded) {
  exits_with(0);
  std::function<void(keeper::Reply)> never;
  harness.keeper->on_release = [&](const auto& handler) { never = handler; };
  harness.limits.close = std::chrono::milliseconds(-1950);  // 50 ms with the time allowed for the answer
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_EQ(result.warnings.size(), 1u);
  test::on_reactor(harness.reactor, [&] {
    never(keeper::Reply{});
    never = nullptr;
    return 0;
  });
}

TEST_F(RunTest, ADeadlineThatHasPassedRunsNothing) {
  harness.spec.deadline_ns = monotonic_now_ns() - 1;
  harness.keeper->on_acquire = [](const auto& handler) {
    environment::Acquired acquired;
    acquired.status = ReplyStatus::timed_out;
    handler(acquired);
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::timed_out);
  EXPECT_EQ(result.started, Started::no);
  EXPECT_EQ(harness.keeper->execution, nullptr);
}

// ---- signals ------------------------------------------------------------------------

TEST_F(RunTest, SignalsReachOnlyARunningCommand) {
  stays_running();
  harness.start();
  ASSERT_TRUE(harness.spawned());
  test::on_reactor(harness.reactor, [&] {
    EXPECT_TRUE(harness.the_run->running());
    harness.the_run->signal(SIGINT);
    return 0;
  });
  harness.with_execution([](FakeExecution& execution) { execution.exited(0); });
  test::on_reactor(harness.reactor, [&] {
    EXPECT_FALSE(harness.the_run->running());
    harness.the_run->signal(SIGTERM);
    return 0;
  });
  harness.with_execution([](FakeExecution& execution) { execution.gone(); });
  EXPECT_EQ(harness.result().status, Status::exited);
  EXPECT_EQ(harness.keeper->execution->signals, std::vector{SIGINT});
}

}  // namespace
}  // namespace exechost::execution
