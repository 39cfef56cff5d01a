// The system call policy "base" as data. Default: allow. compile.cpp turns it into BPF at
// build time.
//
// What is *not* refused, and why:
//  - personality: changes only the caller's own address space, and sanitizers and debuggers
//    need ADDR_NO_RANDOMIZE; no_new_privs means there is no setuid program to weaken with it.
//  - SECCOMP_FILTER_FLAG_NEW_LISTENER: a listener can't allow what an outer filter refuses. A
//    profile with a listener of our own is stacked on this one, so the ban would hit ourselves.
//  - mknod, chroot's relatives by capability, raw sockets: no capability is left.
#pragma once

#include <cerrno>
#include <cstdint>

namespace exechost::guest::seccomp {

// When a rule holds. Only the low 32 bits are looked at where the kernel's parameter is an int:
// the upper half of the register is the caller's to choose and means nothing.
enum class Condition {
  always,
  argument_has_bit,     // (argument & value) == value, value is one bit
  argument_low_equals,  // low 32 bits == value
  family_below,         // whole argument < value
  family_equals,        // whole argument == value
  family_above,         // whole argument > value: also catches junk in the upper half
  creates_with_bit,     // argument - 1 has O_CREAT, and argument (the mode, nothing without it) has the bit
  unnamed_with_bit,     // the same for O_TMPFILE
  unix_pair_type,       // argument 0 == AF_UNIX and (argument 1 & SOCK_TYPE_MASK) == value
};

struct Rule {
  const char* syscall;
  int number;  // for a system call newer than libseccomp (the number is the same everywhere); else -1
  Condition condition;
  unsigned argument;
  int error_number;
  std::uint64_t value;
  const char* why;
};

// The values are the kernel's own (UAPI, stable), written out so that the host tool doesn't
// depend on the headers of the machine that builds it.
inline constexpr std::uint64_t kNewTime = 0x00000080;
inline constexpr std::uint64_t kNewNs = 0x00020000;
inline constexpr std::uint64_t kNewCgroup = 0x02000000;
inline constexpr std::uint64_t kNewUts = 0x04000000;
inline constexpr std::uint64_t kNewIpc = 0x08000000;
inline constexpr std::uint64_t kNewUser = 0x10000000;
inline constexpr std::uint64_t kNewPid = 0x20000000;
inline constexpr std::uint64_t kNewNet = 0x40000000;
inline constexpr std::uint64_t kTiocsti = 0x5412;
inline constexpr std::uint64_t kTioclinux = 0x541C;
inline constexpr std::uint64_t kSetUserIdBit = 04000;
inline constexpr std::uint64_t kCreate = 0100;        // O_CREAT
inline constexpr std::uint64_t kUnnamed = 020000000;  // O_TMPFILE's own bit, __O_TMPFILE
inline constexpr std::uint64_t kSetLease = 1024;      // F_SETLEASE
inline constexpr std::uint64_t kAfUnix = 1;
inline constexpr std::uint64_t kAfInet = 2;
inline constexpr std::uint64_t kAfInet6 = 10;

constexpr Rule refuse(const char* syscall, int error_number, const char* why) {
  return {syscall, -1, Condition::always, 0, error_number, 0, why};
}
// For a call that libseccomp may not know.
constexpr Rule refuse_new(const char* syscall, int number, int error_number, const char* why) {
  return {syscall, number, Condition::always, 0, error_number, 0, why};
}
constexpr Rule refuse_flag(const char* syscall, std::uint64_t flag, const char* why) {
  return {syscall, -1, Condition::argument_has_bit, 0, EPERM, flag, why};
}
constexpr Rule refuse_for_init(const char* syscall) {
  return {syscall, -1, Condition::argument_low_equals, 0, EPERM, 1, "process 1 is the guest"};
}
constexpr Rule refuse_value(const char* syscall, unsigned argument, std::uint64_t value, const char* why) {
  return {syscall, -1, Condition::argument_low_equals, argument, EPERM, value, why};
}
constexpr Rule refuse_ioctl(std::uint64_t command, const char* why) {
  return {"ioctl", -1, Condition::argument_low_equals, 1, EPERM, command, why};
}
constexpr Rule refuse_family(const char* syscall, Condition condition, std::uint64_t family, int error_number,
                             const char* why) {
  return {syscall, -1, condition, 0, error_number, family, why};
}
constexpr Rule refuse_unix_pair(std::uint64_t type) {
  return {"socketpair",
          -1,
          Condition::unix_pair_type,
          0,
          EPERM,
          type,
          "a datagram socket of a pair can be reconnected to a socket outside"};
}

// A set-user-id file that a command leaves in the workspace would be real on the host, and give its
// user's rights, root's perhaps, to whoever runs it there.
constexpr const char* kSetUserId = "a set-user-id file would be real outside";
constexpr Rule refuse_set_user_id(const char* syscall, unsigned mode_argument) {
  return {syscall, -1, Condition::argument_has_bit, mode_argument, EPERM, kSetUserIdBit, kSetUserId};
}
constexpr Rule refuse_creating_set_user_id(const char* syscall, Condition flags, unsigned mode_argument) {
  return {syscall, -1, flags, mode_argument, EPERM, kSetUserIdBit, kSetUserId};
}

inline constexpr Rule kBase[] = {
    // Other processes' memory, descriptors and control flow.
    refuse("ptrace", EPERM, "controls other processes"),
    refuse("process_vm_readv", EPERM, "reads other processes' memory"),
    refuse("process_vm_writev", EPERM, "writes other processes' memory"),
    refuse("pidfd_getfd", EPERM, "takes other processes' descriptors"),
    refuse("kcmp", EPERM, "compares kernel pointers of processes"),

    // Process 1 is the guest, with the command's uid: a limit on processor time, say, would make
    // the kernel kill it, which no signal from inside can.
    refuse_for_init("prlimit64"),
    refuse_for_init("sched_setscheduler"),
    refuse_for_init("sched_setparam"),
    refuse_for_init("sched_setattr"),
    refuse_for_init("sched_setaffinity"),
    // By number or group, and by user, which process 1 is one of.
    refuse_value("setpriority", 1, 1, "process 1 is the guest"),
    refuse_value("setpriority", 0, 2, "would be process 1's, too"),
    refuse_value("ioprio_set", 1, 1, "process 1 is the guest"),
    refuse_value("ioprio_set", 0, 3, "would be process 1's, too"),

    // The mount tree: it is the boundary.
    refuse("mount", EPERM, "changes the view"),
    refuse("umount2", EPERM, "changes the view"),
    refuse("pivot_root", EPERM, "changes the view"),
    refuse("chroot", EPERM, "changes the view"),
    refuse("open_tree", EPERM, "changes the view"),
    refuse("move_mount", EPERM, "changes the view"),
    refuse("fsopen", EPERM, "changes the view"),
    refuse("fsconfig", EPERM, "changes the view"),
    refuse("fsmount", EPERM, "changes the view"),
    refuse("fspick", EPERM, "changes the view"),
    refuse("mount_setattr", EPERM, "changes the view"),
    refuse_new("open_tree_attr", 467, EPERM, "changes the view"),

    // Namespaces: a new user namespace gives capabilities over new kernel surface.
    refuse("setns", EPERM, "enters another namespace"),
    refuse("clone3", ENOSYS, "its flags are in memory, out of a filter's sight; libc falls back to clone"),
    refuse_flag("clone", kNewNs, "makes a mount namespace"),
    refuse_flag("clone", kNewCgroup, "makes a cgroup namespace"),
    refuse_flag("clone", kNewUts, "makes a UTS namespace"),
    refuse_flag("clone", kNewIpc, "makes an IPC namespace"),
    refuse_flag("clone", kNewUser, "makes a user namespace"),
    refuse_flag("clone", kNewPid, "makes a PID namespace"),
    refuse_flag("clone", kNewNet, "makes a network namespace"),
    refuse_flag("unshare", kNewTime, "makes a time namespace"),
    refuse_flag("unshare", kNewNs, "makes a mount namespace"),
    refuse_flag("unshare", kNewCgroup, "makes a cgroup namespace"),
    refuse_flag("unshare", kNewUts, "makes a UTS namespace"),
    refuse_flag("unshare", kNewIpc, "makes an IPC namespace"),
    refuse_flag("unshare", kNewUser, "makes a user namespace"),
    refuse_flag("unshare", kNewPid, "makes a PID namespace"),
    refuse_flag("unshare", kNewNet, "makes a network namespace"),

    // Sockets: only IPv4 and IPv6, of a network namespace of its own. AF_UNIX reaches any
    // listening program whose socket file or abstract name is visible. Netlink is refused as a
    // whole: the network is cut or filtered, and what asks for interfaces has a fallback for
    // kernels without the family, which is what EAFNOSUPPORT says.
    refuse_family("socket", Condition::family_equals, kAfUnix, EPERM, "reaches programs outside"),
    refuse_family("socket", Condition::family_below, kAfUnix, EAFNOSUPPORT, "no known use"),
    refuse_family("socket", Condition::family_equals, 3, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_equals, 4, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_equals, 5, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_equals, 6, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_equals, 7, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_equals, 8, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_equals, 9, EAFNOSUPPORT, "not an allowed family"),
    refuse_family("socket", Condition::family_above, kAfInet6, EAFNOSUPPORT,
                  "netlink, packet, alg, vsock and the other families above AF_INET6"),
    refuse_family("socketpair", Condition::family_below, kAfUnix, EAFNOSUPPORT, "only AF_UNIX has pairs"),
    refuse_family("socketpair", Condition::family_above, kAfUnix, EAFNOSUPPORT, "only AF_UNIX has pairs"),
    // Of AF_UNIX pairs SOCK_STREAM (1) and SOCK_SEQPACKET (5) are allowed: they are connected for good.
    refuse_unix_pair(0),
    refuse_unix_pair(2),
    refuse_unix_pair(3),
    refuse_unix_pair(4),
    refuse_unix_pair(6),
    refuse_unix_pair(7),
    refuse_unix_pair(8),
    refuse_unix_pair(9),
    refuse_unix_pair(10),
    refuse_unix_pair(11),
    refuse_unix_pair(12),
    refuse_unix_pair(13),
    refuse_unix_pair(14),
    refuse_unix_pair(15),

    // io_uring does most system calls without passing a filter. ENOSYS: programs fall back.
    refuse("io_uring_setup", ENOSYS, "system calls that no filter sees"),
    refuse("io_uring_enter", ENOSYS, "system calls that no filter sees"),
    refuse("io_uring_register", ENOSYS, "system calls that no filter sees"),

    // Kernel surface that ordinary commands don't need.
    refuse("bpf", EPERM, "loads code into the kernel"),
    refuse("perf_event_open", EPERM, "large attack surface, side channels"),
    refuse("userfaultfd", EPERM, "holds the kernel up at will, a building block of exploits"),
    refuse("keyctl", EPERM, "keyrings are not in a namespace"),
    refuse("add_key", EPERM, "keyrings are not in a namespace"),
    refuse("request_key", EPERM, "keyrings are not in a namespace; starts a program on the host"),
    refuse("open_by_handle_at", EPERM, "opens files without walking the view"),
    refuse("name_to_handle_at", EPERM, "the other half of open_by_handle_at"),

    // Files that outlive the command.
    refuse_set_user_id("chmod", 1),
    refuse_set_user_id("fchmod", 1),
    refuse_set_user_id("fchmodat", 2),
    refuse_set_user_id("creat", 1),
    refuse_set_user_id("mknod", 1),
    refuse_set_user_id("mknodat", 2),
    refuse_creating_set_user_id("open", Condition::creates_with_bit, 2),
    refuse_creating_set_user_id("open", Condition::unnamed_with_bit, 2),
    refuse_creating_set_user_id("openat", Condition::creates_with_bit, 3),
    refuse_creating_set_user_id("openat", Condition::unnamed_with_bit, 3),
    refuse_new("fchmodat2", 452, ENOSYS, "libc falls back to fchmodat, which is filtered by its mode"),
    refuse_new("openat2", 437, ENOSYS, "its mode is in memory, out of a filter's sight; programs fall back to openat"),
    {"fcntl", -1, Condition::argument_low_equals, 1, EPERM, kSetLease,
     "a lease makes others wait who open the file on the host, up to 45 seconds"},

    // The machine itself. No capability is left for these; refused before the kernel's own code.
    refuse("kexec_load", EPERM, "replaces the kernel"),
    refuse("kexec_file_load", EPERM, "replaces the kernel"),
    refuse("init_module", EPERM, "loads code into the kernel"),
    refuse("finit_module", EPERM, "loads code into the kernel"),
    refuse("delete_module", EPERM, "unloads code from the kernel"),
    refuse("quotactl", EPERM, "quotas are the host's"),
    refuse("quotactl_fd", EPERM, "quotas are the host's"),
    refuse("swapon", EPERM, "swap is the host's"),
    refuse("swapoff", EPERM, "swap is the host's"),
    refuse("reboot", EPERM, "the machine is the host's"),
    refuse("iopl", EPERM, "hardware ports"),
    refuse("ioperm", EPERM, "hardware ports"),
    refuse("acct", EPERM, "process accounting is the host's"),
    refuse("syslog", EPERM, "the kernel's log is the host's"),
    refuse("settimeofday", EPERM, "the clock is the host's"),
    refuse("clock_settime", EPERM, "the clock is the host's"),
    refuse("adjtimex", EPERM, "the clock is the host's"),
    refuse("clock_adjtime", EPERM, "the clock is the host's"),

    // Typing into a terminal on behalf of its user. The kernel's `cmd` is 32 bits wide.
    refuse_ioctl(kTiocsti, "types into the terminal"),
    refuse_ioctl(kTioclinux, "types into the console"),
};

}  // namespace exechost::guest::seccomp
