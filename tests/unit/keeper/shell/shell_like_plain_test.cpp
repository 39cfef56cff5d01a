// Scripts can't tell a shell that takes part in a session's state from bash as anybody would call it.
#include <gtest/gtest.h>

#include "tests/unit/keeper/shell/shell_process.hpp"

namespace exechost::keeper::shell::test {
namespace {

class LikePlain : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Bash, LikePlain,
    ::testing::Values(
        ")", "echo a\nfoo\necho $LINENO\n(", "echo $0 $- $# $BASHOPTS $SHELLOPTS $BASH_EXECUTION_STRING",
        "nosuch; echo $?", "return 3; echo on", "local x", "set -x; echo a; f() { echo in; }; f; exit 3",
        "f() { caller 0; echo ${BASH_SOURCE[@]} ${BASH_LINENO[@]}; }\n\nf",
        "compgen -v | grep exechost; alias; jobs; echo $!", "trap; trap -p; trap -p EXIT",
        "trap 'echo a' EXIT INT; trap; trap -p; trap -p EXIT; trap -p INT",
        "trap 'echo a' EXIT; x=$(trap); echo \"$x\"", "trap 'echo a' EXIT; x=$(trap -p EXIT); eval \"$x\"; exit 3",
        "trap -l | head -2", "trap x NOSUCH 2>/dev/null; echo $?", "trap -- 'echo a' EXIT; trap EXIT; trap",
        "trap 'echo a' sigint; trap - SIGINT; trap", "trap 'echo err $?' ERR; false; true",
        "trap 'echo err' ERR; false; trap - ERR; false; echo on", "set -E; trap 'echo err' ERR; f() { false; }; f",
        "f() { trap 'echo ret' RETURN; echo in; }; f; echo out; g() { :; }; g",
        "f() { trap 'echo ret' RETURN; trap - RETURN; }; f; echo out",
        "trap 'echo \"debug $BASH_COMMAND\"' DEBUG; echo a; trap - DEBUG; echo b; echo c",
        "trap 'n=$((n+1))' DEBUG; :; :; trap - DEBUG; echo $n",
        "set -e; trap 'echo err' ERR; trap 'echo end' EXIT; false", "trap 'echo a; exit 9' USR1; kill -USR1 $$; echo b",
        "trap '' TERM; trap; kill -TERM $$; echo on", "set -u; trap 'echo $?' EXIT; echo $nope",
        "wait; echo $?; sleep 0 & wait; echo $?", "type -t exit cd export; type -t trap >/dev/null",
        "echo \"${BASH_ENV-unset}\"; bash -c 'echo ${BASH_ENV-unset}'; env | grep -c -e exechost -e BASH",
        "ls /proc/self/fd; (ls /proc/self/fd); cat <(ls /proc/self/fd | grep -c .)",
        "exec 3>&1; echo a >&3; exec 8>&1 9>&8 10>&9; echo b >&10", "read x; echo $?",
        "set -- a b; echo $@; shift; echo $1", "exec >&2; echo a; exit 2", "exec 2>&1; nosuch; exec >&- ; exit 4",
        "kill -INT $$", "{ sh -c 'kill -SEGV $$'; } 2>/dev/null; echo $?", "set -m; sleep 0 & wait; echo on",
        "coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x",
        "enable -n trap; trap 'echo a' EXIT 2>/dev/null; enable trap; echo on"));
TEST_P(LikePlain, TheSame) {
  for (const bool with_state : {false, true}) {
    Shells shell(true);
    if (with_state) shell("true");
    const ShellEnd plain = shell.plain(GetParam());
    const ShellEnd end = shell(GetParam());
    EXPECT_EQ(end.out, plain.out);
    EXPECT_EQ(end.err, plain.err);
    EXPECT_EQ(end.status, plain.status);
  }
}

}  // namespace
}  // namespace exechost::keeper::shell::test
