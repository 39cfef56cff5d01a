/* Tries system calls that a sandbox should refuse (and some it must allow) and prints one JSON
 * line for each: {"name":"...","result":N,"errno":N,"signal":N}. Every try runs in a child of its
 * own, so one that is killed shows as "signal". The arguments are chosen so that a call that is
 * not refused does no harm, even as root without a sandbox.
 *
 * Usage: syscall_probe [NAME...]; without a name: all. */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

struct probe {
  const char* name;
  long (*run)(void);
};

/* A probe that is one system call. */
#define CALL(name, ...) \
  static long try_##name(void) { return syscall(__VA_ARGS__); }

CALL(ptrace_traceme, SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)
CALL(process_vm_readv, SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0)
CALL(process_vm_writev, SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0)
CALL(pidfd_getfd, SYS_pidfd_getfd, -1, 0, 0)
CALL(kcmp, SYS_kcmp, getpid(), getpid(), 99, 0, 0)

CALL(mount, SYS_mount, "none", "/nonexistent", "tmpfs", 0, NULL)
CALL(umount2, SYS_umount2, "/nonexistent", 0)
CALL(pivot_root, SYS_pivot_root, "/nonexistent", "/nonexistent")
CALL(chroot, SYS_chroot, "/")
CALL(open_tree, SYS_open_tree, -1, "/nonexistent", 0)
CALL(move_mount, SYS_move_mount, -1, "/nonexistent", -1, "/nonexistent", 0)
CALL(fsopen, SYS_fsopen, "nonexistent", 0)
CALL(fsconfig, SYS_fsconfig, -1, 0, NULL, NULL, 0)
CALL(fsmount, SYS_fsmount, -1, 0, 0)
CALL(fspick, SYS_fspick, -1, "/nonexistent", 0)
CALL(mount_setattr, SYS_mount_setattr, -1, "/nonexistent", 0, NULL, 0)
CALL(open_tree_attr, SYS_open_tree_attr, -1, "/nonexistent", 0, NULL, 0)

CALL(setns, SYS_setns, -1, 0)
CALL(clone3, SYS_clone3, NULL, 0)
CALL(unshare_time, SYS_unshare, 0x80)
CALL(unshare_mount, SYS_unshare, CLONE_NEWNS)
CALL(unshare_cgroup, SYS_unshare, CLONE_NEWCGROUP)
CALL(unshare_uts, SYS_unshare, CLONE_NEWUTS)
CALL(unshare_ipc, SYS_unshare, CLONE_NEWIPC)
CALL(unshare_user, SYS_unshare, CLONE_NEWUSER)
CALL(unshare_pid, SYS_unshare, CLONE_NEWPID)
CALL(unshare_net, SYS_unshare, CLONE_NEWNET)
CALL(unshare_user_and_files, SYS_unshare, CLONE_NEWUSER | CLONE_FILES)
CALL(unshare_files, SYS_unshare, CLONE_FILES)

static long try_clone(unsigned long flags) {
  long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid < 0 ? -1 : 0;
}
static long try_clone_mount(void) { return try_clone(CLONE_NEWNS); }
static long try_clone_cgroup(void) { return try_clone(CLONE_NEWCGROUP); }
static long try_clone_uts(void) { return try_clone(CLONE_NEWUTS); }
static long try_clone_ipc(void) { return try_clone(CLONE_NEWIPC); }
static long try_clone_user(void) { return try_clone(CLONE_NEWUSER); }
static long try_clone_pid(void) { return try_clone(CLONE_NEWPID); }
static long try_clone_net(void) { return try_clone(CLONE_NEWNET); }
static long try_clone_user_high_bits(void) { return try_clone(0x7700000000000000UL | CLONE_NEWUSER); }
static long try_clone_plain(void) { return try_clone(0); }

CALL(socket_unix_stream, SYS_socket, AF_UNIX, SOCK_STREAM, 0)
CALL(socket_unix_dgram, SYS_socket, AF_UNIX, SOCK_DGRAM, 0)
CALL(socket_unix_high_bits, SYS_socket, 0x100000000UL | AF_UNIX, SOCK_STREAM, 0)
CALL(socket_unspec, SYS_socket, AF_UNSPEC, SOCK_STREAM, 0)
CALL(socket_ax25, SYS_socket, 3, SOCK_DGRAM, 0)
CALL(socket_appletalk, SYS_socket, 5, SOCK_DGRAM, 0)
CALL(socket_x25, SYS_socket, 9, SOCK_SEQPACKET, 0)
CALL(socket_netlink_route, SYS_socket, AF_NETLINK, SOCK_RAW, 0)
CALL(socket_packet, SYS_socket, AF_PACKET, SOCK_RAW, 0)
CALL(socket_alg, SYS_socket, AF_ALG, SOCK_SEQPACKET, 0)
CALL(socket_vsock, SYS_socket, AF_VSOCK, SOCK_STREAM, 0)
CALL(socket_xdp, SYS_socket, 44, SOCK_RAW, 0)
CALL(socket_inet, SYS_socket, AF_INET, SOCK_STREAM, 0)
CALL(socket_inet6, SYS_socket, AF_INET6, SOCK_DGRAM, 0)

static long try_pair(unsigned long family, unsigned long type) {
  int pair[2];
  return syscall(SYS_socketpair, family, type, 0, pair);
}
static long try_socketpair_stream(void) { return try_pair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC); }
static long try_socketpair_seqpacket(void) { return try_pair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK); }
static long try_socketpair_dgram(void) { return try_pair(AF_UNIX, SOCK_DGRAM); }
static long try_socketpair_dgram_flags(void) { return try_pair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK); }
static long try_socketpair_raw(void) { return try_pair(AF_UNIX, SOCK_RAW); }
static long try_socketpair_dgram_high_bits(void) { return try_pair(0x100000000UL | AF_UNIX, SOCK_DGRAM); }
static long try_socketpair_inet(void) { return try_pair(AF_INET, SOCK_STREAM); }

static char scratch[512];
CALL(io_uring_setup, SYS_io_uring_setup, 1, scratch)
CALL(io_uring_enter, SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0)
CALL(io_uring_register, SYS_io_uring_register, -1, 0, NULL, 0)
CALL(bpf, SYS_bpf, 9999, NULL, 0)
CALL(perf_event_open, SYS_perf_event_open, NULL, 0, -1, -1, 0)
CALL(userfaultfd, SYS_userfaultfd, 0x4000)
CALL(keyctl, SYS_keyctl, 9999, 0, 0, 0, 0)
CALL(add_key, SYS_add_key, NULL, NULL, NULL, 0, 0)
CALL(request_key, SYS_request_key, NULL, NULL, NULL, 0)
CALL(open_by_handle_at, SYS_open_by_handle_at, -1, NULL, 0)
CALL(name_to_handle_at, SYS_name_to_handle_at, -1, "/nonexistent", NULL, NULL, 0)

CALL(kexec_load, SYS_kexec_load, 0, 0, NULL, 0xffffUL)
CALL(kexec_file_load, SYS_kexec_file_load, -1, -1, 0, NULL, 0xffffUL)
CALL(init_module, SYS_init_module, NULL, 0, "")
CALL(finit_module, SYS_finit_module, -1, "", 0)
CALL(delete_module, SYS_delete_module, "no-such-module", O_NONBLOCK)
CALL(quotactl, SYS_quotactl, 0, "/nonexistent", 0, NULL)
CALL(quotactl_fd, SYS_quotactl_fd, -1, 0, 0, NULL)
CALL(swapon, SYS_swapon, "/nonexistent", 0)
CALL(swapoff, SYS_swapoff, "/nonexistent")
CALL(reboot, SYS_reboot, 0, 0, 0, NULL)
CALL(acct, SYS_acct, "/nonexistent/file")
CALL(syslog, SYS_syslog, 10, NULL, 0)
CALL(settimeofday, SYS_settimeofday, NULL, NULL)
CALL(clock_settime, SYS_clock_settime, 9999, NULL)
static long try_adjtimex(void) {
  struct timex time = {0};
  return syscall(SYS_adjtimex, &time) < 0 ? -1 : 0;
}
static long try_clock_adjtime(void) {
  struct timex time = {0};
  return syscall(SYS_clock_adjtime, 0, &time) < 0 ? -1 : 0;
}
#ifdef SYS_iopl
CALL(iopl, SYS_iopl, 0)
CALL(ioperm, SYS_ioperm, 0, 0, 0)
#endif

/* On files that do not exist: without a filter ENOENT or EBADF. */
#ifdef SYS_chmod
CALL(chmod_setuid, SYS_chmod, "/nonexistent/x", 04755)
CALL(chmod_setgid, SYS_chmod, "/nonexistent/x", 02755)
CALL(creat_setuid, SYS_creat, "/nonexistent/x", 04755)
CALL(mknod_setuid, SYS_mknod, "/nonexistent/x", S_IFREG | 04755, 0)
CALL(open_creat_setuid, SYS_open, "/nonexistent/x", O_CREAT | O_WRONLY, 04755)
CALL(open_tmpfile_setuid, SYS_open, "/nonexistent", O_TMPFILE | O_WRONLY, 04755)
CALL(open_junk_mode, SYS_open, "/nonexistent/x", O_RDONLY, 04755)
#endif
CALL(fchmod_setuid, SYS_fchmod, -1, 04755)
CALL(fchmodat_setuid, SYS_fchmodat, AT_FDCWD, "/nonexistent/x", 04755)
CALL(fchmodat_plain, SYS_fchmodat, AT_FDCWD, "/nonexistent/x", 0755)
CALL(fchmodat2_setuid, 452L, AT_FDCWD, "/nonexistent/x", 04755, 0)
CALL(mknodat_setuid, SYS_mknodat, AT_FDCWD, "/nonexistent/x", S_IFREG | 04755, 0)
CALL(openat_creat_setuid, SYS_openat, AT_FDCWD, "/nonexistent/x", O_CREAT | O_WRONLY, 04755)
CALL(openat_creat_plain, SYS_openat, AT_FDCWD, "/nonexistent/x", O_CREAT | O_WRONLY, 0755)
CALL(openat_tmpfile_setuid, SYS_openat, AT_FDCWD, "/nonexistent", O_TMPFILE | O_WRONLY, 04755)
CALL(openat_junk_mode, SYS_openat, AT_FDCWD, "/nonexistent/x", O_RDONLY, 04755)
CALL(openat2, 437L, AT_FDCWD, "/nonexistent/x", NULL, 24)
CALL(fcntl_setlease, SYS_fcntl, -1, 1024 /* F_SETLEASE */, F_WRLCK)
CALL(fcntl_setlease_high_bits, SYS_fcntl, -1, 0x100000000UL | 1024, F_WRLCK)
CALL(fcntl_getfd, SYS_fcntl, -1, F_GETFD)

/* On a descriptor that does not exist: without a filter EBADF. */
CALL(ioctl_tiocsti, SYS_ioctl, -1, (unsigned long)TIOCSTI, "x")
CALL(ioctl_tiocsti_high_bits, SYS_ioctl, -1, 0x100000000UL | TIOCSTI, "x")
CALL(ioctl_tioclinux, SYS_ioctl, -1, (unsigned long)TIOCLINUX, "x")
CALL(ioctl_other, SYS_ioctl, -1, (unsigned long)TCGETS, scratch)
CALL(personality_query, SYS_personality, 0xffffffffUL)
CALL(memfd_create, SYS_memfd_create, "x", 0)
CALL(no_such_call, 1999L)

#ifdef __x86_64__
CALL(x32_getpid, 0x40000000L | SYS_getpid)
static long try_i386_getpid(void) {
  long result = 20; /* getpid of the 32-bit table */
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) errno = (int)-result;
  return result < 0 ? -1 : 0;
}
#endif

#define PROBE(name) \
  { #name, try_##name }
static const struct probe probes[] = {
    PROBE(ptrace_traceme),
    PROBE(process_vm_readv),
    PROBE(process_vm_writev),
    PROBE(pidfd_getfd),
    PROBE(kcmp),
    PROBE(mount),
    PROBE(umount2),
    PROBE(pivot_root),
    PROBE(chroot),
    PROBE(open_tree),
    PROBE(move_mount),
    PROBE(fsopen),
    PROBE(fsconfig),
    PROBE(fsmount),
    PROBE(fspick),
    PROBE(mount_setattr),
    PROBE(open_tree_attr),
    PROBE(setns),
    PROBE(clone3),
    PROBE(unshare_time),
    PROBE(unshare_mount),
    PROBE(unshare_cgroup),
    PROBE(unshare_uts),
    PROBE(unshare_ipc),
    PROBE(unshare_user),
    PROBE(unshare_pid),
    PROBE(unshare_net),
    PROBE(unshare_user_and_files),
    PROBE(unshare_files),
    PROBE(clone_mount),
    PROBE(clone_cgroup),
    PROBE(clone_uts),
    PROBE(clone_ipc),
    PROBE(clone_user),
    PROBE(clone_pid),
    PROBE(clone_net),
    PROBE(clone_user_high_bits),
    PROBE(clone_plain),
    PROBE(socket_unix_stream),
    PROBE(socket_unix_dgram),
    PROBE(socket_unix_high_bits),
    PROBE(socket_unspec),
    PROBE(socket_ax25),
    PROBE(socket_appletalk),
    PROBE(socket_x25),
    PROBE(socket_netlink_route),
    PROBE(socket_packet),
    PROBE(socket_alg),
    PROBE(socket_vsock),
    PROBE(socket_xdp),
    PROBE(socket_inet),
    PROBE(socket_inet6),
    PROBE(socketpair_stream),
    PROBE(socketpair_seqpacket),
    PROBE(socketpair_dgram),
    PROBE(socketpair_dgram_flags),
    PROBE(socketpair_raw),
    PROBE(socketpair_dgram_high_bits),
    PROBE(socketpair_inet),
    PROBE(io_uring_setup),
    PROBE(io_uring_enter),
    PROBE(io_uring_register),
    PROBE(bpf),
    PROBE(perf_event_open),
    PROBE(userfaultfd),
    PROBE(keyctl),
    PROBE(add_key),
    PROBE(request_key),
    PROBE(open_by_handle_at),
    PROBE(name_to_handle_at),
    PROBE(kexec_load),
    PROBE(kexec_file_load),
    PROBE(init_module),
    PROBE(finit_module),
    PROBE(delete_module),
    PROBE(quotactl),
    PROBE(quotactl_fd),
    PROBE(swapon),
    PROBE(swapoff),
    PROBE(reboot),
    PROBE(acct),
    PROBE(syslog),
    PROBE(settimeofday),
    PROBE(clock_settime),
    PROBE(adjtimex),
    PROBE(clock_adjtime),
    PROBE(ioctl_tiocsti),
    PROBE(ioctl_tiocsti_high_bits),
    PROBE(ioctl_tioclinux),
    PROBE(ioctl_other),
    PROBE(personality_query),
    PROBE(memfd_create),
    PROBE(no_such_call),
#ifdef SYS_chmod
    PROBE(chmod_setuid),
    PROBE(chmod_setgid),
    PROBE(creat_setuid),
    PROBE(mknod_setuid),
    PROBE(open_creat_setuid),
    PROBE(open_tmpfile_setuid),
    PROBE(open_junk_mode),
#endif
    PROBE(fchmod_setuid),
    PROBE(fchmodat_setuid),
    PROBE(fchmodat_plain),
    PROBE(fchmodat2_setuid),
    PROBE(mknodat_setuid),
    PROBE(openat_creat_setuid),
    PROBE(openat_creat_plain),
    PROBE(openat_tmpfile_setuid),
    PROBE(openat_junk_mode),
    PROBE(openat2),
    PROBE(fcntl_setlease),
    PROBE(fcntl_setlease_high_bits),
    PROBE(fcntl_getfd),
#ifdef SYS_iopl
    PROBE(iopl),
    PROBE(ioperm),
#endif
#ifdef __x86_64__
    PROBE(x32_getpid),
    PROBE(i386_getpid),
#endif
};

static int wanted(const char* name, int argc, char** argv) {
  if (argc < 2) return 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return 0;
}

static void run(const struct probe* probe) {
  /* Shared memory: a child that gets killed half way has reported nothing. */
  volatile int* shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) _exit(3);
  pid_t pid = fork();
  if (pid < 0) _exit(3);
  if (pid == 0) {
    errno = 0;
    long result = probe->run();
    shared[1] = result < 0 ? errno : 0;
    shared[0] = result < 0 ? -1 : 0;
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  printf("{\"name\":\"%s\",\"result\":%d,\"errno\":%d,\"signal\":%d}\n", probe->name, shared[0], shared[1],
         WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  fflush(stdout);
  munmap((void*)shared, 4096);
}

int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof probes / sizeof probes[0]; ++i) {
    if (wanted(probes[i].name, argc, argv)) run(&probes[i]);
  }
  return 0;
}
