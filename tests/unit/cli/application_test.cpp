#include "cli/application.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"

namespace exechost::cli {
namespace {

using testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  Application application;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = application.run(arguments);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Application, WithoutArgumentsShowsTheHelpAsAnError) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("exechost run -- npm test"));
}

TEST(Application, HelpIsOutputAndNoError) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("doctor"));
  EXPECT_EQ(outcome.err, "");
}

class HelpOf : public testing::TestWithParam<const char*> {};
TEST_P(HelpOf, ShowsExamples) {
  const Outcome outcome = run({GetParam(), "--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Examples:"));
  EXPECT_THAT(outcome.out, HasSubstr(std::string("exechost ") + GetParam()));
}
INSTANTIATE_TEST_SUITE_P(EveryCommand, HelpOf,
                         testing::Values("run", "explain", "backends", "doctor", "settings", "approvals", "plugin",
                                         "schema", "completion", "version"));

TEST(Application, HelpOfRunShowsTheSeparatorAndTheStatusTable) {
  const Outcome outcome = run({"run", "--help"});
  EXPECT_THAT(outcome.out, HasSubstr("exechost run [OPTIONS] -- COMMAND [ARGUMENTS]"));
  EXPECT_THAT(outcome.out, HasSubstr("124 timed out"));
}

TEST(Application, UnknownOptionsSuggestTheNearest) {
  const Outcome outcome = run({"run", "--memroy", "1g", "--", "true"});
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_THAT(outcome.err, HasSubstr("unknown option \"--memroy\""));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean --memory?"));
  EXPECT_THAT(run({"backends", "--jsn"}).err, HasSubstr("did you mean --json?"));
}

TEST(Application, UnknownCommandsSuggestTheNearest) {
  const Outcome outcome = run({"rnu", "--", "true"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("there is no command \"rnu\""));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean run?"));
}

TEST(Application, ACommandWithoutItsSeparatorIsToldSo) {
  const Outcome outcome = run({"run", "ls", "-l"});
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_THAT(outcome.err, HasSubstr("stands after --"));
}

TEST(Application, RepeatedOptionsTakeOneValueEach) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"cp", "--set", "files.max_bytes=1", "no-such-source", "build:/tmp"},
                                             {"changes", "--set", "files.max_entries=5", "no-such-session"},
                                             {"apply", "--set", "files.max_entries=5", "no-such-session"},
                                             {"conformance", "--only", "exec", "no-such.so"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr("needed"))) << arguments.front();
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr("missing"))) << arguments.front();
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr("NAME=JSON"))) << arguments.front();
  }
}

TEST(Application, AnEmptySessionNameIsNoName) {
  EXPECT_THAT(run({"run", "--session", "", "--", "true"}).err, HasSubstr("--session: the name is empty"));
}

TEST(Application, SignalsAreNamedInAnyWayPeopleDo) {
  EXPECT_THAT(run({"kill", "-9", "web"}).err, HasSubstr("--signal 9"));
  EXPECT_THAT(run({"kill", "--signal", "none", "web"}).err, HasSubstr("there is no signal"));
}

TEST(Application, ApprovalsSaysWhatMayStandThere) {
  const Outcome outcome = run({"approvals", "--help"});
  EXPECT_THAT(outcome.out, HasSubstr("approvals allow [OPTIONS] -- COMMAND"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("--shell")));
}

TEST(Application, UsageErrorsOfOtherCommandsAreTwo) {
  EXPECT_EQ(run({"version", "extra"}).status, kExitUsage);
  EXPECT_EQ(run({"version", "--", "x"}).status, kExitUsage);
  EXPECT_EQ(run({"schema"}).status, kExitUsage);
  EXPECT_EQ(run({"schema", "nothing"}).status, kExitUsage);
  EXPECT_EQ(run({"completion", "tcsh"}).status, kExitUsage);
  EXPECT_EQ(run({"--", "true"}).status, kExitUsage);
}

class SchemaOf : public testing::TestWithParam<const char*> {};
TEST_P(SchemaOf, IsASchema) {
  const Outcome outcome = run({"schema", GetParam()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("$schema"), "https://json-schema.org/draft/2020-12/schema");
}
INSTANTIATE_TEST_SUITE_P(EveryDocument, SchemaOf, testing::Values("settings", "plan", "result", "capability", "open"));

TEST(Application, TheSettingsPageIsMarkdown) {
  EXPECT_THAT(run({"schema", "settings", "--markdown"}).out, HasSubstr("# "));
}

TEST(Application, WithJsonAUsageErrorOfRunIsAResult) {
  for (const auto& arguments :
       {std::vector<std::string>{"run", "--json", "--memroy"}, std::vector<std::string>{"run", "--json", "--"},
        std::vector<std::string>{"run", "--json", "--env", "1=2", "--", "x"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, kExitFailure);
    EXPECT_EQ(outcome.err, "");
    const auto result = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(result.at("status"), "failed");
    EXPECT_EQ(result.at("started"), "no");
    EXPECT_EQ(result.at("failure").at("kind"), "invalid_request");
  }
}

TEST(Application, VersionIsThereInBothForms) {
  EXPECT_THAT(run({"--version"}).out, HasSubstr("exechost "));
  EXPECT_EQ(run({"--version"}).out, run({"version"}).out);
}

TEST(Application, ForeignTextInMessagesIsEscaped) {
  EXPECT_EQ(run({"run", "--\x1b[2J", "--", "x"}).err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace exechost::cli
