// The guide shows real code: what it prints is what tests/victims/plugins/plain.* hold.
#include <gmock/gmock.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "exechost_test_paths.hpp"

namespace exechost {
namespace {

std::string read(const std::string& name) {
  const std::string path = std::filesystem::path(EXECHOST_TEST_DATA).parent_path().parent_path() / name;
  std::string text;
  std::getline(std::ifstream(path), text, '\0');
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "no \"" + begin + "\"";
  const std::size_t to = text.find(end, from);
  return to == std::string::npos ? "no end" : text.substr(from, to - from + end.size());
}

TEST(Guide, ItsClassesAreThePluginsOwn) {
  const std::string guide = read("docs/writing-a-backend.md");
  const std::string plugin = read("tests/victims/plugins/plain.cpp");
  for (const char* const name : {"class PlainEnvironment final", "class PlainBackend final"}) {
    EXPECT_EQ(between(guide, name, "\n};\n"), between(plugin, name, "\n};\n"));
  }
  for (const char* const function :
       {"  sdk::Outcome<std::optional<sdk::Event>> wait(", "  int signal(int number) override {"}) {
    EXPECT_EQ(between(guide, function, "\n  }\n"), between(plugin, function, "\n  }\n"));
  }
}

TEST(Guide, ItsManifestIsThePluginsOwn) {
  const std::string block = between(read("docs/writing-a-backend.md"), "```json\n", "\n```");
  EXPECT_EQ(nlohmann::json::parse(block.substr(8, block.size() - 12)),
            nlohmann::json::parse(read("tests/victims/plugins/plain.json")));
}

}  // namespace
}  // namespace exechost
