// Another command that still runs in the workspace exchanges a path of the view for a link to
// somewhere else, all the time: between the look at the machine, bwrap's mounts and the guest's rules.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

constexpr const char* kSecret = "the secret outside";

// Exchanges two names, and back, at moments nobody can expect, as long as it lives.
class Swapper {
 public:
  Swapper(std::string one, std::string other)
      : one_(std::move(one)), other_(std::move(other)), thread_([this] { swap_until_told(); }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

 private:
  void swap_until_told() {
    std::mt19937 random(std::random_device{}());
    // Mostly as it was, so that many a run gets as far as its mounts.
    std::uniform_int_distribution<int> as_it_was(100, 40000);
    std::uniform_int_distribution<int> exchanged(100, 8000);
    bool swapped = false;
    while (!stop_ || swapped) {
      constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE
      ::syscall(SYS_renameat2, AT_FDCWD, one_.c_str(), AT_FDCWD, other_.c_str(), kExchange);
      swapped = !swapped;
      std::this_thread::sleep_for(std::chrono::microseconds(swapped ? exchanged(random) : as_it_was(random)));
    }
  }

  std::string one_, other_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class Swap : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    scene_->file("out/secret", kSecret);
    scene_->file("out/protected", kSecret);
  }

  // Starts the command in `cwd`, which is settled before anything is exchanged.
  void expect_nothing_gets_out(const std::string& cwd, const std::vector<std::string>& options,
                               const std::string& script, const std::string& one, const std::string& other) {
    constexpr int kRuns = 30;
    int ran = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<std::string> arguments{"run", "--quiet"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      arguments.insert(arguments.end(), {"--shell", script});
      ProgramOptions cli = scene_->cli(arguments);
      std::vector<std::string> argv{"/bin/sh", "-c", "echo ready; exec \"$@\"", "sh"};
      argv.insert(argv.end(), cli.argv.begin(), cli.argv.end());
      cli.argv = std::move(argv);
      cli.cwd = cwd;
      Program program(cli);
      ASSERT_TRUE(program.wait_for_output("ready"));
      ProgramEnd end;
      {
        const Swapper swapper(scene_->workspace() + "/" + one, scene_->workspace() + "/" + other);
        end = program.finish();
      }
      ASSERT_FALSE(end.overdue);
      ASSERT_EQ(end.out.find(kSecret), std::string::npos) << "run " << run;
      ASSERT_FALSE(exists(scene_->outside() + "/written")) << "run " << run;
      ASSERT_EQ(read_file(scene_->outside() + "/protected"), kSecret) << "run " << run;
      if (end.out.find("ran") != std::string::npos) ++ran;
    }
    EXPECT_GT(ran, 0) << "that nothing ever runs is no protection";
  }

  std::unique_ptr<Scene> scene_;
};
INSTANTIATE_TEST_SUITE_P(As, Swap, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Swap, AWorkspaceInsideAnother) {
  scene_->folder("ws/sub");
  scene_->link("ws/link", scene_->outside());
  expect_nothing_gets_out(scene_->workspace() + "/sub", {},
                          "echo ran; cat secret; echo x > written; echo x > protected", "sub", "link");
}

TEST_P(Swap, AFolderThatIsPinnedForWhatItHolds) {
  scene_->file("ws/d/protected", "");
  scene_->link("ws/link", scene_->outside());
  expect_nothing_gets_out(
      scene_->workspace(), {"--set", R"(filesystem.deny_write=["d/protected"])"},
      "echo ran; for f in d link; do cat $f/secret; echo x > $f/written; echo x > $f/protected; done", "d", "link");
}

TEST_P(Swap, TheProjectsOwnSettings) {
  scene_->file("ws/.exechost.json", "{}");
  scene_->link("ws/link", scene_->outside() + "/secret");
  expect_nothing_gets_out(scene_->workspace(), {}, "echo ran; cat .exechost.json link", ".exechost.json", "link");
}

}  // namespace
}  // namespace exechost::test
