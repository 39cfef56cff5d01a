#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/plugin/manifest.hpp"

#include "tests/unit/plugin/temp_folder.hpp"

namespace exechost::plugin {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json good() {
  return json::parse(R"({
    "schema": 1, "id": "box", "version": "1.2.3", "summary": "A box.",
    "abi": {"major": 1, "minor": 7},
    "capabilities": {"boundary": "container", "locality": "local", "guest": "control_fd", "platforms": ["linux"],
                     "capabilities": {"memory": {"grade": "kernel", "by": "cgroup"}}},
    "settings_schema": {"type": "object", "properties": {"image": {"type": "string", "x-env": "TERMINAL_BOX_IMAGE"}}}
  })");
}

TEST(Manifest, IsRead) {
  const auto manifest = parse_manifest(good().dump(), "/p/box.json");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->id, "box");
  EXPECT_EQ(manifest->version, "1.2.3");
  EXPECT_EQ(manifest->summary, "A box.");
  EXPECT_EQ(manifest->abi_major, 1U);
  EXPECT_EQ(manifest->abi_minor, 7U);
  EXPECT_EQ(manifest->statement.boundary, "container");
  EXPECT_EQ(manifest->statement.capability("memory").grade, plan::Grade::kernel);
  EXPECT_EQ(manifest->settings_schema["properties"]["image"]["x-env"], "TERMINAL_BOX_IMAGE");
}

struct Mutation {
  const char* name;
  const char* patch;  // JSON merge patch (RFC 7396): null removes
  const char* rule;
};

class ManifestRule : public ::testing::TestWithParam<Mutation> {};

TEST_P(ManifestRule, IsChecked) {
  json document = good();
  document.merge_patch(json::parse(GetParam().patch));
  const auto manifest = parse_manifest(document.dump(), "/p/box.json");
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().kind, FailureKind::unavailable);
  EXPECT_THAT(manifest.error().message, HasSubstr("/p/box.json"));
  EXPECT_THAT(manifest.error().message, HasSubstr(GetParam().rule));
}

INSTANTIATE_TEST_SUITE_P(
    All, ManifestRule,
    ::testing::Values(
        Mutation{"unknown", R"({"colour": "red"})", "has an unknown member \"colour\""},
        Mutation{"no_schema", R"({"schema": null})", "has no \"schema\""},
        Mutation{"other_schema", R"({"schema": 2})", "has another \"schema\" than 1"},
        Mutation{"no_id", R"({"id": null})", "has no \"id\""},
        Mutation{"id_not_text", R"({"id": 7})", "has a \"id\" that is not a string"},
        Mutation{"id_upper", R"({"id": "Box"})", "has the id \"Box\": an id is"},
        Mutation{"id_path", R"({"id": "../box"})", "has the id \"../box\": an id is"},
        Mutation{"id_other", R"({"id": "crate"})", "has the id \"crate\", which is not the file's name"},
        Mutation{"no_version", R"({"version": null})", "has no \"version\""},
        Mutation{"short_version", R"({"version": "1.2"})", "has the version \"1.2\": it has to be like 1.2.3"},
        Mutation{"version_tail", R"({"version": "1.2.3 beta"})", "it has to be like 1.2.3"},
        Mutation{"version_dots", R"({"version": "1..3"})", "it has to be like 1.2.3"},
        Mutation{"no_summary", R"({"summary": null})", "has no \"summary\""},
        Mutation{"empty_summary", R"({"summary": ""})", "has a \"summary\" of 0 bytes"},
        Mutation{"no_abi", R"({"abi": null})", "has no \"abi\""},
        Mutation{"abi_text", R"({"abi": "1.0"})", "has an \"abi\" that is not"},
        Mutation{"abi_more", R"({"abi": {"patch": 1}})", "has an \"abi\" that is not"},
        Mutation{"abi_negative", R"({"abi": {"minor": -1}})", "\"minor\" is not a number from 0 to 65535"},
        Mutation{"abi_major", R"({"abi": {"major": 2}})", "is for plugin ABI 2, this ExecHost has 1"},
        Mutation{"no_capabilities", R"({"capabilities": null})", "has no \"capabilities\""},
        Mutation{"capability", R"({"capabilities": {"capabilities": {"telepathy": {"grade": "kernel"}}}})",
                 "telepathy"},
        Mutation{"boundary", R"({"capabilities": {"boundary": "fence"}})", "fence"},
        Mutation{"no_settings", R"({"settings_schema": null})", "has no \"settings_schema\""},
        Mutation{"settings_array", R"({"settings_schema": {"type": "array"}})", "\"type\": \"object\""},
        Mutation{"settings_keyword", R"({"settings_schema": {"patternProperties": {}}})", "patternProperties"},
        Mutation{"licence", R"({"license": 3})", "has a \"license\" that is not a string"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Manifest, OptionalMembers) {
  json document = good();
  document["license"] = "MIT";
  document["vendor"] = "Someone";
  document["homepage"] = "https://example.org";
  EXPECT_TRUE(parse_manifest(document.dump(), "/p/box.json"));
}

TEST(Manifest, MustBeJson) {
  for (const char* const text : {"", "{", "[]", "null", "{\"id\":\"box\",\"id\":\"box\"}", "not json at all"}) {
    const auto manifest = parse_manifest(text, "/p/box.json");
    ASSERT_FALSE(manifest) << text;
    EXPECT_EQ(manifest.error().kind, FailureKind::unavailable);
    EXPECT_THAT(manifest.error().message, HasSubstr("/p/box.json"));
  }
}

TEST(Manifest, IsBounded) {
  json document = good();
  document["summary"] = std::string(70'000, 'x');
  const auto large = parse_manifest(document.dump(), "/p/box.json");
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("is larger than a manifest may be (65536 bytes)"));

  std::string deep = good().dump();
  deep.back() = ',';
  deep += "\"vendor\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
  EXPECT_FALSE(parse_manifest(deep, "/p/box.json"));
}

TEST(Manifest, FilesAreBoundedAndTrusted) {
  const test::TempFolder folder;
  EXPECT_TRUE(read_manifest(folder.write("box.json", good().dump())));

  const auto missing = read_manifest(folder / "missing.json");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("missing.json"));
  EXPECT_THAT(missing.error().hint, HasSubstr("NAME.json beside it"));

  EXPECT_FALSE(read_manifest(folder.write("box.json", good().dump() + std::string(70'000, ' '))));

  const auto open_to_all = read_manifest(folder.write("box.json", good().dump(), 0666));
  ASSERT_FALSE(open_to_all);
  EXPECT_THAT(open_to_all.error().message, HasSubstr("is writable by others"));
}

}  // namespace
}  // namespace exechost::plugin
