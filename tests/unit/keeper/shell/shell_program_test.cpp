// What goes on from one shell to the next, with the shells of this machine.
#include <gmock/gmock.h>

#include "tests/unit/keeper/shell/shell_process.hpp"

namespace exechost::keeper::shell::test {
namespace {

using ::testing::HasSubstr;

TEST(Bash, First) {
  Shells shell(true);
  auto end = shell("cd /usr; export A='x y'; umask 027; alias ll='ls -l'; f() { echo f; }; set -u; shopt -s nullglob");
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.exit_code(), 0);
  ASSERT_TRUE(shell.state);
  end = shell("pwd; echo \"$A\"; umask; alias; f; echo $-; shopt -p nullglob; ls /proc/self/fd");
  EXPECT_EQ(end.out, "/usr\nx y\n0027\nalias ll='ls -l'\nf\nhuBc\nshopt -s nullglob\n0\n1\n2\n3\n");
  EXPECT_EQ(end.err, "");
}

TEST(Sh, First) {
  Shells shell(false);
  auto end = shell("cd /usr; export A='x y'; umask 027; alias ll='ls -l'; set -u");
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.exit_code(), 0);
  ASSERT_TRUE(shell.state);
  end = shell("pwd; echo \"$A\"; umask; alias; echo $-; ls /proc/self/fd");
  EXPECT_EQ(end.out, "/usr\nx y\n0027\nll='ls -l'\nu\n0\n1\n2\n3\n");
  EXPECT_EQ(end.err, "");
}

}  // namespace
}  // namespace exechost::keeper::shell::test
