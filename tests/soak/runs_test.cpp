// Ten thousand runs in one session: nothing grows, and the last is as right as the first.
#include <gmock/gmock.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <future>
#include <thread>

#include "tests/contract/session/named_scene.hpp"
#include "tests/soak/growth.hpp"
#include "tests/support/background.hpp"
#include "tests/support/cgroups.hpp"
#include "tests/support/guests.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

constexpr int kWarmUp = 1000;
constexpr int kRuns = 10'000;  // after that
constexpr int kStep = 1000;
constexpr int kMostFailures = 5;

// Of the numbers of runs, which are what they do as well.
bool is_script(int number) { return number % 10 == 0; }
bool is_missing(int number) { return number % 50 == 33; }
bool is_stopped(int number) { return number % 50 == 17; }
bool is_background(int number) { return number % 20 == 5; }
bool is_a_visitor(int number) { return number % 100 == 42; }

// What the runs of one place have in common.
class Runs {
 public:
  explicit Runs(Request like) : like_(std::move(like)) {}

  // Makes run `number` and compares it with what it has to be.
  void one(ExecHost& host, int number) {
    if (failures_ >= kMostFailures) return;
    if (is_missing(number)) return missing(host);
    if (is_stopped(number)) return stopped(host, number);
    if (is_script(number) && like_.tier != "node") return script(host);
    Request request = command({"/bin/echo", std::to_string(number)});
    const ExecResult result = host.run(request);
    check(result.status == Status::exited && result.exit_code == 0 && result.started == Started::yes &&
              result.out.data == std::to_string(number) + "\n" && result.warnings.empty(),
          "a command", result);
  }
  void in_the_background(ExecHost& host, int number) {
    if (failures_ >= kMostFailures) return;
    const Session session = host.session(*like_.session);
    const auto id = session.start_detached(command({"/bin/sh", "-c", "echo " + std::to_string(number) + "; exit 3"}));
    if (!id) return fail(id.error().message);
    const DetachedCommand ended = end_of(session, *id);
    std::uint64_t offset = 0;
    const auto said = session.read_log(*id, 1, offset);
    if (ended.exit_code != 3 || !said || *said != std::to_string(number) + "\n") fail("a command in the background");
  }
  bool are_wrong() const { return failures_ >= kMostFailures; }
  int scripts() const { return scripts_; }
  int last_count() const { return last_count_; }

 private:
  Request command(std::vector<std::string> argv) const {
    Request request = like_;
    request.argv = std::move(argv);
    return request;
  }

  void missing(ExecHost& host) {
    const ExecResult result = host.run(command({"/nonexistent/program"}));
    check(result.failure && result.failure->kind == FailureKind::spawn_failed &&
              result.failure->error_number == ENOENT && result.started == Started::no,
          "a program that is not there", result);
  }

  void stopped(ExecHost& host, int number) {
    switch (number / 50 % 3) {
      case 0: {
        Request request = command({"/bin/sleep", "100"});
        request.timeout = 50ms;
        const ExecResult result = host.run(request);
        return check(result.status == Status::timed_out, "a time-out", result);
      }
      case 1: {
        std::promise<void> up;
        Request request = command({"/bin/sh", "-c", "echo; exec sleep 100"});
        request.on_output = [&up](StdStream, std::string_view) { up.set_value(); };
        auto execution = host.start(request);
        if (!execution) return fail(execution.error().message);
        if (up.get_future().wait_for(20s) != std::future_status::ready) fail("a command that does not come up");
        execution->cancel();
        const ExecResult& result = execution->wait();
        return check(result.status == Status::cancelled && result.started == Started::yes, "a cancelled one", result);
      }
      default: {
        const ExecResult result = host.run(command({"/bin/sh", "-c", "kill -9 $$"}));
        return check(result.status == Status::signaled && result.signal_number == SIGKILL, "a killed one", result);
      }
    }
  }

  // Counts in the state that one hands on to the next.
  void script(ExecHost& host) {
    Request request = like_;
    request.shell = "count=$((count + 1)); export count; cd /tmp; echo $count";
    const ExecResult result = host.run(request);
    check(result.status == Status::exited && result.exit_code == 0 && result.warnings.empty(), "a script", result);
    ++scripts_;
    const int count = static_cast<int>(std::strtol(result.out.data.c_str(), nullptr, 10));
    for (int last = last_count_; last < count && !last_count_.compare_exchange_weak(last, count);) {
    }
  }

  void check(bool right, const char* what, const ExecResult& result) {
    if (!right) fail(std::string(what) + ": " + result.to_json());
  }
  void fail(const std::string& what) {
    ++failures_;
    ADD_FAILURE() << what;
  }

  const Request like_;
  std::atomic<int> failures_ = 0;
  std::atomic<int> scripts_ = 0;
  std::atomic<int> last_count_ = 0;
};

class Soak : public NamedScene {
 protected:
  static std::vector<pid_t> child_keepers() {
    std::vector<pid_t> found;
    for (const auto& process : descendants_of(getpid())) {
      if (process.name == "exechost-keeper" && process.parent == getpid()) found.push_back(process.pid);
    }
    return found;
  }
  // All the runs, in steps; `begin` says what is measured after the first of them.
  template <class Step, class Begin>
  static void soak(Runs& runs, const Step& step, const Begin& begin) {
    step(0, kWarmUp);
    const Growth growth = begin();
    growth.show(0);
    for (int done = 0; done < kRuns && !runs.are_wrong(); done += kStep) {
      step(kWarmUp + done, kWarmUp + done + kStep);
      growth.show(done + kStep);
    }
    ASSERT_FALSE(runs.are_wrong());
    growth.expect_none(kRuns);
  }
};

TEST_F(Soak, TheSharedEnvironmentOfAHost) {
  {
    ExecHost host(host_options(*scene_, KeeperPlacement::child));
    Runs runs{Request{}};
    const auto step = [&](int from, int to) {
      for (int number = from; number < to; ++number) runs.one(host, number);
    };
    const auto begin = [&] {
      const auto keepers = child_keepers();
      const auto guests = serving_guests();
      EXPECT_EQ(keepers.size(), 1u);
      EXPECT_EQ(guests.size(), 1u);
      return Growth(*scene_, {{"host", getpid()}, {"keeper", keepers.at(0)}, {"guest", guests.at(0)}});
    };
    soak(runs, step, begin);
    EXPECT_EQ(runs.last_count(), runs.scripts()) << "a script's state got lost";
  }
  EXPECT_THAT(running_descendants(0ms), IsEmpty());
}

TEST_F(Soak, ANamedSessionWithManyCallers) {
  constexpr int kCallers = 4;
  {
    std::vector<std::unique_ptr<ExecHost>> hosts;
    for (int i = 0; i < kCallers / 2; ++i) hosts.push_back(make_host());
    Request like;
    like.session = "soak";
    Runs runs{like};
    const auto step = [&](int from, int to) {
      std::atomic<int> next = from;
      const auto call = [&](ExecHost& host) {
        for (int number = next++; number < to; number = next++) {
          if (is_background(number)) {
            runs.in_the_background(host, number);
          } else if (is_a_visitor(number)) {
            runs.one(*make_host(), number);
          } else {
            runs.one(host, number);
          }
        }
      };
      std::vector<std::thread> callers;
      for (int i = 0; i < kCallers; ++i)
        callers.emplace_back([&, i] { call(*hosts[static_cast<std::size_t>(i / 2)]); });
      for (std::thread& caller : callers) caller.join();
    };
    const auto begin = [&] {
      const auto guests = serving_guests();
      EXPECT_EQ(guests.size(), 1u);
      return Growth(*scene_, {{"host", getpid()}, {"keeper", keeper()}, {"guest", guests.at(0)}});
    };
    soak(runs, step, begin);
    EXPECT_EQ(runs.last_count(), runs.scripts()) << "a script's state got lost";
  }
  end_keepers(*scene_);
  EXPECT_THAT(running_descendants(0ms), IsEmpty());
}

// Each in an environment of its own.
TEST_F(Soak, TheNodeTier) {
  scene_->file("home/.config/exechost/settings.json", R"({"admission": {"node": {"security": "full", "ask": "off"}}})",
               0600);
  {
    ExecHost host(host_options(*scene_, KeeperPlacement::child));
    Request like;
    like.tier = "node";
    like.backend = "local";
    like.settings_json = R"({"session": {"persistent": false}})";
    Runs runs{like};
    const auto step = [&](int from, int to) {
      for (int number = from; number < to; ++number) runs.one(host, number);
    };
    const auto begin = [&] {
      const auto keepers = child_keepers();
      EXPECT_EQ(keepers.size(), 1u);
      return Growth(*scene_, {{"host", getpid()}, {"keeper", keepers.at(0)}});
    };
    soak(runs, step, begin);
  }
  EXPECT_THAT(running_descendants(0ms), IsEmpty());
}

}  // namespace
}  // namespace exechost::test
