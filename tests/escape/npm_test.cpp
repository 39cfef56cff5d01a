// The seed story: installing and testing a package from the net whose scripts are hostile.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "exechost_test_paths.hpp"
#include "tests/support/listeners.hpp"
#include "tests/support/scene.hpp"
#include "tests/support/tree.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;

constexpr const char* kAttempts[] = {
    "read_key",      "list_keys", "append_bashrc", "write_through_link", "append_through_link",
    "write_outside", "token",     "loopback",      "outside_address",    "outside_name"};

class NpmStory : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    if (!exists("/usr/bin/npm") && !exists("/usr/local/bin/npm")) GTEST_SKIP() << "npm is not installed";
    std::string why_not;
    scene_ = Scene::make(std::get<0>(GetParam()), place_from(std::get<1>(GetParam())).value(), why_not);
    if (!scene_) GTEST_SKIP() << why_not;

    scene_->file("home/.ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n", 0600);
    scene_->file("home/.bashrc", "export EDITOR=vi\n");
    scene_->file("home/.npmrc", "//registry.example.com/:_authToken=secret\n", 0600);
    scene_->file("out/existing", "before\n");
    for (const char* name : {"package.json", "test.js"}) copy("app", name, "ws");
    for (const char* name : {"package.json", "index.js", "attack.js"}) copy("evil", name, "pack/package");
    scene_->link("ws/link", scene_->outside());
    scene_->file("ws/targets.json",
                 json{{"home", scene_->home()}, {"outside", scene_->outside()}, {"port", listener_.port()}}.dump());
    ProgramOptions pack;
    pack.argv = {"/bin/tar", "-czf", "ws/helper-package-1.0.0.tgz", "-C", "pack", "package"};
    pack.env = {{"PATH", "/usr/bin:/bin"}};
    pack.cwd = scene_->base();
    pack.as = scene_->account();
    ASSERT_EQ(run_program(pack).exit_status(), 0);
  }

  void copy(const std::string& from, const std::string& name, const std::string& to) const {
    scene_->file(to + "/" + name, read_file(std::string(EXECHOST_TEST_DATA) + "/npm/" + from + "/" + name));
  }

  // Everything but the workspace and ExecHost's own state, times included.
  Tree host() const {
    Tree tree = describe_tree(scene_->base(), Times::compare);
    std::erase_if(tree,
                  [](const auto& entry) { return entry.first.starts_with("ws/") || entry.first.starts_with("xdg/"); });
    return tree;
  }

  ProgramEnd run(std::vector<std::string> arguments) const {
    ProgramOptions options = scene_->cli(std::move(arguments));
    options.env["NPM_TOKEN"] = "secret";
    return run_program(options, std::chrono::seconds(90));
  }

  void expect_all_failed(const std::string& phase) const {
    const std::string path = scene_->workspace() + "/report-" + phase + ".json";
    ASSERT_TRUE(exists(path)) << "the attack didn't run";
    const json report = json::parse(read_file(path));
    EXPECT_EQ(report.size(), std::size(kAttempts));
    for (const char* attempt : kAttempts) {
      ASSERT_TRUE(report.contains(attempt)) << attempt;
      EXPECT_NE(report[attempt], "succeeded") << attempt;
    }
  }

  std::unique_ptr<Scene> scene_;
  const Listener listener_ = Listener::tcp("127.0.0.1");
};

TEST_P(NpmStory, EveryAttackFailsAndTheHostIsUnchanged) {
  const Tree before = host();

  const ProgramEnd install = run({"run", "--profile", "install", "--", "npm", "install", "--no-audit", "--no-fund"});
  EXPECT_EQ(install.exit_status(), 0) << install.out << install.err;
  EXPECT_TRUE(exists(scene_->workspace() + "/node_modules/helper-package/index.js"));
  expect_all_failed("install");

  const ProgramEnd test = run({"run", "--", "npm", "test"});
  EXPECT_EQ(test.exit_status(), 0) << test.out << test.err;
  EXPECT_THAT(test.out, ::testing::HasSubstr("1 test passed"));
  expect_all_failed("test");

  EXPECT_EQ(changed_paths(before, host()), std::vector<std::string>{});
  EXPECT_EQ(listener_.visitors(), 0);
  EXPECT_TRUE(install.left_behind.empty()) << to_text(install.left_behind);
  EXPECT_TRUE(test.left_behind.empty()) << to_text(test.left_behind);
}

INSTANTIATE_TEST_SUITE_P(
    As, NpmStory, ::testing::Combine(::testing::Values("root", "user"), ::testing::Values("var_tmp", "home", "srv")),
    [](const auto& tested) { return std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param); });

}  // namespace
}  // namespace exechost::test
