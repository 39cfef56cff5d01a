// Faults that show in one result do what their line in faults.def says, and none of it without them.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/mutants/scene.hpp"

namespace mutants {
namespace {

using exechost::ExecResult;
using exechost::Request;
using exechost::Status;
using exechost::test::shell;
using nlohmann::json;

struct Row {
  const char* fault;
  const char* script;
  const char* input;
  const char* correct;  // as said() puts it
  const char* wrong;
};

// The exit code or -signal, then both streams.
std::string said(const ExecResult& result) {
  if (result.failure) return fmt::format("{} {}", to_string(result.failure->kind), result.failure->error_number);
  if (result.status == Status::signaled) return fmt::format("-{}", result.signal_number);
  return fmt::format("{} {} {}", result.exit_code, result.out.data, result.err.data);
}

const Row kRows[] = {
    {"merges_stderr", "printf e >&2", "", "0  e", "0 e "},
    {"swaps_streams", "printf o; printf e >&2", "", "0 o e", "0 e o"},
    {"drops_last_buffer", "printf last", "", "0 last ", "0  "},
    {"adds_newline", "printf o", "", "0 o ", "0 o\n "},
    {"converts_crlf", "echo o", "", "0 o\n ", "0 o\r\n "},
    {"ignores_stdin", "cat", "in", "0 in ", "0  "},
    {"ignores_cwd", "printf \"${PWD##*/}\"", "", "0 workspace ", "0  "},
    {"ignores_environment", "printf \"${HOME:+set}\"", "", "0 set ", "0  "},
    {"adds_environment", "printf ${MUTANT:-unset}", "", "0 unset ", "0 1 "},
    {"reruns_on_failure", "echo o; exit 1", "", "1 o\n ", "1 o\no\n "},
    {"off_by_one_exit_code", "exit 3", "", "3  ", "4  "},
    {"exit_code_mod_128", "exit 130", "", "130  ", "2  "},
    {"hides_signal_deaths", "kill -9 $$", "", "-9", "137  "},
    {"reports_signal_deaths_as_success", "kill -9 $$", "", "-9", "0  "},
    {"ended_before_output", "read line; exit 4", "", "4  ", "0  "},
    {"leaks_descriptors", "test -e /proc/self/fd/6 && printf more; true", "", "0  ", "0 more "},
};

class FaultShows : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string problem = scene.problem(); !problem.empty()) GTEST_SKIP() << problem;
  }
  const MutantScene scene;
};

INSTANTIATE_TEST_SUITE_P(Rows, FaultShows, ::testing::ValuesIn(kRows),
                         [](const auto& entry) { return std::string(entry.param.fault); });

TEST_P(FaultShows, AndOnlyWhenChosen) {
  Request request = shell(GetParam().script);
  request.standard_input.kind = exechost::StdinSource::Kind::bytes;
  request.standard_input.bytes = GetParam().input;
  EXPECT_EQ(said(scene.run("mutant_direct", request, {{"fault", "none"}})), GetParam().correct);
  EXPECT_EQ(said(scene.run("mutant_direct", request, {{"fault", GetParam().fault}})), GetParam().wrong);
}

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = scene.problem(); !problem.empty()) GTEST_SKIP() << problem;
  }
  ExecResult run(const Request& request, const std::string& fault, const std::string& backend = "mutant_direct") const {
    return scene.run(backend, request, {{"fault", fault}});
  }
  const MutantScene scene;
};

TEST_F(FaultTest, LongOutputIsCut) {
  const Request request = shell("head -c 70000 /dev/zero");
  EXPECT_EQ(run(request, "none").out.total_bytes, 70000U);
  EXPECT_EQ(run(request, "truncates_at_64k").out.total_bytes, 65536U);
  EXPECT_EQ(run(request, "stops_at_nul").out.total_bytes, 0U);
}

TEST_F(FaultTest, InputEndsEarly) {
  Request request = shell("wc -c");
  request.standard_input.kind = exechost::StdinSource::Kind::bytes;
  request.standard_input.bytes = std::string(10000, 'i');
  EXPECT_EQ(run(request, "none").out.data, "10000\n");
  EXPECT_EQ(run(request, "closes_stdin_early").out.data, "4096\n");
}

TEST_F(FaultTest, InputNeverEnds) {
  Request request = shell("cat; printf end");
  request.standard_input.kind = exechost::StdinSource::Kind::bytes;
  request.standard_input.bytes = "i";
  EXPECT_EQ(run(request, "none").out.data, "iend");
  request.timeout = std::chrono::milliseconds(1000);
  const ExecResult result = run(request, "swallows_stdin_eof");
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.out.data, "i");
}

TEST_F(FaultTest, Arguments) {
  Request request;
  request.argv = {"printf", "[%s]", "a b", "", "$0"};
  EXPECT_EQ(run(request, "none").out.data, "[a b][][$0]");
  EXPECT_EQ(run(request, "splits_arguments_on_spaces").out.data, "[a][b][][$0]");
  EXPECT_EQ(run(request, "drops_empty_arguments").out.data, "[a b][$0]");
  EXPECT_EQ(run(request, "joins_arguments_by_shell").out.data, "[a][b][/bin/sh]");
  request.argv = {"sh", "-c", "echo $#", "sh"};
  request.argv.resize(2000, "x");
  EXPECT_EQ(run(request, "none").out.data, "1996\n");
  EXPECT_EQ(run(request, "forgets_max_args").out.data, "996\n");
  request.argv = {"/no/such/program"};
  EXPECT_EQ(said(run(request, "none")), "spawn_failed 2");
  EXPECT_EQ(said(run(request, "spawn_failure_as_127")), "127  ");
}

// Ends what is left and says whether there was anything.
bool end_what_is_left(const std::string& mark) {
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line;
    std::getline(file, line);
    if (line != std::string("sleep\0", 6) + mark + '\0') continue;
    found = ::kill(std::stoi(entry.path().filename().string()), SIGKILL) == 0;
  }
  return found;
}

TEST_F(FaultTest, ProcessesAreLeft) {
  const std::string mark = "4713" + std::to_string(::getpid());
  const auto is_left = [&](const std::string& script, const std::string& fault, bool times_out = false) {
    // The script goes on when the other process is what it shall be.
    Request request = shell("rm -f ready; mkfifo ready; " + script);
    if (times_out) request.timeout = std::chrono::milliseconds(1500);
    // What a keeper has started ends with it, and that with its host.
    exechost::ExecHost host(scene.options);
    host.run(MutantScene::in_mutant("mutant_direct", request, {{"fault", fault}}));
    return end_what_is_left(mark);
  };
  const std::string start = "sh -c 'echo > ready; exec sleep " + mark + "' >/dev/null 2>&1 & read x < ready; ";
  EXPECT_FALSE(is_left(start, "none"));
  EXPECT_TRUE(is_left(start, "leaks_grandchildren"));
  EXPECT_FALSE(is_left(start, "leaks_setsid_children"));
  EXPECT_TRUE(is_left("setsid " + start, "leaks_setsid_children"));
  EXPECT_FALSE(is_left("setsid " + start, "leaks_after_timeout"));
  EXPECT_TRUE(is_left("setsid " + start + "exec sleep 1000", "leaks_after_timeout", true));
}

TEST_F(FaultTest, ClaimedLimits) {
  Request request = shell("ulimit -v");
  request.settings_json = R"({"resources":{"memory":"512m"}})";
  EXPECT_EQ(run(request, "none", "mutant_limits").out.data, "524288\n");
  EXPECT_EQ(run(request, "lies_about_memory", "mutant_limits").out.data, "unlimited\n");
  request = shell("wc -l < /proc/self/net/dev");
  EXPECT_EQ(run(request, "none", "mutant_offline").out.data, "3\n") << "two lines of title, and an unconnected lo";
  request = shell("readlink /proc/self/ns/net");
  EXPECT_EQ(run(request, "lies_about_network", "mutant_offline").out.data,
            run(request, "none", "mutant_direct").out.data);
}

}  // namespace
}  // namespace mutants
