#include "core/plan/plan_cache.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

class PlanCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Plan> plan(const Request& request) {
    auto plan = cache_.get({request, *settings_, backends_, *facts_}, settings_, facts_);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *plan : nullptr;
  }
  static Request request() {
    Request request;
    request.argv = {"true"};
    return request;
  }

  Planned planned_;
  std::shared_ptr<const settings::Settings> settings_ =
      std::make_shared<const settings::Settings>(planned_.settings.build());
  std::shared_ptr<const Facts> facts_ = std::make_shared<const Facts>(planned_.machine.look(*settings_));
  std::vector<BackendFacts> backends_{bwrap()};
  PlanCache cache_;
};

TEST_F(PlanCacheTest, TheSameIsPlannedOnce) {
  const auto first = plan(request());
  EXPECT_EQ(plan(request()), first);
  Request streams = request();
  streams.on_output = [](StdStream, std::string_view) {};
  EXPECT_EQ(plan(streams), first) << "where the output goes is no part of a plan";
}

struct Difference {
  const char* name;
  std::function<void(Request&)> make;
};

std::ostream& operator<<(std::ostream& out, const Difference& difference) { return out << difference.name; }

class Differs : public PlanCacheTest, public ::testing::WithParamInterface<Difference> {};

TEST_P(Differs, IsPlannedAnew) {
  const auto first = plan(request());
  Request other = request();
  GetParam().make(other);
  const auto second = plan(other);
  EXPECT_NE(second, first);
  EXPECT_EQ(plan(other), second);
  EXPECT_EQ(plan(request()), first) << "both are kept";
}

INSTANTIATE_TEST_SUITE_P(
    Each, Differs,
    ::testing::Values(Difference{"argv",
                                 [](Request& r) {
                                   r.argv = {"true", ""};
                                 }},
                      Difference{"shell", [](Request& r) { r.argv.clear(), r.shell = "true"; }},
                      Difference{"cwd", [](Request& r) { r.cwd = "/tmp"; }},
                      Difference{"env", [](Request& r) { r.env["A"] = "1"; }},
                      Difference{"tty", [](Request& r) { r.tty = true; }},
                      Difference{"input", [](Request& r) { r.standard_input.kind = StdinSource::Kind::bytes; }},
                      Difference{"session", [](Request& r) { r.session = "s"; }},
                      Difference{"timeout", [](Request& r) { r.timeout = std::chrono::seconds(1); }},
                      Difference{"settings", [](Request& r) { r.settings_json = "{}"; }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(PlanCacheTest, OtherCircumstancesArePlannedAnew) {
  const auto first = plan(request());
  backends_.front().probe->capabilities["memory"].evidence = "something else";
  EXPECT_NE(plan(request()), first);
  backends_ = {bwrap()};
  EXPECT_EQ(plan(request()), first);
  facts_ = std::make_shared<const Facts>(*facts_);
  EXPECT_NE(plan(request()), first) << "facts that were looked at anew";
}

TEST_F(PlanCacheTest, AFailureIsFoundAgain) {
  Request nothing;
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(cache_.get({nothing, *settings_, backends_, *facts_}, settings_, facts_)) << i;
}

TEST_F(PlanCacheTest, OnlyTheLatestAreKept) {
  const auto first = plan(request());
  for (std::size_t i = 0; i < PlanCache::kKept; ++i) {
    Request other = request();
    other.argv.push_back(std::to_string(i));
    plan(other);
  }
  EXPECT_NE(plan(request()), first);
}

}  // namespace
}  // namespace exechost::plan::testing
