// Faults that no single result shows, through the plugin's own tables.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "core/plugin/loader.hpp"
#include "core/plugin/manifest.hpp"
#include "exechost/backend.hpp"
#include "tests/mutants/faults.hpp"
#include "tests/mutants/scene.hpp"
#include "tests/unit/plugin/small_host.hpp"

namespace mutants {
namespace {

namespace plugin = exechost::plugin;
using exechost::Phase;
using nlohmann::json;
using plugin::CallOutcome;

constexpr int kPatienceMs = 20'000;

bool is_readable(int fd, int patience_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, patience_ms) == 1;
}

class MutantTables : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = scene_.problem(); !problem.empty()) GTEST_SKIP() << problem;
    folder_ = scene_.folder + "/resources";
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override {
    if (backend_ != nullptr) backend_->destroy(backend_->self);
  }

  template <class Function>
  static CallOutcome call(const Function& function, plugin::CallLimits limits = {}) {
    plugin::Call call("mutant", Phase::spawn, limits);
    return call.finish(function(call.call()));
  }
  void create(const std::string& fault, const std::string& id = "mutant_direct") {
    TearDown();
    backend_ = nullptr;
    plugin::Found found;
    found.id = id;
    found.library = std::string(EXECHOST_MUTANT_FOLDER) + '/' + id + ".so";
    found.manifest_path = std::string(EXECHOST_MUTANT_FOLDER) + '/' + id + ".json";
    found.manifest = plugin::read_manifest(found.manifest_path).value();
    const auto loaded = plugin::load_plugin(found);
    ASSERT_TRUE(loaded) << describe(loaded.error());
    const std::string settings = json{{"fault", fault}, {"resource_folder", folder_}}.dump();
    const auto outcome = call([&](const eh_call* call) {
      return (*loaded)->table()->create(host_.table(), plugin::to_eh(settings), call, &backend_);
    });
    ASSERT_EQ(outcome.status, EH_OK) << describe(outcome.failure);
  }
  CallOutcome open(plugin::CallLimits limits = {}) {
    const std::string document = json{{"name", "box-1"}, {"labels", {{"exechost.id", "1"}}}}.dump();
    return call(
        [&](const eh_call* call) {
          return backend_->open(backend_->self, plugin::to_eh(document), call, &environment_);
        },
        limits);
  }
  CallOutcome close() const {
    return call([&](const eh_call* call) { return environment_->close(environment_->self, 0, call); });
  }
  std::string list() const {
    return call([&](const eh_call* call) { return backend_->list(backend_->self, call); }).answer;
  }
  std::string reap() const {
    const std::string entry = R"({"name":"box-1"})";
    call([&](const eh_call* call) { return backend_->reap(backend_->self, plugin::to_eh(entry), call); });
    return list();
  }

  // Its output goes nowhere.
  const eh_execution* spawn(const std::string& script, plugin::CallLimits limits = {}) {
    const std::array<std::string, 3> words{"/bin/sh", "-c", script};
    std::array<eh_str, 3> arguments{};
    for (std::size_t index = 0; index < words.size(); ++index) arguments.at(index) = plugin::to_eh(words.at(index));
    const std::string path = "PATH=/usr/bin:/bin";
    const eh_str variable = plugin::to_eh(path);
    const exechost::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    eh_spawn spec{};
    spec.struct_size = sizeof spec;
    spec.argument_count = arguments.size();
    spec.arguments = arguments.data();
    spec.environment_count = 1;
    spec.environment = &variable;
    spec.working_directory = plugin::to_eh(folder_);
    spec.stdin_fd = spec.stdout_fd = spec.stderr_fd = null.get();
    spec.control_fd = -1;
    const eh_execution* execution = nullptr;
    spawned_ = call(
        [&](const eh_call* call) { return environment_->spawn(environment_->self, &spec, call, &execution); }, limits);
    return execution;
  }
  static eh_event next(const eh_execution* execution) {
    eh_event event{};
    event.struct_size = sizeof event;
    while (is_readable(execution->event_fd(execution->self), kPatienceMs)) {
      eh_status status = EH_PENDING;
      call([&](const eh_call* call) { return status = execution->wait(execution->self, call, &event); });
      if (status != EH_PENDING) break;
    }
    return event;
  }

  const MutantScene scene_;
  exechost::test::SmallHost host_;
  std::string folder_;
  const eh_backend* backend_ = nullptr;
  const eh_environment* environment_ = nullptr;
  CallOutcome spawned_;
};

constexpr const char* kListed = R"([{"labels":{"exechost.id":"1"},"name":"box-1"}])";

TEST_F(MutantTables, Resources) {
  create("none");
  open();
  EXPECT_EQ(list(), kListed);
  EXPECT_EQ(close().status, EH_OK);
  EXPECT_EQ(list(), "[]");
  create("close_not_idempotent");
  open();
  EXPECT_EQ(close().status, EH_OK);
  EXPECT_EQ(list(), kListed);
  EXPECT_EQ(reap(), "[]");
  EXPECT_EQ(reap(), "[]") << "twice";
  create("leaks_resource_when_open_fails");
  EXPECT_EQ(open().failure.kind, exechost::FailureKind::provision_failed);
  EXPECT_EQ(list(), kListed);
  create("reap_does_nothing");
  EXPECT_EQ(reap(), kListed) << "of the one before";
  create("list_is_empty");
  EXPECT_EQ(list(), "[]");
  create("probe_leaves_resource");
  const std::string before = list();
  call([&](const eh_call* call) { return backend_->probe(backend_->self, call); });
  EXPECT_GT(list().size(), before.size());
}

TEST_F(MutantTables, Events) {
  for (const char* const fault : {"none", "double_started_event"}) {
    create(fault);
    open();
    const eh_execution* const execution = spawn("exit 3");
    EXPECT_EQ(next(execution).kind, EH_EVENT_STARTED);
    if (std::string(fault) != "none") {
      EXPECT_EQ(next(execution).kind, EH_EVENT_STARTED);
    }
    const eh_event end = next(execution);
    EXPECT_EQ(end.kind, EH_EVENT_ENDED) << fault;
    EXPECT_EQ(end.wait_status, W_EXITCODE(3, 0));
    execution->release(execution->self);
    close();
  }
  create("never_readable_event_fd");
  open();
  const eh_execution* const execution = spawn("true");
  EXPECT_EQ(call([&](const eh_call* call) {
              eh_event event{};
              event.struct_size = sizeof event;
              while (execution->wait(execution->self, call, &event) == EH_PENDING) ::poll(nullptr, 0, 2);
              return event.kind == EH_EVENT_STARTED ? EH_OK : EH_FAILED;
            }).status,
            EH_OK);
  EXPECT_FALSE(is_readable(execution->event_fd(execution->self), 0));
  execution->release(execution->self);
  close();
}

TEST_F(MutantTables, WritesBehindTheEvent) {
  struct {
    eh_event event;
    unsigned char behind[16];
  } room{};
  for (const bool wrong : {false, true}) {
    create(wrong ? "writes_past_its_struct" : "none");
    open();
    const eh_execution* const execution = spawn("true");
    room = {};
    room.event.struct_size = sizeof room.event;
    call([&](const eh_call* call) { return execution->wait(execution->self, call, &room.event); });
    EXPECT_THAT(room.behind, ::testing::Each(wrong ? 0xA5 : 0));
    execution->release(execution->self);
    close();
  }
}

TEST_F(MutantTables, Signals) {
  for (const std::string fault : {"none", "ignores_signals"}) {
    create(fault);
    open();
    const eh_execution* const execution = spawn("exec sleep 1000");
    next(execution);
    EXPECT_EQ(execution->signal(execution->self, SIGTERM), 0);
    if (fault != "none") {
      EXPECT_EQ(execution->signal(execution->self, SIGKILL), 0);
    }
    EXPECT_EQ(next(execution).wait_status, fault == "none" ? SIGTERM : SIGKILL);
    execution->release(execution->self);
    close();
  }
}

TEST_F(MutantTables, OneSignalForAll) {
  for (const std::string fault : {"none", "kills_other_commands"}) {
    create(fault);
    open();
    const eh_execution* const first = spawn("exec sleep 1000");
    const eh_execution* const second = spawn("exec sleep 1000");
    next(first);
    next(second);
    EXPECT_EQ(first->signal(first->self, SIGKILL), 0);
    EXPECT_EQ(next(first).wait_status, SIGKILL);
    if (fault == "none") {
      EXPECT_EQ(second->signal(second->self, SIGTERM), 0) << "it still runs";
    }
    EXPECT_EQ(next(second).wait_status, fault == "none" ? SIGTERM : SIGKILL);
    first->release(first->self);
    second->release(second->self);
    close();
  }
}

TEST_F(MutantTables, TheBoundary) {
  create("fails_without_report");
  EXPECT_EQ(open().failure.message, "backend \"mutant\" failed without a reason");
  create("unlisted_status");
  EXPECT_EQ(open().failure.message, "backend \"mutant\" returned status 77, which the plugin ABI does not have");
  create("throws_across_the_boundary");
  open();
  EXPECT_THROW(spawn("true"), std::runtime_error);
  close();
  const std::filesystem::path here = std::filesystem::current_path();
  create("changes_directory");
  open();
  EXPECT_EQ(std::filesystem::current_path(), "/tmp");
  std::filesystem::current_path(here);
  close();
  create("loses_environment_after_first_command", "mutant_persistent");
  open();
  const eh_execution* const execution = spawn("true");
  spawn("true");
  EXPECT_EQ(spawned_.failure.kind, exechost::FailureKind::environment_lost);
  execution->release(execution->self);
  close();
}

// Each ends or blocks a process: one of its own.
TEST_F(MutantTables, WhatEndsTheProcess) {
  create("calls_exit");
  open();
  EXPECT_EXIT(spawn("true"), ::testing::ExitedWithCode(0), "");
  close();
  create("crashes_in_close");
  // Opened there too: nobody could close it here.
  EXPECT_EXIT(
      {
        open();
        close();
      },
      ::testing::KilledBySignal(SIGABRT), "");
  create("blocks_for_ever");
  open();
  EXPECT_EXIT(
      {
        ::alarm(1);
        spawn("true");
      },
      ::testing::KilledBySignal(SIGALRM), "");
  close();
}

TEST_F(MutantTables, TimeThatNothingEnds) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  ::close(pipe[1]);  // readable from now on: cancelled
  plugin::CallLimits cancelled;
  cancelled.cancel_fd = pipe[0];
  plugin::CallLimits late;
  late.deadline_ns = host_.table()->now_ns(nullptr);
  create("none");
  EXPECT_EQ(open(cancelled).status, EH_CANCELLED);
  EXPECT_EQ(open(late).status, EH_TIMED_OUT);
  EXPECT_EQ(list(), "[]");
  create("ignores_cancel");
  EXPECT_EXIT(
      {
        ::alarm(3);
        open(cancelled);
      },
      ::testing::KilledBySignal(SIGALRM), "");
  create("ignores_deadline");
  open();
  EXPECT_EXIT(
      {
        ::alarm(3);
        spawn("true", late);
      },
      ::testing::KilledBySignal(SIGALRM), "");
  close();
  ::close(pipe[0]);
}

}  // namespace
}  // namespace mutants
