// What shell scripts of one session hand on to the next, whatever becomes of them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/guests.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ShellState : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  ExecResult run(const std::string& script) { return host_->run(shell_request(script)); }
  // What it printed; nothing else may have come of it.
  std::string out_of(const std::string& script) {
    const ExecResult result = run(script);
    EXPECT_EQ(result.status, Status::exited) << script << (result.failure ? describe(*result.failure) : "");
    EXPECT_EQ(result.err.data, "") << script;
    EXPECT_THAT(result.warnings, IsEmpty()) << script;
    return result.out.data;
  }
  Execution start(const Request& request) {
    auto started = host_->start(request);
    EXPECT_TRUE(started);
    return std::move(*started);
  }
  Execution start(const std::string& script) { return start(shell_request(script)); }

  std::unique_ptr<Scene> scene_ = own_scene();
  std::unique_ptr<ExecHost> host_ = std::make_unique<ExecHost>(host_options(*scene_, GetParam()));
};

INSTANTIATE_TEST_SUITE_P(With, ShellState, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         [](const auto& tested) {
                           return std::string(tested.param == KeeperPlacement::child ? "child" : "in_process");
                         });

TEST_P(ShellState, AllOfItGoesOn) {
  EXPECT_EQ(out_of("pwd"), scene_->workspace() + "\n");
  EXPECT_EQ(out_of("mkdir -p a/b; cd a; cd b; export X=$'1\\n\\'2' Y=; unset HOME; export -n LANG; plain=1; umask 077"),
            "");
  EXPECT_EQ(out_of("f() { echo \"f $1\"; }; alias ll='ls -l'; set -o pipefail; shopt -s nullglob"), "");
  const std::string look =
      "pwd; echo \"$OLDPWD\"; echo \"$X${Y-unset}${HOME-unset}${plain-unset}\"; umask; f x; alias; set -o | grep "
      "pipefail; shopt -p nullglob";
  const std::string seen = scene_->workspace() + "/a/b\n" + scene_->workspace() +
                           "/a\n1\n'2unsetunset\n0077\nf x\nalias ll='ls -l'\npipefail       \ton\nshopt -s nullglob\n";
  EXPECT_EQ(out_of(look), seen);
  EXPECT_EQ(out_of(look), seen);
  // Another session has none of it, nor has a command that is no shell script.
  EXPECT_EQ(ExecHost(host_options(*scene_, GetParam())).run(shell_request("pwd")).out.data, scene_->workspace() + "\n");
  EXPECT_EQ(host_->run(sh_request("pwd; echo ${X-unset}; cd /; export X=9")).out.data,
            scene_->workspace() + "\nunset\n");
  EXPECT_EQ(out_of(look), seen);
}

TEST_P(ShellState, ItsStreamsAreTheScriptsOwn) {
  out_of("export A=1");
  Request request = shell_request(
      "cat; echo err >&2; ls /proc/self/fd; ls -l /proc/$$/fd | grep -v -e total -e pipe: -e /dev/null | grep -c .; "
      "exit 5");
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = "in\n";
  const ExecResult result = host_->run(request);
  EXPECT_EQ(result.out.data, "in\n0\n1\n2\n3\n0\n");
  EXPECT_EQ(result.err.data, "err\n");
  EXPECT_EQ(result.exit_code, 5);
  request.tty = true;
  request.standard_input = {};
  request.shell = "cd /usr; [ -t 0 ] && echo tty";
  EXPECT_EQ(host_->run(request).out.data, "tty\r\n");
  EXPECT_EQ(out_of("pwd"), "/usr\n");
}

TEST_P(ShellState, ASmallExitIsNoLoss) {
  struct {
    const char* script;
    int exit_code;
    const char* out;
  } const rows[] = {{"exit 3", 3, ""},
                    {"set -e; false; echo no", 1, ""},
                    {"f() { exit 4; }; f", 4, ""},
                    {"trap 'echo bye $?' EXIT; exit 6", 6, "bye 6\n"},
                    {"trap 'exit 7' EXIT; exit 6", 7, ""},
                    {"(cd /; export N=no; exit 5); exit $?", 5, ""},
                    {"kill -TERM $BASHPID & wait", 0, ""},
                    {"set -u; echo $nope", 127, ""},
                    {"exec nosuch", 127, ""}};
  for (const auto& row : rows) {
    ASSERT_EQ(out_of("set +eu; export N=before; cd /"), "") << row.script;
    const ExecResult result = run(std::string("cd /usr; export N=after; ") + row.script);
    EXPECT_EQ(result.status, Status::exited) << row.script;
    EXPECT_EQ(result.exit_code, row.exit_code) << row.script;
    EXPECT_EQ(result.out.data, row.out) << row.script;
    EXPECT_THAT(result.warnings, IsEmpty()) << row.script;
    EXPECT_EQ(out_of("set +eu; pwd; echo $N"), "/usr\nafter\n") << row.script;
  }
  const ExecResult wrong = run("export N=again\n)");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err.data, HasSubstr("line 2: syntax error"));
  EXPECT_EQ(out_of("echo $N"), "again\n");
}

TEST_P(ShellState, WhatEndsTheShellAtOnceLeavesTheStateBefore) {
  out_of("export N=before; cd /usr");
  const std::string environment = run("true").environment_id;
  const ExecResult replaced = run("export N=after; exec sh -c 'exit 4'");
  EXPECT_EQ(replaced.exit_code, 4);
  EXPECT_THAT(replaced.warnings, ElementsAre(HasSubstr("goes on from the state before")));
  EXPECT_EQ(out_of("pwd; echo $N"), "/usr\nbefore\n");
  const ExecResult killed = run("export N=after; kill -9 $$");
  EXPECT_EQ(killed.status, Status::signaled);
  EXPECT_EQ(killed.signal_number, SIGKILL);
  EXPECT_EQ(out_of("pwd; echo $N"), "/usr\nbefore\n");
  Request slow = shell_request("export N=after; cd /; sleep 100");
  slow.timeout = 700ms;
  const ExecResult late = host_->run(slow);
  EXPECT_EQ(late.status, Status::timed_out);
  EXPECT_EQ(out_of("pwd; echo $N"), "/usr\nbefore\n");
  EXPECT_EQ(run("true").environment_id, environment);
}

TEST_P(ShellState, AFolderThatIsGone) {
  out_of("mkdir -p one/two; cd one/two; rm -r ../../one");
  const ExecResult result = run("pwd");
  EXPECT_EQ(result.out.data, scene_->workspace() + "\n");
  EXPECT_EQ(result.err.data, "");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("\"" + scene_->workspace() +
                                                     "/one/two\" can't be entered any more: the shell started in \"" +
                                                     scene_->workspace() + "\"")));
  EXPECT_EQ(out_of("pwd"), scene_->workspace() + "\n");
}

TEST_P(ShellState, WhatTheRequestNamesWins) {
  out_of("export A=1 B=2; cd /usr");
  Request request = shell_request("echo $A $B; pwd");
  request.env = {{"A", "one"}};
  request.cwd = "/";
  const ExecResult result = host_->run(request);
  EXPECT_EQ(result.out.data, "one 2\n/\n");
  EXPECT_EQ(result.environment_id, run("true").environment_id);
  EXPECT_EQ(out_of("echo $A; pwd"), "one\n/\n");
}

TEST_P(ShellState, ABackgroundProcessDelaysNothing) {
  // A subshell has what the shell has, also the state's descriptor.
  const Witness witness(scene_->workspace() + "/witness");
  const Barrier barrier(scene_->workspace() + "/barrier");
  Execution running = start("( " + witness.hold() + "exec >/dev/null 2>&1 < /dev/null; while sleep 1; do :; done ) & " +
                            barrier.wait() + "export A=1; exit 3");
  ASSERT_TRUE(witness.wait_held());
  barrier.open();
  EXPECT_EQ(running.wait().exit_code, 3);
  EXPECT_TRUE(witness.let_go());
  EXPECT_EQ(out_of("echo $A"), "1\n");
}

TEST_P(ShellState, MoreThanABoundIsNotKept) {
  out_of("export A=before");
  const ExecResult large = run("export A=after; printf -v B %1100000s; export B; exit 2");
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.warnings, ElementsAre(HasSubstr("more than 1024 KiB")));
  EXPECT_EQ(out_of("echo $A ${B-unset}"), "before unset\n");
  EXPECT_EQ(
      out_of("printf -v C %100000s; for i in 1 2 3 4 5 6 7 8 9; do export C$i=\"$C\"; done; unset C; export A=after"),
      "");
  EXPECT_EQ(out_of("echo $A ${#C1} ${#C9}"), "after 100000 100000\n");
}

// Anything may come back over the pipe: it is kept or not, and never anything but a shell's input.
TEST_P(ShellState, WhatComesBackMayBeAnything) {
  out_of("export A=1");
  const std::vector<std::string> nonsense{
      "head -c 300000 /dev/urandom >&187; kill -9 $$", "head -c 3000000 /dev/zero >&187; kill -9 $$",
      "printf 'exechost\\0bash\\0' >&187; kill -9 $$", "exec 187>&-", "yes >&187 & exec true"};
  for (const std::string& script : nonsense) {
    run(script);
    EXPECT_EQ(out_of("echo $A; pwd"), "1\n" + scene_->workspace() + "\n") << script;
  }
  const auto forged = [](const std::string& folder, const std::string& code) {
    return "printf '%b' '\\0exechost\\0bash\\0" + folder + "\\n\\0" + code + "\\0\\0\\0\\0\\0end\\0' >&187; kill -9 $$";
  };
  run(forged("relative", "echo shown; echo shown >&2; A=2"));
  const ExecResult evaluated = run("echo $A");
  EXPECT_EQ(evaluated.out.data, "2\n");
  EXPECT_EQ(evaluated.err.data, "");
  run(forged("/\\033[31m/gone", "exit 9"));
  const ExecResult ended = run("echo not reached");
  EXPECT_EQ(ended.exit_code, 9);
  ASSERT_THAT(ended.warnings, ElementsAre(HasSubstr("can't be entered")));
  EXPECT_THAT(ended.warnings.front(), Not(HasSubstr("\033")));
  EXPECT_EQ(out_of("echo fine"), "fine\n");
}

TEST_P(ShellState, ScriptsWaitForEachOtherAndCommandsDoNot) {
  const Barrier barrier(scene_->workspace() + "/barrier");
  const Witness witness(scene_->workspace() + "/witness");
  Execution first = start("export ORDER=1; " + witness.hold() + "exec 9>&-; " + barrier.wait());
  ASSERT_TRUE(witness.wait_held());
  std::vector<Execution> waiting;
  for (int i = 2; i < 8; ++i) waiting.push_back(start("export ORDER=${ORDER}" + std::to_string(i)));
  EXPECT_EQ(host_->run(sh_request("echo beside")).out.data, "beside\n");
  Request hasty = shell_request("echo never");
  hasty.timeout = 300ms;
  const ExecResult late = host_->run(hasty);
  EXPECT_EQ(late.status, Status::timed_out);
  EXPECT_EQ(late.started, Started::no);
  Execution unwanted = start("echo never");
  unwanted.cancel();
  EXPECT_EQ(unwanted.wait().status, Status::cancelled);
  EXPECT_EQ(unwanted.wait().started, Started::no);
  EXPECT_TRUE(first.running());
  barrier.open();
  EXPECT_EQ(first.wait().exit_code, 0);
  for (Execution& execution : waiting) {
    EXPECT_EQ(execution.wait().exit_code, 0);
    EXPECT_EQ(execution.wait().environment_id, first.wait().environment_id);
  }
  EXPECT_EQ(run("true").environment_id, first.wait().environment_id);
  EXPECT_EQ(out_of("echo $ORDER"), "1234567\n");
}

TEST_P(ShellState, OneThatIsNotToWaitIsRefused) {
  const Barrier barrier(scene_->workspace() + "/barrier");
  const Witness witness(scene_->workspace() + "/witness");
  Execution first = start("export A=1; " + witness.hold() + "exec 9>&-; " + barrier.wait());
  ASSERT_TRUE(witness.wait_held());
  Request refused = shell_request("echo never");
  refused.settings_json = R"({"session": {"busy": "refuse"}, "on_unavailable": "open", "fallback": ["local"]})";
  const ExecResult busy = host_->run(refused);
  ASSERT_TRUE(busy.failure);
  EXPECT_EQ(busy.failure->kind, FailureKind::unavailable) << describe(*busy.failure);
  EXPECT_EQ(busy.failure->step, "session_busy");
  EXPECT_EQ(busy.started, Started::no);
  EXPECT_EQ(busy.backend, "bwrap");
  EXPECT_THAT(busy.attempts, IsEmpty());
  EXPECT_EQ(busy.out.data, "");
  barrier.open();
  EXPECT_EQ(first.wait().exit_code, 0);
  EXPECT_EQ(host_->run(refused).out.data, "never\n");
  EXPECT_EQ(out_of("echo $A"), "1\n");
}

TEST_P(ShellState, EndsWithItsEnvironment) {
  out_of("cd /usr; export A=1");
  for (const pid_t guest : serving_guests(getpid())) {
    ASSERT_EQ(::kill(guest, SIGKILL), 0);
    ASSERT_TRUE(wait_until_ended(guest, 20s));
  }
  const ExecResult next = run("pwd; echo ${A-unset}");
  EXPECT_TRUE(next.environment_recreated);
  EXPECT_EQ(next.out.data, scene_->workspace() + "\nunset\n");
  // Other names, other places and runs of their own have none either.
  out_of("export A=2");
  for (const char* settings : {R"({"session": {"name": "other"}})", R"({"session": {"persistent": false}})",
                               R"({"resources": {"tmp_size": "64m"}})"}) {
    Request request = shell_request("echo ${A-unset}");
    request.settings_json = settings;
    EXPECT_EQ(host_->run(request).out.data, "unset\n") << settings;
  }
  Request alone = shell_request("echo $0 ${BASH_VERSION-none}; ls /proc/$$/fd");
  alone.settings_json = R"({"session": {"persistent": false}})";
  EXPECT_EQ(host_->run(alone).out.data, host_
                                            ->run([&] {
                                              Request plain = alone;
                                              plain.argv = {"/bin/sh", "-c", *plain.shell};
                                              plain.shell.reset();
                                              return plain;
                                            }())
                                            .out.data);
  EXPECT_EQ(out_of("echo $A"), "2\n");
}

TEST_P(ShellState, APlainShellWhereThereIsNoBash) {
  const auto without_bash = [&](const std::string& script) {
    Request request = shell_request(script);
    request.settings_json = R"({"filesystem": {"deny_read": ["/usr/bin/bash", "/bin/bash"]}})";
    return host_->run(request);
  };
  const ExecResult first = without_bash("cd /usr; export A='1 2'; umask 077; set -u; alias ll=ls; f() { :; }; exit 3");
  EXPECT_EQ(first.exit_code, 3) << (first.failure ? describe(*first.failure) : first.err.data);
  EXPECT_THAT(first.warnings, Not(::testing::Contains(HasSubstr("state"))));
  const ExecResult second =
      without_bash("pwd; echo \"$A\" ${BASH_VERSION-none}; umask; alias; echo $-; ls /proc/self/fd");
  EXPECT_EQ(second.out.data, "/usr\n1 2 none\n0077\nll='ls'\nu\n0\n1\n2\n3\n");
  EXPECT_EQ(second.err.data, "");
}

}  // namespace
}  // namespace exechost::test
