// What goes on from one shell to the next, with the shells of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/keeper/shell/shell_process.hpp"

namespace exechost::keeper::shell::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// This process's own: other tests run at the same time.
std::string scratch() {
  std::string folder = ::testing::TempDir();
  while (folder.ends_with('/')) folder.pop_back();
  return folder + "/exechost-shell-" + std::to_string(::getpid());
}

struct Kept {
  const char* name;
  std::string before;  // in the first run, which says nothing
  std::string after;   // in the second
  std::string out;     // of the second, which says nothing else
};
std::string name_of_kept(const ::testing::TestParamInfo<Kept>& info) { return info.param.name; }

void expect_kept(Shells& shell, const Kept& kept) {
  const ShellEnd first = shell(kept.before);
  EXPECT_EQ(first.out, "");
  EXPECT_EQ(first.err, "");
  ASSERT_TRUE(shell.state);
  const ShellEnd second = shell(kept.after);
  EXPECT_EQ(second.out, kept.out);
  EXPECT_EQ(second.err, "");
}

// ---- what is kept by both ----------------------------------------------------------

class Both : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Shell, Both, ::testing::Bool(),
                         [](const auto& tested) { return std::string(tested.param ? "bash" : "sh"); });

TEST_P(Both, TheFirstIsAnOrdinaryShell) {
  Shells shell(GetParam());
  const ShellEnd end = shell("pwd; echo $#; cat; ls /proc/self/fd; echo err >&2; exit 3");
  EXPECT_THAT(end.out, HasSubstr("\n0\n0\n1\n2\n3\n"));
  EXPECT_EQ(end.err, "err\n");
  EXPECT_EQ(end.exit_code(), 3);
  EXPECT_EQ(shell.state->bash, GetParam());
}

TEST_P(Both, AScriptOfManyWordsOfTheKernels) {
  Shells shell(GetParam());
  const std::string before = "A='" + std::string(1'300'000, 'x') + "'; echo $# ${#A}; export B=kept\n";
  for (int i = 0; i < 2; ++i) {  // without a state, and with one
    const ShellEnd end = shell(before + "set -- a b\nnosuch\nset -e; (exit 6); echo not reached");
    EXPECT_EQ(end.out, "0 1300000\n");
    EXPECT_THAT(end.err, HasSubstr(GetParam() ? "line 3: nosuch" : "nosuch: not found"));
    EXPECT_EQ(end.exit_code(), 6);
    EXPECT_EQ(shell("set +e; echo $B").out, "kept\n");
  }
}

TEST_P(Both, FolderMaskAliasesAndExports) {
  Shells shell(GetParam());
  expect_kept(shell, {"both", "cd /usr; cd lib; export A='x y' B=; umask 027; alias ll='ls -l' a='b'",
                      "pwd; cd - ; echo \"$A${B-unset}\"; umask; alias ll; alias a; unalias ll",
                      GetParam() ? "/usr/lib\n/usr\nx y\n0027\nalias ll='ls -l'\nalias a='b'\n"
                                 : "/usr/lib\n/usr\nx y\n0027\nll='ls -l'\na='b'\n"});
  const ShellEnd third = shell("alias ll || echo gone");
  EXPECT_THAT(third.out, HasSubstr("gone"));
}

TEST_P(Both, WhatWasUnsetStaysUnset) {
  Shells shell(GetParam());
  shell.variables = {"PATH=/usr/bin:/bin", "A=a", "B=b", "C=c", "odd.name=d"};
  expect_kept(shell, {"both", "unset A; B=changed; readonly X=1; y=2; export C",
                      "echo ${A-unset} $B $C ${X-no} ${y-no}; env | grep odd || :",
                      GetParam() ? "unset changed c no no\nodd.name=d\n" : "unset changed c no no\n"});
  EXPECT_EQ(shell("env | grep -c '^[ABC]='").out, "2\n");
}

TEST_P(Both, EveryByteOfAValueAndOfAFolder) {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
  bytes += "\n\n'\\''\n";
  const std::string folder = scratch() + "/a 'b\"\n\n$(x)\xff\\\n";
  for (const char* locale : {"LC_ALL=C", "LC_ALL=C.UTF-8"}) {
    Shells shell(GetParam());
    shell.variables = {"PATH=/usr/bin:/bin", locale, "VALUE=" + bytes, "FOLDER=" + folder};
    EXPECT_EQ(shell("mkdir -p \"$FOLDER\"; cd \"$FOLDER\"; export OTHER=\"$VALUE\"").err, "");
    shell.variables = {"PATH=/usr/bin:/bin"};
    const ShellEnd end = shell(
        "env -0 | grep -az '^OTHER='; env -0 | grep -az '^VALUE='; printf '%s.' \"$PWD\"; /bin/pwd; rmdir \"$PWD\"");
    const auto nul = [](const std::string& text) { return text + std::string(1, '\0'); };
    EXPECT_EQ(end.out, nul("OTHER=" + bytes) + nul("VALUE=" + bytes) + folder + "." + folder + "\n") << locale;
    EXPECT_EQ(end.err, "");
  }
  std::filesystem::remove_all(scratch());
}

TEST_P(Both, WhatTheRunGivesWins) {
  Shells shell(GetParam());
  shell("export A=1 B=2; cd /usr");
  shell.variables = {"PATH=/usr/bin:/bin", "A=o'ne", "B=two", "C=three"};
  shell.run.given_variables = {"A", "C"};
  shell.run.cwd_given = true;
  const ShellEnd end = shell("echo \"$A\" $B $C; pwd");
  EXPECT_THAT(end.out, HasSubstr("o'ne 2 three\n"));
  EXPECT_THAT(end.out, Not(HasSubstr("/usr")));
  EXPECT_EQ(end.err, "");
}

TEST_P(Both, AFolderThatIsGone) {
  Shells shell(GetParam());
  const std::string folder = scratch() + "/gone";
  EXPECT_EQ(shell("mkdir -p " + folder + "/a/b; cd " + folder + "/a/b; rm -r " + folder + "/a").exit_code(), 0);
  const ShellEnd end = shell("pwd");
  EXPECT_EQ(end.out, folder + "\n");
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.handed.other_folder(), folder);
  std::filesystem::remove_all(scratch());
}

TEST_P(Both, AVariableOfTheSameNameAsWhatBashReadsFirst) {
  for (const char* variable : {"BASH_ENV=/no such", "POSIXLY_CORRECT=1"}) {
    Shells shell(GetParam());
    shell.variables = {"PATH=/usr/bin:/bin", variable};
    const ShellEnd first = shell("env | grep -E 'BASH_ENV|POSIX'");
    EXPECT_EQ(first.out, std::string(variable) + "\n");
    EXPECT_EQ(first.err, "");
    shell.run.given_variables = {std::string(variable).substr(0, std::string(variable).find('='))};
    const ShellEnd second = shell("env | grep -E -o '(BASH_ENV|POSIX[^=]*)='");
    EXPECT_EQ(second.out, shell.run.given_variables.front() + "=\n");
    EXPECT_EQ(second.err, "");
  }
}

// ---- options -----------------------------------------------------------------------

TEST(Bash, EachOption) {
  for (const char* option : {"allexport", "errexit", "errtrace", "functrace", "history", "ignoreeof", "keyword",
                             "monitor", "noclobber", "noglob", "nounset", "notify", "physical", "pipefail", "posix"}) {
    Shells shell(true);
    EXPECT_EQ(shell(std::string("set -o ") + option).err, "") << option;
    for (int i = 0; i < 3; ++i) {
      const ShellEnd end = shell(std::string("[[ -o ") + option + " ]] && echo on");
      EXPECT_EQ(end.out, "on\n") << option;
      EXPECT_EQ(end.err, "") << option;
      EXPECT_EQ(end.exit_code(), 0);
    }
    shell(std::string("set +o ") + option);
    EXPECT_EQ(shell(std::string("[[ -o ") + option + " ]] || echo off").out, "off\n") << option;
  }
  for (const char* option : {"braceexpand", "hashall", "interactive-comments"}) {
    Shells shell(true);
    shell(std::string("set +o ") + option);
    shell("true");
    EXPECT_EQ(shell(std::string("[[ -o ") + option + " ]] || echo off").out, "off\n") << option;
  }
}

TEST(Bash, TracingShowsTheScriptOnly) {
  Shells shell(true);
  EXPECT_EQ(shell("set -x; true").err, "+ true\n");
  EXPECT_EQ(shell("echo a; exit 3").err, "+ echo a\n+ exit 3\n");
  EXPECT_EQ(shell("trap 'echo \"bye\"' EXIT; false").err, "+ trap 'echo \"bye\"' EXIT\n+ false\n+ echo bye\n");
  EXPECT_EQ(shell("set +x").err, "+ set +x\n");
  EXPECT_EQ(shell("true").err, "");
}

TEST(Bash, EachShellOption) {
  Shells shell(true);
  const std::string all = shell.plain("shopt | grep -v -e login_shell -e restricted_shell").out;
  // All the other way round, then again.
  const ShellEnd turn = shell(
      "for o in $(shopt -s | grep -v -e login_shell -e restricted_shell | cut -f1); do off=\"$off $o\"; done; "
      "for o in $(shopt -u | grep -v -e login_shell -e restricted_shell -e compat | cut -f1); do shopt -s $o; done; "
      "shopt -u $off extdebug; "
      "shopt | grep -v -e login_shell -e restricted_shell >&2");
  const ShellEnd next = shell("shopt | grep -v -e login_shell -e restricted_shell >&2");
  EXPECT_EQ(next.err, turn.err);
  EXPECT_NE(next.err, all);
}

TEST(Bash, WhatMustNotBreakTheNext) {
  Shells shell(true);
  for (const char* script :
       {"set -n", "set -t", "set -v", "set -p", "IFS=abcdeimnoprstux:/", "export IFS=abcdeimnoprstux:/",
        "PS4='$(echo bad)'", "set -r 2>/dev/null; true", "readonly PWD OLDPWD IFS PATH", "exec 187>&-",
        "exec 9>&- 8>&- 10>&-", "shopt -s extdebug; set -eT", "GLOBIGNORE=*", "CDPATH=/usr; export CDPATH",
        "export SHELLOPTS BASHOPTS", "set -k -a -e -u -f -C; shopt -s failglob nullglob",
        "alias builtin=false echo=false; shopt -s expand_aliases",
        "cd() { echo bad; }; declare() { echo bad; }; exit() { echo bad; }; export() { echo bad; }; alias() { echo "
        "bad; }; "
        "umask() { echo bad; }; shopt() { echo bad; }; set() { echo bad; }; eval() { echo bad; }; unset() { echo bad; "
        "}; "
        "printf() { echo bad; }; pwd() { echo bad; }; local() { echo bad; }; return() { echo bad; }; exec() { echo "
        "bad; }; "
        "command() { echo bad; }; source() { echo bad; }"}) {
    shell.state.reset();
    shell("A=1; export A; f() { builtin echo fine $A; }; g() { :; }; export -f g");
    shell(script);
    const ShellEnd end = shell("f");
    EXPECT_EQ(end.out, "fine 1\n") << script;
    EXPECT_EQ(end.err,
              std::string(script) == "set -v" ? "f\n{ __exechost_state \"$?\" \"$SHELLOPTS\" && :; } >&- 2>&-\n" : "")
        << script;
    EXPECT_EQ(end.exit_code(), 0);
  }
}

// ---- functions ---------------------------------------------------------------------

class Functions : public ::testing::TestWithParam<Kept> {};
INSTANTIATE_TEST_SUITE_P(
    Bash, Functions,
    ::testing::Values(Kept{"plain", "f() { echo \"f $1\"; }", "f x", "f x\n"},
                      Kept{"gone", "f() { :; }; unset -f f", "type -t f; echo", "\n"},
                      Kept{"with_a_here_document", "f() { cat <<X\n'$1'\nX\n}", "f x", "'x'\n"},
                      Kept{"subshell_body", "f() ( cd /usr; pwd )", "f; [ \"$PWD\" != /usr ] && echo on", "/usr\non\n"},
                      Kept{"pattern_of_extglob",
                           "shopt -s extglob\nf() { case $1 in +([0-9])) echo n;; !(x)) echo o;; esac; }", "f 12; f y",
                           "n\no\n"},
                      Kept{"extglob_off_again", "shopt -s extglob\nf() { echo ${1//+(a)}; }\nshopt -u extglob",
                           "shopt -q extglob || echo off; shopt -s extglob; f baac", "off\nbc\n"},
                      Kept{"exported", "f() { echo f; }; export -f f", "bash -c f", "f\n"},
                      Kept{"read_only", "f() { echo f; }; readonly -f f",
                           "f; { f() { :; }; } 2>/dev/null || echo refused", "f\nrefused\n"},
                      Kept{"an_odd_name", "a-b.c:d/e() { echo odd; }", "a-b.c:d/e", "odd\n"},
                      Kept{"named_like_a_builtin", "cd() { builtin cd \"$@\" && echo moved; }", "cd /", "moved\n"},
                      Kept{"a_trap_of_its_own", "trap() { echo mine; }",
                           "trap x EXIT; builtin trap -p EXIT | grep -c exechost", "mine\n1\n"},
                      Kept{"with_an_alias_in_it", "shopt -s expand_aliases\nalias e='echo -n'\nf() { e x; }",
                           "f; alias e; f", "xalias e='echo -n'\nx"},
                      Kept{"that_alias_expands_once", "shopt -s expand_aliases\nalias echo='echo -n'\nf() { echo x; }",
                           "declare -f f | grep -c -- '-n -n'", "0\n"}),
    name_of_kept);
TEST_P(Functions, GoOn) {
  Shells shell(true);
  expect_kept(shell, GetParam());
}

TEST(Sh, FunctionsDoNot) {
  Shells shell(false);
  shell("f() { echo f; }; export A=1");
  EXPECT_EQ(shell("f 2>/dev/null || echo no function, $A").out, "no function, 1\n");
}

TEST(Sh, OptionsGoOn) {
  for (const char* letter : {"a", "C", "e", "f", "u"}) {
    Shells shell(false);
    shell(std::string("set -") + letter);
    for (int i = 0; i < 3; ++i) EXPECT_THAT(shell("echo $-").out, HasSubstr(letter));
    shell(std::string("set +") + letter);
    EXPECT_THAT(shell("echo $-").out, Not(HasSubstr(letter)));
  }
  Shells shell(false);
  EXPECT_EQ(shell("set -x").err, "");
  EXPECT_EQ(shell("echo on").err, "+ echo on\n");
}

// ---- the end -----------------------------------------------------------------------

struct End {
  const char* name;
  std::string script;
  bool kept = true;  // by bash
  bool kept_by_sh = true;
};

class Ends : public ::testing::TestWithParam<End> {};
INSTANTIATE_TEST_SUITE_P(
    Shell, Ends,
    ::testing::Values(
        End{"normal", "true"}, End{"false", "false"}, End{"status", "exit 3"}, End{"errexit", "set -e; false; echo no"},
        End{"errexit_in_function", "set -e; f() { false; echo no; }; f"}, End{"unset", "set -u; echo $nope; echo no"},
        End{"readonly", "readonly x=1; x=2; echo no"}, End{"error", ": ${x?gone}"},
        End{"exec", "exec true", false, false}, End{"exec_with_a_status", "exec sh -c 'exit 4'", false, false},
        End{"failing_exec", "exec nosuch"}, End{"exec_of_a_path", "exec /no/such", false},
        End{"killed", "kill -9 $$", false, false}, End{"terminated", "kill -TERM $$", true, false},
        End{"hung_up", "kill -HUP $$", true, false}, End{"own_trap", "trap 'echo bye $?' EXIT; true", true},
        End{"own_trap_and_exit", "trap 'echo bye $?' EXIT; exit 4", true, false},
        End{"own_trap_and_errexit", "set -e; trap 'echo bye $?' EXIT; false", true, false},
        End{"own_trap_that_exits", "trap 'echo $?; exit 5' EXIT; exit 4", true, false},
        End{"own_trap_that_fails", "set -e; trap 'false; echo no' EXIT; true", true},
        End{"own_trap_taken_back", "trap 'echo no' EXIT; trap - EXIT; exit 4", true, false},
        End{"own_trap_ignored", "trap '' EXIT; exit 4", true, false},
        End{"own_trap_for_0", "trap 'echo bye' 0; exit 4", true, false},
        End{"own_trap_with_text", "trap 'echo \"a'\"'\"'b\"\n# comment' EXIT; exit 4", true, false},
        End{"own_trap_that_takes_itself_back", "trap 'echo bye; trap - EXIT; exit 6' EXIT; exit 4", true, false},
        End{"own_trap_for_a_signal", "trap 'echo term; exit 7' TERM; kill -TERM $$; echo no", true},
        End{"own_traps_for_both", "trap 'echo end $?' EXIT TERM; kill -TERM $$; echo on", true},
        End{"trap_kills_itself", "trap 'echo end; trap - TERM; kill -TERM $$' TERM; kill -TERM $$", true, false},
        End{"in_a_function", "f() { exit 4; }; f; echo no"}, End{"return", "f() { return 4; }; f"},
        End{"in_a_subshell", "(exit 4); echo $?; (cd /; exit 5) || echo $?"},
        End{"trap_in_a_subshell", "(trap 'echo sub $?' EXIT; exit 4); echo $?"},
        End{"trap_in_a_substitution", "x=$(trap 'echo sub' EXIT; exit 4); echo $? $x"},
        End{"background", "sleep 0 & wait; (exit 3) & wait $!; echo $?"}, End{"pipe", "exit 4 | cat; echo x | exit 5"}),
    [](const auto& tested) { return std::string(tested.param.name); });

void expect_same_end(bool bash, const std::string& script, bool kept) {
  Shells shell(bash);
  shell("export MARK=before");
  const std::string marked = "export MARK=after; " + script;
  const ShellEnd plain = shell.plain(marked);
  const ShellEnd end = shell(marked);
  EXPECT_EQ(end.out, plain.out);
  if (bash) {
    EXPECT_EQ(end.err, plain.err);
  }
  EXPECT_EQ(end.err.empty(), plain.err.empty()) << end.err;
  EXPECT_EQ(end.status, plain.status);
  EXPECT_EQ(end.handed.state().has_value(), kept);
  EXPECT_EQ(shell("set +eu; echo $MARK").out, kept ? "after\n" : "before\n");
}
TEST_P(Ends, InBash) { expect_same_end(true, GetParam().script, GetParam().kept); }
TEST_P(Ends, InSh) { expect_same_end(false, GetParam().script, GetParam().kept_by_sh); }

TEST_P(Both, ASyntaxErrorLeavesTheState) {
  Shells shell(GetParam());
  shell("export MARK=before");
  const std::string script = "export MARK=after\necho one\necho )\necho two";
  const ShellEnd end = shell(script);
  const ShellEnd plain = shell.plain(script);
  EXPECT_EQ(end.out, plain.out);
  EXPECT_EQ(end.status, plain.status);
  EXPECT_THAT(end.err, HasSubstr(GetParam() ? "line 3" : "3"));
  if (GetParam()) {
    EXPECT_EQ(end.err, plain.err);
  }
  shell("true");
  EXPECT_EQ(shell("echo $MARK").out, "after\n");
}

}  // namespace
}  // namespace exechost::keeper::shell::test
