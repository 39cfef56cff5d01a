#include "cli/terminal_approver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <thread>

namespace exechost::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

AdmissionQuestion question() {
  AdmissionQuestion asked;
  asked.tier = "node";
  asked.backend = "local";
  asked.command = "git push origin main";
  asked.cwd = "/home/u/p";
  asked.why = "admission.node.allow does not name the command";
  asked.isolation_lost = {"files: every file", "network: every address"};
  return asked;
}

TEST(QuestionText, SaysEverythingAndNoIsTheDefault) {
  const auto now = std::chrono::steady_clock::now();
  AdmissionQuestion asked = question();
  asked.deadline = now + 90s;
  const std::string text = question_text(asked, now);
  for (const char* part : {"git push origin main", "/home/u/p", "does not name the command", "files: every file",
                           "network: every address", "node tier", "within 90 s"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_TRUE(text.ends_with("Run it? [y/N] "));
}

TEST(QuestionText, NothingInItRewritesTheTerminal) {
  AdmissionQuestion asked = question();
  asked.command =
      "rm -rf x\x1b[2K\rls \xE2\x80\xAE"
      "dnuora\n  because    all is well\x07";
  asked.cwd = "/a\nb";
  asked.why = "\x1b]0;title\x07";
  asked.isolation_lost = {"one\ntwo"};
  const std::string text = question_text(asked, std::chrono::steady_clock::now());
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  // NOLINTNEXTLINE(misc-misleading-bidirectional): it has to mislead
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xAE")));
  EXPECT_THAT(text, HasSubstr("rm -rf x\\u{1b}[2K\\u{d}ls \\u{202e}dnuora\\n  because    all is well\\u{7}"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);  // its own lines, and no others
}

TEST(QuestionText, ALongCommandIsShownWhole) {
  AdmissionQuestion asked = question();
  asked.command.assign(100'000, 'a');
  asked.command += "; the end";
  EXPECT_THAT(question_text(asked, std::chrono::steady_clock::now()), HasSubstr(asked.command));
}

TEST(AnswerFrom, OnlyAPlainYesIsOne) {
  for (const char* yes : {"y\n", "Y\n", "yes\n", "YES\n", "  yes \r\n"})
    EXPECT_EQ(answer_from(yes), Answer::once) << yes;
  for (const char* no : {"\n", "", "n\n", "no\n", "yess\n", "y y\n", "yn\n", "1\n", "ja\n", "\xff\n"}) {
    EXPECT_EQ(answer_from(no), Answer::deny) << no;
  }
}

// A session of its own with the terminal, in which the approver asks; the exit status is the answer.
class AtATerminal : public testing::Test {
 protected:
  ~AtATerminal() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  // `type_first`: typed before the child asks.
  void start(const std::function<int()>& in_child, std::string_view type_first = {}) {
    int master = -1;
    std::array<int, 2> go{};
    ASSERT_EQ(::pipe(go.data()), 0);
    child_ = ::forkpty(&master, nullptr, nullptr, nullptr);
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      char byte = 0;
      if (::read(go[0], &byte, 1) != 1) ::_exit(kNoStart);
      ::_exit(in_child());
    }
    master_.reset(master);
    type(type_first);
    ASSERT_EQ(::write(go[1], "x", 1), 1);
    ::close(go[0]);
    ::close(go[1]);
  }
  static int ask(const std::stop_token& stop = {}, std::optional<std::chrono::milliseconds> left = {}) {
    const auto approver = TerminalApprover::open();
    if (!approver) return kNoTerminal;
    AdmissionQuestion asked = question();
    if (left) asked.deadline = std::chrono::steady_clock::now() + *left;
    return static_cast<int>(approver->ask(asked, stop));
  }
  void type(std::string_view text) const {
    ASSERT_EQ(::write(master_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  bool read_until(std::string_view marker) {
    pollfd ready{master_.get(), POLLIN, 0};
    while (shown_.find(marker) == std::string::npos) {
      if (::poll(&ready, 1, 20'000) <= 0) return false;
      std::array<char, 4096> buffer{};
      const ssize_t count = ::read(master_.get(), buffer.data(), buffer.size());
      if (count <= 0) return false;
      shown_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return true;
  }
  int status() {
    int wait_status = 0;
    EXPECT_EQ(::waitpid(std::exchange(child_, -1), &wait_status, 0) > 0, true);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  }

  static constexpr int kNoStart = 96;
  static constexpr int kNoTerminal = 99;
  UniqueFd master_;
  pid_t child_ = -1;
  std::string shown_;
};

TEST_F(AtATerminal, YesRunsIt) {
  start([] { return ask(); });
  ASSERT_TRUE(read_until("[y/N] ")) << shown_;
  EXPECT_THAT(shown_, HasSubstr("git push origin main"));
  type("yes\n");
  EXPECT_EQ(status(), static_cast<int>(Answer::once));
}

TEST_F(AtATerminal, AnEmptyLineAndTheEndOfInputAreNo) {
  for (const char* typed : {"\n", "\x04", "n\n"}) {
    shown_.clear();
    start([] { return ask(); });
    ASSERT_TRUE(read_until("[y/N] ")) << shown_;
    type(typed);
    EXPECT_EQ(status(), static_cast<int>(Answer::deny));
  }
}

TEST_F(AtATerminal, WhatWasTypedBeforeIsNoAnswer) {
  // Whether the kernel has passed the bytes on when the question is asked is left to chance: several times.
  for (const char* typed : {"y\ny\n", "y\n", "y", "yes\ny", "\n\ny\n", "y\ny\ny\ny\n"}) {
    for (int i = 0; i < 10; ++i) {
      shown_.clear();
      start([] { return ask(); }, typed);
      ASSERT_TRUE(read_until("[y/N] ")) << shown_;
      type("n\n");
      ASSERT_EQ(status(), static_cast<int>(Answer::deny)) << typed << " was taken for the answer, time " << i;
    }
  }
}

TEST_F(AtATerminal, StandardStreamsMayBeAnything) {
  start([] {
    // A terminal that nobody has open any more hangs up.
    if (::dup(0) < 0) return kNoStart;
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    return ask();
  });
  ASSERT_TRUE(read_until("[y/N] ")) << shown_;
  type("y\n");
  EXPECT_EQ(status(), static_cast<int>(Answer::once));
}

TEST_F(AtATerminal, ARawTerminalIsAskedAllTheSameAndRawAgainAfterwards) {
  start([] {
    termios raw{};
    ::tcgetattr(0, &raw);
    ::cfmakeraw(&raw);
    ::tcsetattr(0, TCSANOW, &raw);
    const int answer = ask();
    ::tcgetattr(0, &raw);
    return (raw.c_lflag & ICANON) == 0 ? answer : 98;
  });
  ASSERT_TRUE(read_until("[y/N] ")) << shown_;
  type("y\n");
  EXPECT_EQ(status(), static_cast<int>(Answer::once));
}

TEST_F(AtATerminal, AWithdrawnQuestionEnds) {
  start([] {
    std::stop_source stop;
    const std::jthread later([&stop] { stop.request_stop(); });
    return ask(stop.get_token());
  });
  EXPECT_EQ(status(), static_cast<int>(Answer::cancelled));
}

TEST_F(AtATerminal, OneWithdrawnAfterItsDeadlineHasTimedOut) {
  start([] {
    std::stop_source stop;
    stop.request_stop();
    return ask(stop.get_token(), 0ms);
  });
  EXPECT_EQ(status(), static_cast<int>(Answer::timed_out));
}

TEST_F(AtATerminal, ATerminalThatGoesAwayIsNoRoute) {
  start([] {
    static_cast<void>(::signal(SIGHUP, SIG_IGN));
    return ask();
  });
  ASSERT_TRUE(read_until("[y/N] ")) << shown_;
  master_.reset();
  const int answer = status();
  EXPECT_TRUE(answer == static_cast<int>(Answer::no_route) || answer == static_cast<int>(Answer::deny)) << answer;
}

TEST_F(AtATerminal, InTheBackgroundNobodyIsAsked) {
  start([] {
    const pid_t job = ::fork();
    if (job == 0) {
      ::setpgid(0, 0);
      ::_exit(ask());
    }
    int wait_status = 0;
    ::waitpid(job, &wait_status, 0);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 97;
  });
  EXPECT_EQ(status(), kNoTerminal);
}

TEST(TerminalApprover, WithoutATerminalThereIsNone) {
  EXPECT_EQ(TerminalApprover::open("/dev/null"), nullptr);
  EXPECT_EQ(TerminalApprover::open("/nonexistent"), nullptr);
}

}  // namespace
}  // namespace exechost::cli
