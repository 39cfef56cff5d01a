// Memory stays bounded under unbounded output: 100 MiB with a cap of 1 MiB.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "core/base/unique_fd.hpp"
#include "tests/support/library_host.hpp"

namespace exechost::test {
namespace {

constexpr std::uint64_t kBytes = 100ull * 1024 * 1024;
constexpr long kAllowedKib = 16L * 1024;

// proc(5): 5 sets the peak resident set size back to the present one.
void reset_peak(pid_t pid) {
  const UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/clear_refs").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(file) << pid;
  ASSERT_EQ(::write(file.get(), "5", 1), 1);
}

TEST(Memory, HundredMebibytesThroughOne) {
  const auto scene = own_scene();
  ExecHost host(host_options(*scene, KeeperPlacement::child));
  // What a first run needs stays; it isn't counted.
  ASSERT_EQ(host.run(shell_request("echo warm")).status, Status::exited);
  std::vector<pid_t> measured{getpid()};
  for (const auto& process : descendants_of(getpid())) {
    if (process.name == "exechost-keeper") measured.push_back(process.pid);
  }
  ASSERT_EQ(measured.size(), 2u);
  std::vector<long> before;
  for (const pid_t pid : measured) {
    reset_peak(pid);
    before.push_back(status_number(pid, "VmRSS"));
  }

  const ExecResult result = host.run(shell_request("head -c " + std::to_string(kBytes) + " /dev/zero; echo end >&2"));

  EXPECT_EQ(result.status, Status::exited);
  EXPECT_EQ(result.out.total_bytes, kBytes);
  EXPECT_EQ(result.out.data.size() + result.out.dropped_bytes, kBytes);
  EXPECT_EQ(result.out.data.size(), 1024u * 1024);
  EXPECT_EQ(result.err.data, "end\n");
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_LT(status_number(measured[i], "VmHWM") - before[i], kAllowedKib) << (i == 0 ? "host" : "keeper");
  }
}

}  // namespace
}  // namespace exechost::test
