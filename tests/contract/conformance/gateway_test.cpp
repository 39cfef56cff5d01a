// The gateway tier as its users meet it: from the command line, and from the library.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/library_host.hpp"
#include "tests/support/tree.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class GatewayRuns : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    scene_->file("ws/text", "one\ntwo\nthree\n");
    scene_->file("out/secret", "outside");
  }
  ProgramEnd gateway(const std::vector<std::string>& command, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments{"run", "--tier", "gateway"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return scene_->run(arguments);
  }
  std::unique_ptr<Scene> scene_;
};
INSTANTIATE_TEST_SUITE_P(As, GatewayRuns, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(GatewayRuns, PrintsAndExitsAsTheProgramWould) {
  const ProgramEnd shown = gateway({"head", "-n", "2", "text"});
  EXPECT_EQ(shown.exit_status(), 0) << shown.err;
  EXPECT_EQ(shown.out, "one\ntwo\n");
  const ProgramEnd missing = gateway({"cat", "missing"});
  EXPECT_EQ(missing.exit_status(), 1);
  EXPECT_THAT(missing.err, HasSubstr("cat: missing: No such file or directory"));
  EXPECT_EQ(gateway({"grep", "-F", "four", "text"}).exit_status(), 1);
}

TEST_P(GatewayRuns, SaysWhatItIsAndStartsNothing) {
  const ProgramEnd end = gateway({"sha256sum", "text"}, {"--json"});
  const json result = json::parse(end.out);
  EXPECT_EQ(result.at("tier"), "gateway");
  EXPECT_EQ(result.at("status"), "exited");
  EXPECT_EQ(result.at("started"), "yes");
  EXPECT_THAT(result.at("stdout").get<std::string>(), HasSubstr("  text\n"));
  EXPECT_THAT(result.at("isolation").dump(), HasSubstr("openat2"));
  EXPECT_TRUE(end.left_behind.empty());
}

TEST_P(GatewayRuns, WhatItIsNotForIsUnsupportedAndNamesTheSandbox) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"sed", "s/a/b/", "text"}, {"cat", "--squeeze-blank", "text"}, {"sh", "-c", "true"}}) {
    const ProgramEnd end = gateway(command, {"--json"});
    EXPECT_EQ(end.exit_status(), 125) << command.front();
    const json failure = json::parse(end.out).at("failure");
    EXPECT_EQ(failure.at("kind"), "unsupported");
    EXPECT_THAT(failure.dump(), HasSubstr("sandbox"));
  }
  EXPECT_EQ(gateway({"cat", "text"}, {"--tty"}).exit_status(), 125);
  EXPECT_EQ(gateway({"cat", "text"}, {"--memory", "64m"}).exit_status(), 125) << "nothing there would enforce it";
}

TEST_P(GatewayRuns, NothingOutsideIsRead) {
  scene_->link("ws/link", scene_->outside() + "/secret");
  for (const std::string& path : {scene_->outside() + "/secret", std::string("link"), std::string("../out/secret"),
                                  std::string("/proc/self/environ"), std::string("/etc/shadow")}) {
    const ProgramEnd end = gateway({"cat", path});
    EXPECT_EQ(end.exit_status(), 1) << path;
    EXPECT_EQ(end.out, "") << path;
  }
}

TEST_P(GatewayRuns, AReaderThatGoesEndsIt) {
  scene_->file("ws/long", std::string(8UL * 1024 * 1024, 'x'));
  ProgramOptions options = scene_->cli({"run", "--tier", "gateway", "--", "cat", "long"});
  std::vector<std::string> argv{"/bin/sh", "-c", "\"$@\" | head -c 3", "sh"};
  argv.insert(argv.end(), options.argv.begin(), options.argv.end());
  options.argv = std::move(argv);
  const ProgramEnd end = run_program(options);
  EXPECT_FALSE(end.overdue);
  EXPECT_EQ(end.out, "xxx");
}

TEST_P(GatewayRuns, LongOutputIsCutAndCounted) {
  scene_->file("ws/long", std::string(3UL * 1024 * 1024, 'x'));
  const json result = json::parse(gateway({"cat", "long"}, {"--json", "--set", R"(resources.output_cap="4KiB")"}).out);
  EXPECT_EQ(result.at("stdout_bytes"), 3 * 1024 * 1024);
  EXPECT_EQ(result.at("truncated"), true);
}

TEST(GatewayOfAHost, OperatesInTheWorkspace) {
  const auto scene = own_scene();
  scene->file("ws/text", "content");
  scene->file("out/secret", "outside");
  ExecHost host(host_options(*scene, KeeperPlacement::child));
  const auto gateway = host.gateway();
  ASSERT_TRUE(gateway) << describe(gateway.error());
  EXPECT_EQ(gateway->read_file("text")->bytes, "content");
  ASSERT_TRUE(gateway->write_file("new", "written"));
  EXPECT_EQ(read_file(scene->workspace() + "/new"), "written");
  EXPECT_FALSE(gateway->read_file(scene->outside() + "/secret"));
  EXPECT_FALSE(gateway->write_file("../out/new", "x"));
  EXPECT_EQ(running_descendants(std::chrono::milliseconds(0)).size(), 0U) << "not even a keeper";
}

TEST(GatewayOfAHost, AStreamOfInputIsRefusedAndBytesAreTaken) {
  const auto scene = own_scene();
  ExecHost host(host_options(*scene, KeeperPlacement::child));
  Request request;
  request.tier = "gateway";
  request.argv = {"wc", "-c"};
  request.standard_input = {StdinSource::Kind::bytes, "12345", -1};
  EXPECT_EQ(host.run(request).out.data, "5\n");
  request.standard_input = {StdinSource::Kind::stream, {}, -1};
  const ExecResult refused = host.run(request);
  ASSERT_EQ(refused.status, Status::failed);
  EXPECT_EQ(refused.failure->kind, FailureKind::unsupported);
  EXPECT_EQ(refused.started, Started::no);
}

}  // namespace
}  // namespace exechost::test
