/* Tries, inside a sandbox, what a sandbox must refuse, and says what the kernel answered: one line
 * per attempt, "NAME ok" or "NAME ERRNO". Static, so that it runs wherever it is copied to. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void report(const char* name, long result) {
  if (result >= 0)
    printf("%s ok\n", name);
  else
    printf("%s %s\n", name, strerrorname_np(errno));
  fflush(stdout);
}

static void namespaces_and_mounts(void) {
  report("mount", mount("none", "/mnt", "tmpfs", 0, NULL));
  report("umount2", umount2("/proc", MNT_DETACH));
  report("pivot_root", syscall(SYS_pivot_root, ".", "."));
  int ns = open("/proc/self/ns/net", O_RDONLY);
  report("setns", setns(ns, CLONE_NEWNET));
  report("unshare_user", unshare(CLONE_NEWUSER));
  report("unshare_mount", unshare(CLONE_NEWNS));
  report("unshare_net", unshare(CLONE_NEWNET));
  report("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
  report("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/mnt", 0));
  report("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
  report("fsmount", syscall(SYS_fsmount, 0, 0, 0));
  char attributes[32] = {0};
  report("mount_setattr", syscall(442 /* mount_setattr */, AT_FDCWD, "/", 0, attributes, sizeof attributes));
  report("clone3", syscall(SYS_clone3, attributes, sizeof attributes));
  long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  report("clone_newuser", child);
}

static void kernel_interfaces(void) {
  char zeros[128] = {0};
  report("bpf", syscall(SYS_bpf, 0, zeros, sizeof zeros));
  report("perf_event_open", syscall(SYS_perf_event_open, zeros, 0, -1, -1, 0));
  report("keyctl", syscall(SYS_keyctl, 0, -3, 1, 0, 0));
  report("add_key", syscall(SYS_add_key, "user", "exechost", "x", 1, -3));
  report("io_uring_setup", syscall(425 /* io_uring_setup */, 1, zeros));
  report("userfaultfd", syscall(SYS_userfaultfd, 0));
  report("ptrace_traceme", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static void sockets(void) {
  report("inet_stream", socket(AF_INET, SOCK_STREAM, 0));
  report("inet_dgram", socket(AF_INET, SOCK_DGRAM, 0));
  report("inet6_stream", socket(AF_INET6, SOCK_STREAM, 0));
  report("unix_stream", socket(AF_UNIX, SOCK_STREAM, 0));
  report("unix_dgram", socket(AF_UNIX, SOCK_DGRAM, 0));
  report("netlink", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  report("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
  report("packet", socket(AF_PACKET, SOCK_RAW, 0));
  report("alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
  int pair[2];
  report("socketpair_stream", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static void unix_connect(const char* path, int is_abstract) {
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) {
    report("unix_socket", fd);
    return;
  }
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  memcpy(address.sun_path + is_abstract, path, length);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)is_abstract + length);
  report("unix_connect", connect(fd, (struct sockaddr*)&address, size));
}

static void tcp_connect(const char* host, const char* port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  inet_pton(AF_INET, host, &address.sin_addr);
  report("tcp_connect", connect(fd, (struct sockaddr*)&address, sizeof address));
}

/* Process 1 is the one that guards; it must not be open to those it guards against. */
static void attack_init(void) {
  report("ptrace_attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
  report("ptrace_seize", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
  report("open_mem", open("/proc/1/mem", O_RDWR));
  char byte = 0;
  struct iovec local = {&byte, 1};
  struct iovec remote = {(void*)0x400000, 1};
  report("vm_readv", process_vm_readv(1, &local, 1, &remote, 1, 0));
  report("vm_writev", process_vm_writev(1, &local, 1, &remote, 1, 0));
  int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
  report("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, 3, 0));
  kill(1, SIGKILL);
  kill(1, SIGSTOP);
  report("after_kill", 0); /* printed only when process 1 outlived both signals */
}

static void push_into_terminal(void) {
  char c = 'x';
  report("TIOCSTI", ioctl(0, TIOCSTI, &c));
  report("TIOCSTI_high_bits", syscall(SYS_ioctl, 0, (1ul << 32) | TIOCSTI, &c));
  report("TIOCLINUX", ioctl(0, TIOCLINUX, &c));
}

/* Prints every file below a folder that opens for writing, processes' own folders left out. Nothing is
 * written: on a host that isn't protected that would change it. */
static int print_if_writable(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)status;
  const char* name = path + where->base;
  if (where->level == 1 &&
      (isdigit((unsigned char)*name) || strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0))
    return FTW_SKIP_SUBTREE;
  if (kind == FTW_F) {
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) {
      puts(path);
      close(fd);
    }
  }
  return FTW_CONTINUE;
}

static void list_writable(const char* folder) {
  if (nftw(folder, print_if_writable, 16, FTW_PHYS | FTW_ACTIONRETVAL) != 0) exit(1);
  puts("walked");
}

/* Appends a byte to FILE every 10 ms until killed. */
static void heartbeat(const char* file) {
  int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (fd < 0) exit(1);
  const struct timespec pause = {0, 10 * 1000 * 1000};
  while (1) {
    if (write(fd, ".", 1) != 1) exit(1);
    nanosleep(&pause, NULL);
  }
}

/* Starts a heartbeat that tries to outlive its command, in one of the known ways, then waits. */
static void outlive(const char* how, const char* file) {
  if (strcmp(how, "double_fork") == 0) {
    if (fork() == 0) {
      if (fork() == 0) {
        setsid();
        heartbeat(file);
      }
      _exit(0);
    }
    wait(NULL);
  } else {
    if (fork() == 0) {
      if (strcmp(how, "setsid") == 0) setsid();
      if (strcmp(how, "nohup") == 0) signal(SIGHUP, SIG_IGN);
      if (strcmp(how, "daemon") == 0) { /* setsid, nohup, and its streams closed */
        setsid();
        signal(SIGHUP, SIG_IGN);
        for (int fd = 0; fd < 3; ++fd) close(fd);
      }
      if (strcmp(how, "ignores_signals") == 0) {
        for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
      }
      if (strcmp(how, "own_group") == 0) setpgid(0, 0);
      heartbeat(file);
    }
    if (strcmp(how, "ignores_signals") == 0) {
      for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
    }
  }
  puts("up");
  fflush(stdout);
  while (1) pause();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "mounts") == 0)
    namespaces_and_mounts();
  else if (strcmp(what, "kernel") == 0)
    kernel_interfaces();
  else if (strcmp(what, "sockets") == 0)
    sockets();
  else if (strcmp(what, "unix-connect") == 0 && argc == 3)
    unix_connect(argv[2], 0);
  else if (strcmp(what, "abstract-connect") == 0 && argc == 3)
    unix_connect(argv[2], 1);
  else if (strcmp(what, "tcp-connect") == 0 && argc == 4)
    tcp_connect(argv[2], argv[3]);
  else if (strcmp(what, "init") == 0)
    attack_init();
  else if (strcmp(what, "terminal") == 0)
    push_into_terminal();
  else if (strcmp(what, "list-writable") == 0 && argc == 3)
    list_writable(argv[2]);
  else if (strcmp(what, "heartbeat") == 0 && argc == 3)
    heartbeat(argv[2]);
  else if (strcmp(what, "outlive") == 0 && argc == 4)
    outlive(argv[2], argv[3]);
  else {
    fprintf(stderr, "probe: unknown attempt '%s'\n", what);
    return 2;
  }
  return 0;
}
