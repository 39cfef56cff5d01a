// What a command that ran before, or runs at the same time, can prepare in the workspace.
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "core/base/unique_fd.hpp"
#include "tests/support/tree.hpp"
#include "tests/unit/gateway/scene.hpp"

namespace exechost::gateway {
namespace {

namespace fs = std::filesystem;

// Exchanges two names without pause, each of them always there.
class Swapper {
 public:
  Swapper(std::string a, std::string b)
      : thread_([a = std::move(a), b = std::move(b), this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) ++swaps_;
          }
        }) {}
  int swaps() const { return swaps_; }

 private:
  std::atomic<int> swaps_ = 0;
  std::jthread thread_;
};

// Says whether anybody opened a file: without being one who does.
class OpenWatch {
 public:
  explicit OpenWatch(const std::string& path) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(fd_.get(), path.c_str(), IN_OPEN), 0);
  }
  bool was_opened() const {
    alignas(inotify_event) char buffer[4096];
    return ::read(fd_.get(), buffer, sizeof buffer) > 0;
  }

 private:
  UniqueFd fd_;
};

struct Outcomes {
  int inside = 0;
  int refused = 0;
  int iterations = 0;
  bool enough() const { return (iterations >= 3'000 && inside >= 20 && refused >= 20) || iterations >= 100'000; }
};

TEST(GatewayAttack, LinksThatLeadOutAreNotFollowed) {
  const Scene scene;
  scene.link("relative", "../outside/secret");
  scene.link("absolute", scene.outside() + "/secret");
  scene.link("absolute_inside", scene.in("f"));
  scene.link("folder", "../outside");
  scene.link("chain", "relative");
  scene.link("environ", "/proc/self/environ");
  scene.link("descriptor", "/proc/self/fd/0");
  scene.link("root", "/proc/self/root");
  scene.link("zero", "/dev/zero");
  scene.link("shadow", "/etc/shadow");
  scene.file("f", "inside");
  const Gateway gateway = scene.open();
  for (const char* path : {"relative", "absolute", "absolute_inside", "folder/secret", "chain", "environ", "descriptor",
                           "root/etc/passwd", "zero", "shadow", "../outside/secret", "f/../../outside/secret",
                           "folder/../outside/secret", "./../../../../../etc/passwd", "/etc/passwd",
                           "/proc/self/environ", "/proc/self/cwd/f", "/dev/zero", "//etc//passwd"}) {
    const auto content = gateway.read_file(path);
    ASSERT_FALSE(content) << path << ": " << content->bytes.substr(0, 100);
    const bool through_a_file = std::string_view(path).starts_with("f/");
    EXPECT_EQ(content.error().kind, through_a_file ? FailureKind::invalid_request : FailureKind::denied) << path;
    // The kernel itself says so of what begins in the workspace; the policy is asked only afterwards.
    if (path[0] != '/' && !through_a_file) {
      EXPECT_EQ(content.error().error_number, EXDEV) << path;
    }
    EXPECT_FALSE(gateway.sha256(path)) << path;
    EXPECT_FALSE(gateway.stat(path)) << path;
    EXPECT_FALSE(gateway.write_file(path, "x")) << path;
    SearchOptions search;
    search.text = "outside";
    EXPECT_FALSE(gateway.search(path, search)) << path;
    const Ran cat = run(gateway, {"cat", path});
    EXPECT_EQ(cat.out, "") << path;
    EXPECT_EQ(cat.status, 1) << path;
  }
  EXPECT_EQ(test::read_file(scene.outside() + "/secret"), kSecret);
}

TEST(GatewayAttack, NothingLeavesByTheWorkingFolder) {
  const Scene scene;
  scene.link("out", "../outside");
  const Gateway gateway = scene.open();
  for (const std::string& cwd : {scene.outside(), std::string("/"), scene.in("out"), std::string("/proc/self")}) {
    CommandRequest request;
    request.argv = {"cat", "secret"};
    request.cwd = cwd;
    const CommandSinks sinks{[](std::string_view) { ADD_FAILURE(); }, [](std::string_view) { ADD_FAILURE(); }};
    EXPECT_THAT(run_command(gateway, request, sinks), FailsWith(FailureKind::denied)) << cwd;
  }
}

TEST(GatewayAttack, ALinkThatIsSwappedWhileReadingShowsNothing) {
  const Scene scene;
  scene.file("victim", "inside");
  scene.link("other", "../outside/secret");
  const Gateway gateway = scene.open();
  const Swapper swapper(scene.in("victim"), scene.in("other"));
  Outcomes seen;
  for (; !seen.enough(); ++seen.iterations) {
    const auto content = gateway.read_file("victim");
    if (content) {
      ASSERT_EQ(content->bytes, "inside");
      ++seen.inside;
    } else {
      ASSERT_EQ(content.error().kind, FailureKind::denied) << describe(content.error());
      ++seen.refused;
    }
    if (seen.iterations % 50 == 0) {
      ASSERT_EQ(run(gateway, {"grep", "-rF", "never", "."}).out, "");
      ASSERT_THAT(run(gateway, {"cat", "victim"}).out, ::testing::AnyOf("", "inside"));
    }
  }
  EXPECT_GE(seen.inside, 20);
  EXPECT_GE(seen.refused, 20);
  EXPECT_GT(swapper.swaps(), 100);
}

TEST(GatewayAttack, AFolderThatIsSwappedForALinkLeadsNowhere) {
  const Scene scene;
  scene.file("folder/secret", "inside");
  scene.link("other", "../outside");
  const Gateway gateway = scene.open();
  const test::Tree before = test::describe_tree(scene.outside(), test::Times::compare);
  const Swapper swapper(scene.in("folder"), scene.in("other"));
  Outcomes seen;
  for (; !seen.enough(); ++seen.iterations) {
    const auto content = gateway.read_file("folder/secret");
    if (content) {
      ASSERT_THAT(content->bytes, ::testing::AnyOf("inside", "written"));
    }
    const auto written = gateway.write_file("folder/secret", "written");
    ++(written ? seen.inside : seen.refused);
    const auto made = gateway.write_file("folder/new" + std::to_string(seen.iterations % 5), "planted");
    if (seen.iterations % 50 == 0) {
      SearchOptions search;
      search.text = "never to be seen";
      const auto found = gateway.search("folder", search);
      if (found) {
        ASSERT_TRUE(found->matches.empty());
      }
      ASSERT_EQ(run(gateway, {"grep", "-rF", "never to be seen", "."}).out, "");
    }
  }
  EXPECT_EQ(test::changed_paths(before, test::describe_tree(scene.outside(), test::Times::compare)),
            std::vector<std::string>{});
  EXPECT_GE(seen.inside, 20);
  EXPECT_GE(seen.refused, 20);
}

// ".." out of a folder that is moved to another depth at the same moment.
TEST(GatewayAttack, DotsInAFolderThatMovesDoNotLeaveTheWorkspace) {
  const Scene scene;
  scene.folder("a/b/c/deep");
  scene.file("secret", "inside");
  const Gateway gateway = scene.open();
  std::jthread mover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      static_cast<void>(::rename(scene.in("a/b/c/deep").c_str(), scene.in("deep").c_str()));
      static_cast<void>(::rename(scene.in("deep").c_str(), scene.in("a/b/c/deep").c_str()));
    }
  });
  for (int i = 0; i < 10'000; ++i) {
    const auto content = gateway.read_file("a/b/c/deep/../../../../secret");
    if (content) {
      ASSERT_EQ(content->bytes, "inside");
    }
    const auto beyond = gateway.read_file("deep/../../outside/secret");
    ASSERT_FALSE(beyond);
  }
}

// A hidden folder is hidden under whatever name a link gives it, also while names change.
TEST(GatewayAttack, ASwapDoesNotShowWhatIsHidden) {
  const Scene scene;
  scene.file("hidden/key", std::string(kSecret));
  scene.file("shown/key", "inside");
  scene.link("a", "shown");
  scene.link("b", "hidden");
  Policy policy = scene.policy();
  policy.zones.push_back({scene.in("hidden"), Access::hidden});
  const Gateway gateway = Scene::open(policy);
  const Swapper swapper(scene.in("a"), scene.in("b"));
  Outcomes seen;
  for (; !seen.enough(); ++seen.iterations) {
    const auto content = gateway.read_file("a/key");
    if (content) {
      ASSERT_EQ(content->bytes, "inside");
    }
    ++(content ? seen.inside : seen.refused);
    if (gateway.write_file("a/key", "inside")) continue;
  }
  EXPECT_EQ(scene.content("hidden/key"), kSecret);
  EXPECT_GE(seen.inside, 20);
  EXPECT_GE(seen.refused, 20);
}

// The same below a folder that is walked through.
TEST(GatewayAttack, AWalkDoesNotShowWhatIsHidden) {
  const Scene scene;
  scene.file("hidden/key", std::string(kSecret));
  scene.file("walked/key", "inside, to be seen\n");
  scene.link("other", "hidden");
  Policy policy = scene.policy();
  policy.zones.push_back({scene.in("hidden"), Access::hidden});
  const Gateway gateway = Scene::open(policy);
  const Swapper swapper(scene.in("walked"), scene.in("other"));
  SearchOptions search;
  search.text = "to be seen";
  Outcomes seen;
  for (; !seen.enough(); ++seen.iterations) {
    const auto found = gateway.search(".", search);
    ASSERT_THAT(found, Succeeds());
    for (const SearchMatch& match : found->matches) ASSERT_EQ(match.text, "inside, to be seen");
    ++(found->skipped.empty() ? seen.inside : seen.refused);
  }
  EXPECT_GE(seen.inside, 20);
  EXPECT_GE(seen.refused, 20);
}

TEST(GatewayAttack, AFifoIsNeverOpened) {
  const Scene scene;
  scene.fifo("pipe");
  scene.file("f", "inside");
  const Gateway gateway = scene.open();
  const OpenWatch watch(scene.in("pipe"));
  EXPECT_THAT(gateway.read_file("pipe"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.sha256("pipe"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("pipe", "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.list_dir("pipe"), FailsWith(FailureKind::invalid_request, ENOTDIR));
  SearchOptions search;
  search.text = "x";
  EXPECT_THAT(gateway.search(".", search), Succeeds());
  for (const std::vector<std::string>& argv : std::vector<std::vector<std::string>>{{"cat", "pipe"},
                                                                                    {"head", "pipe"},
                                                                                    {"tail", "pipe"},
                                                                                    {"wc", "pipe"},
                                                                                    {"wc", "-c", "pipe"},
                                                                                    {"sha256sum", "pipe"},
                                                                                    {"grep", "-F", "x", "pipe"},
                                                                                    {"grep", "-rF", "x", "."},
                                                                                    {"ls", "pipe"},
                                                                                    {"find", "pipe"},
                                                                                    {"test", "-r", "pipe"},
                                                                                    {"stat", "-c", "%F", "pipe"}}) {
    run(gateway, argv);
  }
  EXPECT_FALSE(watch.was_opened());

  const Swapper swapper(scene.in("pipe"), scene.in("f"));
  Outcomes seen;
  for (; !seen.enough(); ++seen.iterations) {
    const auto content = gateway.read_file("f");
    if (content) {
      ASSERT_EQ(content->bytes, "inside");
    }
    ++(content ? seen.inside : seen.refused);
    if (seen.iterations % 50 == 0) run(gateway, {"grep", "-rF", "x", "."});
  }
  EXPECT_FALSE(watch.was_opened());
  EXPECT_GE(seen.inside, 20);
  EXPECT_GE(seen.refused, 20);
}

// An attacker's own open is what the watch is for: it has to be able to see one.
TEST(GatewayAttack, TheWatchSeesAnOpen) {
  const Scene scene;
  scene.fifo("pipe");
  const OpenWatch watch(scene.in("pipe"));
  const UniqueFd fd(::open(scene.in("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(watch.was_opened());
}

TEST(GatewayAttack, ADeviceIsNeverOpened) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make devices";
  const Scene scene;
  ASSERT_EQ(::mknod(scene.in("zero").c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);
  ASSERT_EQ(::mknod(scene.in("disk").c_str(), S_IFBLK | 0666, makedev(7, 0)), 0);
  const Gateway gateway = scene.open();
  for (const char* device : {"zero", "disk"}) {
    const OpenWatch watch(scene.in(device));
    EXPECT_THAT(gateway.read_file(device), FailsWith(FailureKind::denied, EACCES));
    EXPECT_THAT(gateway.write_file(device, "x"), FailsWith(FailureKind::denied, EACCES));
    EXPECT_EQ(run(gateway, {"head", "-c", "1", device}).status, 1);
    EXPECT_EQ(run(gateway, {"grep", "-rF", "x", "."}).status, 1);
    EXPECT_EQ(gateway.stat(device)->kind, FileKind::other);
    EXPECT_FALSE(watch.was_opened()) << device;
  }
}

TEST(GatewayAttack, AMountInTheWorkspaceIsNotEntered) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  const Scene scene;
  scene.folder("bind");
  scene.folder("memory");
  scene.file("file", "below the mount");
  // In a mount namespace of this thread's own, gone with it.
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount(scene.outside().c_str(), scene.in("bind").c_str(), nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(::mount("none", scene.in("memory").c_str(), "tmpfs", 0, nullptr), 0);
    ASSERT_EQ(::mount((scene.outside() + "/secret").c_str(), scene.in("file").c_str(), nullptr, MS_BIND, nullptr), 0);
    const Gateway gateway = scene.open();
    for (const char* path : {"bind/secret", "bind", "memory", "file"}) {
      EXPECT_THAT(gateway.read_file(path), FailsWith(FailureKind::denied, EXDEV)) << path;
      EXPECT_THAT(gateway.write_file(path, "x"), FailsWith(FailureKind::denied, EXDEV)) << path;
    }
    EXPECT_THAT(gateway.write_file("memory/new", "x"), FailsWith(FailureKind::denied, EXDEV));
    EXPECT_EQ(run(gateway, {"grep", "-rF", "e", "."}).out, "");
    EXPECT_EQ(gateway.find(".", {})->skipped.size(), 2U);
  }).join();
  EXPECT_EQ(test::read_file(scene.outside() + "/secret"), kSecret);
}

TEST(GatewayAttack, NothingIsOpenedWithoutProc) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  const Scene scene;
  scene.file("f", "x");
  const Gateway opened_before = scene.open();
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("none", "/proc", "tmpfs", 0, nullptr), 0);
    EXPECT_THAT(Gateway::open(scene.policy()), FailsWith(FailureKind::unsupported));
    EXPECT_FALSE(opened_before.read_file("f"));
  }).join();
}

TEST(GatewayAttack, ARemovedFileKeepsNoName) {
  const Scene scene;
  scene.file("f (deleted)", "honest");
  scene.file("hidden", std::string(kSecret));
  Policy policy = scene.policy();
  policy.zones.push_back({scene.in("hidden"), Access::hidden});
  const Gateway gateway = Scene::open(policy);
  EXPECT_EQ(gateway.read_file("f (deleted)")->bytes, "honest");

  scene.file("come_and_go", "inside");
  fs::create_hard_link(scene.in("come_and_go"), scene.in("kept"));
  std::jthread remover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::unlink(scene.in("come_and_go").c_str());
      if (::link(scene.in("kept").c_str(), scene.in("come_and_go").c_str()) != 0) return;
    }
  });
  int read = 0;
  for (int i = 0; i < 5'000 || (read == 0 && i < 500'000); ++i) {
    const auto content = gateway.read_file("come_and_go");
    if (content) {
      ASSERT_EQ(content->bytes, "inside");
      ++read;
    } else {
      ASSERT_THAT(content.error().error_number, ::testing::AnyOf(ENOENT, EAGAIN)) << describe(content.error());
    }
  }
  EXPECT_GT(read, 0);
}

TEST(GatewayAttack, AMovedWorkspaceIsNoLongerOne) {
  const Scene scene;
  scene.file("f", "inside");
  const Gateway gateway = scene.open();
  fs::rename(scene.workspace(), scene.base() + "/moved");
  fs::create_directory(scene.workspace());
  EXPECT_THAT(gateway.read_file("f"), FailsWith(FailureKind::denied));
  EXPECT_THAT(gateway.write_file("g", "x"), FailsWith(FailureKind::denied));
  EXPECT_FALSE(test::exists(scene.base() + "/moved/g"));
}

}  // namespace
}  // namespace exechost::gateway
