// What comes over the pipe, and whose turn it is.
#include "core/keeper/shell/state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/keeper/shell/turns.hpp"

namespace exechost::keeper::shell {
namespace {

using ::testing::ElementsAre;

// Its parts, each with a NUL behind it.
std::string parts(const std::vector<std::string>& all) {
  std::string bytes;
  for (const std::string& part : all) bytes += part + '\0';
  return bytes;
}
std::string whole(const std::string& kind = "bash", const std::string& folder = "/f\n",
                  const std::string& end = "end") {
  return parts({"", "exechost", kind, folder, "variables", "functions", "attributes", "shopts", "options", end});
}
Handed handed(const std::string& bytes) {
  Handed handed;
  for (const char byte : bytes) handed.take({&byte, 1});  // in any pieces
  return handed;
}

TEST(Handed, AWholeState) {
  const auto state = handed("junk" + whole()).state();
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->bash);
  EXPECT_EQ(state->folder, "/f");
  EXPECT_EQ(state->variables, "variables");
  EXPECT_EQ(state->functions, "functions");
  EXPECT_EQ(state->attributes, "attributes");
  EXPECT_EQ(state->shopts, "shopts");
  EXPECT_EQ(state->options, "options");
  EXPECT_FALSE(handed(whole("sh")).state()->bash);
}

TEST(Handed, NothingOfAPart) {
  const std::string good = whole();
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(handed(good.substr(0, size)).state()) << size;
  EXPECT_FALSE(handed(whole("zsh")).state());
  EXPECT_FALSE(handed(whole("bash", "/\n", "more")).state());
}

TEST(Handed, TheLastOneThatIsWhole) {
  const std::string second = whole("sh", "/second\n");
  EXPECT_EQ(handed(whole() + second).state()->folder, "/second");
  EXPECT_EQ(handed(whole() + second.substr(0, second.size() - 1)).state()->folder, "/f");
}

TEST(Handed, AFolderIsAnAbsolutePath) {
  for (const char* folder : {"", "f\n", "/f", "\n"})
    EXPECT_EQ(handed(whole("bash", folder)).state()->folder, "") << folder;
  EXPECT_EQ(handed(whole("bash", "/" + std::string(5000, 'x') + "\n")).state()->folder, "");
  EXPECT_EQ(handed(whole("bash", "/a\n\n")).state()->folder, "/a\n");
}

TEST(Handed, WhereItStartedInstead) {
  EXPECT_EQ(handed(parts({"", "folder", "/other\n"}) + whole()).other_folder(), "/other");
  EXPECT_FALSE(handed(parts({"", "folder", "other\n"})).other_folder());
  EXPECT_FALSE(handed(parts({"", "folder"})).other_folder());
  // Later it is the script that speaks.
  EXPECT_FALSE(handed(whole() + parts({"", "folder", "/other\n"})).other_folder());
}

TEST(Handed, IsBounded) {
  Handed large;
  large.take(std::string(kMaxStateBytes - whole().size(), 'x') + '\0');
  EXPECT_FALSE(large.too_large());
  large.take(whole());
  EXPECT_TRUE(large.too_large());
  EXPECT_FALSE(large.state());
  large.take(whole());
  EXPECT_FALSE(large.state());
}

class TurnsTest : public ::testing::Test {
 protected:
  void enter(Turns::Id& id, int name) {
    turns_.enter(id, [this, name] { went_.push_back(name); });
  }
  Turns turns_;
  std::vector<int> went_;
};

TEST_F(TurnsTest, InTheOrderOfArrival) {
  Turns::Id ids[4] = {};
  for (int i = 0; i < 4; ++i) enter(ids[i], i);
  EXPECT_THAT(went_, ElementsAre(0));
  EXPECT_TRUE(turns_.taken());
  turns_.leave(ids[2]);  // before its turn
  turns_.leave(ids[0]);
  EXPECT_THAT(went_, ElementsAre(0, 1));
  turns_.leave(ids[0]);
  EXPECT_THAT(went_, ElementsAre(0, 1));
  turns_.leave(ids[1]);
  EXPECT_THAT(went_, ElementsAre(0, 1, 3));
  turns_.leave(ids[3]);
  EXPECT_FALSE(turns_.taken());
}

TEST_F(TurnsTest, ManyThatLeaveAtOnce) {
  Turns::Id first = 0;
  enter(first, 0);
  std::vector<Turns::Id> ids(100'000);
  int went = 0;
  for (Turns::Id& id : ids) {
    turns_.enter(id, [this, &id, &went] {
      ++went;
      turns_.leave(id);
    });
  }
  turns_.leave(first);
  EXPECT_EQ(went, 100'000);
  EXPECT_FALSE(turns_.taken());
}

}  // namespace
}  // namespace exechost::keeper::shell
