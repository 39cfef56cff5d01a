#include "tests/soak/growth.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/support/ledger_files.hpp"

namespace exechost::test {
namespace {

using ::testing::ElementsAreArray;

constexpr auto kPatience = std::chrono::seconds(2);
// A run that leaves this much behind is found. Allowed is half of what such a leak makes: a single arena moves by some
// tens of KiB between two moments, a keeper's by less than a hundred.
constexpr std::size_t kLeakBytesPerRun = 100;
// This process has the test's threads, with an arena each, which grow into each other's gaps for thousands of runs:
// what is resident in it says less, so what it has allocated is counted.
constexpr long kArenas = 4;
// A pool that gets one more when calls happen to meet (keeper/worker_pool.hpp).
constexpr long kWorkers = 16;

long entries_of(const std::string& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  if (error) return -1;
  return std::distance(begin(entries), end(entries));
}

std::size_t allocated_here() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

Footprint footprint_of(pid_t pid) {
  return {entries_of("/proc/" + std::to_string(pid) + "/fd"), status_number(pid, "Threads"),
          status_number(pid, "RssAnon")};
}

std::set<std::string> files_below(const std::string& folder) {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    found.insert(entry.path().string());
  }
  return found;
}

Growth::Growth(const Scene& scene, std::vector<Member> members)
    : scene_(scene),
      members_(std::move(members)),
      allocated_(allocated_here()),
      ledger_entries_(test::ledger_entries(scene).size()),
      files_(files_below(scene.base())) {
  for (const Member& member : members_) before_.push_back(footprint_of(member.pid));
  for (const auto& process : descendants_of(::getpid())) processes_.insert(process.pid);
}

void Growth::show(int runs) const {
  std::string text = fmt::format("{:6} runs:", runs);
  for (const Member& member : members_) {
    const Footprint now = footprint_of(member.pid);
    text += fmt::format("  {} {} KiB {} descriptors {} threads", member.name, now.anonymous_kib, now.descriptors,
                        now.threads);
  }
  fmt::print("{}  {} KiB allocated here\n", text, allocated_here() / 1024);
  static_cast<void>(std::fflush(stdout));
}

// Those that have ended and that nobody waits for are counted, too.
std::vector<ProcessInfo> Growth::added_processes() const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    auto found = descendants_of(::getpid());
    std::erase_if(found, [this](const ProcessInfo& process) { return processes_.contains(process.pid); });
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (found.empty() || left.count() <= 0) return found;
    for (const auto& process : found) wait_until_ended(process.pid, left);
  }
}

// A keeper has said that a command is gone a moment before it has closed what it had for it.
Footprint Growth::settled(const Member& member, const Footprint& before) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const Footprint now = footprint_of(member.pid);
    if (now.descriptors <= before.descriptors || std::chrono::steady_clock::now() >= deadline) return now;
    std::this_thread::yield();
  }
}

void Growth::expect_none([[maybe_unused]] int runs) const {
  const auto added = added_processes();
  EXPECT_TRUE(added.empty()) << to_text(added);
  EXPECT_EQ(test::ledger_entries(scene_).size(), ledger_entries_);
  EXPECT_THAT(files_below(scene_.base()), ElementsAreArray(files_));
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const Footprint now = settled(member, before_[i]);
    EXPECT_LE(now.descriptors, before_[i].descriptors) << member.name;
    EXPECT_LE(now.threads, before_[i].threads + kWorkers) << member.name;
    // Sanitizers keep what was freed.
#ifndef EXECHOST_SANITIZED
    const long allowed = kLeakBytesPerRun * static_cast<std::size_t>(runs) / 1024 / 2;
    EXPECT_LE(now.anonymous_kib - before_[i].anonymous_kib, member.pid == ::getpid() ? kArenas * allowed : allowed)
        << member.name;
#endif
  }
#ifndef EXECHOST_SANITIZED
  EXPECT_LE(allocated_here(), allocated_ + kLeakBytesPerRun * static_cast<std::size_t>(runs) / 2) << "host";
#endif
}

}  // namespace exechost::test
