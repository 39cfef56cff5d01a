// docs/settings.md is made from the schema; EXECHOST_ACCEPT_GOLDENS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/settings/schema_tree.hpp"
#include "core/settings/settings.hpp"
#include "exechost_test_paths.hpp"

namespace exechost::settings {
namespace {

const std::string kPage = std::string(EXECHOST_TEST_DATA) + "/../../docs/settings.md";

TEST(SettingsPage, IsCurrent) {
  const std::string wanted = schema_markdown();
  if (std::getenv("EXECHOST_ACCEPT_GOLDENS") != nullptr) {
    std::ofstream(kPage) << wanted;
    GTEST_SKIP() << "docs/settings.md was written anew";
  }
  std::ifstream file(kPage);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == wanted) << "docs/settings.md is out of date: run this test with EXECHOST_ACCEPT_GOLDENS=1";
}

TEST(SettingsPage, HasARowForEverySetting) {
  const std::string page = schema_markdown();
  const auto tree = SchemaTree::make({});
  ASSERT_TRUE(tree);
  for (const auto& [path, node] : tree->leaves()) {
    EXPECT_NE(page.find("| `" + dotted(path) + "` |"), std::string::npos) << dotted(path);
    EXPECT_FALSE(node.word("description").empty()) << dotted(path);
  }
}

// Whoever reads the schema sees which settings weaken something.
TEST(Schema, WeakeningSettingsSaySo) {
  const auto tree = SchemaTree::make({});
  ASSERT_TRUE(tree);
  for (const auto& [path, node] : tree->leaves()) {
    if (!path.back().starts_with("dangerously_") && !path.back().starts_with("enable_weaker_")) continue;
    EXPECT_TRUE(node.word("description").starts_with("Reduces security:")) << dotted(path);
  }
}

}  // namespace
}  // namespace exechost::settings
