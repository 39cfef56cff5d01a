// Everything once more as an ordinary user, for whom permissions are what they say.
#include <unistd.h>

#include <filesystem>

#include "tests/support/account.hpp"
#include "tests/support/program.hpp"
#include "tests/unit/gateway/scene.hpp"

namespace exechost::gateway {
namespace {

TEST(GatewayAsUser, EverythingHolds) {
  if (::geteuid() != 0) GTEST_SKIP() << "runs as a user already";
  const auto user = test::find_account("user");
  ASSERT_TRUE(user);
  test::ProgramOptions options;
  options.argv = {std::filesystem::read_symlink("/proc/self/exe"),
                  "--gtest_filter=Gateway*:*Protected*-GatewayAsUser*:*HeadAndTail:*GeneratedTexts:*Grep",
                  "--gtest_brief=1"};
  options.env = {{"PATH", "/usr/bin:/bin"}};
  options.as = user;
  const test::ProgramEnd end = test::run_program(options, std::chrono::minutes(4));
  EXPECT_EQ(end.exit_status(), 0) << end.out << end.err;
}

// An ordinary user for as long as it lives, when it was root before.
class OrdinaryUser {
 public:
  OrdinaryUser() : uid_(::geteuid()), gid_(::getegid()) {
    if (uid_ != 0) return;
    const auto user = test::find_account("user");
    EXPECT_TRUE(user && ::setegid(user->gid) == 0 && ::seteuid(user->uid) == 0);
  }
  ~OrdinaryUser() {
    EXPECT_EQ(::seteuid(uid_), 0);
    EXPECT_EQ(::setegid(gid_), 0);
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  uid_t uid_;
  gid_t gid_;
};

TEST(GatewayPermissions, HoldForAnOrdinaryUser) {
  const OrdinaryUser user;
  const Scene scene;
  scene.file("unreadable", "x", 0);
  scene.file("read_only", "x", 0444);
  scene.file("locked/f", "x");
  std::filesystem::permissions(scene.in("locked"),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Gateway gateway = scene.open();
  EXPECT_THAT(gateway.read_file("unreadable"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("read_only", "y"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("locked/new", "y"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("locked/f", "y"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_EQ(scene.content("read_only"), "x");
  SearchOptions search;
  search.text = "x";
  const auto found = gateway.search(".", search);
  ASSERT_THAT(found, Succeeds());
  ASSERT_EQ(found->skipped.size(), 1U);
  EXPECT_EQ(found->skipped.front().error_number, EACCES);
}

}  // namespace
}  // namespace exechost::gateway
