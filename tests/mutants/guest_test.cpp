// The mutant that takes the guest, through the keeper.
#include <gmock/gmock.h>

#include "tests/unit/keeper/keeper_fixture.hpp"

namespace exechost::keeper {
namespace {

using ::testing::ElementsAre;

class MutantGuestTest : public KeeperTest {
 protected:
  void SetUp() override {
    KeeperTest::SetUp();
    ProbeRequest request;
    request.plugin = victim("mutant");
    const Reply reply = call(request);
    ASSERT_EQ(reply.status, ReplyStatus::ok) << describe(reply.failure);
    if (reply.body.at("ready") != true) GTEST_SKIP() << reply.body.at("reason");
  }
};

INSTANTIATE_TEST_SUITE_P(Placements, MutantGuestTest,
                         ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child), placement_name);

TEST_P(MutantGuestTest, WithoutAFaultACommandIsExact) {
  const auto environment = open(victim("mutant", {{"fault", "none"}}));
  const Running run = shell(environment, "echo out; exit 7");
  EXPECT_EQ(test::read_all(run.out.get()), "out\n");
  EXPECT_THAT(run.trace->wait_for_end(), ElementsAre(Kind::confined, Kind::started, Kind::exited, Kind::gone));
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, W_EXITCODE(7, 0));
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

TEST_P(MutantGuestTest, WithoutAFaultNothingIsLeft) {
  const auto environment = open(victim("mutant", {{"fault", "none"}}));
  const Running run = shell(environment, "setsid sleep 1000 & setsid sh -c 'echo ready; exec sleep 1000' & wait");
  ASSERT_EQ(test::read_line(run.out.get()), "ready");
  signal(run, SIGKILL);
  run.trace->wait_for_end();
  EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, SIGKILL);
  EXPECT_EQ(test::read_all(run.out.get()), "") << "every process that held it has ended";
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

TEST_P(MutantGuestTest, AFaultInTheStreamsShows) {
  const auto environment = open(victim("mutant", {{"fault", "converts_crlf"}}));
  const Running run = shell(environment, "echo out");
  EXPECT_EQ(test::read_all(run.out.get()), "out\r\n");
  run.trace->wait_for_end();
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

}  // namespace
}  // namespace exechost::keeper
