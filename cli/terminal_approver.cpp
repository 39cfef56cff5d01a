#include "cli/terminal_approver.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/output.hpp"
#include "core/base/utf8.hpp"

namespace exechost::cli {
namespace {

constexpr std::size_t kLongestLine = 256;

// Drops what was typed before. Flushing alone leaves bytes that the kernel has taken from the keyboard or the
// terminal emulator and not yet given to the terminal's own queue: it does that in a worker, for which poll(2) waits
// when the queue is empty (drivers/tty/n_tty.c, n_tty_poll).
void drop_input(int descriptor) {
  // A key that is held down must not keep the question from being asked.
  constexpr int kMostRounds = 1000;
  pollfd typed{descriptor, POLLIN, 0};
  for (int round = 0; round < kMostRounds; ++round) {
    ::tcflush(descriptor, TCIFLUSH);
    if (::poll(&typed, 1, 0) <= 0 || (typed.revents & (POLLHUP | POLLERR)) != 0) break;
  }
  ::tcflush(descriptor, TCIFLUSH);  // half a line does not show in poll
}

// Line by line, with echo and the keys that interrupt, whatever mode the terminal was in; and as before
// afterwards.
class LineMode {
 public:
  explicit LineMode(int descriptor) : descriptor_(descriptor) {
    termios now{};
    if (::tcgetattr(descriptor_, &now) != 0) return;
    saved_ = now;
    now.c_iflag |= static_cast<tcflag_t>(ICRNL);
    now.c_oflag |= static_cast<tcflag_t>(OPOST | ONLCR);
    now.c_lflag |= static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    ::tcsetattr(descriptor_, TCSAFLUSH, &now);
    drop_input(descriptor_);
  }
  ~LineMode() {
    if (saved_) ::tcsetattr(descriptor_, TCSADRAIN, &*saved_);
  }
  LineMode(const LineMode&) = delete;
  LineMode& operator=(const LineMode&) = delete;

 private:
  int descriptor_;
  std::optional<termios> saved_;
};

std::string shown(std::string_view text) { return escape_for_terminal(text); }

std::string place(const AdmissionQuestion& question) {
  if (question.tier == "node") return "on this machine, as a plain process (node tier)";
  return fmt::format("in backend {} ({} tier)", shown(question.backend), shown(question.tier));
}

}  // namespace

std::string question_text(const AdmissionQuestion& question, std::chrono::steady_clock::time_point now) {
  std::string text = "exechost: a command needs your permission\n";
  const auto line = [&text](std::string_view label, std::string_view value) {
    fmt::format_to(std::back_inserter(text), "  {:<10} {}\n", label, value);
  };
  line("command", shown(question.command));
  line("starts in", shown(question.cwd));
  line("would run", place(question));
  line("because", shown(question.why));
  for (std::size_t i = 0; i < question.isolation_lost.size(); ++i) {
    line(i == 0 ? "unprotected" : "", shown(question.isolation_lost[i]));
  }
  if (question.deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(*question.deadline - now);
    line("answer", fmt::format("within {} s", std::max<std::int64_t>(left.count(), 0)));
  }
  return text + "Run it? [y/N] ";
}

Answer answer_from(const std::string& line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return Answer::deny;
  const std::string word = line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
  for (const char* yes : {"y", "Y", "yes", "Yes", "YES"}) {
    if (word == yes) return Answer::once;
  }
  return Answer::deny;
}

std::unique_ptr<TerminalApprover> TerminalApprover::open(const char* terminal) {
  UniqueFd descriptor(::open(terminal, O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!descriptor || ::isatty(descriptor.get()) != 1) return nullptr;
  if (::tcgetpgrp(descriptor.get()) != ::getpgrp()) return nullptr;
  return std::make_unique<TerminalApprover>(std::move(descriptor));
}

Answer TerminalApprover::ask(const AdmissionQuestion& question, const std::stop_token& stop) {
  // It may have been put into the background since.
  if (::tcgetpgrp(terminal_.get()) != ::getpgrp()) return Answer::no_route;
  const UniqueFd stopped(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped) return Answer::no_route;
  const std::stop_callback on_stop(stop, [&stopped] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stopped.get(), &one, sizeof one);
  });
  const LineMode lines(terminal_.get());
  asking_ = true;
  Answer answer = Answer::no_route;
  if (write_all(terminal_.get(), question_text(question, std::chrono::steady_clock::now()))) {
    answer = read_answer(question, stopped.get());
  }
  asking_ = false;
  return answer;
}

Answer TerminalApprover::read_answer(const AdmissionQuestion& question, int stop_fd) const {
  std::string line;
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{terminal_.get(), POLLIN, 0}, pollfd{stop_fd, POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return Answer::no_route;
    }
    if (entries[1].revents != 0) {
      write_all(terminal_.get(), "\n");
      const bool late = question.deadline && std::chrono::steady_clock::now() >= *question.deadline;
      return late ? Answer::timed_out : Answer::cancelled;
    }
    std::array<char, kLongestLine> buffer{};
    const ssize_t count = ::read(terminal_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Answer::no_route;  // the terminal is gone
    if (count == 0) {                        // Ctrl-D
      write_all(terminal_.get(), "\n");
      return Answer::deny;
    }
    line.append(buffer.data(), static_cast<std::size_t>(count));
    if (line.find('\n') != std::string::npos) return answer_from(line);
    if (line.size() > kLongestLine) return Answer::deny;
  }
}

}  // namespace exechost::cli
