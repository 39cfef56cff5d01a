// ExecHost from the public headers alone: real keeper, real guest, real bwrap, in both placements.
#include "exechost/host.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "host_support.hpp"

namespace exechost {
namespace {

using nlohmann::json;
using test::HostScene;
using test::shell;
using namespace std::chrono_literals;

class HostTest : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  void SetUp() override {
    if (const std::string problem = test::bwrap_problem(scene.options); !problem.empty()) {
      GTEST_SKIP() << "bwrap can't be used here: " << problem;
    }
    host.emplace(scene.options);
  }
  std::string mark() const { return "4711" + std::to_string(::getpid()); }  // seconds that nobody else sleeps

  HostScene scene{GetParam()};
  std::optional<ExecHost> host;
};

INSTANTIATE_TEST_SUITE_P(Placements, HostTest, ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child),
                         [](const auto& entry) {
                           return entry.param == KeeperPlacement::child ? "child" : "in_process";
                         });

TEST_P(HostTest, ExitCodeAndBothStreams) {
  const ExecResult result = host->run(shell("printf out; printf err >&2; exit 7"));
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out.data, "out");
  EXPECT_EQ(result.err.data, "err");
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_EQ(result.tier, "sandbox");
  EXPECT_EQ(result.backend, "bwrap");
  EXPECT_FALSE(result.environment_id.empty());
  EXPECT_FALSE(result.isolation.empty());
  EXPECT_FALSE(result.settings.empty());
  EXPECT_TRUE(json::accept(result.to_json()));
  EXPECT_EQ(scene.ledger_entries(), 0u) << "what was opened is closed and forgotten";
}

TEST_P(HostTest, ArgumentsAreBytes) {
  Request request;
  request.argv = {"/usr/bin/printf", "%s|", "", "--", "-x", "a\nb", "\xff\xfe", "$(id)"};
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.out.data, "|--|-x|a\nb|\xff\xfe|$(id)|");
}

TEST_P(HostTest, OnlyTheWorkspaceKeepsWhatIsWritten) {
  const std::string name = "exechost-test-" + mark();
  const ExecResult result = host->run(
      shell("echo kept > here.txt; echo lost > /tmp/" + name + "; echo no > ../outside.txt; echo no > /etc/" + name));
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_NE(result.exit_code, 0) << "/etc is not writable";
  EXPECT_TRUE(std::filesystem::exists(scene.workspace + "/here.txt"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/" + name));
  EXPECT_FALSE(std::filesystem::exists("/etc/" + name));
  EXPECT_FALSE(std::filesystem::exists(scene.folder + "/outside.txt"));
}

TEST_P(HostTest, InputFromBytes) {
  Request request = shell("wc -c; cat");
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = std::string(300'000, 'i');
  EXPECT_EQ(host->run(request).out.data, "300000\n");
}

TEST_P(HostTest, InputFromAFileWhichStaysOutside) {
  const std::string path = scene.folder + "/input";
  std::ofstream(path) << "from the file";
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  Request request = shell("cat; echo x >> /proc/self/fd/0; true");
  request.standard_input.kind = StdinSource::Kind::descriptor;
  request.standard_input.descriptor = fd;
  const ExecResult result = host->run(request);
  ::close(fd);
  EXPECT_THAT(result.out.data, ::testing::StartsWith("from the file"));
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "from the file") << "the caller's file was written through the sandbox";
}

TEST_P(HostTest, InputAsAStreamAndSignals) {
  Request request = shell("trap 'echo caught; exit 5' INT; read line; echo \"got $line\"; while :; do read more; done");
  request.standard_input.kind = StdinSource::Kind::stream;
  std::promise<void> got;
  std::string seen;
  request.on_output = [&](StdStream, std::string_view bytes) {
    const bool before = seen.find("got hello") != std::string::npos;
    seen += bytes;
    if (!before && seen.find("got hello") != std::string::npos) got.set_value();
  };
  auto execution = host->start(request);
  ASSERT_TRUE(execution) << describe(execution.error());
  EXPECT_EQ(execution->write_stdin("hello\n"), 6u);
  ASSERT_EQ(got.get_future().wait_for(20s), std::future_status::ready);
  EXPECT_FALSE(execution->finished());
  EXPECT_TRUE(execution->signal(SIGINT));
  const ExecResult& result = execution->wait();
  EXPECT_EQ(result.exit_code, 5) << result.to_json();
  EXPECT_EQ(result.out.data, "got hello\ncaught\n");
  EXPECT_TRUE(execution->finished());
  EXPECT_FALSE(execution->signal(SIGINT)) << "it has ended";
  EXPECT_EQ(&execution->wait(), &result);
}

TEST_P(HostTest, ADeadlineEndsTheWholeTree) {
  Request request = shell("setsid sleep " + mark() + " & sleep " + mark());
  request.timeout = 1500ms;
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_FALSE(HostScene::runs(mark())) << "something of the command is left";
  EXPECT_EQ(scene.ledger_entries(), 0u);
}

TEST_P(HostTest, AStopRequestCancels) {
  std::stop_source stop;
  auto running = std::async(std::launch::async, [&] { return host->run(shell("sleep " + mark()), stop.get_token()); });
  ASSERT_TRUE(HostScene::appears(mark()));
  stop.request_stop();
  const ExecResult result = running.get();
  EXPECT_EQ(result.status, Status::cancelled);
  EXPECT_FALSE(HostScene::runs(mark()));
}

TEST_P(HostTest, AStopRequestBeforehandRunsNothingToItsEnd) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(host->run(shell("sleep " + mark()), stop.get_token()).status, Status::cancelled);
  EXPECT_FALSE(HostScene::runs(mark()));
}

TEST_P(HostTest, DroppingTheHandleCancels) {
  {
    auto execution = host->start(shell("sleep " + mark()));
    ASSERT_TRUE(execution);
    ASSERT_TRUE(HostScene::appears(mark()));
  }
  host.reset();
  EXPECT_FALSE(HostScene::runs(mark()));
}

TEST_P(HostTest, DestroyingTheHostEndsEverythingAndResultsRemain) {
  auto execution = host->start(shell("sleep " + mark()));
  ASSERT_TRUE(execution);
  ASSERT_TRUE(HostScene::appears(mark()));
  host.reset();
  EXPECT_FALSE(HostScene::runs(mark()));
  EXPECT_TRUE(execution->finished());
  EXPECT_EQ(execution->wait().status, Status::cancelled);
  execution->cancel();
  EXPECT_FALSE(execution->signal(SIGTERM));
}

TEST_P(HostTest, AMissingProgramIsASpawnFailure) {
  Request request;
  request.argv = {"/no/such/program"};
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.status, Status::failed);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::spawn_failed) << result.to_json();
  EXPECT_EQ(result.failure->error_number, ENOENT);
  EXPECT_EQ(result.started, Started::no);
}

TEST_P(HostTest, ATerminalWithASize) {
  Request request = shell("stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal");
  request.tty = true;
  request.tty_rows = 30;
  request.tty_columns = 90;
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.out.data, "30 90\r\nterminal\r\n") << result.to_json();
}

TEST_P(HostTest, RequestsThatAreWrongSayWhatIsWrong) {
  const auto refused = [&](const Request& request, const std::string& word) {
    const ExecResult result = host->run(request);
    EXPECT_EQ(result.status, Status::failed);
    EXPECT_EQ(result.started, Started::no);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, FailureKind::invalid_request) << result.failure->message;
    EXPECT_THAT(result.failure->message, ::testing::HasSubstr(word));
  };
  refused(Request{}, "command");
  Request request = shell("true");
  request.settings_json = "[]";
  refused(request, "settings_json");
  request.settings_json = R"({"backend":"docker"})";
  request.backend = "bwrap";
  refused(request, "/backend");
  request = shell("true");
  request.settings_json = R"({"no_such_setting":1})";
  refused(request, "no_such_setting");
  request = shell("true");
  request.timeout = 0ms;
  refused(request, "timeout");
  request = shell("true");
  request.stdout_descriptor = 999'999;
  refused(request, "999999");
  request = shell("true");
  request.workspace = "/";
  refused(request, "workspace");
}

TEST_P(HostTest, NothingCanBeStartedFromACallback) {
  Request request = shell("echo now");
  std::optional<Result<Execution>> from_callback;
  request.on_output = [&](StdStream, std::string_view) { from_callback.emplace(host->start(shell("true"))); };
  EXPECT_EQ(host->run(request).status, Status::exited);
  ASSERT_TRUE(from_callback);
  ASSERT_FALSE(*from_callback);
  EXPECT_EQ(from_callback->error().kind, FailureKind::invalid_request);
}

TEST_P(HostTest, ManyAtOnceWithoutMoreThreads) {
  // One run first, so that everything that is started at first need is there.
  ASSERT_EQ(host->run(shell("true")).status, Status::exited);
  const pid_t self = ::getpid();
  std::vector<Execution> executions;
  const auto start = [&](int number) {
    Request request;
    request.argv = {"/bin/sh", "-c", "read line; echo \"$line\"; exit " + std::to_string(number)};
    request.standard_input.kind = StdinSource::Kind::stream;
    auto execution = host->start(request);
    ASSERT_TRUE(execution) << describe(execution.error());
    executions.push_back(std::move(*execution));
  };
  const long at_rest = test::status_number(self, "Threads");
  for (int number = 0; number < 64; ++number) start(number);
  const long with_64 = test::status_number(self, "Threads");
  for (int number = 0; number < 64; ++number) {
    ASSERT_TRUE(executions[static_cast<std::size_t>(number)].write_stdin("line " + std::to_string(number) + "\n"));
  }
  for (int number = 0; number < 64; ++number) {
    const ExecResult& result = executions[static_cast<std::size_t>(number)].wait();
    EXPECT_EQ(result.exit_code, number) << result.to_json();
    EXPECT_EQ(result.out.data, "line " + std::to_string(number) + "\n");
  }
  // The in-process keeper has a pool of at most 16 workers; nothing grows with the runs.
  const long allowed = GetParam() == KeeperPlacement::in_process ? 16 : 0;
  EXPECT_LE(with_64, at_rest + allowed);
  EXPECT_EQ(scene.ledger_entries(), 0u);
}

TEST_P(HostTest, UnboundedOutputInBoundedMemory) {
  ASSERT_EQ(host->run(shell("true")).status, Status::exited);
  const auto keepers = HostScene::children("exechost-keeper");
  std::vector<pid_t> watched{::getpid()};
  watched.insert(watched.end(), keepers.begin(), keepers.end());
  EXPECT_EQ(keepers.size(), GetParam() == KeeperPlacement::child ? 1u : 0u);
  std::vector<long> before;
  for (const pid_t pid : watched) {
    std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << 5;  // proc(5): resets the peak
    before.push_back(test::status_number(pid, "VmHWM"));
  }
  Request request = shell("head -c 104857600 /dev/zero");
  request.settings_json = R"({"resources":{"output_cap":"1MiB"}})";
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.out.total_bytes, 104857600u) << result.to_json().substr(0, 500);
  EXPECT_EQ(result.out.data.size(), 1048576u);
  EXPECT_EQ(result.out.dropped_bytes, 104857600u - 1048576u);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    EXPECT_LT(test::status_number(watched[i], "VmHWM") - before[i], 16 * 1024) << "process " << i;
  }
}

TEST_P(HostTest, BackendsAreListedWithTheTiersThatNeedNone) {
  const auto listed = host->backends_json();
  ASSERT_TRUE(listed) << describe(listed.error());
  const json backends = json::parse(*listed);
  const auto named = [&](const char* id) {
    for (const json& backend : backends) {
      if (backend.at("id") == id) return backend;
    }
    return json();
  };
  EXPECT_EQ(named("bwrap").at("tier"), "sandbox");
  EXPECT_EQ(named("bwrap").at("sha256").get<std::string>().size(), 64u);
  for (const auto& [id, tier] : {std::pair{"local", "node"}, std::pair{"gateway", "gateway"}}) {
    const json backend = named(id);
    ASSERT_TRUE(backend.is_object()) << id;
    EXPECT_EQ(backend.at("tier"), tier);
    EXPECT_EQ(backend.at("ready"), true);
    EXPECT_EQ(backend.at("library"), nullptr);
    EXPECT_EQ(backend.at("statement").at("backend"), id);
  }
}

TEST_P(HostTest, ExplainRunsNothing) {
  const auto text = host->explain_text(shell("touch made; echo hello"));
  ASSERT_TRUE(text) << describe(text.error());
  const auto document = host->explain_json(shell("touch made"));
  ASSERT_TRUE(document);
  EXPECT_EQ(json::parse(*document)["backend"], "bwrap");
  EXPECT_FALSE(std::filesystem::exists(scene.workspace + "/made"));
  EXPECT_EQ(scene.ledger_entries(), 0u);
}

// ---- what only one placement has ----------------------------------------------------------------

class KeeperDeathTest : public HostTest {};
INSTANTIATE_TEST_SUITE_P(Child, KeeperDeathTest, ::testing::Values(KeeperPlacement::child));

TEST_P(KeeperDeathTest, IsReportedAndTheNextRunHasAnotherKeeper) {
  auto execution = host->start(shell("sleep " + mark()));
  ASSERT_TRUE(execution);
  ASSERT_TRUE(HostScene::appears(mark()));
  const auto keepers = HostScene::children("exechost-keeper");
  ASSERT_EQ(keepers.size(), 1u);
  ASSERT_EQ(::kill(keepers[0], SIGKILL), 0);
  const ExecResult& result = execution->wait();
  EXPECT_EQ(result.status, Status::failed);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::plugin_crashed);
  EXPECT_NE(result.started, Started::no);
  EXPECT_EQ(host->run(shell("exit 3")).exit_code, 3);
}

TEST_P(KeeperDeathTest, WhileNothingRunsIsNotEvenNoticed) {
  ASSERT_EQ(host->run(shell("true")).status, Status::exited);
  const auto keepers = HostScene::children("exechost-keeper");
  ASSERT_EQ(keepers.size(), 1u);
  ASSERT_EQ(::kill(keepers[0], SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(keepers[0]), &info, WEXITED | WNOWAIT), 0);
  const ExecResult result = host->run(shell("exit 3"));
  EXPECT_EQ(result.exit_code, 3) << result.to_json();
  EXPECT_TRUE(result.attempts.empty());
}

// ---- fallback -------------------------------------------------------------------------------------

class FallbackTest : public HostTest {
 protected:
  static Request with_unable(const std::string& on_unavailable, const std::string& open = "fail") {
    Request request = shell("printf ran >> ran.txt; cat");
    request.standard_input.kind = StdinSource::Kind::bytes;
    request.standard_input.bytes = "input";
    request.settings_json = json{{"backend", "unable"},
                                 {"fallback", {"bwrap"}},
                                 {"on_unavailable", on_unavailable},
                                 {"plugins", {{"directories", {EXECHOST_UNABLE_FOLDER}}}},
                                 {"backends", {{"unable", {{"open", open}}}}}}
                                .dump();
    return request;
  }
  std::string ran() const {
    std::ifstream file(scene.workspace + "/ran.txt");
    std::string text;
    std::getline(file, text);
    return text;
  }
};
INSTANTIATE_TEST_SUITE_P(Placements, FallbackTest,
                         ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child), [](const auto& entry) {
                           return entry.param == KeeperPlacement::child ? "child" : "in_process";
                         });

TEST_P(FallbackTest, OpenGoesOnAndSaysSo) {
  const ExecResult result = host->run(with_unable("open"));
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  EXPECT_EQ(result.backend, "bwrap");
  ASSERT_EQ(result.attempts.size(), 1u);
  EXPECT_EQ(result.attempts[0].backend, "unable");
  EXPECT_EQ(result.attempts[0].failure.kind, FailureKind::provision_failed);
  EXPECT_FALSE(result.warnings.empty());
  EXPECT_EQ(result.out.data, "input") << "the second attempt gets all of the input";
  EXPECT_EQ(ran(), "ran") << "once, not twice";
}

TEST_P(FallbackTest, ClosedDoesNot) {
  const ExecResult result = host->run(with_unable("closed"));
  EXPECT_EQ(result.status, Status::failed);
  EXPECT_EQ(result.failure->kind, FailureKind::provision_failed) << result.to_json();
  EXPECT_EQ(result.backend, "unable");
  EXPECT_TRUE(result.attempts.empty());
  EXPECT_EQ(ran(), "");
}

TEST_P(FallbackTest, AskWithoutAWayToAPersonDoesNotEither) {
  EXPECT_EQ(host->run(with_unable("ask")).status, Status::failed);
  EXPECT_EQ(ran(), "");
}

// The deadline covers provisioning, and a timeout is never a reason to try elsewhere.
TEST_P(FallbackTest, ADeadlineWhileOpeningIsTheEnd) {
  Request request = with_unable("open", "block");
  request.timeout = 700ms;
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.started, Started::no);
  EXPECT_EQ(result.stopped_phase, Phase::provision);
  EXPECT_TRUE(result.attempts.empty());
  EXPECT_EQ(ran(), "");
  EXPECT_EQ(scene.ledger_entries(), 0u);
}

TEST_P(FallbackTest, ACancelWhileOpeningIsTheEnd) {
  auto execution = host->start(with_unable("open", "block"));
  ASSERT_TRUE(execution) << describe(execution.error());
  execution->cancel();
  const ExecResult& result = execution->wait();
  EXPECT_EQ(result.status, Status::cancelled) << result.to_json();
  EXPECT_EQ(result.started, Started::no);
  EXPECT_EQ(ran(), "");
}

}  // namespace
}  // namespace exechost
