// A running keeper in either placement and a client that tests can call like a function.
#pragma once

#include <sys/wait.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

#include "core/base/reactor.hpp"
#include "core/keeper/client.hpp"
#include "core/keeper/placement.hpp"
#include "exechost_test_paths.hpp"
#include "tests/unit/keeper/support.hpp"

namespace exechost::keeper {

using Kind = ExecutionEvent::Kind;

// What came of one execution so far.
class Trace {
 public:
  void add(ExecutionEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }
  // The first event of that kind; a failure (and an empty event) when the end comes first.
  ExecutionEvent wait(Kind kind) {
    std::unique_lock lock(mutex_);
    const ExecutionEvent* found = nullptr;
    const bool in_time = changed_.wait_for(lock, std::chrono::milliseconds(test::kPatience), [&] {
      found = find(kind);
      return found != nullptr || ended();
    });
    if (found != nullptr) return *found;
    ADD_FAILURE() << (in_time ? "it ended without that event: " : "the event did not come in time: ")
                  << static_cast<int>(kind) << (events_.empty() ? "" : ", " + describe(events_.back().failure));
    return {};
  }
  std::vector<Kind> wait_for_end() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::milliseconds(test::kPatience), [&] { return ended(); }))
        << "no end in time";
    std::vector<Kind> kinds;
    for (const auto& event : events_) kinds.push_back(event.kind);
    return kinds;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

 private:
  const ExecutionEvent* find(Kind kind) const {
    for (const auto& event : events_) {
      if (event.kind == kind) return &event;
    }
    return nullptr;
  }
  bool ended() const { return find(Kind::gone) != nullptr || find(Kind::failed) != nullptr; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ExecutionEvent> events_;
};

struct Running {
  Ticket ticket = 0;
  std::shared_ptr<Trace> trace = std::make_shared<Trace>();
  UniqueFd out;  // read end of its stdout
};

class KeeperTest : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/keeper-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    options_.ledger_folder = base_ + "/ledger";
    options_.guest_path = EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-guest";
    start_keeper();
  }
  void TearDown() override {
    stop_keeper();
    if (!leaves_entries_) {
      EXPECT_EQ(ledger_entries(), 0U);
    }
    std::filesystem::remove_all(base_);
  }

  void start_keeper() {
    auto started = start(GetParam(), EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", options_);
    ASSERT_TRUE(started) << describe(started.error());
    keeper_ = std::move(*started);
    on_reactor([this] { client_ = std::make_unique<Client>(reactor_, keeper_->take_socket()); });
  }
  void close_client() {
    on_reactor([this] { client_.reset(); });
  }
  void stop_keeper() {
    close_client();
    keeper_.reset();
  }

  // Runs it on the reactor and waits for it.
  void on_reactor(const std::function<void()>& work) {
    std::promise<void> done;
    reactor_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().get();
  }

  template <class Request>
  std::future<Reply> ask(Request request, Ticket* ticket = nullptr) {
    auto promise = std::make_shared<std::promise<Reply>>();
    auto future = promise->get_future();
    const ReplyHandler handler = [promise](Reply reply) { promise->set_value(std::move(reply)); };
    on_reactor([&] {
      Ticket given = 0;
      if constexpr (std::is_same_v<Request, ProbeRequest>) given = client_->probe(request, handler);
      if constexpr (std::is_same_v<Request, OpenRequest>) given = client_->open(request, handler);
      if constexpr (std::is_same_v<Request, CloseRequest>) given = client_->close(request, handler);
      if (ticket != nullptr) *ticket = given;
    });
    return future;
  }
  static Reply answer(std::future<Reply>& future) {
    if (future.wait_for(std::chrono::milliseconds(test::kPatience)) != std::future_status::ready) {
      ADD_FAILURE() << "no reply in time";
      return {};
    }
    return future.get();
  }
  template <class Request>
  Reply call(Request request) {
    auto future = ask(std::move(request));
    return answer(future);
  }

  static PluginChoice victim(const std::string& id, nlohmann::json settings = nlohmann::json::object()) {
    const std::string folder = id == "unruly" ? EXECHOST_UNRULY_FOLDER : EXECHOST_VICTIM_FOLDER;
    PluginChoice plugin;
    plugin.id = id;
    plugin.library = folder + "/" + id + ".so";
    plugin.settings = std::move(settings);
    return plugin;
  }
  static OpenRequest open_request(PluginChoice plugin) {
    OpenRequest request;
    request.plugin = std::move(plugin);
    request.document = nlohmann::json::object();
    return request;
  }
  std::uint64_t open(PluginChoice plugin = victim("plain")) {
    const Reply reply = call(open_request(std::move(plugin)));
    EXPECT_EQ(reply.status, ReplyStatus::ok) << describe(reply.failure);
    return reply.status == ReplyStatus::ok ? reply.body.at("environment").get<std::uint64_t>() : 0;
  }
  Reply close(std::uint64_t environment) {
    CloseRequest request;
    request.environment = environment;
    return call(request);
  }

  static SpawnRequest request_for(std::uint64_t environment, std::vector<std::string> argv) {
    SpawnRequest request;
    request.environment = environment;
    request.argv = std::move(argv);
    request.variables = {"PATH=/usr/bin:/bin"};
    request.cwd = "/";
    request.confinement.landlock = false;
    return request;
  }
  Running spawn(SpawnRequest request) {
    Running run;
    test::Pipe out;
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    request.stdio = {null.get(), out.write.get(), null.get()};
    on_reactor([&] {
      run.ticket = client_->spawn(request, [trace = run.trace](ExecutionEvent event) { trace->add(std::move(event)); });
    });
    run.out = std::move(out.read);
    return run;
  }
  Running shell(std::uint64_t environment, const std::string& script) {
    return spawn(request_for(environment, {"/bin/sh", "-c", script}));
  }
  void signal(const Running& run, int number) {
    on_reactor([&] { client_->signal(run.ticket, number); });
  }

  std::size_t ledger_entries() const {
    if (!std::filesystem::exists(options_.ledger_folder)) return 0;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(options_.ledger_folder), {}));
  }
  // A dead process that its new parent has not reaped yet is gone as well.
  static bool is_gone(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const auto name_end = text.rfind(") ");
    return name_end == std::string::npos || text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
  }

  std::string base_;
  KeeperOptions options_;
  bool leaves_entries_ = false;  // the test is about those
  Reactor reactor_;
  std::unique_ptr<RunningKeeper> keeper_;
  std::unique_ptr<Client> client_;
};

inline std::string placement_name(const ::testing::TestParamInfo<KeeperPlacement>& info) {
  return info.param == KeeperPlacement::child ? "Child" : "InProcess";
}

}  // namespace exechost::keeper
