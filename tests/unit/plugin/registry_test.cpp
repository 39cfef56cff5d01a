#include <gmock/gmock.h>

#include "core/plugin/registry.hpp"

#include "tests/unit/plugin/temp_folder.hpp"
#include "tests/unit/plugin/victims.hpp"

namespace exechost::plugin {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void put(const TempFolder& folder, const std::string& id, const std::string& where = "") {
  folder.copy(test::good_plugin("plainc"), where + id + ".so");
  std::string manifest;
  std::getline(std::ifstream(test::good_plugins() + "/plainc.json"), manifest, '\0');
  manifest.replace(manifest.find("plainc"), 6, id);
  folder.write(where + id + ".json", manifest);
}

std::vector<std::string> ids(const std::vector<Found>& all) {
  std::vector<std::string> out;
  for (const Found& found : all) out.push_back(found.id);
  return out;
}

TEST(Registry, FindsPluginsSortedByName) {
  const TempFolder folder;
  for (const char* const id : {"zeta", "alpha", "mid-1"}) put(folder, id);
  folder.write("readme.txt", "not a plugin");
  folder.write(".hidden.so", "not a plugin");
  const auto all = find_plugins({folder.path()});
  EXPECT_THAT(ids(all), ElementsAre("alpha", "mid-1", "zeta"));
  for (const Found& found : all) {
    EXPECT_FALSE(found.problem) << found.problem->message;
    ASSERT_TRUE(found.manifest);
    EXPECT_EQ(found.manifest->id, found.id);
    EXPECT_EQ(found.library, folder / (found.id + ".so"));
    EXPECT_EQ(found.manifest_path, folder / (found.id + ".json"));
    EXPECT_EQ(found.sha256.size(), 64U);
  }
  EXPECT_EQ(all[0].sha256, all[1].sha256);
}

TEST(Registry, TheDigestIsSha256) {
  const TempFolder folder;
  folder.write("abc.so", "abc");
  const auto all = find_plugins({folder.path()});
  ASSERT_EQ(all.size(), 1U);
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(all[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Registry, FoldersKeepTheirOrderAndMissingOnesAreSkipped) {
  const TempFolder folder;
  folder.folder("one");
  folder.folder("two");
  put(folder, "b", "one/");
  put(folder, "a", "two/");
  EXPECT_THAT(ids(find_plugins({folder / "one", folder / "nowhere", folder / "two"})), ElementsAre("b", "a"));
}

TEST(Registry, OneFolderNamedTwiceIsNoDuplicate) {
  const TempFolder folder;
  put(folder, "a");
  const auto all = find_plugins({folder.path(), folder.path() + "/."});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].problem);
}

TEST(Registry, TwoFilesWithOneIdBothHaveAProblem) {
  const TempFolder folder;
  folder.folder("one");
  folder.folder("two");
  put(folder, "a", "one/");
  put(folder, "a", "two/");
  put(folder, "b", "two/");
  const auto all = find_plugins({folder / "one", folder / "two"});
  ASSERT_EQ(all.size(), 3U);
  ASSERT_TRUE(all[0].problem && all[1].problem);
  EXPECT_THAT(all[0].problem->message, HasSubstr(folder / "two/a.so"));
  EXPECT_THAT(all[1].problem->message, HasSubstr(folder / "one/a.so"));
  EXPECT_FALSE(all[2].problem);
}

TEST(Registry, ProblemsAreListedNotHidden) {
  const TempFolder folder;
  put(folder, "good");
  put(folder, "no_manifest");
  std::filesystem::remove(folder / "no_manifest.json");
  put(folder, "open");
  ::chmod((folder / "open.so").c_str(), 0777);
  put(folder, "open_manifest");
  ::chmod((folder / "open_manifest.json").c_str(), 0666);
  put(folder, "other");
  std::filesystem::copy_file(folder / "good.json", folder / "other.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::create_symlink("good.so", folder / "link.so");

  const auto all = find_plugins({folder.path()});
  ASSERT_THAT(ids(all), ElementsAre("good", "link", "no_manifest", "open", "open_manifest", "other"));
  EXPECT_FALSE(all[0].problem);
  const std::vector<std::pair<std::string, std::string>> expected{{"link.so", "is a symbolic link"},
                                                                  {"no_manifest.json", "can't be opened"},
                                                                  {"open.so", "is writable by others (mode 0777)"},
                                                                  {"open_manifest.json", "is writable by others"},
                                                                  {"other.json", "which is not the file's name"}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Found& found = all[i + 1];
    ASSERT_TRUE(found.problem) << found.id;
    EXPECT_EQ(found.problem->kind, FailureKind::unavailable);
    EXPECT_EQ(found.problem->backend, found.id);
    EXPECT_THAT(found.problem->message, HasSubstr(folder / expected[i].first));
    EXPECT_THAT(found.problem->message, HasSubstr(expected[i].second));
  }
}

TEST(Registry, AWritableFolderSpoilsAllInIt) {
  const TempFolder folder;
  put(folder, "a");
  ::chmod(folder.path().c_str(), 0777);
  const auto all = find_plugins({folder.path()});
  ASSERT_EQ(all.size(), 1U);
  ASSERT_TRUE(all[0].problem);
  EXPECT_THAT(all[0].problem->message, HasSubstr("\"" + folder.path() + "\" is writable by others"));
}

TEST(Registry, OneLibraryByItsPath) {
  const Found found = inspect_plugin(test::good_plugin("plain"));
  EXPECT_FALSE(found.problem) << found.problem->message;
  EXPECT_EQ(found.id, "plain");
  ASSERT_TRUE(found.manifest);
  const Found misnamed = inspect_plugin("/etc/passwd");
  ASSERT_TRUE(misnamed.problem);
  EXPECT_THAT(misnamed.problem->message, HasSubstr("is not named like a plugin"));
}

}  // namespace
}  // namespace exechost::plugin
