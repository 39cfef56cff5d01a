// The user's list of allowed commands: changed in place, the rest of the file kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/settings/allow_list.hpp"
#include "core/settings/settings.hpp"

namespace exechost::settings {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json lists(const std::vector<Words>& commands) { return commands; }

class AllowListTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "allow_list_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    list_ = {base_ + "/config/exechost", "node", {}};
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  std::string path() const { return list_.user_dir + "/settings.json"; }
  void write(const std::string& text) const {
    std::filesystem::create_directories(list_.user_dir);
    std::ofstream(path()) << text;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  std::string text() const {
    std::ifstream file(path());
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  json listed() const { return json::parse(text()).at("admission").at("node").at("allow"); }
  // As the product would read it.
  Result<Settings> resolved() const {
    auto files = read_files({"", list_.user_dir, ""});
    if (!files) return tl::unexpected(files.error());
    Sources sources;
    sources.files = *files;
    return resolve(sources);
  }

  std::string base_;
  AllowList list_;
};

TEST_F(AllowListTest, MakesTheFileForTheUserAlone) {
  const auto changed = allow_command(list_, {"git", "push", "a b\n'c'"});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_TRUE(*changed);
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  ASSERT_EQ(::stat(list_.user_dir.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0077U, 0U);
  const auto settings = resolved();
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->at("admission.node.allow"), lists({{"git", "push", "a b\n'c'"}}));
}

TEST_F(AllowListTest, KeepsEverythingElseInItsOrder) {
  write(
      R"({"tier": "sandbox", "backend": "bwrap", "admission": {"node": {"ask": "always", "allow": [["ls"]]}}, "image": ""})");
  ASSERT_TRUE(allow_command(list_, {"make"}));
  EXPECT_EQ(listed(), lists({{"ls"}, {"make"}}));
  const std::string now = text();
  EXPECT_LT(now.find("\"tier\""), now.find("\"backend\""));
  EXPECT_LT(now.find("\"admission\""), now.find("\"image\""));
  EXPECT_THAT(now, HasSubstr("always"));
}

TEST_F(AllowListTest, SaysWhenThereIsNothingToChange) {
  ASSERT_TRUE(allow_command(list_, {"ls"}));
  EXPECT_EQ(allow_command(list_, {"ls"}), Result<bool>(false));
  EXPECT_EQ(revoke_command(list_, {"ls", "-l"}), Result<bool>(false));
  EXPECT_EQ(revoke_command(list_, {"ls"}), Result<bool>(true));
  EXPECT_EQ(listed(), json::array());
}

TEST_F(AllowListTest, StartsWithWhatWasAllowedBefore) {
  list_.base = {{"uptime"}};
  ASSERT_TRUE(allow_command(list_, {"ls"}));
  EXPECT_EQ(listed(), lists({{"uptime"}, {"ls"}}));
  list_.base = {{"date"}};
  ASSERT_TRUE(allow_command(list_, {"make"}));
  EXPECT_EQ(listed(), lists({{"uptime"}, {"ls"}, {"make"}})) << "the file has a list of its own now";
}

TEST_F(AllowListTest, AFileThatWouldNotBeReadIsLeftAlone) {
  const std::string broken = R"({"admission": {"node": {"ask": "sometimes"}}})";
  write(broken);
  const auto refused = allow_command(list_, {"ls"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, FailureKind::invalid_request);
  EXPECT_EQ(text(), broken);
  write("{");
  EXPECT_FALSE(allow_command(list_, {"ls"}));
  EXPECT_EQ(text(), "{");
}

TEST_F(AllowListTest, ALinkIsNotFollowed) {
  write("{}");
  std::filesystem::rename(path(), base_ + "/elsewhere.json");
  std::filesystem::create_symlink(base_ + "/elsewhere.json", path());
  EXPECT_FALSE(allow_command(list_, {"ls"}));
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
}

TEST_F(AllowListTest, BytesThatAreNoTextCannotBeListed) { EXPECT_FALSE(allow_command(list_, {"printf", "\xff"})); }

TEST_F(AllowListTest, ManyAtATimeLoseNothing) {
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] { EXPECT_TRUE(allow_command(list_, {"run", std::to_string(i)})); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(listed().size(), static_cast<std::size_t>(kThreads));
  for (const auto& entry : std::filesystem::directory_iterator(list_.user_dir)) {
    EXPECT_EQ(entry.path().filename(), "settings.json");
  }
}

}  // namespace
}  // namespace exechost::settings
