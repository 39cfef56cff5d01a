#include "tests/unit/guest/support/places.hpp"
#include "exechost_test_paths.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace exechost::guest::test {

namespace fs = std::filesystem;

namespace {

constexpr int kNotPossible = 120;

void must(bool done, const char* what) {
  if (done) return;
  static_cast<void>(std::fprintf(stderr, "place: %s: %s\n", what, std::strerror(errno)));
  ::_exit(kNotPossible);
}

void write_file(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  must(fd >= 0, path);
  must(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), path);
  ::close(fd);
}

void become_ordinary_user() {
  must(::setgroups(0, nullptr) == 0, "setgroups");
  must(::setgid(kOrdinaryUser) == 0, "setgid");
  must(::setuid(kOrdinaryUser) == 0, "setuid");
  // So that /proc/self is ours again: for the maps of a user namespace.
  must(::prctl(PR_SET_DUMPABLE, 1) == 0, "dumpable");
}

[[noreturn]] void end_like(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    static_cast<void>(::signal(WTERMSIG(status), SIG_DFL));
    static_cast<void>(::raise(WTERMSIG(status)));
  }
  ::_exit(WEXITSTATUS(status));
}

void become_init() {
  const auto uid = std::to_string(::getuid());
  const auto gid = std::to_string(::getgid());
  must(::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) == 0, "unshare");
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", uid + " " + uid + " 1");
  write_file("/proc/self/gid_map", gid + " " + gid + " 1");
  const pid_t child = ::fork();
  must(child >= 0, "fork");
  if (child != 0) {
    // Not holding a pipe of the guest's open, whose end-of-file the test waits for.
    for (int fd = 0; fd < 64; ++fd) ::close(fd);
    end_like(child);
  }
  must(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "pdeathsig");
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
  must(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0, "mount /proc");
}

}  // namespace

std::string name_of(const testing::TestParamInfo<Place>& place) {
  return std::string(place.param.served ? "served_" : "") + (place.param.init ? "init" : "process") +
         (place.param.root ? "_root" : "_user");
}

std::vector<Place> every_place() { return {{false, true}, {false, false}, {true, true}, {true, false}}; }

std::vector<Place> every_place_and_served() {
  std::vector<Place> places = every_place();
  for (Place place : every_place()) {
    place.served = true;
    places.push_back(place);
  }
  return places;
}

StagedPrograms::StagedPrograms() {
  std::string pattern = (fs::temp_directory_path() / "exechost-guest-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
  folder_ = pattern;
  fs::permissions(folder_, fs::perms(0755));
  const fs::path build = EXECHOST_BUILD_PREFIX;
  fs::copy_file(build / "libexec/exechost/exechost-guest", guest());
  for (const auto& program : fs::directory_iterator(build / "bin-tests")) {
    if (program.is_regular_file()) fs::copy_file(program.path(), fs::path(folder_) / program.path().filename());
  }
}

StagedPrograms::~StagedPrograms() {
  std::error_code ignored;
  // A test may have shut a folder, also against an ordinary user who runs the tests.
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (entry.is_directory(ignored)) fs::permissions(entry.path(), fs::perms::owner_all, ignored);
  }
  fs::remove_all(folder_, ignored);
}

pid_t plain_fork() { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

void enter(const Place& place) {
  must(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "pdeathsig");
  if (!place.root && ::geteuid() == 0) become_ordinary_user();
  if (place.init) become_init();
}

std::string why_not(const Place& place) {
  if (place.root && ::geteuid() != 0) return "needs root";
  if (!place.init) return {};
  const pid_t child = plain_fork();
  if (child == 0) {
    enter(place);
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    return "this machine lets the user make no PID namespace of its own";
  }
  return {};
}

}  // namespace exechost::guest::test
