// Who gets which environment, when it is closed, and what happens when opening goes wrong.
#include "core/environment/shared.hpp"

#include "core/environment/session_place.hpp"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>

#include "tests/unit/execution/support.hpp"

namespace exechost::environment {
namespace {

using namespace std::chrono_literals;
using keeper::ReplyStatus;
using test::on_reactor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Opens when the test says so.
class Keeper final : public KeeperPort {
 public:
  explicit Keeper(Reactor& reactor) : reactor_(reactor) {}
  std::map<Ticket, ReplyHandler> opening;
  std::vector<keeper::OpenRequest> opened;
  std::vector<std::uint64_t> closed;
  std::vector<Ticket> cancelled;

  Ticket open(const keeper::OpenRequest& request, ReplyHandler handler) override {
    opened.push_back(request);
    opening[++last_] = std::move(handler);
    return last_;
  }
  Ticket close(const keeper::CloseRequest& request, ReplyHandler handler) override {
    closed.push_back(request.environment);
    keeper::Reply reply;
    reply.status = ReplyStatus::ok;
    reactor_.post([handler = std::move(handler), reply] { handler(reply); });
    return ++last_;
  }
  void cancel(Ticket request) override { cancelled.push_back(request); }
  Ticket probe(const keeper::ProbeRequest& /*request*/, ReplyHandler /*handler*/) override { return 0; }
  Ticket spawn(const keeper::SpawnRequest& /*request*/, EventHandler /*handler*/) override { return 0; }
  Ticket list(const keeper::ListRequest& /*request*/, ReplyHandler /*handler*/) override { return 0; }
  Ticket reap(const keeper::ReapRequest& /*request*/, ReplyHandler /*handler*/) override { return 0; }
  Ticket sessions(const keeper::SessionsRequest& /*request*/, ReplyHandler /*handler*/) override { return 0; }
  void signal(Ticket /*execution*/, int /*number*/) override {}

  // The oldest that is still being opened.
  void answer(ReplyStatus status, std::uint64_t number = 0) {
    auto handler = opening.begin()->second;
    opening.erase(opening.begin());
    keeper::Reply reply;
    reply.status = status;
    reply.failure.kind = FailureKind::provision_failed;
    reply.body = {{"environment", number}, {"id", "id"}};
    handler(reply);
  }

 private:
  Reactor& reactor_;
  Ticket last_ = 0;
};

struct Outcome {
  std::optional<Acquired> acquired;
  EnvironmentSource::Ticket ticket = 0;
};

class SharedEnvironmentsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    on_reactor(reactor_, [this] {
      environments_.reset();
      return 0;
    });
  }
  // Runs on the reactor, then lets what was posted there happen.
  void act(const std::function<void()>& work) {
    for (int i = 0; i < 3; ++i) {
      on_reactor(reactor_, [&work, i] {
        if (i == 0) work();
        return 0;
      });
    }
  }
  EnvironmentRequest request(const std::string& workspace = "/w") const {
    auto plan = std::make_shared<plan::Plan>();
    plan->backend = "box";
    plan->workspace = workspace;
    plan->guest = plan::GuestEntry::control_fd;
    plan->idle_timeout = idle_timeout_;
    plan->max_lifetime = max_lifetime_;
    EnvironmentRequest request;
    request.plan = std::move(plan);
    return request;
  }
  std::shared_ptr<Outcome> acquire(const std::string& workspace = "/w") {
    auto outcome = std::make_shared<Outcome>();
    act([&] {
      outcome->ticket = environments_->acquire(request(workspace), [outcome](Acquired acquired) {
        EXPECT_FALSE(outcome->acquired) << "told twice";
        outcome->acquired = std::move(acquired);
      });
    });
    return outcome;
  }
  void answer(ReplyStatus status, std::uint64_t number = 0) {
    act([&] { keeper_->answer(status, number); });
  }
  bool release(const Outcome& outcome, Release how = Release::intact) {
    bool answered = false;
    act([&] {
      environments_->release(outcome.acquired->lease, how, INT64_MAX, [&](const keeper::Reply&) { answered = true; });
    });
    return answered;
  }

  Reactor reactor_;
  std::shared_ptr<Keeper> keeper_ = std::make_shared<Keeper>(reactor_);
  std::shared_ptr<OpenPlaces> places_ = std::make_shared<OpenPlaces>();
  std::shared_ptr<EnvironmentSource> environments_ = make_shared_environments(reactor_, keeper_, places_);
  std::chrono::milliseconds idle_timeout_ = 1h;
  std::chrono::milliseconds max_lifetime_ = 1h;
};

TEST_F(SharedEnvironmentsTest, ThoseWhoComeWhileItIsOpenedGetTheSame) {
  const auto first = acquire();
  const auto second = acquire();
  ASSERT_THAT(keeper_->opened, SizeIs(1));
  EXPECT_TRUE(keeper_->opened.front().serve);
  EXPECT_FALSE(first->acquired);
  answer(ReplyStatus::ok, 5);
  const auto third = acquire();
  for (const auto& outcome : {first, second, third}) {
    ASSERT_TRUE(outcome->acquired);
    EXPECT_EQ(outcome->acquired->lease.environment, 5u);
    EXPECT_TRUE(outcome->acquired->lease.served);
  }
  EXPECT_FALSE(first->acquired->lease.reused);
  EXPECT_TRUE(third->acquired->lease.reused);
  EXPECT_THAT(keeper_->opened, SizeIs(1));
  for (const auto& outcome : {first, second, third}) EXPECT_TRUE(release(*outcome));
  EXPECT_THAT(keeper_->closed, IsEmpty());
}

TEST_F(SharedEnvironmentsTest, AnotherPlaceIsOpenedBesideIt) {
  const auto here = acquire("/w");
  const auto there = acquire("/elsewhere");
  ASSERT_THAT(keeper_->opened, SizeIs(2));
  answer(ReplyStatus::ok, 1);
  answer(ReplyStatus::ok, 2);
  EXPECT_EQ(here->acquired->lease.environment, 1u);
  EXPECT_EQ(there->acquired->lease.environment, 2u);
}

TEST_F(SharedEnvironmentsTest, AFailureIsEverybodysAndTheNextTriesAgain) {
  const auto first = acquire();
  const auto second = acquire();
  answer(ReplyStatus::failed);
  EXPECT_EQ(first->acquired->status, ReplyStatus::failed);
  EXPECT_EQ(second->acquired->status, ReplyStatus::failed);
  const auto third = acquire();
  EXPECT_FALSE(third->acquired);
  answer(ReplyStatus::ok, 3);
  EXPECT_EQ(third->acquired->lease.environment, 3u);
}

TEST_F(SharedEnvironmentsTest, ATimeOutIsOnlyTheFirstOnes) {
  const auto first = acquire();
  const auto second = acquire();
  const auto third = acquire();
  answer(ReplyStatus::timed_out);
  EXPECT_EQ(first->acquired->status, ReplyStatus::timed_out);
  EXPECT_FALSE(second->acquired);
  ASSERT_THAT(keeper_->opened, SizeIs(2));
  answer(ReplyStatus::ok, 2);
  EXPECT_EQ(second->acquired->lease.environment, 2u);
  EXPECT_EQ(third->acquired->lease.environment, 2u);
}

TEST_F(SharedEnvironmentsTest, CancellingOneLeavesTheOthersWaiting) {
  const auto first = acquire();
  const auto second = acquire();
  act([&] { environments_->cancel(first->ticket); });
  ASSERT_TRUE(first->acquired);
  EXPECT_EQ(first->acquired->status, ReplyStatus::cancelled);
  EXPECT_THAT(keeper_->cancelled, IsEmpty());
  act([&] { environments_->cancel(second->ticket); });
  EXPECT_THAT(keeper_->cancelled, SizeIs(1));
  EXPECT_FALSE(second->acquired);  // until the keeper says what came of it
  answer(ReplyStatus::cancelled);
  EXPECT_EQ(second->acquired->status, ReplyStatus::cancelled);
}

TEST_F(SharedEnvironmentsTest, WhatMayHoldARemainderIsClosedAtOnceAndNotGivenAgain) {
  const auto first = acquire();
  answer(ReplyStatus::ok, 1);
  const auto second = acquire();
  EXPECT_TRUE(release(*first, Release::destroy));
  EXPECT_THAT(keeper_->closed, ElementsAre(1));
  const auto third = acquire();
  EXPECT_FALSE(third->acquired);
  EXPECT_TRUE(release(*second));
  EXPECT_THAT(keeper_->closed, ElementsAre(1));
}

TEST_F(SharedEnvironmentsTest, AnIdleOneIsClosedWhenItsTimeIsUpAndNotBefore) {
  idle_timeout_ = 0ms;
  const auto first = acquire();
  answer(ReplyStatus::ok, 1);
  for (int i = 0; i < 10; ++i) act([] {});  // in use: never idle
  EXPECT_THAT(keeper_->closed, IsEmpty());
  release(*first);
  const auto until = std::chrono::steady_clock::now() + test::kPatience;
  while (keeper_->closed.empty() && std::chrono::steady_clock::now() < until) act([] {});
  EXPECT_THAT(keeper_->closed, ElementsAre(1));
  EXPECT_FALSE(acquire()->acquired);
}

TEST_F(SharedEnvironmentsTest, AnOldOneIsNotGivenOutAndClosedWhenItsLastUserIsDone) {
  max_lifetime_ = 0ms;
  const auto first = acquire();
  answer(ReplyStatus::ok, 1);
  const auto second = acquire();
  EXPECT_FALSE(second->acquired);
  EXPECT_THAT(keeper_->closed, IsEmpty());
  release(*first);
  EXPECT_THAT(keeper_->closed, ElementsAre(1));
}

TEST_F(SharedEnvironmentsTest, OnlyAFewWaitIdle) {
  for (std::uint64_t i = 1; i <= 10; ++i) {
    const auto one = acquire("/w" + std::to_string(i));
    answer(ReplyStatus::ok, i);
    release(*one);
  }
  EXPECT_THAT(keeper_->closed, ElementsAre(1, 2));
}

TEST_F(SharedEnvironmentsTest, OneThatWasLostIsSaidToBeReplacedOnce) {
  const auto first = acquire();
  answer(ReplyStatus::ok, 1);
  EXPECT_FALSE(first->acquired->lease.replaces_lost);
  release(*first, Release::destroy);
  const auto second = acquire();
  const auto third = acquire();
  answer(ReplyStatus::failed);
  EXPECT_EQ(second->acquired->status, ReplyStatus::failed);
  const auto fourth = acquire();
  const auto fifth = acquire();
  answer(ReplyStatus::ok, 2);
  EXPECT_TRUE(fourth->acquired->lease.replaces_lost);
  EXPECT_FALSE(fifth->acquired->lease.replaces_lost);
  EXPECT_FALSE(acquire()->acquired->lease.replaces_lost);
}

TEST_F(SharedEnvironmentsTest, OneThatWentWithItsKeeperIsSaidToBeReplaced) {
  const auto first = acquire();
  answer(ReplyStatus::ok, 1);
  release(*first);
  const auto next_keeper = std::make_shared<Keeper>(reactor_);
  act([&] {
    environments_ = make_shared_environments(reactor_, next_keeper, places_);
    keeper_ = next_keeper;
  });
  const auto second = acquire();
  const auto elsewhere = acquire("/elsewhere");
  answer(ReplyStatus::ok, 1);
  answer(ReplyStatus::ok, 2);
  EXPECT_TRUE(second->acquired->lease.replaces_lost);
  EXPECT_FALSE(elsewhere->acquired->lease.replaces_lost);
}

TEST_F(SharedEnvironmentsTest, OneThatWasGivenUpIsNotSaidToBeLost) {
  max_lifetime_ = 0ms;
  const auto first = acquire();
  answer(ReplyStatus::ok, 1);
  const auto second = acquire();
  answer(ReplyStatus::ok, 2);
  EXPECT_FALSE(second->acquired->lease.replaces_lost);
  release(*first);
  release(*second, Release::destroy);
  const auto third = acquire();
  answer(ReplyStatus::ok, 3);
  EXPECT_TRUE(third->acquired->lease.replaces_lost);
}

TEST_F(SharedEnvironmentsTest, WithADeadKeeperItFails) {
  keeper_.reset();
  const auto one = acquire();
  ASSERT_TRUE(one->acquired);
  EXPECT_EQ(one->acquired->status, ReplyStatus::failed);
  EXPECT_EQ(one->acquired->failure.kind, FailureKind::plugin_crashed);
}

TEST_F(SharedEnvironmentsTest, APlaceIsWhatTheEnvironmentIsMadeFrom) {
  const auto changed = [this](const std::function<void(plan::Plan&)>& change) {
    EnvironmentRequest wanted = request();
    auto plan = std::make_shared<plan::Plan>(*wanted.plan);
    change(*plan);
    wanted.plan = plan;
    return place_of(wanted) != place_of(request());
  };
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.session = "other"; }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.image = "other"; }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.network.mode = "full"; }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.view.entries.push_back({}); }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.resources.memory_bytes = 1; }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.confinement.seccomp_profile = ""; }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.confinement.landlock_rules.push_back({"/x", true}); }));
  EXPECT_TRUE(changed([](plan::Plan& plan) { plan.confinement.view_checks.push_back({"/x", 1, 2, true}); }));
  EXPECT_FALSE(changed([](plan::Plan& plan) { plan.argv = {"other"}; }));
  EXPECT_FALSE(changed([](plan::Plan& plan) { plan.cwd = "/w/below"; }));
  EXPECT_FALSE(changed([](plan::Plan& plan) { plan.timeout = 5ms; }));
  EXPECT_FALSE(changed([](plan::Plan& plan) { plan.confinement.rlimits.push_back({1, 2}); }));
  EXPECT_FALSE(changed([](plan::Plan& plan) { plan.environment["OWN"] = "1"; }));
}

}  // namespace
}  // namespace exechost::environment
