#include "tests/soak/random_kill.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "exechost/session.hpp"
#include "tests/soak/family.hpp"
#include "tests/soak/growth.hpp"
#include "tests/soak/host_report.hpp"
#include "tests/support/cgroups.hpp"
#include "tests/support/keepers.hpp"
#include "tests/support/ledger_files.hpp"
#include "tests/support/library_host.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr auto kAfterDeath = 2000ms;
constexpr milliseconds kLookAgain = 50ms;
constexpr auto kStall = 2s;
constexpr int kMostFailures = 3;

std::uint64_t chosen_seed() {
  const char* given = std::getenv("EXECHOST_KILL_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

milliseconds left_until(steady_clock::time_point deadline) {
  return std::max(0ms, std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()));
}

// Processes that nothing explains when the host is dead: all but a detached keeper, its sessions, and in them commands
// in the background.
std::vector<ProcessInfo> strays() {
  const Family family;
  std::vector<ProcessInfo> found;
  for (const auto& process : family.all()) {
    const bool of_a_session = family.is_below(process, is_detached_keeper);
    const bool supervises_nothing = process.name == "exechost-guest" &&
                                    family.parent_name(process) == "exechost-guest" && !family.has_child(process.pid);
    if (!of_a_session || supervises_nothing || has_variable(process.pid, "SOAK_RUN")) found.push_back(process);
  }
  return found;
}

// Waits until there are none, and reaps what this process got from those that died. Looks again from time to time: one
// may have become what it should be instead of ending, as what a dead host forked to be a keeper.
std::vector<ProcessInfo> wait_for_none(std::vector<ProcessInfo> (*look)(), steady_clock::time_point deadline) {
  for (;;) {
    auto found = look();
    if (found.empty() || left_until(deadline) == 0ms) return found;
    wait_until_ended(found.front().pid, std::min(left_until(deadline), kLookAgain));
    remaining_children({}, 0ms);
  }
}

std::vector<std::string> mounts_of(const Scene& scene) {
  std::vector<std::string> found;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(scene.base()) != std::string::npos) found.push_back(line);
  }
  return found;
}

// Of those whose names hold one of these, the ones that stay as they are.
std::vector<std::string> lasting_cgroups(steady_clock::time_point deadline, const std::set<std::string>& names) {
  auto found = empty_command_cgroups();
  std::erase_if(found, [&names](const std::string& path) {
    return std::none_of(names.begin(), names.end(),
                        [&path](const std::string& name) { return path.find(name) != std::string::npos; });
  });
  while (!found.empty() && left_until(deadline) != 0ms) {
    std::this_thread::yield();
    const auto now = empty_command_cgroups();
    std::erase_if(found,
                  [&now](const std::string& path) { return std::find(now.begin(), now.end(), path) == now.end(); });
  }
  return found;
}

class RandomKill {
 public:
  RandomKill(Victim victim, std::uint64_t seed) : victim_(victim), random_(seed) {
    become_subreaper();
    scene_->file("home/.config/exechost/settings.json",
                 R"({"admission": {"node": {"security": "full", "ask": "off"}}})", 0600);
    scene_->folder("tmp");
  }
  ~RandomKill() {
    for (int round = 0; round < 100; ++round) {
      const auto left = running_descendants(0ms);
      if (left.empty()) break;
      for (const auto& process : left) ::kill(process.pid, SIGKILL);
      remaining_children({}, 100ms);
    }
  }
  RandomKill(const RandomKill&) = delete;
  RandomKill& operator=(const RandomKill&) = delete;

  // A life that nobody disturbs: how long it lasts, and what it leaves.
  void measure() {
    for (int i = 0; i < 2; ++i) {
      const auto began = steady_clock::now();
      Program host(host_program("child"));
      ASSERT_TRUE(host.wait_for_output("over\n", 60s));
      const auto until_over = steady_clock::now() - began;
      const ProgramEnd end = host.finish();
      const auto whole = steady_clock::now() - began;
      const HostReport report(end.out);
      ASSERT_TRUE(report.done && report.job == "ok") << end.out << end.err;
      expect_one_disturbance(report, {});
      ASSERT_EQ(disturbed_runs(report), 0) << end.out << end.err;
      expect_honest(report, scene_->workspace());
      for (const auto& [what, run] : report.ends) note_environment(run.environment);
      const auto span = victim_ == Victim::host ? whole : until_over;
      span_ = std::max(span_, std::chrono::duration_cast<std::chrono::microseconds>(span));
      end_keepers(*scene_);
      clear_workspace();
      files_ = files_that_stay();
      expect_nothing_left(0);
    }
  }

  void one(int number) {
    const std::chrono::microseconds delay(std::uniform_int_distribution<long>(0, span_.count())(random_));
    const bool in_process = victim_ == Victim::host && random_() % 2 == 0;
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       fmt::format("instant {}: after {} us of {}{}", number, delay.count(),
                                                   span_.count(), in_process ? ", the keeper in the host" : ""));
    const auto began = steady_clock::now();
    Program host(host_program(in_process ? "in_process" : "child"));
    host.wait_for_output("done\n", std::chrono::floor<milliseconds>(delay));
    while (steady_clock::now() < began + delay) {
    }
    // Nothing to kill before it is there.
    auto victim = find_victim(host.pid());
    while (!victim && !host.wait_for_output("over\n", 1ms) && !host.has_ended()) victim = find_victim(host.pid());
    std::vector<ProcessInfo> family;
    if (victim) family = descendants_of(*victim);
    killed_at_ = steady_clock::now();
    // Those of other tests are nobody's business: they come and go.
    cgroups_.clear();
    note_trial(host.pid());
    for (const auto& process : family) note_trial(process.pid);
    if (victim) {
      note_trial(*victim);
      if (::kill(*victim, SIGKILL) == 0) ++hits_;
    }
    if (victim_ == Victim::host) return after_the_host(host, in_process);
    for (const auto& process : family) {
      EXPECT_TRUE(wait_until_ended(process.pid, left_until(killed_at_ + kAfterDeath))) << to_text({process});
    }
    if (victim) note_time();
    after_another(host);
  }

  int hits() const { return hits_; }
  void show() const {
    fmt::print("{} of them hit, {} runs disturbed, {} orphans in the ledger, {} ms at most until nothing was left\n",
               hits_, disturbed_, orphans_, slowest_.count());
  }

 private:
  ProgramOptions host_program(const std::string& placement) const {
    ProgramOptions options = scene_->cli({});
    options.argv = {EXECHOST_KILL_HOST, test_prefix(), placement};
    options.env["TMPDIR"] = scene_->base() + "/tmp";
    options.leaves_a_keeper = true;
    return options;
  }

  // One of them, where there are several.
  std::optional<pid_t> find_victim(pid_t host) {
    const Family family;
    std::vector<pid_t> found;
    for (const auto& process : family.all()) {
      const bool is_one = [&] {
        switch (victim_) {
          case Victim::host: return process.pid == host;
          case Victim::child_keeper:
            return process.name == "exechost-keeper" && process.parent == host && !is_detached_keeper(process);
          // Not the one that starts it and waits.
          case Victim::detached_keeper: return is_detached_keeper(process) && process.parent != host;
          case Victim::guest: return is_serving_guest(family, process);
          case Victim::shell:
            return (process.name == "bash" || process.name == "sh") &&
                   family.parent_name(process) == "exechost-guest" && has_variable(process.pid, "SOAK_SHELL");
        }
        return false;
      }();
      if (is_one) found.push_back(process.pid);
    }
    if (found.empty()) return std::nullopt;
    return found[random_() % found.size()];
  }

  void after_the_host(Program& host, bool in_process) {
    const ProgramEnd end = host.finish();
    const auto left = wait_for_none(strays, killed_at_ + kAfterDeath);
    EXPECT_TRUE(left.empty()) << to_text(left) << end.out << end.err;
    note_time();
    const HostReport report(end.out);
    expect_honest(report, scene_->workspace());
    for (const auto& [what, run] : report.ends) note_environment(run.environment);
    disturbed_ += static_cast<int>(!report.done);
    EXPECT_LE(held_entries(*scene_).size(), 1u) << "the session's";
    {
      ExecHost next(host_options(*scene_, KeeperPlacement::child));
      const Session session = next.session("s");
      const bool open = report.job == "ok";
      if (open) {
        const auto job = session.await("job", 0, 0, 0ms);
        EXPECT_TRUE(job) << job.error().message;
        EXPECT_TRUE(!job || (!job->ended && job->started == Started::yes)) << "it goes on without its host";
      }
      const ExecResult run = session.run(shell_request("echo on"));
      EXPECT_EQ(run.out.data, "on\n") << run.to_json();
      EXPECT_FALSE(run.environment_recreated);
      // It takes away what a keeper was killed with in its hands.
      Request local = sh_request("echo on");
      local.tier = "node";
      local.backend = "local";
      EXPECT_EQ(next.run(local).out.data, "on\n");
    }
    end_keepers(*scene_);
    expect_nothing_left(in_process ? 4 : 0);
  }

  void after_another(Program& host) {
    const ProgramEnd end = host.finish();
    const auto ended_at = steady_clock::now();
    EXPECT_EQ(end.exit_status(), 0) << end.out << end.err;
    const HostReport report(end.out);
    EXPECT_TRUE(report.done) << end.out << end.err;
    EXPECT_LT(end.duration, kStall + 10 * span_) << "something waited for what would not come" << end.err;
    expect_honest(report, scene_->workspace());
    for (const auto& [what, run] : report.ends) note_environment(run.environment);
    expect_one_disturbance(report, what_may_be());
    disturbed_ += disturbed_runs(report);
    const auto left = wait_for_none(strays, ended_at + kAfterDeath);
    EXPECT_TRUE(left.empty()) << to_text(left);
    if (::testing::Test::HasFailure()) fmt::print("{}", end.err);
    if (keepers_of(*scene_).empty()) {
      // Killed after the last run of the session: its place and its mark wait for the next.
      ExecHost next(host_options(*scene_, KeeperPlacement::child));
      const ExecResult run = next.session("s").run(shell_request("echo on"));
      EXPECT_EQ(run.out.data, "on\n") << run.to_json();
      EXPECT_TRUE(run.environment_recreated) << run.to_json();
    }
    end_keepers(*scene_);
    expect_nothing_left(victim_ == Victim::child_keeper || victim_ == Victim::detached_keeper ? 4 : 0);
  }

  Disturbance what_may_be() const {
    switch (victim_) {
      case Victim::host: break;
      case Victim::child_keeper: return {{"plain", "stray", "script", "local"}, {"plugin_crashed"}, 0, ""};
      case Victim::detached_keeper: return {{"named"}, {"plugin_crashed"}, 0, "unavailable"};
      case Victim::guest: return {{"plain", "stray", "script", "named"}, {"environment_lost"}, 0, "provision_failed"};
      case Victim::shell: return {{"script", "named"}, {}, SIGKILL, ""};
    }
    return {};
  }

  // With every keeper told to end, too. Entries that a keeper left which was killed have no holder.
  void expect_nothing_left(std::size_t most_orphans) {
    const auto deadline = steady_clock::now() + kAfterDeath;
    const auto left = wait_for_none([] { return running_descendants(0ms); }, deadline);
    EXPECT_TRUE(left.empty()) << to_text(left);
    remaining_children({}, 0ms);
    EXPECT_THAT(held_entries(*scene_), IsEmpty());
    const auto entries = ledger_entries(*scene_);
    EXPECT_LE(entries.size(), most_orphans);
    orphans_ += entries.size();
    for (const std::string& entry : entries) {
      note_environment(std::filesystem::path(entry).stem().string());
      std::filesystem::remove(entry);
    }
    clear_workspace();
    EXPECT_THAT(files_that_stay(), ElementsAreArray(files_));
    EXPECT_THAT(mounts_of(*scene_), IsEmpty());
    EXPECT_THAT(lasting_cgroups(deadline, cgroups_), IsEmpty());
  }

  // But for marks: a named session that was lost has one until somebody opens it again and is told.
  std::set<std::string> files_that_stay() const {
    std::set<std::string> files = files_below(scene_->base());
    std::erase_if(files, [](const std::string& path) { return path.find(".sessions/s") != std::string::npos; });
    return files;
  }
  void clear_workspace() const {
    for (const auto& entry : std::filesystem::directory_iterator(scene_->workspace())) {
      std::filesystem::remove_all(entry.path());
    }
  }
  // What a keeper makes to see whether it can make any has its process in its name.
  void note_trial(pid_t pid) { cgroups_.insert("-" + std::to_string(pid) + "-"); }
  // Those of commands have the beginning of their environment's.
  void note_environment(const std::string& id) { cgroups_.insert("/exechost-" + id.substr(0, 12) + "-"); }
  void note_time() { slowest_ = std::max(slowest_, std::chrono::ceil<milliseconds>(steady_clock::now() - killed_at_)); }

  const Victim victim_;
  std::mt19937_64 random_;
  const std::unique_ptr<Scene> scene_ = own_scene();
  std::chrono::microseconds span_{0};
  std::set<std::string> files_;
  steady_clock::time_point killed_at_;
  std::set<std::string> cgroups_;  // parts of the names of those that what was killed may have left
  int hits_ = 0;
  int disturbed_ = 0;
  std::size_t orphans_ = 0;
  milliseconds slowest_{0};
};

}  // namespace

void kill_at_random_instants(Victim victim, int instants) {
  const std::uint64_t seed = chosen_seed();
  fmt::print("EXECHOST_KILL_SEED={}\n", seed);
  const ::testing::ScopedTrace trace(__FILE__, __LINE__, fmt::format("EXECHOST_KILL_SEED={}", seed));
  RandomKill kills(victim, seed);
  ASSERT_NO_FATAL_FAILURE(kills.measure());
  int failures = 0;
  // Now and then an instant hits nobody; of few so many may be like that that the others prove little.
  const auto are_enough = [&](int done) { return done >= instants && kills.hits() >= instants / 3; };
  constexpr int kMostTimes = 4;
  for (int i = 0; !are_enough(i) && i < kMostTimes * instants && failures < kMostFailures; ++i) {
    const auto* const result = ::testing::UnitTest::GetInstance()->current_test_info()->result();
    const int before = result->total_part_count();
    kills.one(i);
    if (result->total_part_count() != before) ++failures;
  }
  kills.show();
  if (failures == 0) {
    EXPECT_GE(kills.hits(), instants / 3) << "mostly there was nobody to kill";
  }
}

}  // namespace exechost::test
