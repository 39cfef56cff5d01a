#include "tests/support/program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace exechost::test {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

bool become(const Account& account) {
  if (geteuid() != 0 || account.uid == 0) return true;
  return setgroups(0, nullptr) == 0 && setgid(account.gid) == 0 && setuid(account.uid) == 0;
}

// In the child: makes `fd` descriptor `target`, or closes that.
bool place(int fd, int target) {
  if (fd == ProgramOptions::kClosed) return close(target) == 0 || errno == EBADF;
  return dup2(fd, target) == target;
}

std::string take(int fd) {
  std::array<char, 65536> buffer{};
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : std::string();
}

}  // namespace

int ProgramEnd::exit_status() const {
  if (overdue) return -1;
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Program::Program(const ProgramOptions& options)
    : terminal_(options.terminal), leaves_a_keeper_(options.leaves_a_keeper), input_(options.input) {
  become_subreaper();
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));  // a program may end without reading its input
  for (const auto& process : all_processes()) {
    if (process.parent == getpid()) known_.insert(process.pid);
  }
  Pipe in;
  Pipe out;
  Pipe err;
  UniqueFd slave;
  int child_in = options.stdin_fd;
  int child_out = options.stdout_fd;
  int child_err = options.stderr_fd;
  if (terminal_) {
    out_ = UniqueFd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    std::array<char, 64> name{};
    if (!out_ || grantpt(out_.get()) != 0 || unlockpt(out_.get()) != 0 ||
        ptsname_r(out_.get(), name.data(), name.size()) != 0) {
      fail("posix_openpt");
    }
    slave = UniqueFd(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave) fail("open the terminal");
    if (options.as && geteuid() == 0 && fchown(slave.get(), options.as->uid, options.as->gid) != 0) fail("fchown");
    child_in = child_out = child_err = slave.get();
  }
  if (child_in == ProgramOptions::kPipe) child_in = (in = make_pipe()).read.get();
  if (child_out == ProgramOptions::kPipe) child_out = (out = make_pipe()).write.get();
  if (child_err == ProgramOptions::kPipe) child_err = (err = make_pipe()).write.get();

  std::vector<std::string> argv = options.argv;
  std::vector<std::string> env;
  for (const auto& [name, value] : options.env) {
    std::string entry = name;
    entry.append("=").append(value);
    env.push_back(std::move(entry));
  }
  const auto argv_pointers = pointers(argv);
  const auto env_pointers = pointers(env);
  started_ = Clock::now();
  pid_ = fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
    // A test that dies leaves nothing; set again after setuid, which clears it.
    setsid();
    if (terminal_) ioctl(child_in, TIOCSCTTY, 0);
    // Above the three first, so that none is overwritten before it is placed.
    const auto up = [](int fd) { return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 10); };
    child_in = up(child_in);
    child_out = up(child_out);
    child_err = up(child_err);
    if (!place(child_in, 0) || !place(child_out, 1) || !place(child_err, 2)) _exit(121);
    if (options.as && !become(*options.as)) _exit(122);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(options.cwd.c_str()) != 0) _exit(123);
    // Whatever the test runner left open is not the program's.
    ::syscall(SYS_close_range, 3U, ~0U, static_cast<unsigned>(CLOSE_RANGE_CLOEXEC));
    execve(argv_pointers[0], argv_pointers.data(), env_pointers.data());
    _exit(120);
  }
  pidfd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) fail("pidfd_open");
  if (!terminal_) {
    in_ = std::move(in.write);
    out_ = std::move(out.read);
    err_ = std::move(err.read);
  }
  for (const UniqueFd* fd : {&in_, &out_, &err_}) {
    if (*fd) set_nonblocking(fd->get());
  }
  feed();
}

Program::~Program() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (leaves_a_keeper_) return;
  // What it left, one at a time: each may hand its own children over to us.
  for (int round = 0; round < 100; ++round) {
    const auto left = remaining_children(known_, std::chrono::milliseconds(0));
    if (left.empty()) return;
    for (const auto& process : left) kill(process.pid, SIGKILL);
    remaining_children(known_, std::chrono::milliseconds(100));
  }
}

bool Program::has_ended() const {
  pollfd fd{pidfd_.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

void Program::signal(int number) const { kill(pid_, number); }

void Program::type(std::string_view text) const {
  if (write(out_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) fail("write to the terminal");
}

void Program::feed() {
  if (!in_) return;
  while (!input_.empty()) {
    const ssize_t count = write(in_.get(), input_.data(), input_.size());
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) break;
    input_.erase(0, static_cast<std::size_t>(count));
  }
  in_.reset();
}

bool Program::pump(Clock::time_point deadline) {
  std::vector<pollfd> fds;
  if (in_) fds.push_back({in_.get(), POLLOUT, 0});
  if (out_) fds.push_back({out_.get(), POLLIN, 0});
  if (err_) fds.push_back({err_.get(), POLLIN, 0});
  if (!ended_) fds.push_back({pidfd_.get(), POLLIN, 0});
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  if (left.count() < 0 || poll(fds.data(), fds.size(), static_cast<int>(left.count()) + 1) <= 0) return false;
  for (const auto& fd : fds) {
    if (fd.revents == 0) continue;
    if (fd.fd == in_.get()) {
      feed();
    } else if (fd.fd == pidfd_.get()) {
      ended_ = true;
      end_.duration = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started_);
      waitpid(pid_, &end_.wait_status, 0);
      end_.left_behind = remaining_children(known_, std::chrono::milliseconds(0));
    } else {
      const bool is_out = fd.fd == out_.get();
      const std::string bytes = take(fd.fd);
      if (bytes.empty()) {
        (is_out ? out_ : err_).reset();
      } else {
        (is_out ? end_.out : end_.err) += bytes;
      }
    }
  }
  return true;
}

bool Program::wait_for_output(std::string_view marker, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (end_.out.find(marker) == std::string::npos) {
    if (!out_ || !pump(deadline)) return false;
  }
  return true;
}

ProgramEnd Program::finish(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!ended_ && pump(deadline)) {
  }
  if (!ended_) {
    end_.overdue = true;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }
  // Only something left behind can hold the streams open now.
  const auto drain = Clock::now() + std::chrono::seconds(1);
  while ((out_ || err_) && pump(drain)) {
  }
  return end_;
}

std::vector<ProcessInfo> Program::remaining(std::chrono::milliseconds patience) const {
  std::set<pid_t> known = known_;
  if (!ended_) known.insert(pid_);
  return remaining_children(known, patience);
}

ProgramEnd run_program(const ProgramOptions& options, std::chrono::milliseconds patience) {
  Program program(options);
  return program.finish(patience);
}

}  // namespace exechost::test
