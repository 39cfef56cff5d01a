/* Attacks process 1 of its PID namespace in every way an ordinary process has, and prints one JSON
 * line for each: {"name":"...","result":N,"errno":N}. Runs only where process 1 is the guest:
 * elsewhere it would signal the machine's own init. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static void print(const char* name, long result) {
  printf("{\"name\":\"%s\",\"result\":%ld,\"errno\":%d}\n", name, result < 0 ? -1L : 0L, result < 0 ? errno : 0);
  fflush(stdout);
}

static int init_is_the_guest(void) {
  char name[32] = {0};
  int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t size = read(fd, name, sizeof name - 1);
  close(fd);
  return size > 0 && strcmp(name, "exechost-guest\n") == 0;
}

static long list(const char* path) {
  DIR* folder = opendir(path);
  if (folder == NULL) return -1;
  closedir(folder);
  return 0;
}

static void files(void) {
  print("mem_write", open("/proc/1/mem", O_RDWR | O_CLOEXEC));
  print("mem_read", open("/proc/1/mem", O_RDONLY | O_CLOEXEC));
  char target[64];
  print("fd_link", readlink("/proc/1/fd/3", target, sizeof target));
  print("fd_control", open("/proc/1/fd/3", O_RDWR | O_CLOEXEC));
  print("environ", open("/proc/1/environ", O_RDONLY | O_CLOEXEC));
  print("maps", open("/proc/1/maps", O_RDONLY | O_CLOEXEC));
  print("cwd", list("/proc/1/cwd/"));
  print("root", list("/proc/1/root/"));
}

static void tracing(void) {
  char byte = 0;
  struct iovec here = {&byte, 1};
  struct iovec there = {(void*)0x400000, 1};
  print("ptrace_attach", syscall(SYS_ptrace, PTRACE_ATTACH, 1, 0, 0));
  print("ptrace_seize", syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0));
  print("vm_read", syscall(SYS_process_vm_readv, 1, &here, 1, &there, 1, 0));
  print("vm_write", syscall(SYS_process_vm_writev, 1, &here, 1, &there, 1, 0));
  int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
  print("pidfd_getfd", pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 3, 0));
  struct rlimit limit = {0, 0};
  print("prlimit", syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &limit, NULL));
}

int main(void) {
  if (!init_is_the_guest()) {
    fprintf(stderr, "init_probe: process 1 is not exechost-guest, nothing tried\n");
    return 2;
  }
  files();
  tracing();
  /* Whether they had an effect shows in what the guest reports afterwards. */
  for (int number = 1; number <= 64; ++number) kill(1, number);
  int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
  syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
  printf("{\"name\":\"survived\",\"result\":0,\"errno\":0}\n");
  return 0;
}
