// Settings that are wrong: one message that names the thing, its value and the rule, and nothing is run.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/contract/behaviours/place.hpp"

namespace exechost::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Wrong {
  const char* variable;
  const char* value;
};

// Elsewhere: a time-out of 0 ends every command at once, a switch that is not understood means no, and a number that is
// none is a stack trace.
constexpr Wrong kWrong[] = {
    {"TERMINAL_ENV", "dockr"},
    {"TERMINAL_ENV", ""},
    {"TERMINAL_ENV", "bwrap,docker"},
    {"TERMINAL_TIMEOUT", "0"},
    {"TERMINAL_TIMEOUT", "-1"},
    {"TERMINAL_TIMEOUT", ""},
    {"TERMINAL_TIMEOUT", "abc"},
    {"TERMINAL_TIMEOUT", "5 m"},
    {"TERMINAL_TIMEOUT", "inf"},
    {"TERMINAL_TIMEOUT", "1_000"},
    {"TERMINAL_LIFETIME_SECONDS", "-300"},
    {"TERMINAL_CONTAINER_CPU", "nan"},
    {"TERMINAL_CONTAINER_CPU", "0"},
    {"TERMINAL_CONTAINER_MEMORY", "5GB of it"},
    {"TERMINAL_CONTAINER_MEMORY", "-5"},
    {"TERMINAL_CONTAINER_DISK", "1e3"},
    {"TERMINAL_CONTAINER_PERSISTENT", "ture"},
    {"TERMINAL_CONTAINER_PERSISTENT", "true "},
    {"TERMINAL_DEGRADED_MODE", "maybe"},
    {"TERMINAL_BUBBLEWRAP_PROFILE", "netwrok"},
    {"TERMINAL_BUBBLEWRAP_MAX_PROCS", "1.5"},
    {"TERMINAL_BUBBLEWRAP_HOME_HIDE", "/etc,/var"},
    {"TERMINAL_SESSION", "../other"},
};

class WrongVariable : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, WrongVariable, ::testing::Values(Where::alone), place_name);

TEST_P(WrongVariable, IsNamedWithItsValueAndNothingIsRun) {
  for (const auto& [variable, value] : kWrong) {
    ProgramOptions options = command_line({"touch", "ran"});
    options.env[variable] = value;
    const ProgramEnd end = run_program(options);
    EXPECT_EQ(end.exit_status(), 125) << variable << "=" << value;
    EXPECT_THAT(end.err, StartsWith(std::string("exechost: ") + variable + ": ")) << value;
    EXPECT_THAT(end.err, HasSubstr(value)) << variable;
    EXPECT_LE(std::count(end.err.begin(), end.err.end(), '\n'), 2) << "a sentence and a hint: " << end.err;
    EXPECT_EQ(end.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_P(WrongVariable, IsTheSameInTheLibrary) {
  for (const auto& [variable, value] : kWrong) {
    HostOptions options = options_of_host();
    (*options.environment)[variable] = value;
    ExecHost host(options);
    const ExecResult result = host.run(shell_request("touch ran"));
    ASSERT_TRUE(result.failure) << variable << "=" << value;
    EXPECT_EQ(result.failure->kind, FailureKind::invalid_request) << describe(*result.failure);
    EXPECT_THAT(result.failure->message, StartsWith(std::string(variable) + ": "));
    EXPECT_EQ(result.started, Started::no);
  }
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

class VariableOfAnother : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, VariableOfAnother, ::testing::Values(Where::alone, Where::session, Where::node),
                         place_name);

// Elsewhere: one that belongs to a backend which is not used breaks every command.
TEST_P(VariableOfAnother, BackendIsNotEvenRead) {
  ProgramOptions options = command_line({"echo", "ok"});
  options.env["TERMINAL_DOCKER_VOLUMES"] = "None";
  options.env["TERMINAL_SSH_PORT"] = "ssh";
  options.env["TERMINAL_MODAL_MODE"] = "\xff";
  const ProgramEnd end = run_program(options);
  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_EQ(end.out, "ok\n");
}

class WrongFile : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, WrongFile, ::testing::Values(Where::alone), place_name);

TEST_P(WrongFile, IsNamedAndNothingIsRun) {
  for (const char* text : {"", "{", "[]", R"({"resources": {"memroy": "1g"}})", R"({"resources": {"memory": null, }})",
                           R"({"network": {"mode": "none"}, "network": {"mode": "full"}})", "{} {}",
                           R"({"session": {"persistent": "yes"}})"}) {
    user_settings(text);
    const ProgramEnd end = run_command_line({"touch", "ran"});
    EXPECT_EQ(end.exit_status(), 125) << text;
    EXPECT_THAT(end.err, HasSubstr("settings.json")) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

}  // namespace
}  // namespace exechost::test
