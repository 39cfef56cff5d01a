#include <dirent.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/cleanup/identity.hpp"
#include "core/cleanup/ledger.hpp"
#include "tests/unit/keeper/support.hpp"

namespace exechost::cleanup {
namespace {

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/ledger-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    folder_ = base_ + "/runtime/ledger";
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  static LedgerRecord record() {
    LedgerRecord record;
    record.id = make_id().value();
    record.backend = "plain";
    record.name = "exechost-" + record.id.substr(0, 12);
    record.kind = "environment";
    record.labels = {{"exechost.id", record.id}};
    return record;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string base_;
  std::string folder_;
};

TEST_F(LedgerTest, EntryIsThereWhileHeldAndGoneAfterRemove) {
  auto ledger = Ledger::open(folder_);
  ASSERT_TRUE(ledger) << describe(ledger.error());
  struct stat status {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  const LedgerRecord wanted = record();
  auto entry = ledger->add(wanted);
  ASSERT_TRUE(entry) << describe(entry.error());
  ASSERT_EQ(::stat(entry->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  const auto text = nlohmann::json::parse(std::ifstream(entry->path()));
  EXPECT_EQ(text["schema"], 1);
  EXPECT_EQ(text["id"], wanted.id);
  EXPECT_EQ(text["backend"], "plain");
  EXPECT_EQ(text["name"], wanted.name);
  EXPECT_EQ(text["labels"]["exechost.id"], wanted.id);
  EXPECT_EQ(text["pid"], ::getpid());
  EXPECT_EQ(text["boot"], current_identity().boot);
  EXPECT_GT(text["pid_start_time"], 0);
  EXPECT_TRUE(ledger->orphans().empty()) << "the entry is held";
  ASSERT_TRUE(entry->remove());
  EXPECT_EQ(files(), 0U);
}

TEST_F(LedgerTest, EntryThatWasNotRemovedIsAnOrphan) {
  auto ledger = Ledger::open(folder_);
  ASSERT_TRUE(ledger);
  std::string path;
  {
    auto entry = ledger->add(record());
    ASSERT_TRUE(entry);
    path = entry->path();
    EXPECT_TRUE(ledger->orphans().empty());
  }
  EXPECT_EQ(ledger->orphans(), std::vector<std::string>{path});
}

TEST_F(LedgerTest, LockIsFreeAfterTheHolderWasKilled) {
  test::Pipe made;
  const pid_t holder = ::fork();
  if (holder == 0) {
    auto ledger = Ledger::open(folder_);
    auto entry = ledger ? ledger->add(record()) : unexpected(ledger.error());
    if (!entry) ::_exit(1);
    [[maybe_unused]] const ssize_t written = ::write(made.write.get(), "x", 1);
    while (true) ::pause();
  }
  made.write.reset();
  char byte = 0;
  ASSERT_EQ(::read(made.read.get(), &byte, 1), 1) << "the holder could not make its entry";
  auto ledger = Ledger::open(folder_);
  ASSERT_TRUE(ledger);
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(ledger->orphans().empty());
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  EXPECT_EQ(ledger->orphans().size(), 1U);
}

TEST_F(LedgerTest, EntriesOfOtherPlacesAndJunkAreNoOrphans) {
  auto ledger = Ledger::open(folder_);
  ASSERT_TRUE(ledger);
  std::string path;
  {
    auto entry = ledger->add(record());
    ASSERT_TRUE(entry);
    path = entry->path();
  }
  auto text = nlohmann::json::parse(std::ifstream(path));
  for (const char* member : {"boot", "machine", "pid_ns", "schema"}) {
    auto other = text;
    other[member] = "another";
    std::ofstream(path) << other;
    EXPECT_TRUE(ledger->orphans().empty()) << member;
  }
  std::ofstream(path) << "{\"schema\": ";
  EXPECT_TRUE(ledger->orphans().empty());
  std::ofstream(path) << std::string(100'000, '[');
  EXPECT_TRUE(ledger->orphans().empty());
  std::ofstream(path) << text;
  EXPECT_EQ(ledger->orphans().size(), 1U);
  std::filesystem::rename(path, folder_ + "/notes.json");
  EXPECT_TRUE(ledger->orphans().empty()) << "the name is no id";
}

TEST_F(LedgerTest, RefusesFoldersOthersCanTouch) {
  ASSERT_TRUE(Ledger::open(folder_));
  ASSERT_EQ(::chmod(folder_.c_str(), 0750), 0);
  const auto open_folder = Ledger::open(folder_);
  ASSERT_FALSE(open_folder);
  EXPECT_EQ(open_folder.error().step, "mode");
  EXPECT_NE(open_folder.error().message.find("0750"), std::string::npos);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod((base_ + "/runtime").c_str(), 0777), 0);
  const auto open_parent = Ledger::open(folder_);
  ASSERT_FALSE(open_parent);
  EXPECT_EQ(open_parent.error().step, "parent");
  ASSERT_EQ(::chmod((base_ + "/runtime").c_str(), 0700), 0);
  std::filesystem::rename(folder_, folder_ + "-real");
  std::filesystem::create_directory_symlink(folder_ + "-real", folder_);
  EXPECT_FALSE(Ledger::open(folder_));
  EXPECT_FALSE(Ledger::open("relative"));
  if (::geteuid() != 0) GTEST_SKIP() << "another user's folder can be made by root only";
  std::filesystem::remove(folder_);
  std::filesystem::create_directory(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  const auto foreign = Ledger::open(folder_);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().step, "owner");
}

TEST_F(LedgerTest, MakesNoFolderButItsOwnTwo) {
  const auto ledger = Ledger::open(base_ + "/user/0/exechost/ledger");
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().error_number, ENOENT);
  EXPECT_FALSE(std::filesystem::exists(base_ + "/user"));
}

TEST_F(LedgerTest, ItsOwnFolderMayNotBeSomebodyElses) {
  std::filesystem::create_directory(base_ + "/mine");
  std::filesystem::create_directory_symlink(base_ + "/mine", base_ + "/runtime");
  const auto linked = Ledger::open(folder_);
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("/runtime\" is a link"), std::string::npos) << linked.error().message;
  EXPECT_NE(linked.error().hint.find("XDG_RUNTIME_DIR"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(base_ + "/mine"));
  if (::geteuid() != 0) GTEST_SKIP() << "another user's folder can be made by root only";
  std::filesystem::remove(base_ + "/runtime");
  std::filesystem::create_directory(base_ + "/runtime");
  ASSERT_EQ(::chown((base_ + "/runtime").c_str(), 65534, 65534), 0);
  const auto foreign = Ledger::open(folder_);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().step, "owner");
  EXPECT_NE(foreign.error().hint.find("XDG_RUNTIME_DIR"), std::string::npos);
}

TEST_F(LedgerTest, RefusesIdsThatAreNone) {
  auto ledger = Ledger::open(folder_);
  ASSERT_TRUE(ledger);
  for (const std::string id : {"", "../../etc/passwd", "0123456789ABCDEF0123456789ABCDEF", "0123"}) {
    LedgerRecord bad = record();
    bad.id = id;
    EXPECT_FALSE(ledger->add(bad)) << id;
  }
  const LedgerRecord once = record();
  const auto first = ledger->add(once);
  ASSERT_TRUE(first);
  const auto twice = ledger->add(once);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().error_number, EEXIST);
  EXPECT_EQ(files(), 1U);
}

TEST(RuntimeFolder, FollowsTheBaseDirectorySpecification) {
  const std::string own = ::testing::TempDir() + "/runtime-" + std::to_string(::getpid());
  const std::map<std::string, std::string> environment{{"XDG_RUNTIME_DIR", own}};
  const std::string fallback = ::geteuid() == 0 ? "/run/exechost" : "/tmp/exechost-" + std::to_string(::geteuid());
  EXPECT_EQ(default_runtime_folder({}), fallback);
  EXPECT_EQ(default_runtime_folder({{"XDG_RUNTIME_DIR", "relative"}}), fallback);
  EXPECT_EQ(default_runtime_folder(environment), fallback) << "not there";
  std::filesystem::create_directory(own);
  EXPECT_EQ(default_runtime_folder(environment), own + "/exechost");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(own.c_str(), 65534, 65534), 0);
    EXPECT_EQ(default_runtime_folder(environment), fallback) << "of another user";
  }
  std::filesystem::remove(own);
}

TEST(Id, IsRandomHex) {
  const auto one = make_id();
  const auto two = make_id();
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(is_id(*one));
  EXPECT_NE(*one, *two);
}

}  // namespace
}  // namespace exechost::cleanup
