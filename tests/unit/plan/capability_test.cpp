#include "core/plan/capability.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace exechost::plan {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json statement_document() {
  return json::parse(R"({"boundary": "process", "locality": "local", "guest": "control_fd", "platforms": ["linux"],
    "capabilities": {"files": {"grade": "kernel", "by": "mount namespace"}, "memory": {"grade": "advisory"}}})");
}

TEST(Grades, AreOrderedAndUnknownIsWeakest) {
  EXPECT_LT(Grade::unsupported, Grade::advisory);
  EXPECT_LT(Grade::advisory, Grade::emulated);
  EXPECT_LT(Grade::emulated, Grade::provider);
  EXPECT_LT(Grade::provider, Grade::kernel);
  for (const Grade grade : {Grade::unsupported, Grade::advisory, Grade::emulated, Grade::provider, Grade::kernel}) {
    EXPECT_EQ(grade_from(to_string(grade)), grade);
  }
  EXPECT_EQ(grade_from("quantum"), Grade::unsupported);
  EXPECT_EQ(grade_from(""), Grade::unsupported);
  EXPECT_EQ(grade_from("Kernel"), Grade::unsupported);
}

TEST(Statement, IsReadAndWrittenBack) {
  const auto statement = parse_statement("bwrap", statement_document());
  ASSERT_TRUE(statement) << statement.error().message;
  EXPECT_EQ(statement->backend, "bwrap");
  EXPECT_EQ(statement->guest, GuestEntry::control_fd);
  EXPECT_EQ(statement->capability("files").grade, Grade::kernel);
  EXPECT_EQ(statement->capability("files").by, "mount namespace");
  const auto again = parse_statement("bwrap", to_json(*statement));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(*statement));
}

TEST(Statement, AbsentCapabilityIsUnsupportedAndSaysSo) {
  const auto statement = parse_statement("bwrap", statement_document());
  ASSERT_TRUE(statement);
  const Capability missing = statement->capability("network.full");
  EXPECT_EQ(missing.grade, Grade::unsupported);
  EXPECT_THAT(missing.evidence, HasSubstr("network.full"));
}

TEST(Statement, UnknownGradeReadsAsUnsupported) {
  json document = statement_document();
  document["capabilities"]["files"]["grade"] = "titanium";
  const auto statement = parse_statement("bwrap", document);
  ASSERT_TRUE(statement);
  EXPECT_EQ(statement->capability("files").grade, Grade::unsupported);
}

struct BadDocument {
  const char* name;
  const char* patch;  // JSON merge patch
  const char* says;
};
class BadStatement : public ::testing::TestWithParam<BadDocument> {};

TEST_P(BadStatement, IsRefusedNamingThePlace) {
  json document = statement_document();
  document.merge_patch(json::parse(GetParam().patch));
  const auto statement = parse_statement("bwrap", document);
  ASSERT_FALSE(statement);
  EXPECT_EQ(statement.error().kind, FailureKind::unavailable);
  EXPECT_EQ(statement.error().backend, "bwrap");
  EXPECT_THAT(statement.error().message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadStatement,
    ::testing::Values(
        BadDocument{"UnknownMember", R"({"colour": "red"})", "/colour"},
        BadDocument{"UnknownCapability", R"({"capabilities": {"teleport": {"grade": "kernel"}}})",
                    "/capabilities/teleport"},
        BadDocument{"UnknownCapabilityMember", R"({"capabilities": {"files": {"strength": 3}}})",
                    "/capabilities/files/strength"},
        BadDocument{"GradeNotText", R"({"capabilities": {"files": {"grade": 4}}})", "/capabilities/files/grade"},
        BadDocument{"CapabilityNotObject", R"({"capabilities": {"files": "kernel"}})", "/capabilities/files"},
        BadDocument{"CapabilitiesNotObject", R"({"capabilities": []})", "/capabilities"},
        BadDocument{"UnknownBoundary", R"({"boundary": "wall"})", "/boundary"},
        BadDocument{"MissingBoundary", R"({"boundary": null})", "/boundary"},
        BadDocument{"UnknownLocality", R"({"locality": "moon"})", "/locality"},
        BadDocument{"UnknownGuest", R"({"guest": "hotel"})", "/guest"},
        BadDocument{"AnotherBackend", R"({"backend": "docker"})", "/backend"},
        BadDocument{"PlatformNotText", R"({"platforms": [1]})", "/platforms"},
        BadDocument{"PlatformsNotArray", R"({"platforms": "linux"})", "/platforms"}),
    [](const auto& test) { return test.param.name; });

TEST(Statement, BoundsEveryText) {
  json document = statement_document();
  document["capabilities"]["files"]["by"] = std::string(5000, 'x');
  const auto statement = parse_statement("bwrap", document);
  ASSERT_FALSE(statement);
  EXPECT_THAT(statement.error().message, HasSubstr("5000"));
  EXPECT_FALSE(parse_statement("bwrap", json::array()));
  EXPECT_FALSE(parse_statement("bwrap", json("text")));
}

TEST(ProbeAnswer, IsStrict) {
  const auto probe =
      parse_probe("bwrap", json::parse(R"({"ready": false, "reason": "no bwrap", "hint": "install it"})"));
  ASSERT_TRUE(probe);
  EXPECT_FALSE(probe->ready);
  EXPECT_EQ(probe->hint, "install it");
  for (const char* bad :
       {R"({})", R"({"ready": 1})", R"({"ready": true, "x": 1})", R"({"ready": true, "capabilities": {"x": {}}})",
        R"({"ready": true, "reason": 5})", "[]", "null"}) {
    const auto refused = parse_probe("bwrap", json::parse(bad));
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().kind, FailureKind::protocol_error) << bad;
  }
}

TEST(Combine, TakesTheWeakerOfBothAndTheProbesEvidence) {
  const auto statement =
      parse_statement("b", json::parse(R"({"boundary": "process", "locality": "local", "capabilities": {
      "files": {"grade": "kernel"}, "memory": {"grade": "kernel"}, "cpu": {"grade": "emulated"}, "pids": {"grade": "kernel"}}})"));
  ASSERT_TRUE(statement);
  const auto probe = parse_probe("b", json::parse(R"({"ready": true, "capabilities": {
      "files": {"grade": "kernel", "evidence": "yes"}, "memory": {"grade": "unsupported", "evidence": "no cgroup"},
      "cpu": {"grade": "kernel"}, "disk": {"grade": "kernel"}}})"));
  ASSERT_TRUE(probe);
  const Statement both = combine(*statement, *probe);
  EXPECT_EQ(both.capability("files").grade, Grade::kernel);
  EXPECT_EQ(both.capability("files").evidence, "yes");
  EXPECT_EQ(both.capability("memory").grade, Grade::unsupported);
  EXPECT_EQ(both.capability("memory").evidence, "no cgroup");
  EXPECT_EQ(both.capability("cpu").grade, Grade::emulated) << "a probe can't raise what is stated";
  EXPECT_EQ(both.capability("pids").grade, Grade::unsupported) << "not confirmed";
  EXPECT_EQ(both.capability("disk").grade, Grade::unsupported) << "not stated";
}

TEST(Combine, AnUnreadyProbesReasonIsTheEvidence) {
  const auto statement = parse_statement("bwrap", statement_document());
  ASSERT_TRUE(statement);
  Probe probe;
  probe.reason = "bwrap is missing";
  EXPECT_EQ(combine(*statement, probe).capability("files").evidence, "bwrap is missing");
}

}  // namespace
}  // namespace exechost::plan
