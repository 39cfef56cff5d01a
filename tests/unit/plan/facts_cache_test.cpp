// Changes real files below a temporary folder: what is remembered has to be what a new look finds.
#include "core/plan/facts_cache.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/plan/paths.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

namespace fs = std::filesystem;

class FactsCacheTest : public ::testing::Test {
 public:
  FactsCacheTest(const FactsCacheTest&) = delete;
  FactsCacheTest& operator=(const FactsCacheTest&) = delete;

 protected:
  FactsCacheTest() {
    std::string name = (fs::canonical(fs::temp_directory_path()) / "facts-cache-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    for (const char* folder : {"ws/sub", "home/bin", "home/.config/git", "own", "real/deep"})
      fs::create_directories(path(folder));
    fs::create_directory_symlink("real", path("link"));
    write("passwd", "");
    query_.workspace = path("ws");
    query_.process_cwd = "/";
    query_.cwd = path("link/deep");
    query_.own_paths = {path("own"), path("own/later")};
    query_.environment = {{"HOME", path("home")}, {"PATH", path("home/bin")}};
    query_.accounts = path("passwd");
    settings_ = std::make_shared<const settings::Settings>(SettingsBuilder().build());
  }
  ~FactsCacheTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string path(const std::string& name) const { return join_path(root_, name); }
  void write(const std::string& name, const std::string& text = "x") const { std::ofstream(path(name)) << text; }

  std::shared_ptr<const Facts> cached() {
    auto facts = cache_.gather(settings_, query_);
    EXPECT_TRUE(facts) << facts.error().message;
    return facts ? *facts : nullptr;
  }
  // Mounts are the whole machine's, and others make some meanwhile: what is remembered is so in one of some tries.
  std::shared_ptr<const Facts> remembered() {
    constexpr int kTries = 100;
    auto facts = cached();
    for (int i = 0; i < kTries; ++i) {
      auto again = cached();
      if (again == facts) return facts;
      facts = std::move(again);
    }
    ADD_FAILURE() << "never the same object twice";
    return facts;
  }
  Facts fresh() const {
    auto facts = gather(*settings_, query_);
    EXPECT_TRUE(facts) << facts.error().message;
    return facts ? *facts : Facts{};
  }

  std::string root_;
  FactQuery query_;
  std::shared_ptr<const settings::Settings> settings_;
  FactsCache cache_;
};

TEST_F(FactsCacheTest, AreTheSameObjectWhileNothingChanges) {
  EXPECT_EQ(*remembered(), fresh());
  constexpr int kTries = 100;
  bool kept = false;
  for (int i = 0; i < kTries && !kept; ++i) {
    const auto first = remembered();
    // Nothing that planning asks about.
    write("ws/something");
    write("home/something");
    fs::create_directories(path("ws/sub/deeper" + std::to_string(i)));
    write("ws/sub/text");
    kept = cached() == first;
  }
  EXPECT_TRUE(kept);
}

struct Change {
  const char* name;
  std::function<void(const std::string& root)> make;
};

std::ostream& operator<<(std::ostream& out, const Change& change) { return out << change.name; }

class Noticed : public FactsCacheTest, public ::testing::WithParamInterface<Change> {};

TEST_P(Noticed, IsInTheNextFacts) {
  const auto first = remembered();
  GetParam().make(root_);
  const auto second = cached();
  EXPECT_NE(second, first) << "looked at anew, whether or not that makes a difference";
  EXPECT_EQ(*second, fresh());
  EXPECT_EQ(*remembered(), *second);
}

void write_to(const std::string& file, const std::string& text = "x") { std::ofstream(file) << text; }

INSTANTIATE_TEST_SUITE_P(
    Each, Noticed,
    ::testing::Values(
        Change{"NewCredential", [](const std::string& root) { write_to(root + "/home/.netrc"); }},
        Change{"NewCredentialFolder", [](const std::string& root) { fs::create_directory(root + "/home/.ssh"); }},
        Change{"NewCredentialDeepDown",
               [](const std::string& root) { write_to(root + "/home/.config/git/credentials"); }},
        Change{"FolderOnTheWayGoes", [](const std::string& root) { fs::remove_all(root + "/home/.config"); }},
        Change{"FolderOnTheWayIsExchanged",
               [](const std::string& root) {
                 fs::rename(root + "/home/.config", root + "/home/elsewhere");
                 fs::create_directories(root + "/home/.config/git");
               }},
        Change{"WorkspaceIsExchanged",
               [](const std::string& root) {
                 fs::rename(root + "/ws", root + "/was");
                 fs::create_directory(root + "/ws");
               }},
        Change{"WorkspaceBecomesALink",
               [](const std::string& root) {
                 fs::rename(root + "/ws", root + "/was");
                 fs::create_directory_symlink("was", root + "/ws");
               }},
        Change{"SettingsOfTheProject", [](const std::string& root) { write_to(root + "/ws/.exechost.json", "{}"); }},
        Change{"LinkLeadsElsewhere",
               [](const std::string& root) {
                 fs::create_directories(root + "/other/deep");
                 fs::remove(root + "/link");
                 fs::create_directory_symlink("other", root + "/link");
               }},
        Change{"WhatALinkLeadsToGoes", [](const std::string& root) { fs::remove(root + "/real/deep"); }},
        Change{"LinkedProgram",
               [](const std::string& root) {
                 write_to(root + "/tool");
                 fs::create_symlink(root + "/tool", root + "/home/bin/tool");
               }},
        Change{"OwnFile", [](const std::string& root) { write_to(root + "/own/later"); }},
        Change{"SearchIsForbidden",
               [](const std::string& root) { fs::permissions(root + "/home/.config", fs::perms::none); }},
        Change{"Account",
               [](const std::string& root) {
                 fs::create_directory(root + "/someone");
                 write_to(root + "/passwd", "someone:x:1234:1234::" + root + "/someone:/bin/sh\n");
               }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(FactsCacheTest, OtherQuestionsHaveTheirOwn) {
  constexpr int kTries = 100;
  bool both = false;
  for (int i = 0; i < kTries && !both; ++i) {
    const auto first = remembered();
    query_.cwd = path("ws/sub");
    EXPECT_NE(cached(), first);
    query_.cwd = path("link/deep");
    both = cached() == first;
  }
  EXPECT_TRUE(both) << "both are kept";
  const auto first = cached();
  settings_ = std::make_shared<const settings::Settings>(SettingsBuilder().build());
  EXPECT_NE(cached(), first) << "other settings, even if they say the same";
}

TEST_F(FactsCacheTest, NothingIsRememberedWhereTheKernelDoesNotTell) {
  query_.own_paths = {"/proc/self/status"};
  auto last = cached();
  constexpr int kTimes = 4;
  for (int i = 0; i < kTimes; ++i) {
    auto next = cached();
    EXPECT_NE(next, last) << i;
    last = std::move(next);
  }
}

TEST_F(FactsCacheTest, AsManyChangesAsTheKernelHolds) {
  const auto first = cached();
  // More than fs.inotify.max_queued_events, so that some are lost, and one that counts among them.
  std::size_t most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  ASSERT_GT(most, 0U);
  ASSERT_LT(most, 1'000'000U);
  for (std::size_t i = 0; i <= most / 2; ++i) {
    write("ws/a");
    fs::remove(path("ws/a"));
  }
  write("home/.netrc");
  const auto second = cached();
  EXPECT_NE(second, first);
  EXPECT_EQ(*second, fresh());
}

// Whatever happens in which order, what is remembered is what a look would find.
TEST_F(FactsCacheTest, RandomChanges) {
  const std::array<std::string, 12> names{
      "ws",       "ws/.exechost.json", "home", "home/.netrc", "home/.ssh", "home/.config",
      "home/bin", "home/.config/git",  "link", "real",        "real/deep", "own/later"};
  std::mt19937 random(20240229);
  const auto pick = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  int kept = 0;
  for (int step = 0; step < 400; ++step) {
    const std::string one = path(names[pick(names.size())]);
    const std::string other = path(names[pick(names.size())]);
    std::error_code ignored;
    switch (pick(6)) {
      case 0: fs::remove_all(one, ignored); break;
      case 1: fs::create_directories(one, ignored); break;
      case 2: std::ofstream(one) << "x"; break;
      case 3: fs::rename(one, other, ignored); break;
      case 4: fs::create_symlink(other, one, ignored); break;
      default: break;
    }
    auto remembered = cache_.gather(settings_, query_);
    auto looked = gather(*settings_, query_);
    ASSERT_EQ(remembered.has_value(), looked.has_value()) << step;
    if (!looked) continue;
    ASSERT_EQ(**remembered, *looked) << "step " << step << ": " << one << ", " << other;
    if (*cache_.gather(settings_, query_) == *remembered) ++kept;
  }
  EXPECT_GT(kept, 100) << "most states stay as they are for a moment";
}

TEST_F(FactsCacheTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int round = 0; round < 50; ++round) {
        const auto facts = cache_.gather(settings_, query_);
        ASSERT_TRUE(facts);
        EXPECT_EQ((*facts)->workspace, path("ws"));
        if (i == 0) write(round % 2 == 0 ? "home/.netrc" : "ws/.exechost.json", "{}");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*cached(), fresh());
}

// In a process of its own: a mount namespace is needed for it.
TEST_F(FactsCacheTest, AMountIsNoticed) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int spaces = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(spaces) != 0) ::_exit(2);
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(3);
    FactsCache cache;
    const auto first = cache.gather(settings_, query_);
    if (!first || *cache.gather(settings_, query_) != *first) ::_exit(4);  // its mounts are its own
    if (::mount("none", path("ws").c_str(), "tmpfs", 0, nullptr) != 0) ::_exit(5);
    const auto second = cache.gather(settings_, query_);
    if (!second || *second == *first || **second == **first) ::_exit(6);
    if (::umount2(path("ws").c_str(), MNT_DETACH) != 0) ::_exit(7);
    const auto third = cache.gather(settings_, query_);
    ::_exit(third && **third == **first ? 0 : 8);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace exechost::plan::testing
