// What the tests of execution share: a reactor with a way to run things on it and wait, pipes
// and readers, and a keeper that does what a test's script says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/reactor.hpp"
#include "core/base/unique_fd.hpp"
#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/execution/execution.hpp"

namespace exechost::test {

inline constexpr std::chrono::seconds kPatience{20};

// Runs `work` on the reactor thread and returns what it returns.
template <class Work>
auto on_reactor(Reactor& reactor, Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto future = task.get_future();
  reactor.post([&task] { task(); });
  return future.get();
}

// A condition that handlers set and the test waits for.
class Event {
 public:
  void set() { promise_.set_value(); }
  bool wait() { return future_.wait_for(kPatience) == std::future_status::ready; }

 private:
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

struct PipePair {
  UniqueFd read;
  UniqueFd write;
};
inline PipePair make_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

inline void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    ASSERT_GT(count, 0) << "errno " << errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

inline std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Bytes of every value, none of which repeats with a short period.
inline std::string noise(std::size_t size, std::uint32_t seed = 1) {
  std::string bytes(size, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

// A folder of the test's own, removed with what is in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// An execution in the scripted keeper: duplicates of its descriptors and its event handler.
struct FakeExecution {
  keeper::SpawnRequest request;
  std::array<UniqueFd, 3> stdio;
  std::function<void(keeper::ExecutionEvent)> handler;
  std::vector<int> signals;

  void emit(keeper::ExecutionEvent::Kind kind, int wait_status = 0);
  void confined(bool seccomp = true, int landlock_abi = 6);
  void started() { emit(keeper::ExecutionEvent::Kind::started); }
  void exited(int code) { emit(keeper::ExecutionEvent::Kind::exited, code << 8); }
  void killed(int number) { emit(keeper::ExecutionEvent::Kind::exited, number); }
  void failed(FailureKind kind, Started was_started, std::string message = "scripted");
  void close_streams();
  void gone();  // closes what is left of the streams first
};

// Keeper and environments in one. Everything happens on the reactor thread; the hooks decide.
class ScriptedKeeper : public environment::KeeperPort, public environment::EnvironmentSource {
 public:
  using Reply = keeper::Reply;
  explicit ScriptedKeeper(Reactor& reactor) : reactor_(reactor) {}

  // Default: an environment at once.
  std::function<void(std::function<void(environment::Acquired)>)> on_acquire;
  std::function<void(FakeExecution&)> on_spawn;
  // Default: SIGKILL ends it as a keeper would.
  std::function<void(FakeExecution&, int)> on_signal;
  // Default: closed at once.
  std::function<void(std::function<void(Reply)>)> on_release;
  std::function<void()> on_cancel;

  std::shared_ptr<FakeExecution> execution;
  std::vector<environment::Release> releases;
  int acquisitions = 0;

  // EnvironmentSource
  EnvironmentSource::Ticket acquire(environment::EnvironmentRequest request,
                                    std::function<void(environment::Acquired)> handler) override;
  void release(const environment::Lease& lease, environment::Release how, std::int64_t deadline_ns,
               std::function<void(Reply)> handler) override;
  // KeeperPort
  environment::Ticket probe(const keeper::ProbeRequest&, std::function<void(Reply)>) override { return 0; }
  environment::Ticket open(const keeper::OpenRequest&, std::function<void(Reply)>) override { return 0; }
  environment::Ticket spawn(const keeper::SpawnRequest& request,
                            std::function<void(keeper::ExecutionEvent)> handler) override;
  environment::Ticket close(const keeper::CloseRequest&, std::function<void(Reply)>) override { return 0; }
  environment::Ticket list(const keeper::ListRequest&, std::function<void(Reply)>) override { return 0; }
  environment::Ticket reap(const keeper::ReapRequest&, std::function<void(Reply)>) override { return 0; }
  environment::Ticket sessions(const keeper::SessionsRequest&, std::function<void(Reply)>) override { return 0; }
  void signal(environment::Ticket ticket, int number) override;
  // Both.
  void cancel(environment::Ticket ticket) override;

  static environment::Acquired lease();

 private:
  Reactor& reactor_;
};

// One run against a scripted keeper.
class RunHarness {
 public:
  RunHarness();
  ~RunHarness();
  Reactor reactor;
  std::shared_ptr<ScriptedKeeper> keeper;
  std::shared_ptr<plan::Plan> plan;
  execution::RunSpec spec;
  execution::RunLimits limits;

  void start();
  ExecResult result();  // waits for it
  bool done_within(std::chrono::milliseconds span);
  void cancel();
  ExecResult run() {
    start();
    return result();
  }
  // On the reactor thread.
  void with_execution(const std::function<void(FakeExecution&)>& work);
  // Waits until the command was spawned.
  bool spawned();
  std::shared_ptr<execution::Run> the_run;

 private:
  std::promise<ExecResult> promise_;
  std::future<ExecResult> future_;
  Event spawned_;
};

}  // namespace exechost::test
