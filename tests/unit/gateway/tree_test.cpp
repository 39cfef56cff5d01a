// Folders: listing, finding, searching.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/unique_fd.hpp"
#include "tests/unit/gateway/scene.hpp"

namespace exechost::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> paths(const FindResult& result) {
  std::vector<std::string> all;
  for (const Found& found : result.found) all.push_back(found.path);
  return all;
}

std::vector<std::string> lines(const SearchResult& result) {
  std::vector<std::string> all;
  for (const SearchMatch& match : result.matches)
    all.push_back(match.path + ':' + std::to_string(match.line) + ':' + match.text);
  return all;
}

TEST(GatewayTree, ListsSortedWithKinds) {
  const Scene scene;
  scene.file("b", "");
  scene.file(".dot", "");
  scene.file("a\n\xff", "");
  scene.folder("folder");
  scene.link("link", "b");
  scene.fifo("pipe");
  const auto listing = scene.open().list_dir(".");
  ASSERT_THAT(listing, Succeeds());
  EXPECT_THAT(listing->entries,
              ElementsAre(FolderEntry{".dot", FileKind::regular}, FolderEntry{"a\n\xff", FileKind::regular},
                          FolderEntry{"b", FileKind::regular}, FolderEntry{"folder", FileKind::folder},
                          FolderEntry{"link", FileKind::symlink}, FolderEntry{"pipe", FileKind::other}));
  EXPECT_FALSE(listing->truncated);
  EXPECT_THAT(scene.open().list_dir("b"), FailsWith(FailureKind::invalid_request, ENOTDIR));
}

TEST(GatewayTree, LeavesOutWhatIsHidden) {
  const Scene scene;
  scene.file("hidden/key", "needle\n");
  scene.file("hidden/shown/f", "needle\n");
  scene.file("masked", "needle\n");
  scene.file("open", "needle\n");
  Policy policy = scene.policy();
  policy.zones.push_back({scene.in("hidden"), Access::hidden});
  policy.zones.push_back({scene.in("hidden/shown"), Access::readable});
  policy.own = {scene.in("masked")};
  const Gateway gateway = Scene::open(policy);
  EXPECT_THAT(gateway.list_dir(".")->entries, ElementsAre(FolderEntry{"open", FileKind::regular}));
  EXPECT_THAT(paths(*gateway.find(".", {})), ElementsAre("", "open"));
  SearchOptions search;
  search.text = "needle";
  EXPECT_THAT(lines(*gateway.search(".", search)), ElementsAre("open:1:needle"));
  EXPECT_THAT(lines(*gateway.search("hidden/shown", search)), ElementsAre("f:1:needle"));
  EXPECT_EQ(run(gateway, {"ls", "-A"}).out, "open\n");
  EXPECT_EQ(run(gateway, {"grep", "-rFl", "needle"}).out, "open\n");
}

TEST(GatewayTree, BoundsAFolder) {
  const Scene scene;
  for (int i = 0; i < 30; ++i) scene.file("f" + std::to_string(i), "");
  Policy policy = scene.policy();
  policy.limits.folder_entries = 10;
  const Gateway gateway = Scene::open(policy);
  const auto listing = gateway.list_dir(".");
  ASSERT_THAT(listing, Succeeds());
  EXPECT_EQ(listing->entries.size(), 10U);
  EXPECT_TRUE(listing->truncated);
  EXPECT_TRUE(gateway.find(".", {})->truncated);
  const Ran ls = run(gateway, {"ls"});
  EXPECT_EQ(ls.out, "");
  EXPECT_EQ(ls.status, 2);
  EXPECT_EQ(run(gateway, {"find"}).status, 1);
}

TEST(GatewayTree, BoundsATree) {
  const Scene scene;
  for (int i = 0; i < 30; ++i) scene.file("d" + std::to_string(i) + "/f", "needle");
  Policy policy = scene.policy();
  policy.limits.walk_entries = 40;
  const Gateway gateway = Scene::open(policy);
  const auto found = gateway.find(".", {});
  ASSERT_THAT(found, Succeeds());
  EXPECT_LE(found->found.size(), 41U);
  EXPECT_TRUE(found->truncated);
  SearchOptions search;
  search.text = "needle";
  EXPECT_TRUE(gateway.search(".", search)->truncated);
  EXPECT_EQ(run(gateway, {"find", ".", "-name", "f"}).status, 1);
}

TEST(GatewayTree, FindsByPatternKindAndDepth) {
  const Scene scene;
  scene.file("a.cpp", "");
  scene.file(".hidden.cpp", "");
  scene.file("src/b.cpp", "");
  scene.file("src/deep/c.cpp", "");
  scene.file("src/c.hpp", "");
  scene.folder("dir.cpp");
  scene.link("loop", "src");
  const Gateway gateway = scene.open();
  FindOptions options;
  options.name = "*.cpp";
  EXPECT_THAT(paths(*gateway.find(".", options)),
              ElementsAre(".hidden.cpp", "a.cpp", "dir.cpp", "src/b.cpp", "src/deep/c.cpp"));
  options.kind = FileKind::regular;
  options.max_depth = 2;
  EXPECT_THAT(paths(*gateway.find(".", options)), ElementsAre(".hidden.cpp", "a.cpp", "src/b.cpp"));
  options.max_results = 1;
  EXPECT_TRUE(gateway.find(".", options)->truncated);
  options = {};
  options.name = "[!a-b].?pp";
  EXPECT_THAT(paths(*gateway.find("src", options)), ElementsAre("c.hpp", "deep/c.cpp"));
  options.name = "src";
  EXPECT_THAT(paths(*gateway.find("src", options)), ElementsAre(""));
  EXPECT_THAT(gateway.find("missing", options), FailsWith(FailureKind::invalid_request, ENOENT));
  options.name = std::string(200, '*') + "x";
  EXPECT_THAT(paths(*gateway.find(".", options)), IsEmpty());
}

TEST(GatewayTree, SearchesTextAndSaysWhatIsBinary) {
  const Scene scene;
  scene.file("a", "one needle\nnothing\nneedle needle");
  scene.file("b", std::string("needle\0\nneedle", 14));
  scene.file("sub/c", "NEEDLE\r\n");
  scene.link("link", "a");
  scene.fifo("pipe");
  const Gateway gateway = scene.open();
  SearchOptions options;
  options.text = "needle";
  auto result = gateway.search(".", options);
  ASSERT_THAT(result, Succeeds());
  EXPECT_THAT(lines(*result), ElementsAre("a:1:one needle", "a:3:needle needle", "b:0:"));
  EXPECT_TRUE(result->matches[2].binary);
  EXPECT_EQ(result->files_searched, 3U);
  EXPECT_THAT(result->skipped, IsEmpty());

  options.ignore_case = true;
  options.name = "c";
  EXPECT_THAT(lines(*gateway.search(".", options)), ElementsAre("sub/c:1:NEEDLE\r"));
  options.name = "";
  options.max_results = 2;
  EXPECT_TRUE(gateway.search(".", options)->truncated);
  options.max_line_bytes = 3;
  EXPECT_EQ(gateway.search("a", options)->matches[0].text, "one");
  EXPECT_TRUE(gateway.search("a", options)->matches[0].truncated);
  EXPECT_THAT(gateway.search("pipe", options), FailsWith(FailureKind::denied));
  for (const std::string& text : {std::string(), std::string("a\nb"), std::string("a\0b", 3)}) {
    options.text = text;
    EXPECT_THAT(gateway.search(".", options), FailsWith(FailureKind::invalid_request, EINVAL));
  }
}

// Matches at, before and across the borders of the blocks that are read.
TEST(GatewayTree, SearchCountsLinesAcrossBlocks) {
  const Scene scene;
  std::string text;
  std::vector<std::string> expected;
  for (int line = 1; line <= 40'000; ++line) {
    const bool hit = line % 997 == 0;
    const std::string content = (hit ? "a needle in line " : "nothing at all in line ") + std::to_string(line);
    if (hit) expected.push_back(":" + std::to_string(line) + ":" + content);
    text += content + '\n';
  }
  scene.file("f", text);
  SearchOptions options;
  options.text = "needle";
  EXPECT_EQ(lines(*scene.open().search("f", options)), expected);
}

// One folder in the other, deeper than a path may be long.
class DeepTree {
 public:
  DeepTree(const Scene& scene, int depth) : top_(scene.workspace()) {
    UniqueFd folder(::open(top_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < depth; ++i) {
      EXPECT_EQ(::mkdirat(folder.get(), "d", 0755), 0);
      folder.reset(::openat(folder.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
  }
  ~DeepTree() {
    const std::string first = top_ + "/d";
    const std::string spare = top_ + "/spare";
    while (::rename((first + "/d").c_str(), spare.c_str()) == 0) {
      ::rmdir(first.c_str());
      static_cast<void>(::rename(spare.c_str(), first.c_str()));
    }
  }
  DeepTree(const DeepTree&) = delete;
  DeepTree& operator=(const DeepTree&) = delete;

 private:
  std::string top_;
};

TEST(GatewayTree, ATreeThatIsTooDeepIsNotFollowedToItsEnd) {
  const Scene scene;
  const DeepTree tree(scene, 2'100);
  const Gateway gateway = scene.open();
  const auto found = gateway.find(".", {});
  ASSERT_THAT(found, Succeeds());
  EXPECT_GT(found->found.size(), 2'000U);
  ASSERT_EQ(found->skipped.size(), 1U);
  EXPECT_EQ(found->skipped.front().error_number, ENAMETOOLONG);
  EXPECT_EQ(run(gateway, {"find", ".", "-name", "x"}).status, 1);
}

}  // namespace
}  // namespace exechost::gateway
