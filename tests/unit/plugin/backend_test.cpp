// The C++ wrapper and the C ABI from the host's side, with plugins that were really loaded.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <thread>
#include <tuple>

#include "core/base/clock.hpp"
#include "core/plugin/loader.hpp"
#include "tests/unit/plugin/small_host.hpp"
#include "tests/unit/plugin/victims.hpp"

namespace exechost::plugin {
namespace {

using test::SmallHost;
using ::testing::HasSubstr;

// A backend that was made from a loaded plugin, destroyed at the end.
class Made {
 public:
  explicit Made(const std::string& id, const std::string& settings = "{}") {
    auto loaded = load_plugin(inspect_plugin(test::good_plugin(id)), test::load_options());
    if (!loaded) throw std::runtime_error(loaded.error().message);
    plugin_ = *loaded;
    Call call(id, Phase::provision, {});
    outcome = call.finish(plugin_->table()->create(host.table(), to_eh(settings), call.call(), &backend));
  }
  ~Made() {
    if (backend != nullptr) backend->destroy(backend->self);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  CallOutcome open(const std::string& document = "{}", CallLimits limits = {}) {
    Call call("test", Phase::provision, limits);
    return call.finish(backend->open(backend->self, to_eh(document), call.call(), &environment));
  }
  CallOutcome close() {
    Call call("test", Phase::cleanup, {});
    return call.finish(environment->close(environment->self, 0, call.call()));
  }

  SmallHost host;
  CallOutcome outcome;
  const eh_backend* backend = nullptr;
  const eh_environment* environment = nullptr;

 private:
  std::shared_ptr<const LoadedPlugin> plugin_;
};

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  std::string drain() {
    writer.reset();
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(reader.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  UniqueFd reader;
  UniqueFd writer;
};

// One command in an environment, followed to its end.
class Running {
 public:
  Running(const eh_environment* environment, const std::vector<std::string>& argv,
          const std::vector<std::string>& variables = {}, int control_fd = -1, const std::string& cwd = "/") {
    std::vector<eh_str> arguments;
    for (const std::string& text : argv) arguments.push_back(to_eh(text));
    std::vector<eh_str> environment_texts;
    for (const std::string& text : variables) environment_texts.push_back(to_eh(text));
    null_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    eh_spawn spec{};
    spec.struct_size = sizeof spec;
    spec.arguments = arguments.data();
    spec.argument_count = static_cast<std::uint32_t>(arguments.size());
    spec.environment = environment_texts.data();
    spec.environment_count = static_cast<std::uint32_t>(environment_texts.size());
    spec.working_directory = to_eh(cwd);
    spec.stdin_fd = null_.get();
    spec.stdout_fd = out.writer.get();
    spec.stderr_fd = err.writer.get();
    spec.control_fd = control_fd;
    Call call("test", Phase::spawn, {});
    outcome = call.finish(environment->spawn(environment->self, &spec, call.call(), &execution));
  }
  ~Running() {
    if (execution != nullptr) execution->release(execution->self);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // The next event; blocks until there is one.
  eh_event next() {
    for (;;) {
      Call call("test", Phase::run, {});
      eh_event event{};
      event.struct_size = sizeof event;
      const CallOutcome got = call.finish(execution->wait(execution->self, call.call(), &event));
      if (got.status == EH_OK) return event;
      if (got.status != EH_PENDING) throw std::runtime_error(got.failure.message);
      pollfd entry{execution->event_fd(execution->self), POLLIN, 0};
      if (::poll(&entry, 1, 20'000) != 1) throw std::runtime_error("no event within 20 s");
    }
  }

  CallOutcome outcome;
  const eh_execution* execution = nullptr;
  Pipe out;
  Pipe err;

 private:
  UniqueFd null_;
};

class PlainBackends : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(CppAndC, PlainBackends, ::testing::Values("plain", "plainc"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(PlainBackends, RunACommand) {
  Made made(GetParam());
  ASSERT_EQ(made.outcome.status, EH_OK) << made.outcome.failure.message;
  ASSERT_EQ(made.open().status, EH_OK);
  {
    Running running(made.environment, {"/bin/sh", "-c", "echo \"$A $PWD $0\"; echo oops >&2; exit 7", "name"},
                    {"A=b c"}, -1, "/usr");
    ASSERT_EQ(running.outcome.status, EH_OK) << running.outcome.failure.message;
    EXPECT_EQ(running.next().kind, EH_EVENT_STARTED);
    EXPECT_EQ(running.out.drain(), "b c /usr name\n");
    EXPECT_EQ(running.err.drain(), "oops\n");
    const eh_event event = running.next();
    EXPECT_EQ(event.kind, EH_EVENT_ENDED);
    EXPECT_TRUE(WIFEXITED(event.wait_status));
    EXPECT_EQ(WEXITSTATUS(event.wait_status), 7);
  }
  EXPECT_EQ(made.close().status, EH_OK);
  EXPECT_EQ(made.host.running(), 0U);
}

TEST_P(PlainBackends, ASignalEndsIt) {
  Made made(GetParam());
  ASSERT_EQ(made.open().status, EH_OK);
  {
    Running running(made.environment, {"/bin/sleep", "600"});
    EXPECT_EQ(running.next().kind, EH_EVENT_STARTED);
    EXPECT_EQ(running.execution->signal(running.execution->self, SIGTERM), 0);
    const eh_event event = running.next();
    EXPECT_EQ(event.kind, EH_EVENT_ENDED);
    ASSERT_TRUE(WIFSIGNALED(event.wait_status));
    EXPECT_EQ(WTERMSIG(event.wait_status), SIGTERM);
    EXPECT_EQ(running.execution->signal(running.execution->self, SIGTERM), -ESRCH);
  }
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST_P(PlainBackends, ReleasingKillsIt) {
  Made made(GetParam());
  ASSERT_EQ(made.open().status, EH_OK);
  Pipe alive;
  {
    Running running(made.environment, {"/bin/sleep", "600"}, {}, alive.writer.get());
    ASSERT_EQ(running.outcome.status, EH_OK);
    EXPECT_EQ(made.host.running(), 1U);
  }
  EXPECT_EQ(made.host.running(), 0U);
  // Descriptor 3 of the command was the last writer: end-of-file says that it is gone.
  EXPECT_EQ(alive.drain(), "");
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST_P(PlainBackends, TheControlSocketIsDescriptorThree) {
  Made made(GetParam());
  ASSERT_EQ(made.open().status, EH_OK);
  Pipe control;
  {
    Running running(made.environment, {"/bin/sh", "-c", "echo hello >&3; ls /proc/self/fd"}, {}, control.writer.get());
    ASSERT_EQ(running.outcome.status, EH_OK);
    EXPECT_EQ(control.drain(), "hello\n");
    EXPECT_THAT(running.out.drain(), ::testing::StartsWith("0\n1\n2\n3\n"));
    EXPECT_EQ(running.next().kind, EH_EVENT_STARTED);
    EXPECT_EQ(running.next().kind, EH_EVENT_ENDED);
  }
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST_P(PlainBackends, TheHostsFailureIsPassedOn) {
  Made made(GetParam());
  ASSERT_EQ(made.open().status, EH_OK);
  {
    Running running(made.environment, {"/nowhere/program"});
    EXPECT_EQ(running.outcome.status, EH_FAILED);
    EXPECT_EQ(running.outcome.failure.kind, FailureKind::spawn_failed);
    EXPECT_EQ(running.outcome.failure.error_number, ENOENT);
    EXPECT_EQ(running.outcome.failure.step, "exec");
    EXPECT_EQ(running.execution, nullptr);
  }
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST_P(PlainBackends, ProbeListReapAnswer) {
  Made made(GetParam());
  Call probe("test", Phase::provision, {});
  const CallOutcome ready = probe.finish(made.backend->probe(made.backend->self, probe.call()));
  ASSERT_EQ(ready.status, EH_OK);
  const auto parsed = plan::parse_probe(GetParam(), nlohmann::json::parse(ready.answer));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->ready);
  Call list("test", Phase::cleanup, {});
  EXPECT_EQ(list.finish(made.backend->list(made.backend->self, list.call())).answer, "[]");
  Call reap("test", Phase::cleanup, {});
  EXPECT_EQ(reap.finish(made.backend->reap(made.backend->self, to_eh("{}"), reap.call())).status, EH_OK);
}

TEST(Plain, ItsGroupIsKilledWithIt) {
  Made made("plain");
  ASSERT_EQ(made.open().status, EH_OK);
  {
    Running running(made.environment, {"/bin/sh", "-c", "sleep 600 & exit 3"});
    EXPECT_EQ(running.next().kind, EH_EVENT_STARTED);
    EXPECT_EQ(WEXITSTATUS(running.next().wait_status), 3);
    EXPECT_EQ(running.out.drain(), "");  // ends only when the background sleep is gone
  }
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST(Plain, SettingsAndLogReachEachOther) {
  const Made made("plain", R"({"greeting":"good morning"})");
  EXPECT_THAT(made.host.lines, ::testing::ElementsAre(std::pair<int, std::string>(EH_LOG_INFO, "good morning")));
}

TEST(Plain, SettingsThatAreNoJsonAreAnExceptionThatStops) {
  const Made made("plain", "{");
  EXPECT_EQ(made.outcome.status, EH_FAILED);
  EXPECT_EQ(made.outcome.failure.kind, FailureKind::protocol_error);
  EXPECT_THAT(made.outcome.failure.message, HasSubstr("unhandled exception: [json.exception.parse_error"));
}

// ---- what goes wrong -----------------------------------------------------------------

struct Mood {
  const char* name;
  FailureKind kind;
  const char* message;
  // Shown in the tests' names in place of the pointers.
  friend void PrintTo(const Mood& mood, std::ostream* out) { *out << mood.name; }
};

// The first is built as we are, the second with clang and libc++ (but not for a sanitizer, whose
// runtime takes one C++ library only).
#ifdef EXECHOST_SANITIZED
const auto kCompilers = ::testing::Values("moody");
#else
const auto kCompilers = ::testing::Values("moody", "moody_libcxx");
#endif
class Moods : public ::testing::TestWithParam<std::tuple<const char*, Mood>> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::good_plugin(id()))) GTEST_SKIP() << "clang++ with libc++ is not installed";
  }
  static std::string id() { return std::get<0>(GetParam()); }
  static void expect(const CallOutcome& outcome, Phase phase, FailureKind own_kind) {
    const Mood& mood = std::get<1>(GetParam());
    EXPECT_EQ(outcome.status, EH_FAILED);
    EXPECT_EQ(outcome.failure.kind, std::string_view(mood.name) == "fail" ? own_kind : mood.kind);
    EXPECT_EQ(outcome.failure.phase, phase);
    EXPECT_THAT(outcome.failure.message, HasSubstr(mood.message));
  }
  static std::string settings(const char* function) {
    return nlohmann::json{{function, std::get<1>(GetParam()).name}}.dump();
  }
};
INSTANTIATE_TEST_SUITE_P(
    All, Moods,
    ::testing::Combine(kCompilers, ::testing::Values(Mood{"fail", FailureKind::unavailable, "told to fail"},
                                                     Mood{"throw", FailureKind::protocol_error,
                                                          "unhandled exception: told to throw"},
                                                     Mood{"throw_int", FailureKind::protocol_error,
                                                          "unhandled exception: of a type unlike std::exception"},
                                                     Mood{"bad_alloc", FailureKind::protocol_error,
                                                          "unhandled exception: out of memory"})),
    [](const auto& instance) {
      return std::string(std::get<0>(instance.param)) + "_" + std::get<1>(instance.param).name;
    });

TEST_P(Moods, InCreate) {
  const Made made(id(), settings("create"));
  expect(made.outcome, Phase::provision, FailureKind::unavailable);
  EXPECT_EQ(made.backend, nullptr);
}

TEST_P(Moods, InProbe) {
  Made made(id(), settings("probe"));
  Call call("test", Phase::provision, {});
  expect(call.finish(made.backend->probe(made.backend->self, call.call())), Phase::provision, FailureKind::unavailable);
}

TEST_P(Moods, InOpen) {
  Made made(id(), settings("open"));
  expect(made.open(), Phase::provision, FailureKind::provision_failed);
  EXPECT_EQ(made.environment, nullptr);
}

TEST_P(Moods, InReap) {
  Made made(id(), settings("reap"));
  Call call("test", Phase::cleanup, {});
  expect(call.finish(made.backend->reap(made.backend->self, to_eh("{}"), call.call())), Phase::cleanup,
         FailureKind::unavailable);
}

TEST_P(Moods, InSpawn) {
  Made made(id(), settings("spawn"));
  ASSERT_EQ(made.open().status, EH_OK);
  {
    const Running running(made.environment, {"/bin/true"});
    expect(running.outcome, Phase::spawn, FailureKind::spawn_failed);
    EXPECT_EQ(running.execution, nullptr);
  }
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST_P(Moods, InWait) {
  Made made(id(), settings("wait"));
  ASSERT_EQ(made.open().status, EH_OK);
  {
    const Running running(made.environment, {"/bin/true"});
    ASSERT_EQ(running.outcome.status, EH_OK);
    Call call("test", Phase::run, {});
    eh_event event{};
    event.struct_size = sizeof event;
    expect(call.finish(running.execution->wait(running.execution->self, call.call(), &event)), Phase::run,
           FailureKind::environment_lost);
  }
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST_P(Moods, InCloseLeaveTheEnvironmentForAnotherAttempt) {
  Made made(id(), settings("close"));
  ASSERT_EQ(made.open().status, EH_OK);
  expect(made.close(), Phase::cleanup, FailureKind::unavailable);
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST(Moody, AFailureKeepsAllItsMembers) {
  const Made made("moody", R"({"create":"fail"})");
  Failure expected;
  expected.kind = FailureKind::unavailable;
  expected.phase = Phase::provision;
  expected.message = "told to fail";
  expected.hint = "tell it something else";
  expected.backend = "moody";
  expected.error_number = 28;
  expected.step = "mood";
  expected.code = "E-MOOD";
  expected.request_id = "r-1";
  EXPECT_EQ(made.outcome.failure, expected);
}

TEST(Moody, FunctionsWithoutACallHaveAValueForExceptions) {
  Made made("moody", R"({"wait":"throw"})");
  ASSERT_EQ(made.open().status, EH_OK);
  {
    const Running running(made.environment, {"/bin/true"});
    EXPECT_EQ(running.execution->event_fd(running.execution->self), -1);
    EXPECT_EQ(running.execution->signal(running.execution->self, SIGTERM), -EIO);
  }
  EXPECT_NE(made.environment->get_extension(made.environment->self, to_eh("exechost.test/1")), nullptr);
  EXPECT_EQ(made.environment->get_extension(made.environment->self, to_eh("unknown/1")), nullptr);
  EXPECT_EQ(made.environment->get_extension(made.environment->self, to_eh("throw")), nullptr);
  EXPECT_EQ(made.close().status, EH_OK);
}

TEST(Moody, NothingWhereAnObjectShouldBe) {
  const Made created("moody", R"({"create":"null"})");
  EXPECT_EQ(created.outcome.failure.kind, FailureKind::protocol_error);
  EXPECT_EQ(created.outcome.failure.message, "create returned no backend");
  Made opened("moody", R"({"open":"null"})");
  EXPECT_EQ(opened.open().failure.message, "open returned no environment");
  Made spawned("moody", R"({"spawn":"null"})");
  ASSERT_EQ(spawned.open().status, EH_OK);
  {
    const Running running(spawned.environment, {"/bin/true"});
    EXPECT_EQ(running.outcome.failure.message, "spawn returned no execution");
  }
  EXPECT_EQ(spawned.close().status, EH_OK);
}

TEST(Moody, TheDeadlineStopsABlockingCall) {
  Made made("moody", R"({"open":"block"})");
  CallLimits limits;
  limits.deadline_ns = deadline_after(std::chrono::milliseconds(50));
  EXPECT_EQ(made.open("{}", limits).status, EH_TIMED_OUT);
  EXPECT_GE(monotonic_now_ns(), limits.deadline_ns);
}

TEST(Moody, CancellationStopsABlockingCall) {
  Made made("moody", R"({"open":"block"})");
  const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC));
  CallLimits limits;
  limits.cancel_fd = cancel.get();
  Call call("test", Phase::provision, limits);
  // Cancelled when the plugin says that it waits.
  std::string said;
  call.on_progress([&](std::string_view text) {
    said = text;
    ::eventfd_write(cancel.get(), 1);
  });
  EXPECT_EQ(call.finish(made.backend->open(made.backend->self, to_eh("{}"), call.call(), &made.environment)).status,
            EH_CANCELLED);
  EXPECT_EQ(said, "waiting to be stopped");
}

TEST(Moody, AnExecutionMayOutliveItsEnvironmentsClose) {
  Made made("moody");
  ASSERT_EQ(made.open().status, EH_OK);
  const Running running(made.environment, {"/bin/true"});
  EXPECT_EQ(made.close().status, EH_OK);
  EXPECT_EQ(running.execution->signal(running.execution->self, SIGTERM), 0);
}

TEST(NullBackend, SuccessWithoutATableIsSeen) {
  const Made made("null_backend");
  EXPECT_EQ(made.outcome.status, EH_OK);
  EXPECT_EQ(made.backend, nullptr);
}

}  // namespace
}  // namespace exechost::plugin
