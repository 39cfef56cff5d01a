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
  unix_pair_type,       // argument 0 == AF_UNIX and (argument 1 & SOCK_TYPE_MASK) == value
};

struct Rule {
  const char* syscall;
  int number;  // for a system call newer than libseccomp (the number is the same everywhere); else -1
  Condition condition;
  unsigned argument;
  std::uint64_t value;
  int error_number;
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
inline constexpr std::uint64_t kAfUnix = 1;
inline constexpr std::uint64_t kAfInet = 2;
inline constexpr std::uint64_t kAfInet6 = 10;

#define EXECHOST_REFUSE(name, error, why) \
  { name, -1, Condition::always, 0, 0, error, why }
#define EXECHOST_REFUSE_BIT(name, argument, bit, why) \
  { name, -1, Condition::argument_has_bit, argument, bit, EPERM, why }
#define EXECHOST_REFUSE_FAMILY(name, condition, value, error, why) \
  { name, -1, Condition::condition, 0, value, error, why }
#define EXECHOST_REFUSE_PAIR(type)                                           \
  {                                                                          \
    "socketpair", -1, Condition::unix_pair_type, 0, type, EPERM,             \
        "a datagram socket of a pair can be reconnected to a socket outside" \
  }

inline constexpr Rule kBase[] = {
    // Other processes' memory, descriptors and control flow.
    EXECHOST_REFUSE("ptrace", EPERM, "controls other processes"),
    EXECHOST_REFUSE("process_vm_readv", EPERM, "reads other processes' memory"),
    EXECHOST_REFUSE("process_vm_writev", EPERM, "writes other processes' memory"),
    EXECHOST_REFUSE("pidfd_getfd", EPERM, "takes other processes' descriptors"),
    EXECHOST_REFUSE("kcmp", EPERM, "compares kernel pointers of processes"),

    // The mount tree: it is the boundary.
    EXECHOST_REFUSE("mount", EPERM, "changes the view"),
    EXECHOST_REFUSE("umount2", EPERM, "changes the view"),
    EXECHOST_REFUSE("pivot_root", EPERM, "changes the view"),
    EXECHOST_REFUSE("chroot", EPERM, "changes the view"),
    EXECHOST_REFUSE("open_tree", EPERM, "changes the view"),
    EXECHOST_REFUSE("move_mount", EPERM, "changes the view"),
    EXECHOST_REFUSE("fsopen", EPERM, "changes the view"),
    EXECHOST_REFUSE("fsconfig", EPERM, "changes the view"),
    EXECHOST_REFUSE("fsmount", EPERM, "changes the view"),
    EXECHOST_REFUSE("fspick", EPERM, "changes the view"),
    EXECHOST_REFUSE("mount_setattr", EPERM, "changes the view"),
    {"open_tree_attr", 467, Condition::always, 0, 0, EPERM, "changes the view"},

    // Namespaces: a new user namespace gives capabilities over new kernel surface.
    EXECHOST_REFUSE("setns", EPERM, "enters another namespace"),
    EXECHOST_REFUSE("clone3", ENOSYS, "its flags are in memory, out of a filter's sight; libc falls back to clone"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewNs, "makes a mount namespace"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewCgroup, "makes a cgroup namespace"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewUts, "makes a UTS namespace"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewIpc, "makes an IPC namespace"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewUser, "makes a user namespace"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewPid, "makes a PID namespace"),
    EXECHOST_REFUSE_BIT("clone", 0, kNewNet, "makes a network namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewTime, "makes a time namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewNs, "makes a mount namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewCgroup, "makes a cgroup namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewUts, "makes a UTS namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewIpc, "makes an IPC namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewUser, "makes a user namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewPid, "makes a PID namespace"),
    EXECHOST_REFUSE_BIT("unshare", 0, kNewNet, "makes a network namespace"),

    // Sockets: only IPv4 and IPv6, of a network namespace of its own. AF_UNIX reaches any
    // listening program whose socket file or abstract name is visible. Netlink is refused as a
    // whole: the network is cut or filtered, and what asks for interfaces has a fallback for
    // kernels without the family, which is what EAFNOSUPPORT says.
    EXECHOST_REFUSE_FAMILY("socket", family_equals, kAfUnix, EPERM, "reaches programs outside"),
    EXECHOST_REFUSE_FAMILY("socket", family_below, kAfUnix, EAFNOSUPPORT, "no known use"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 3, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 4, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 5, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 6, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 7, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 8, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_equals, 9, EAFNOSUPPORT, "not an allowed family"),
    EXECHOST_REFUSE_FAMILY("socket", family_above, kAfInet6, EAFNOSUPPORT,
                           "netlink, packet, alg, vsock and the other families above AF_INET6"),
    EXECHOST_REFUSE_FAMILY("socketpair", family_below, kAfUnix, EAFNOSUPPORT, "only AF_UNIX has pairs"),
    EXECHOST_REFUSE_FAMILY("socketpair", family_above, kAfUnix, EAFNOSUPPORT, "only AF_UNIX has pairs"),
    // Of AF_UNIX pairs SOCK_STREAM (1) and SOCK_SEQPACKET (5) are allowed: they are connected for good.
    EXECHOST_REFUSE_PAIR(0),
    EXECHOST_REFUSE_PAIR(2),
    EXECHOST_REFUSE_PAIR(3),
    EXECHOST_REFUSE_PAIR(4),
    EXECHOST_REFUSE_PAIR(6),
    EXECHOST_REFUSE_PAIR(7),
    EXECHOST_REFUSE_PAIR(8),
    EXECHOST_REFUSE_PAIR(9),
    EXECHOST_REFUSE_PAIR(10),
    EXECHOST_REFUSE_PAIR(11),
    EXECHOST_REFUSE_PAIR(12),
    EXECHOST_REFUSE_PAIR(13),
    EXECHOST_REFUSE_PAIR(14),
    EXECHOST_REFUSE_PAIR(15),

    // io_uring does most system calls without passing a filter. ENOSYS: programs fall back.
    EXECHOST_REFUSE("io_uring_setup", ENOSYS, "system calls that no filter sees"),
    EXECHOST_REFUSE("io_uring_enter", ENOSYS, "system calls that no filter sees"),
    EXECHOST_REFUSE("io_uring_register", ENOSYS, "system calls that no filter sees"),

    // Kernel surface that ordinary commands don't need.
    EXECHOST_REFUSE("bpf", EPERM, "loads code into the kernel"),
    EXECHOST_REFUSE("perf_event_open", EPERM, "large attack surface, side channels"),
    EXECHOST_REFUSE("userfaultfd", EPERM, "holds the kernel up at will, a building block of exploits"),
    EXECHOST_REFUSE("keyctl", EPERM, "keyrings are not in a namespace"),
    EXECHOST_REFUSE("add_key", EPERM, "keyrings are not in a namespace"),
    EXECHOST_REFUSE("request_key", EPERM, "keyrings are not in a namespace; starts a program on the host"),
    EXECHOST_REFUSE("open_by_handle_at", EPERM, "opens files without walking the view"),
    EXECHOST_REFUSE("name_to_handle_at", EPERM, "the other half of open_by_handle_at"),

    // The machine itself. No capability is left for these; refused before the kernel's own code.
    EXECHOST_REFUSE("kexec_load", EPERM, "replaces the kernel"),
    EXECHOST_REFUSE("kexec_file_load", EPERM, "replaces the kernel"),
    EXECHOST_REFUSE("init_module", EPERM, "loads code into the kernel"),
    EXECHOST_REFUSE("finit_module", EPERM, "loads code into the kernel"),
    EXECHOST_REFUSE("delete_module", EPERM, "unloads code from the kernel"),
    EXECHOST_REFUSE("quotactl", EPERM, "quotas are the host's"),
    EXECHOST_REFUSE("quotactl_fd", EPERM, "quotas are the host's"),
    EXECHOST_REFUSE("swapon", EPERM, "swap is the host's"),
    EXECHOST_REFUSE("swapoff", EPERM, "swap is the host's"),
    EXECHOST_REFUSE("reboot", EPERM, "the machine is the host's"),
    EXECHOST_REFUSE("iopl", EPERM, "hardware ports"),
    EXECHOST_REFUSE("ioperm", EPERM, "hardware ports"),
    EXECHOST_REFUSE("acct", EPERM, "process accounting is the host's"),
    EXECHOST_REFUSE("syslog", EPERM, "the kernel's log is the host's"),
    EXECHOST_REFUSE("settimeofday", EPERM, "the clock is the host's"),
    EXECHOST_REFUSE("clock_settime", EPERM, "the clock is the host's"),
    EXECHOST_REFUSE("adjtimex", EPERM, "the clock is the host's"),
    EXECHOST_REFUSE("clock_adjtime", EPERM, "the clock is the host's"),

    // Typing into a terminal on behalf of its user. The kernel's `cmd` is 32 bits wide.
    {"ioctl", -1, Condition::argument_low_equals, 1, kTiocsti, EPERM, "types into the terminal"},
    {"ioctl", -1, Condition::argument_low_equals, 1, kTioclinux, EPERM, "types into the console"},
};

#undef EXECHOST_REFUSE
#undef EXECHOST_REFUSE_BIT
#undef EXECHOST_REFUSE_FAMILY
#undef EXECHOST_REFUSE_PAIR

}  // namespace exechost::guest::seccomp
