// A real build: the Debian source package hello configures, builds and passes its tests in the
// default sandbox, and nothing outside its folder changes.
#include <gmock/gmock.h>
#include <filesystem>

#include "tests/support/scene.hpp"
#include "tests/support/tree.hpp"

namespace exechost::test {
namespace {

namespace fs = std::filesystem;

class SourcePackage : public ::testing::TestWithParam<const char*> {};

// The unpacked package, downloaded once per build tree.
bool fetch(std::string& why_not) {
  const fs::path folder = fs::path(EXECHOST_SOURCE_CACHE) / "hello";
  if (fs::exists(folder / "configure")) return true;
  ProgramOptions options;
  options.argv = {EXECHOST_SOURCE_PACKAGE, "hello", EXECHOST_SOURCE_CACHE};
  options.env = {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}, {"HOME", "/"}};
  const ProgramEnd end = run_program(options, std::chrono::minutes(5));
  why_not = "apt-get source hello: " + end.err;
  return end.exit_status() == 0;
}

TEST_P(SourcePackage, BuildsAndPassesItsTests) {
  std::string why_not;
  ASSERT_TRUE(fetch(why_not)) << why_not;
  const auto scene = Scene::make(GetParam(), Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  scene->file("home/.bashrc", "export EDITOR=vi\n");
  scene->file("out/neighbour", "before\n");
  fs::copy(fs::path(EXECHOST_SOURCE_CACHE) / "hello", scene->workspace(),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const auto& entry : fs::recursive_directory_iterator(scene->workspace()))
    scene->give_to_account(entry.path().string());
  // fs::copy sets new times; make must not think that configure is older than its source.
  const auto same_time = fs::file_time_type::clock::now();
  for (const auto& entry : fs::recursive_directory_iterator(scene->workspace())) {
    if (entry.is_regular_file() && !entry.is_symlink()) fs::last_write_time(entry.path(), same_time);
  }
  const auto host = [&] {
    Tree tree = describe_tree(scene->base(), Times::compare);
    std::erase_if(tree,
                  [](const auto& entry) { return entry.first.starts_with("ws/") || entry.first.starts_with("xdg/"); });
    return tree;
  };
  const Tree before = host();

  for (const std::vector<std::string>& step : std::vector<std::vector<std::string>>{
           {"./configure", "--disable-dependency-tracking"}, {"make", "-j2"}, {"make", "check"}}) {
    std::vector<std::string> arguments{"run", "--"};
    arguments.insert(arguments.end(), step.begin(), step.end());
    ProgramOptions options = scene->cli(arguments);
    const ProgramEnd end = run_program(options, std::chrono::minutes(10));
    ASSERT_EQ(end.exit_status(), 0) << step.front() << end.out.substr(end.out.size() > 3000 ? end.out.size() - 3000 : 0)
                                    << end.err.substr(0, 3000);
    EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
    if (step.back() == "check") {
      EXPECT_THAT(end.out, ::testing::HasSubstr("# FAIL:  0"));
      EXPECT_THAT(end.out, ::testing::Not(::testing::HasSubstr("# PASS:  0")));
    }
  }

  ProgramOptions hello;
  hello.argv = {scene->workspace() + "/hello"};
  EXPECT_EQ(run_program(hello).out, "Hello, world!\n");
  EXPECT_EQ(changed_paths(before, host()), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(As, SourcePackage, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test
