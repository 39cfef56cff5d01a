// The conformance kit from outside, with the backend that is there everywhere.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/left_below.hpp"
#include "tests/support/made.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class Kit : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    bwrap_ = (std::filesystem::path(test_prefix()) / "lib/exechost/plugins/bwrap.so").string();
  }
  std::unique_ptr<Scene> scene_;
  std::string bwrap_;
};

INSTANTIATE_TEST_SUITE_P(As, Kit, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Kit, BwrapHoldsWhatItClaims) {
  const ProgramEnd end = scene_->run({"conformance", bwrap_, "--json"});
  const json report = json::parse(end.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << end.out << end.err;
  EXPECT_EQ(report.at("failed"), 0) << report.dump(1);
  EXPECT_EQ(report.at("level"), 4);
  EXPECT_GT(report.at("passed").get<int>(), 40);
  EXPECT_EQ(end.exit_status(), 0);
  for (const json& check : report.at("checks")) {
    // What is left out is what it does not claim, and nothing else.
    if (check.at("result") == "unchecked") {
      EXPECT_THAT(check.at("why").get<std::string>(), HasSubstr(" claimed")) << check.dump(1);
    }
  }
}

TEST_P(Kit, TheNodeTierHoldsWhatItClaims) {
  const ProgramEnd end = scene_->run({"conformance", "local", "--json"});
  const json report = json::parse(end.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << end.out << end.err;
  EXPECT_EQ(report.at("failed"), 0) << report.dump(1);
  EXPECT_EQ(report.at("backend"), "local");
  EXPECT_EQ(report.at("level"), 4);
  EXPECT_GT(report.at("passed").get<int>(), 40);
  for (const json& check : report.at("checks")) {
    if (check.at("result") != "unchecked") continue;
    EXPECT_NE(check.at("level"), 2) << check.dump(1);
    EXPECT_THAT(check.at("why").get<std::string>(), AnyOf(HasSubstr(" claimed"), HasSubstr("no manifest")))
        << check.dump(1);
  }
}

TEST_P(Kit, OneCheckAloneAsJUnitToo) {
  const ProgramEnd end = scene_->run(
      {"conformance", bwrap_, "--only", "exec.exit_codes", "--only", "limits.memory", "--junit", "report.xml"});
  EXPECT_EQ(end.exit_status(), 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("exec.exit_codes"));
  EXPECT_THAT(end.out, HasSubstr("1 passed, 0 failed, 1 unchecked"));
  const std::string xml = read_file(scene_->workspace() + "/report.xml");
  EXPECT_THAT(xml, HasSubstr(R"(tests="2" failures="0" skipped="1")"));
  EXPECT_THAT(xml, HasSubstr("memory is not claimed"));
}

#if defined(__x86_64__)
// A binary from then, not its source compiled today.
TEST_P(Kit, APluginBuiltForTheFirstVersionStillWorks) {
  std::string why_not;
  const auto place = Scene::make(GetParam(), Place::srv, why_not);  // a plugin's folder is not below one of everybody's
  if (!place) GTEST_SKIP() << why_not;
  const std::string kept = EXECHOST_ABI_DATA;
  place->file("out/plainc.so", read_file(kept + "/plainc-1.0.so"), 0755);
  place->file("out/plainc.json", read_file(kept + "/plainc-1.0.json"));
  const ProgramEnd end = place->run({"conformance", place->outside() + "/plainc.so", "--level", "1", "--json"});
  const json report = json::parse(end.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << end.out << end.err;
  EXPECT_EQ(report.at("failed"), 0) << report.dump(1);
  EXPECT_EQ(report.at("level"), 1);
}
#endif

enum class Instant { at_once, with_its_folder, after_a_check };

TEST_P(Kit, InterruptedAtAnyInstantItLeavesNothing) {
  for (const char* const checks : {"exec", "tree", "deadline", "environment", "recovery"}) {
    for (const Instant instant : {Instant::at_once, Instant::with_its_folder, Instant::after_a_check}) {
      SCOPED_TRACE(std::string(checks) + ", instant " + std::to_string(static_cast<int>(instant)));
      const std::string folder = std::string("tmp-") + checks + std::to_string(static_cast<int>(instant));
      scene_->folder("out/" + folder);
      ProgramOptions options = scene_->cli({"conformance", bwrap_, "--only", checks});
      options.env["TMPDIR"] = scene_->outside() + "/" + folder;
      const Made made(options.env["TMPDIR"]);
      Program kit(options);
      if (instant == Instant::with_its_folder) {
        ASSERT_TRUE(made.wait());
      }
      if (instant == Instant::after_a_check) {
        ASSERT_TRUE(kit.wait_for_output("ok "));
      }
      kit.signal(SIGINT);
      const ProgramEnd end = kit.finish(std::chrono::seconds(20));
      EXPECT_FALSE(end.overdue);
      if (instant == Instant::at_once && WIFSIGNALED(end.wait_status)) {
        EXPECT_EQ(WTERMSIG(end.wait_status), SIGINT);  // before it had taken the signal for itself
      } else {
        EXPECT_EQ(end.exit_status(), 130) << end.err;
        EXPECT_THAT(end.out, ::testing::Not(HasSubstr("for what it claims")));
      }
      EXPECT_THAT(left_below(options.env["TMPDIR"]), ::testing::IsEmpty());
      EXPECT_THAT(kit.remaining(std::chrono::seconds(5)), ::testing::IsEmpty());
    }
  }
}

TEST_P(Kit, WhatIsWrongIsSaid) {
  struct Row {
    std::vector<std::string> arguments;
    int status;
    const char* message;
  };
  scene_->file("ws/none.so", "no library");
  const std::vector<Row> rows{{{"conformance"}, 2, "FILE is missing"},
                              {{"conformance", "absent.so"}, 2, "absent.so"},
                              {{"conformance", "none.so"}, 1, "none"},
                              {{"conformance", bwrap_, "--level", "7"}, 2, "0 to 4"},
                              {{"conformance", bwrap_, "--settings", "[]"}, 2, "not a JSON object"},
                              {{"conformance", bwrap_, "--settings", R"({"no_such": 1})"}, 1, "no_such"},
                              {{"conformance", bwrap_, "--only", "nonsense"}, 1, "exec.runs"}};
  for (const Row& row : rows) {
    const ProgramEnd end = scene_->run(row.arguments);
    EXPECT_EQ(end.exit_status(), row.status) << end.err;
    EXPECT_THAT(end.err, HasSubstr(row.message));
    EXPECT_EQ(end.out, "");
  }
}

}  // namespace
}  // namespace exechost::test
