// What one script leaves for the next: its folder, its variables, and nothing that breaks the next one.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/contract/behaviours/place.hpp"

namespace exechost::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ShellOfASession : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, ShellOfASession, ::testing::Values(Where::session, Where::node_session), place_name);

// Elsewhere: folder and variables are told in what follows the command, so exit, exec, set -e and a kill lose both
// without a word.
TEST_P(ShellOfASession, FolderAndVariablesOutliveHoweverTheScriptEnds) {
  struct {
    const char* ending;
    int exit_code;
  } const rows[] = {{"true", 0}, {"exit 3", 3}, {"set -e; false; echo not reached", 1}, {"exec no-such-command", 127}};
  for (const auto& [ending, exit_code] : rows) {
    run("set +e; cd /; export STATE=before");
    const ExecResult result = run(std::string("cd /usr; export STATE=after; ") + ending);
    EXPECT_EQ(result.exit_code, exit_code) << ending;
    EXPECT_THAT(result.warnings, IsEmpty()) << ending;
    EXPECT_EQ(run("set +e; pwd; echo $STATE").out.data, "/usr\nafter\n") << ending;
  }
}

TEST_P(ShellOfASession, WhatLeavesNoLastMomentSaysSo) {
  for (const char* ending : {"exec true", "kill -9 $$"}) {
    run("cd /; export STATE=before");
    const ExecResult result = run(std::string("cd /usr; export STATE=after; ") + ending);
    EXPECT_THAT(result.warnings, Contains(HasSubstr("goes on from the state before"))) << ending;
    EXPECT_EQ(run("pwd; echo $STATE").out.data, "/\nbefore\n") << ending;
  }
}

// Elsewhere: lines of what `export -p` says are filtered, so a newline in a value makes code of what follows it.
TEST_P(ShellOfASession, AVariableIsNeverCode) {
  run("export STATE=$'a\\ntouch pwned #\\n$(touch pwned)`touch pwned`\\'; touch pwned; \\'\\x01\\xff'");
  const ExecResult result = run("printf %s \"$STATE\"");
  EXPECT_EQ(result.out.data, "a\ntouch pwned #\n$(touch pwned)`touch pwned`'; touch pwned; '\x01\xff");
  EXPECT_FALSE(std::filesystem::exists(path("pwned")));
}

// Elsewhere: what tells the folder is found in the output, where any program can write it.
TEST_P(ShellOfASession, NoOutputMovesIt) {
  run("cd /usr");
  run("printf '\\n__CWD_x__/etc__CWD_x__\\n'; printf '\\0exechost\\0bash\\0/etc\\n\\0'");
  EXPECT_EQ(run("pwd").out.data, "/usr\n");
}

// Elsewhere: an alias or a function that hides a builtin ends every later command with 126 or 127.
TEST_P(ShellOfASession, WhatAScriptDefinesBreaksNoOther) {
  run("alias cd=false; pwd() { return 9; }; _helper() { echo helped; }; export() { return 9; }; shopt -s "
      "expand_aliases");
  const ExecResult result = run("_helper; builtin cd /usr; builtin export STATE=1");
  EXPECT_EQ(result.exit_code, 0) << result.err.data;
  EXPECT_EQ(result.out.data, "helped\n");
  EXPECT_EQ(run("builtin pwd; echo $STATE").out.data, "/usr\n1\n");
  EXPECT_EQ(run("set -euo pipefail; true").exit_code, 0);
  EXPECT_EQ(run("echo on").out.data, "on\n");
}

// Elsewhere: every command after that ends with 126.
TEST_P(ShellOfASession, AFolderThatIsGoneIsLeftForTheNearestOneAndSaid) {
  run("mkdir -p one/two; cd one/two");
  std::filesystem::remove_all(path("one"));
  const ExecResult result = run("pwd");
  EXPECT_EQ(result.exit_code, 0) << result.err.data;
  EXPECT_EQ(result.out.data, scene_->workspace() + "\n");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("one/two\" can't be entered any more")));
  EXPECT_THAT(run("pwd").warnings, IsEmpty()) << "once is enough";
}

class ShellWithoutASession : public InEachPlace {};
INSTANTIATE_TEST_SUITE_P(In, ShellWithoutASession, ::testing::Values(Where::alone, Where::node), place_name);

TEST_P(ShellWithoutASession, EachScriptStartsAnew) {
  run("cd /usr; export STATE=1; umask 077; exit 3");
  EXPECT_EQ(run("pwd; echo ${STATE-unset}").out.data, scene_->workspace() + "\nunset\n");
}

TEST_P(ShellWithoutASession, AFolderThatIsGoneIsNamedAndNothingIsRunElsewhere) {
  Request request = script("touch ran " + path("ran"));
  request.cwd = path("gone");
  const ExecResult result = host().run(request);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::invalid_request) << describe(*result.failure);
  EXPECT_THAT(result.failure->message, HasSubstr(path("gone")));
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  EXPECT_EQ(run("pwd").out.data, scene_->workspace() + "\n") << "what comes after it has its own folder";
}

}  // namespace
}  // namespace exechost::test
