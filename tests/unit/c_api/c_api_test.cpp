// Runs what uses the C interface from outside C++: a C program and a Python script.
#include <gmock/gmock.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/library_host.hpp"

namespace exechost::test {
namespace {

// A host of the account's own scene, as the options that the C interface takes.
std::string options_for(const Scene& scene, std::string_view keeper) {
  return nlohmann::json{{"keeper", keeper},
                        {"workspace", scene.workspace()},
                        {"environment", scene.cli({}).env},
                        {"prefix", test_prefix()}}
      .dump();
}

class CApi : public ::testing::TestWithParam<const char*> {
 protected:
  void run(std::vector<std::string> argv) {
    argv.push_back(options_for(*scene_, GetParam()));
    ProgramOptions program;
    program.argv = std::move(argv);
    program.env = scene_->cli({}).env;
    const ProgramEnd end = run_program(program);
    EXPECT_EQ(end.exit_status(), 0) << end.err;
    EXPECT_EQ(end.left_behind.size(), 0U);
  }
  std::unique_ptr<Scene> scene_ = own_scene();
};

TEST_P(CApi, FromC) { run({EXECHOST_C_PROGRAM}); }

// A sanitizer's runtime can't be loaded into an interpreter that was built without it.
#ifndef EXECHOST_SANITIZED
TEST_P(CApi, FromPython) {
  const std::string python = "/usr/bin/python3";
  ASSERT_TRUE(std::filesystem::exists(python)) << "./dev deps test installs it";
  run({python, EXECHOST_PYTHON_SCRIPT, test_prefix() + "/lib/libexechost.so"});
}
#endif

INSTANTIATE_TEST_SUITE_P(Keeper, CApi, ::testing::Values("child", "in_process"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test
