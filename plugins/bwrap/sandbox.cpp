#include "sandbox.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace exechost::bwrap {
namespace {

constexpr std::size_t kMaxText = std::size_t{16} * 1024;

// What a non-blocking pipe holds, at most kMaxText in all.
void read_available(int fd, std::string& text) {
  char buffer[4096];
  while (text.size() < kMaxText) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return;
    }
  }
}

// The "Pid:" line of a pidfd's fdinfo (pidfd_open(2)), -1 when it has none.
int pid_of(int pidfd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(pidfd);
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return -1;
  int pid = -1;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "Pid: %d", &pid) == 1) break;  // NOLINT(cert-err34-c): the kernel's own number
  }
  static_cast<void>(std::fclose(file));
  return pid;
}

int parent_of(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return -1;
  int parent = -1;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "PPid: %d", &parent) == 1) break;  // NOLINT(cert-err34-c): the kernel's own number
  }
  static_cast<void>(std::fclose(file));
  return parent;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Sandbox::Sandbox(sdk::Process process, sdk::Fd diagnostics, sdk::Fd status)
    : process_(std::move(process)), diagnostics_(std::move(diagnostics)), status_(std::move(status)) {}

// Killing bwrap itself would leave process 1 to its parent-death signal; killing process 1 lets
// bwrap reap it. Process's destructor then ends what is left.
Sandbox::~Sandbox() { kill_everything(); }

sdk::Outcome<std::optional<sdk::Event>> Sandbox::wait(const sdk::Call& call) {
  static_cast<void>(call);
  const std::optional<int> status = process_.try_wait();
  if (!status) return std::optional<sdk::Event>();
  if (WIFSIGNALED(*status) && init_is_left()) {
    // Not proven yet: process 1 has lost its bwrap, and is ended for it. Its pidfd becomes readable
    // when the kernel has ended everything in its namespace.
    kill_everything();
    return std::optional<sdk::Event>();
  }
  // bwrap writes to its standard error only when it could not build the environment, and then
  // ends with 1; the guest ends with 0. The text is shown, the decision comes from the status.
  if (WIFEXITED(*status) && WEXITSTATUS(*status) != 0) {
    std::string text;
    read_available(diagnostics_.get(), text);
    sdk::Failure failure;
    failure.kind = sdk::Kind::provision_failed;
    failure.phase = sdk::Phase::provision;
    failure.step = "bwrap";
    failure.message = text.empty()
                          ? "bwrap ended with status " + std::to_string(WEXITSTATUS(*status)) + " and said nothing"
                          : "bwrap could not build the environment: " + first_line(text);
    failure.hint = "exechost doctor bwrap shows what this machine lacks";
    return failure;
  }
  sdk::Event event;
  event.kind = sdk::Event::Kind::ended;
  event.wait_status = *status;
  return std::optional<sdk::Event>(event);
}

int Sandbox::signal(int number) { return number == SIGKILL ? kill_everything() : -ENOTSUP; }

int Sandbox::kill_everything() {
  if (init_) {
    const long result = ::syscall(SYS_pidfd_send_signal, init_.get(), SIGKILL, nullptr, 0);
    return result == 0 ? 0 : -errno;
  }
  // bwrap ended, or was stopped, before it had made process 1.
  return process_.try_wait() ? -ESRCH : process_.signal(SIGKILL);
}

bool Sandbox::init_is_left() {
  if (!init_) return false;
  pollfd entry{init_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 0;
}

void Sandbox::learn_init() {
  constexpr int kPatienceMs = 1000;
  std::string text;
  for (int round = 0; text.find('\n') == std::string::npos && round < 64; ++round) {
    pollfd entries[2] = {{status_.get(), POLLIN, 0}, {process_.pidfd(), POLLIN, 0}};
    const int count = ::poll(entries, 2, kPatienceMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    read_available(status_.get(), text);
    if (entries[1].revents != 0) break;
  }
  const nlohmann::json document = nlohmann::json::parse(first_line(text), nullptr, false);
  if (!document.is_object()) return;
  const auto found = document.find("child-pid");
  if (found == document.end() || !found->is_number_integer()) return;
  const int pid = found->get<int>();
  sdk::Fd candidate(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // The number could be somebody else's by now: only a child of a bwrap that still runs counts.
  if (candidate && parent_of(pid) == pid_of(process_.pidfd()) && !process_.try_wait()) init_ = std::move(candidate);
}

}  // namespace exechost::bwrap
