// Commands of an environment whose guest is reached over frames, through the whole product.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "tests/support/guests.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class StreamRun : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  StreamRun() {
    HostOptions options = host_options(*scene_, GetParam());
    scene_->file("config/settings.json",
                 R"({"plugins": {"directories": [")" EXECHOST_STREAMED_FOLDER R"("]}, "backend": "streamed"})");
    options.user_config_dir = scene_->base() + "/config";
    host_ = std::make_unique<ExecHost>(std::move(options));
  }
  ExecResult shell(const std::string& script) { return host_->run(shell_request(script)); }

  std::unique_ptr<Scene> scene_ = own_scene();
  std::unique_ptr<ExecHost> host_;
};

INSTANTIATE_TEST_SUITE_P(With, StreamRun, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         [](const auto& tested) {
                           return std::string(tested.param == KeeperPlacement::child ? "child" : "in_process");
                         });

std::string why(const ExecResult& result) { return result.failure ? describe(*result.failure) : std::string(); }

Request with_input(std::string script, std::string input) {
  Request request = shell_request(std::move(script));
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = std::move(input);
  return request;
}

std::string noise(std::size_t size) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same bytes in every run
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// What a command has written, to wait for.
class Seen {
 public:
  OutputCallback callback() {
    return [this](StdStream stream, std::string_view bytes) {
      const std::lock_guard lock(mutex_);
      (stream == StdStream::out ? out_ : err_) += bytes;
      changed_.notify_all();
    };
  }
  bool wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return out_.find(text) != std::string::npos; });
  }
  const std::string& out() const { return out_; }  // after the end
  const std::string& err() const { return err_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_, err_;
};

TEST_P(StreamRun, EveryByteComesThroughBothWays) {
  const std::string bytes = noise(std::size_t{5} * 1024 * 1024 + 17);
  Request request = with_input("tee /dev/stderr", bytes);
  Seen seen;
  request.on_output = seen.callback();
  const ExecResult result = host_->run(request);
  EXPECT_EQ(result.exit_code, 0) << why(result);
  EXPECT_TRUE(seen.out() == bytes);
  EXPECT_TRUE(seen.err() == bytes);
}

TEST_P(StreamRun, ItIsConfinedAsWithoutFrames) {
  const ExecResult result =
      shell("grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status; ls /proc/self/fd; touch /usr/x");
  EXPECT_EQ(result.out.data, "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n0\n1\n2\n3\n") << why(result);
  EXPECT_THAT(result.err.data, HasSubstr("Read-only file system"));
}

TEST_P(StreamRun, ManyAtOnceAreNeverConfused) {
  constexpr int kCommands = 30;
  std::vector<std::future<ExecResult>> running;
  for (int i = 0; i < kCommands; ++i) {
    running.push_back(std::async(std::launch::async, [this, i] {
      const std::string number = std::to_string(i);
      return host_->run(with_input("cat; i=0; while [ $i -lt 500 ]; do echo out " + number + "; echo err " + number +
                                       " >&2; i=$((i+1)); done; exit " + number,
                                   "in " + number + "\n"));
    }));
  }
  std::set<std::string> environments;
  for (int i = 0; i < kCommands; ++i) {
    const ExecResult result = running[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(result.exit_code, i) << why(result);
    std::string out = "in " + std::to_string(i) + "\n", err;
    for (int line = 0; line < 500; ++line) {
      out += "out " + std::to_string(i) + "\n";
      err += "err " + std::to_string(i) + "\n";
    }
    EXPECT_TRUE(result.out.data == out) << result.out.data.substr(0, 200);
    EXPECT_TRUE(result.err.data == err) << result.err.data.substr(0, 200);
    environments.insert(result.environment_id);
  }
  EXPECT_EQ(environments.size(), 1U);
}

TEST_P(StreamRun, ASlowReaderHindersNobodyAndLosesNothing) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  constexpr std::size_t kBytes = std::size_t{20} * 1024 * 1024;  // more than all buffers on the way hold
  Request slow = shell_request("head -c " + std::to_string(kBytes) + " /dev/zero; echo end >&2");
  slow.stdout_descriptor = writer.get();
  auto running = host_->start(slow);
  ASSERT_TRUE(running) << describe(running.error());
  pollfd readable{reader.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 20'000), 1);
  for (int i = 0; i < 10; ++i) {
    const ExecResult other = shell("head -c 1000000 /dev/zero | wc -c");
    EXPECT_EQ(other.out.data, "1000000\n") << why(other);
  }
  EXPECT_FALSE(running->finished());
  std::size_t taken = 0;
  std::string buffer(65536, '\0');
  writer.reset();
  while (taken < kBytes) {
    const ssize_t count = ::read(reader.get(), buffer.data(), buffer.size());
    ASSERT_GT(count, 0);
    taken += static_cast<std::size_t>(count);
  }
  const ExecResult& result = running->wait();
  EXPECT_EQ(result.status, Status::exited) << why(result);
  EXPECT_EQ(result.out.total_bytes, kBytes);
  EXPECT_EQ(result.err.data, "end\n");
}

TEST_P(StreamRun, InputThatNobodyReadsHindersNobody) {
  const ExecResult result = host_->run(with_input("exec <&-; echo done; exit 3", noise(std::size_t{8} * 1024 * 1024)));
  EXPECT_EQ(result.exit_code, 3) << why(result);
  EXPECT_EQ(result.out.data, "done\n");
}

TEST_P(StreamRun, AReaderThatIsGoneIsABrokenPipeInside) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  Request request = shell_request("exec cat /dev/zero");
  request.stdout_descriptor = writer.get();
  auto running = host_->start(request);
  ASSERT_TRUE(running);
  pollfd readable{reader.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 20'000), 1);
  reader.reset();
  const ExecResult& result = running->wait();
  EXPECT_EQ(result.status, Status::signaled) << why(result);
  EXPECT_EQ(result.signal_number, SIGPIPE);
}

TEST_P(StreamRun, ATerminalWithItsSizeAndItsKeys) {
  Request request = shell_request(
      "trap 'stty size; echo resized' WINCH; trap 'echo interrupted; exit 7' INT; "
      "tty; stty size; echo ready; while :; do sleep 1000 & wait $!; done");
  request.tty = true;
  request.tty_rows = 33;
  request.tty_columns = 101;
  request.standard_input.kind = StdinSource::Kind::stream;
  Seen seen;
  request.on_output = seen.callback();
  auto running = host_->start(request);
  ASSERT_TRUE(running) << describe(running.error());
  ASSERT_TRUE(seen.wait_for("ready\r\n"));
  ASSERT_TRUE(running->resize(44, 55));
  ASSERT_TRUE(seen.wait_for("resized\r\n"));
  ASSERT_TRUE(running->write_stdin("\x03"));
  const ExecResult& result = running->wait();
  EXPECT_EQ(result.exit_code, 7) << why(result);
  EXPECT_THAT(seen.out(), HasSubstr("/dev/pts/"));
  EXPECT_THAT(seen.out(), HasSubstr("33 101\r\nready"));
  EXPECT_THAT(seen.out(), HasSubstr("44 55\r\nresized"));
  EXPECT_THAT(seen.out(), HasSubstr("interrupted\r\n"));
}

TEST_P(StreamRun, SignalsReachTheGroup) {
  Request request =
      shell_request("trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 1000 & wait $!; done");
  Seen seen;
  request.on_output = seen.callback();
  auto running = host_->start(request);
  ASSERT_TRUE(running);
  ASSERT_TRUE(seen.wait_for("ready\n"));
  ASSERT_TRUE(running->signal(SIGUSR1));
  EXPECT_EQ(running->wait().exit_code, 5);
  EXPECT_EQ(seen.out(), "ready\ncaught\n");
}

TEST_P(StreamRun, ATimeoutEndsOneTreeAndLeavesTheEnvironment) {
  const Barrier barrier(scene_->workspace() + "/barrier");
  auto neighbour = host_->start(shell_request("echo up; " + barrier.wait() + "exit 9"));
  ASSERT_TRUE(neighbour);
  const Witness witness(scene_->workspace() + "/witness");
  Request slow = shell_request(witness.hold() + "(setsid sleep 100 &); trap '' TERM; sleep 100");
  slow.timeout = 700ms;
  slow.settings_json = R"({"resources": {"kill_grace": "100ms"}})";
  const ExecResult timed_out = host_->run(slow);
  EXPECT_EQ(timed_out.status, Status::timed_out) << why(timed_out);
  EXPECT_TRUE(witness.wait_held());
  EXPECT_TRUE(witness.let_go());
  barrier.open();
  const ExecResult& other = neighbour->wait();
  EXPECT_EQ(other.exit_code, 9) << why(other);
  EXPECT_EQ(other.environment_id, timed_out.environment_id);
  EXPECT_EQ(shell("echo on").environment_id, timed_out.environment_id);
}

TEST_P(StreamRun, ACommandThatKillsItsSupervisorIsGone) {
  const Barrier barrier(scene_->workspace() + "/barrier");
  auto neighbour = host_->start(shell_request(barrier.wait() + "exit 9"));
  ASSERT_TRUE(neighbour);
  const Witness witness(scene_->workspace() + "/witness");
  const ExecResult killer = shell(witness.hold() + "(setsid sleep 100 &); kill -9 $PPID; sleep 10");
  ASSERT_TRUE(killer.failure);
  EXPECT_EQ(killer.failure->kind, FailureKind::environment_lost) << why(killer);
  EXPECT_EQ(killer.started, Started::yes);
  EXPECT_TRUE(witness.wait_held());
  EXPECT_TRUE(witness.let_go());
  neighbour->cancel();
  neighbour->wait();
}

TEST_P(StreamRun, AnEnvironmentThatVanishesIsLostAndNothingIsRunAgain) {
  const Witness witness(scene_->workspace() + "/witness");
  auto running = host_->start(shell_request("echo ran >> ran; " + witness.hold() + "sleep 100"));
  ASSERT_TRUE(running);
  ASSERT_TRUE(witness.wait_held());
  const auto guests = serving_guests(getpid());
  ASSERT_EQ(guests.size(), 1U);
  ASSERT_EQ(::kill(guests.front(), SIGKILL), 0);
  const ExecResult& result = running->wait();
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::environment_lost) << why(result);
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_TRUE(witness.let_go());
  EXPECT_EQ(shell("cat ran").out.data, "ran\n");
}

TEST_P(StreamRun, WithoutPersistenceEachRunHasItsOwn) {
  std::set<std::string> environments;
  for (int i = 0; i < 3; ++i) {
    Request request = shell_request("ls /tmp; echo > /tmp/mark");
    request.settings_json = R"({"session": {"persistent": false}})";
    const ExecResult result = host_->run(request);
    EXPECT_EQ(result.exit_code, 0) << why(result);
    EXPECT_EQ(result.out.data, "");
    environments.insert(result.environment_id);
    EXPECT_THAT(serving_guests(getpid()), ::testing::IsEmpty());
  }
  EXPECT_EQ(environments.size(), 3U);
}

}  // namespace
}  // namespace exechost::test
