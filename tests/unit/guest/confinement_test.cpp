// What the command finds itself confined by.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

using Confinement = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, Confinement, testing::ValuesIn(every_place()), name_of);

std::map<std::string, std::string> status_of(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(":\t");
    if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return fields;
}

// conformance P02.
TEST_P(Confinement, NoPrivilegesAreLeft) {
  GuestProcess guest(programs_, spec_of({"cat", "/proc/self/status"}), here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::confined), nullptr);
  EXPECT_EQ(guest.find(MessageType::confined)->seccomp, 1U);
  EXPECT_EQ(guest.find(MessageType::confined)->landlock_abi, 0U);
  const auto status = status_of(guest.out());
  const std::string none = "0000000000000000";
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) EXPECT_EQ(status.at(set), none) << set;
  // Emptying the bounding set takes CAP_SETPCAP, which an ordinary user does not have.
  if (GetParam().root) {
    EXPECT_EQ(status.at("CapBnd"), none);
  }
  EXPECT_EQ(status.at("NoNewPrivs"), "1");
  EXPECT_EQ(status.at("Seccomp"), "2");
}

TEST_P(Confinement, WithoutAProfileThereIsNoFilter) {
  SpecWriter spec;
  spec.add_argument("/bin/cat");
  spec.add_argument("/proc/self/status");
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.find(MessageType::confined)->seccomp, 0U);
  EXPECT_EQ(status_of(guest.out()).at("Seccomp"), "0");
  EXPECT_EQ(status_of(guest.out()).at("NoNewPrivs"), "1");
}

struct Row {
  int error;
  int signal;
};
std::map<std::string, Row> rows_of(const std::string& text) {
  std::map<std::string, Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    rows[json.at("name")] = {json.at("errno").get<int>(), json.at("signal").get<int>()};
  }
  return rows;
}

const std::map<std::string, int> kExpected = {
    {"ptrace_traceme", EPERM},
    {"process_vm_readv", EPERM},
    {"process_vm_writev", EPERM},
    {"pidfd_getfd", EPERM},
    {"kcmp", EPERM},
    {"mount", EPERM},
    {"umount2", EPERM},
    {"pivot_root", EPERM},
    {"chroot", EPERM},
    {"open_tree", EPERM},
    {"move_mount", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"mount_setattr", EPERM},
    {"open_tree_attr", EPERM},
    {"setns", EPERM},
    {"clone3", ENOSYS},
    {"unshare_time", EPERM},
    {"unshare_mount", EPERM},
    {"unshare_cgroup", EPERM},
    {"unshare_uts", EPERM},
    {"unshare_ipc", EPERM},
    {"unshare_user", EPERM},
    {"unshare_pid", EPERM},
    {"unshare_net", EPERM},
    {"unshare_user_and_files", EPERM},
    {"unshare_files", 0},
    {"clone_mount", EPERM},
    {"clone_cgroup", EPERM},
    {"clone_uts", EPERM},
    {"clone_ipc", EPERM},
    {"clone_user", EPERM},
    {"clone_pid", EPERM},
    {"clone_net", EPERM},
    {"clone_user_high_bits", EPERM},
    {"clone_plain", 0},
    {"socket_unix_stream", EPERM},
    {"socket_unix_dgram", EPERM},
    {"socket_unix_high_bits", EAFNOSUPPORT},
    {"socket_unspec", EAFNOSUPPORT},
    {"socket_ax25", EAFNOSUPPORT},
    {"socket_appletalk", EAFNOSUPPORT},
    {"socket_x25", EAFNOSUPPORT},
    {"socket_netlink_route", EAFNOSUPPORT},
    {"socket_packet", EAFNOSUPPORT},
    {"socket_alg", EAFNOSUPPORT},
    {"socket_vsock", EAFNOSUPPORT},
    {"socket_xdp", EAFNOSUPPORT},
    {"socket_inet", 0},
    {"socket_inet6", 0},
    {"socketpair_stream", 0},
    {"socketpair_seqpacket", 0},
    {"socketpair_dgram", EPERM},
    {"socketpair_dgram_flags", EPERM},
    {"socketpair_raw", EPERM},
    {"socketpair_dgram_high_bits", EAFNOSUPPORT},
    {"socketpair_inet", EAFNOSUPPORT},
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},
    {"bpf", EPERM},
    {"perf_event_open", EPERM},
    {"userfaultfd", EPERM},
    {"keyctl", EPERM},
    {"add_key", EPERM},
    {"request_key", EPERM},
    {"open_by_handle_at", EPERM},
    {"name_to_handle_at", EPERM},
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"reboot", EPERM},
    {"acct", EPERM},
    {"syslog", EPERM},
    {"settimeofday", EPERM},
    {"clock_settime", EPERM},
    {"adjtimex", EPERM},
    {"clock_adjtime", EPERM},
    {"ioctl_tiocsti", EPERM},
    {"ioctl_tiocsti_high_bits", EPERM},
    {"ioctl_tioclinux", EPERM},
    {"ioctl_other", EBADF},
    {"personality_query", 0},
    {"memfd_create", 0},
    {"no_such_call", ENOSYS},
    {"fchmod_setuid", EPERM},
    {"fchmodat_setuid", EPERM},
    {"fchmodat_plain", ENOENT},
    {"fchmodat2_setuid", ENOSYS},
    {"mknodat_setuid", EPERM},
    {"openat_creat_setuid", EPERM},
    {"openat_creat_plain", ENOENT},
    {"openat_tmpfile_setuid", EPERM},
    {"openat_junk_mode", ENOENT},
    {"openat2", ENOSYS},
    {"fcntl_setlease", EPERM},
    {"fcntl_setlease_high_bits", EPERM},
    {"fcntl_getfd", EBADF},
#if defined(__x86_64__)
    {"chmod_setuid", EPERM},
    {"chmod_setgid", ENOENT},
    {"creat_setuid", EPERM},
    {"mknod_setuid", EPERM},
    {"open_creat_setuid", EPERM},
    {"open_tmpfile_setuid", EPERM},
    {"open_junk_mode", ENOENT},
#endif
#if defined(__x86_64__)
    {"iopl", EPERM},
    {"ioperm", EPERM},
#endif
};

TEST_P(Confinement, EverySystemCallOfThePolicyForReal) {
  GuestProcess guest(programs_, spec_of({programs_.probe("syscall_probe")}), here());
  ASSERT_TRUE(guest.finish());
  auto rows = rows_of(guest.out());
  for (const auto& [name, error] : kExpected) {
    ASSERT_TRUE(rows.contains(name)) << name;
    EXPECT_EQ(rows[name].error, error) << name;
    EXPECT_EQ(rows[name].signal, 0) << name;
    rows.erase(name);
  }
#if defined(__x86_64__)
  for (const char* name : {"x32_getpid", "i386_getpid"}) {
    ASSERT_TRUE(rows.contains(name)) << name;
    EXPECT_EQ(rows[name].signal, SIGSYS) << name << ": another calling convention kills";
    rows.erase(name);
  }
#endif
  for (const auto& [name, row] : rows) ADD_FAILURE() << name << " is probed, but nothing is said about it";
}

class ViewChecks : public InEveryPlace {
 protected:
  // How the run of `true` fails when the check is part of its specification; empty: it does not.
  std::string outcome_of(const std::string& path, std::uint64_t inode_change, bool same) {
    struct stat status {};
    EXPECT_EQ(::stat("/usr", &status), 0);
    SpecWriter spec = spec_of({"true"});
    spec.add_view_check("/", root().st_dev, root().st_ino, true);
    spec.add_view_check(path, status.st_dev, status.st_ino + inode_change, same);
    GuestProcess guest(programs_, spec, here());
    EXPECT_TRUE(guest.finish());
    const Message* failed = guest.find(MessageType::failed);
    if (failed == nullptr) return "";
    EXPECT_EQ(guest.find(MessageType::confined), nullptr);
    EXPECT_EQ(failed->step, Step::view);
    EXPECT_EQ(failed->number, 1);
    return std::strerror(failed->error_number);
  }
  static struct stat root() {
    struct stat status {};
    EXPECT_EQ(::stat("/", &status), 0);
    return status;
  }
};
INSTANTIATE_TEST_SUITE_P(Guest, ViewChecks, testing::ValuesIn(every_place()), name_of);

TEST_P(ViewChecks, WhatHasToBeThereIs) {
  EXPECT_EQ(outcome_of("/usr", 0, true), "");
  EXPECT_EQ(outcome_of("/usr", 1, true), std::strerror(ESTALE));
  EXPECT_EQ(outcome_of("/nonexistent", 0, true), std::strerror(ESTALE));
}

TEST_P(ViewChecks, WhatMustNotBeThereIsNot) {
  EXPECT_EQ(outcome_of("/usr", 1, false), "");
  EXPECT_EQ(outcome_of("/usr", 0, false), std::strerror(ESTALE));
  EXPECT_EQ(outcome_of("/nonexistent", 0, false), "");
}

// Closed while the guest looks, and open again when the command runs: that would be no look at all.
TEST_P(ViewChecks, WhatHasToBeThereMustBeReachable) {
  // Anybody's but root's: nobody else may look into it. Root without a boundary may, and sees another file.
  EXPECT_EQ(outcome_of("/root/nothing", 0, true), std::strerror(ESTALE));
}

TEST_P(ViewChecks, ALinkOnTheWayIsAnotherPlace) {
  EXPECT_EQ(outcome_of("/proc/self/root/usr", 0, true), std::strerror(ESTALE));
  EXPECT_EQ(outcome_of("/proc/self/root/usr", 0, false), std::strerror(ESTALE));
}

// That the probe can tell: without the filter the same calls answer differently.
TEST_P(Confinement, WithoutTheFilterTheProbeSeesTheDifference) {
  SpecWriter spec;
  spec.add_argument(programs_.probe("syscall_probe"));
  for (const char* name : {"socket_unix_stream", "socketpair_dgram", "unshare_files", "ioctl_tiocsti", "fsconfig",
                           "clone_plain", "clock_settime", "kcmp"}) {
    spec.add_argument(name);
  }
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  const auto rows = rows_of(guest.out());
  EXPECT_EQ(rows.at("socket_unix_stream").error, 0);
  EXPECT_EQ(rows.at("socketpair_dgram").error, 0);
  EXPECT_EQ(rows.at("ioctl_tiocsti").error, EBADF);
  EXPECT_NE(rows.at("fsconfig").error, EPERM);
  EXPECT_NE(rows.at("kcmp").error, EPERM);
}

}  // namespace
}  // namespace exechost::guest::test
