// Writing: whole, in the workspace only, and never what others act on.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "core/gateway/parts.hpp"
#include "core/gateway/replacement.hpp"
#include "tests/support/tree.hpp"
#include "tests/unit/gateway/scene.hpp"

namespace exechost::gateway {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

TEST(GatewayWrite, MakesAndReplacesFiles) {
  const Scene scene;
  scene.folder("d");
  const Gateway gateway = scene.open();
  const Umask mask(027);
  std::string bytes("line\n\0\xff more\0", 13);

  ASSERT_THAT(gateway.write_file("d/new", bytes), Succeeds());
  EXPECT_EQ(scene.content("d/new"), bytes);
  EXPECT_EQ(mode_of(scene.in("d/new")), 0640U);

  ASSERT_THAT(gateway.write_file(scene.in("d/new"), "shorter"), Succeeds());
  EXPECT_EQ(scene.content("d/new"), "shorter");
  ASSERT_THAT(gateway.write_file("d/new", ""), Succeeds());
  EXPECT_EQ(scene.content("d/new"), "");
  EXPECT_EQ(entries_in(scene.in("d")), 1U);
}

TEST(GatewayWrite, KeepsTheModeOrSetsTheOneGiven) {
  const Scene scene;
  scene.file("script", "old", 0750);
  scene.file("setid", "old");
  ASSERT_EQ(::chmod(scene.in("setid").c_str(), 06755), 0);
  const Gateway gateway = scene.open();
  const Umask mask(077);
  ASSERT_THAT(gateway.write_file("script", "new"), Succeeds());
  EXPECT_EQ(mode_of(scene.in("script")), 0750U);
  ASSERT_THAT(gateway.write_file("setid", "new"), Succeeds());
  EXPECT_EQ(mode_of(scene.in("setid")), 0755U);
  WriteOptions options;
  options.mode = 0755;
  ASSERT_THAT(gateway.write_file("script", "new", options), Succeeds());
  ASSERT_THAT(gateway.write_file("other", "new", options), Succeeds());
  EXPECT_EQ(mode_of(scene.in("script")), 0755U);
  EXPECT_EQ(mode_of(scene.in("other")), 0755U);
  options.mode = 04755;
  EXPECT_THAT(gateway.write_file("other", "x", options), FailsWith(FailureKind::invalid_request, EINVAL));
}

TEST(GatewayWrite, HonoursCreateAndReplace) {
  const Scene scene;
  scene.file("there", "old");
  const Gateway gateway = scene.open();
  WriteOptions create_only;
  create_only.replace = false;
  WriteOptions replace_only;
  replace_only.create = false;
  WriteOptions neither;
  neither.create = neither.replace = false;
  EXPECT_THAT(gateway.write_file("there", "x", create_only), FailsWith(FailureKind::invalid_request, EEXIST));
  EXPECT_THAT(gateway.write_file("missing", "x", replace_only), FailsWith(FailureKind::invalid_request, ENOENT));
  EXPECT_THAT(gateway.write_file("there", "x", neither), FailsWith(FailureKind::invalid_request, EINVAL));
  EXPECT_EQ(scene.content("there"), "old");
  EXPECT_EQ(entries_in(scene.workspace()), 1U);
  EXPECT_THAT(gateway.write_file("missing", "made", create_only), Succeeds());
  EXPECT_THAT(gateway.write_file("there", "new", replace_only), Succeeds());
  EXPECT_EQ(scene.content("missing"), "made");
  EXPECT_EQ(scene.content("there"), "new");
}

TEST(GatewayWrite, RefusesWhatIsNoFile) {
  const Scene scene;
  scene.folder("d");
  scene.file("f", "f");
  scene.fifo("pipe");
  scene.link("dangling", "../outside/planted");
  scene.link("dangling_inside", "nowhere.json");
  const Gateway gateway = scene.open();
  const auto invalid = FailureKind::invalid_request;
  EXPECT_THAT(gateway.write_file("d", "x"), FailsWith(invalid, EISDIR));
  EXPECT_THAT(gateway.write_file("new/", "x"), FailsWith(invalid, EISDIR));
  EXPECT_THAT(gateway.write_file("d/..", "x"), FailsWith(invalid, EISDIR));
  EXPECT_THAT(gateway.write_file("f/x", "x"), FailsWith(invalid, ENOTDIR));
  EXPECT_THAT(gateway.write_file("missing/x", "x"), FailsWith(invalid, ENOENT));
  EXPECT_THAT(gateway.write_file("pipe", "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("dangling", "x"), FailsWith(FailureKind::denied));
  EXPECT_THAT(gateway.write_file("dangling_inside", "x"), FailsWith(FailureKind::denied));
  EXPECT_THAT(gateway.write_file("../outside/planted", "x"), FailsWith(FailureKind::denied));
  EXPECT_FALSE(test::exists(scene.outside() + "/planted"));
  EXPECT_FALSE(test::exists(scene.in("nowhere.json")));
}

TEST(GatewayWrite, IsBounded) {
  const Scene scene;
  Policy policy = scene.policy();
  policy.limits.write_bytes = 100;
  const Gateway gateway = Scene::open(policy);
  EXPECT_THAT(gateway.write_file("f", std::string(101, 'x')), FailsWith(FailureKind::invalid_request, EFBIG));
  EXPECT_THAT(gateway.write_file("f", std::string(100, 'x')), Succeeds());
}

TEST(GatewayWrite, FollowsALinkInside) {
  const Scene scene;
  scene.file("real/f", "old", 0600);
  scene.link("link", "real/f");
  ASSERT_THAT(scene.open().write_file("link", "new"), Succeeds());
  EXPECT_EQ(scene.content("real/f"), "new");
  EXPECT_TRUE(fs::is_symlink(scene.in("link")));
}

TEST(GatewayWrite, LeavesOtherHardLinksAlone) {
  const Scene scene;
  fs::create_hard_link(scene.outside() + "/secret", scene.in("alias"));
  ASSERT_THAT(scene.open().write_file("alias", "new"), Succeeds());
  EXPECT_EQ(scene.content("alias"), "new");
  EXPECT_EQ(test::read_file(scene.outside() + "/secret"), kSecret);
}

TEST(GatewayWrite, RefusesAFileWithAnAccessList) {
  const Scene scene;
  scene.file("f", "old");
  // Version 2: owner rw, user 12345 r, group r, mask r, others none.
  const std::string list(
      "\x02\0\0\0"
      "\x01\0\x06\0\xff\xff\xff\xff"
      "\x02\0\x04\0\x39\x30\0\0"
      "\x04\0\x04\0\xff\xff\xff\xff"
      "\x10\0\x04\0\xff\xff\xff\xff"
      "\x20\0\0\0\xff\xff\xff\xff",
      44);
  ASSERT_EQ(::setxattr(scene.in("f").c_str(), "system.posix_acl_access", list.data(), list.size(), 0), 0)
      << "the folder for temporary files needs access lists";
  EXPECT_THAT(scene.open().write_file("f", "new"), FailsWith(FailureKind::invalid_request, ENOTSUP));
  EXPECT_EQ(scene.content("f"), "old");
}

TEST(GatewayWrite, AReadOnlyZoneStaysAsItIs) {
  const Scene scene;
  scene.file("ro/f", "old");
  scene.file("ro/rw/f", "old");
  scene.link("link", "ro/f");
  Policy policy = scene.policy();
  policy.zones.push_back({scene.in("ro"), Access::readable});
  policy.zones.push_back({scene.in("ro/rw"), Access::writable});
  const Gateway gateway = Scene::open(policy);
  for (const char* path : {"ro/f", "ro/new", "link"}) {
    EXPECT_THAT(gateway.write_file(path, "x"), FailsWith(FailureKind::denied, EACCES)) << path;
  }
  EXPECT_EQ(gateway.read_file("ro/f")->bytes, "old");
  EXPECT_FALSE(test::exists(scene.in("ro/new")));
  EXPECT_THAT(gateway.write_file("ro/rw/f", "new"), Succeeds());
}

class Protected : public ::testing::TestWithParam<const char*> {};

TEST_P(Protected, IsNeitherMadeNorReplaced) {
  const Scene scene;
  const std::string path = GetParam();
  fs::create_directories(fs::path(scene.in(path)).parent_path());
  const Gateway gateway = scene.open();
  EXPECT_THAT(gateway.write_file(path, "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_FALSE(test::exists(scene.in(path)));
  scene.file(path, "old");
  const test::Tree before = test::describe_tree(scene.workspace(), test::Times::compare);
  EXPECT_THAT(gateway.write_file(path, "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("./" + path, "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_EQ(test::changed_paths(before, test::describe_tree(scene.workspace(), test::Times::compare)),
            std::vector<std::string>{});
  EXPECT_EQ(gateway.read_file(path)->bytes, "old");  // reading is another matter
}

INSTANTIATE_TEST_SUITE_P(Names, Protected,
                         ::testing::Values(".git/hooks/pre-commit", ".git/config", ".git/config.worktree",
                                           "sub/.git/config", "sub/.git/modules/m/hooks/x", ".GIT/config",
                                           ".gitmodules", "sub/.gitconfig", ".bashrc", "sub/.Profile", ".zshenv",
                                           ".vscode/tasks.json", "deep/er/.idea/workspace.xml", ".claude/commands/t.md",
                                           ".claude/agents/t.md", ".claude/settings.json", ".mcp.json",
                                           ".exechost.json", "sub/.exechost.json", ".husky/pre-commit", ".envrc"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& byte : name) byte = std::isalnum(static_cast<unsigned char>(byte)) ? byte : '_';
                           return "N" + std::to_string(tested.index) + name;
                         });

TEST(GatewayWrite, AFileNamedGitIsProtectedToo) {
  const Scene scene;
  EXPECT_THAT(scene.open().write_file(".git", "gitdir: evil\n"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(scene.open().write_file("sub.git", "not git's\n"), Succeeds());
  EXPECT_THAT(scene.open().write_file(".gitignore", "*.o\n"), Succeeds());
}

TEST(GatewayWrite, AProtectedNameAboveTheWorkspaceMeansNothing) {
  const Scene scene;
  scene.folder(".codex/worktree/.git");
  Policy policy = scene.policy();
  policy.workspace = scene.in(".codex/worktree");
  policy.roots = {{policy.workspace, policy.workspace}};
  const Gateway gateway = Scene::open(policy);
  EXPECT_THAT(gateway.write_file("f", "x"), Succeeds());
  EXPECT_THAT(gateway.write_file(policy.workspace + "/g", "x"), Succeeds());
  EXPECT_THAT(gateway.write_file(policy.workspace + "/.git/config", "x"), FailsWith(FailureKind::denied, EACCES));
}

TEST(GatewayWrite, ProtectedNamesHoldThroughLinks) {
  const Scene scene;
  scene.file(".git/HEAD", "ref\n");
  scene.file("team_hooks/pre-commit", "old");
  scene.link(".git/hooks", "../team_hooks");
  scene.file("dotfiles/bashrc", "old");
  scene.file("scripts/start", "old");
  scene.link("scripts/.profile", "start");
  scene.link(".bashrc", "dotfiles/bashrc");
  scene.link("innocent", ".git");
  const Gateway gateway = scene.open();
  for (const char* path : {".git/hooks/pre-commit", "team_hooks/pre-commit", "team_hooks/post-commit", ".bashrc",
                           "dotfiles/bashrc", "innocent/HEAD", "innocent/config", "scripts/.profile"}) {
    EXPECT_THAT(gateway.write_file(scene.in(path), "x"), FailsWith(FailureKind::denied, EACCES)) << path;
    EXPECT_THAT(gateway.write_file(path, "x"), FailsWith(FailureKind::denied, EACCES)) << path;
  }
  EXPECT_THAT(gateway.write_file("dotfiles/other", "x"), Succeeds());
  EXPECT_EQ(scene.content("team_hooks/pre-commit"), "old");
  EXPECT_EQ(scene.content("dotfiles/bashrc"), "old");
}

TEST(GatewayWrite, ReadersSeeTheOldOrTheNewWhole) {
  const Scene scene;
  constexpr std::size_t kSize = 300'000;
  scene.file("f", std::string(kSize, 'A'));
  const Gateway gateway = scene.open();
  std::atomic<bool> done = false;
  std::atomic<int> seen_a = 0;
  std::atomic<int> seen_b = 0;
  std::atomic<int> torn = 0;
  std::jthread reader([&] {
    while (!done) {
      const std::string content = test::read_file(scene.in("f"));
      const bool whole = content.size() == kSize && content.find_first_not_of(content[0]) == std::string::npos;
      if (!whole) ++torn;
      ++(content[0] == 'A' ? seen_a : seen_b);
    }
  });
  for (int i = 0; i < 20'000 && (i < 300 || seen_a < 5 || seen_b < 5); ++i) {
    ASSERT_THAT(gateway.write_file("f", std::string(kSize, i % 2 == 0 ? 'B' : 'A')), Succeeds());
  }
  done = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GE(seen_a, 5);
  EXPECT_GE(seen_b, 5);
  EXPECT_EQ(entries_in(scene.workspace()), 1U);
}

// What is done where a file system has no files without a name.
TEST(GatewayWrite, ANamedReplacementIsWholeOrGone) {
  const Scene scene;
  scene.file("d/there", "old");
  const Gateway gateway = scene.open();
  const auto folder = gateway.parts().locate("d", {}, FinalLink::follow, {});
  ASSERT_THAT(folder, Succeeds());
  const auto begin = [&] {
    auto made = Replacement::begin_named(*folder, 0600, {});
    EXPECT_THAT(made, Succeeds());
    EXPECT_THAT(made->write("new", {}), Succeeds());
    return made;
  };
  EXPECT_EQ(entries_in(scene.in("d")), 1U);
  {
    auto made = begin();
    EXPECT_EQ(entries_in(scene.in("d")), 2U);
    EXPECT_THAT(made->commit_new("there"), FailsWith(FailureKind::invalid_request, EEXIST));
    EXPECT_THAT(made->commit_new("other"), Succeeds());
  }
  EXPECT_THAT(begin()->commit_over("there"), Succeeds());
  { auto abandoned = begin(); }
  EXPECT_EQ(scene.content("d/there"), "new");
  EXPECT_EQ(scene.content("d/other"), "new");
  EXPECT_EQ(entries_in(scene.in("d")), 2U);
}

TEST(GatewayWrite, WritersDoNotDisturbEachOther) {
  const Scene scene;
  const Gateway gateway = scene.open();
  std::vector<std::jthread> writers;
  std::atomic<int> created = 0;
  for (char name = 'a'; name < 'e'; ++name) {
    writers.emplace_back([&, name] {
      WriteOptions create_only;
      create_only.replace = false;
      if (gateway.write_file("only_one", std::string(1000, name), create_only)) ++created;
      for (int i = 0; i < 100; ++i) EXPECT_THAT(gateway.write_file("shared", std::string(1000, name)), Succeeds());
    });
  }
  writers.clear();
  EXPECT_EQ(created, 1);
  for (const char* file : {"only_one", "shared"}) {
    const std::string content = scene.content(file);
    EXPECT_EQ(content, std::string(1000, content[0])) << file;
  }
  EXPECT_EQ(entries_in(scene.workspace()), 2U);
}

}  // namespace
}  // namespace exechost::gateway
