// Reading, hashing and looking at single files through the typed API.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "core/base/unique_fd.hpp"
#include "tests/unit/gateway/scene.hpp"

namespace exechost::gateway {
namespace {

using namespace std::chrono_literals;

constexpr off_t kTebibyte = off_t{1} << 40;

TEST(GatewayRead, GivesExactBytes) {
  const Scene scene;
  std::string bytes;
  for (int i = 0; i < 70'000; ++i) bytes += static_cast<char>(i % 256);
  scene.file("dir/data", bytes);
  const Gateway gateway = scene.open();

  const auto content = gateway.read_file("dir/data");

  ASSERT_THAT(content, Succeeds());
  EXPECT_EQ(content->bytes, bytes);
  EXPECT_EQ(content->total_bytes, bytes.size());
  EXPECT_FALSE(content->truncated);
}

struct Range {
  std::uint64_t offset;
  std::optional<std::uint64_t> limit;
  std::string bytes;
  bool truncated;
};
TEST(GatewayRead, HonoursRanges) {
  const Scene scene;
  scene.file("f", "0123456789");
  const Gateway gateway = scene.open();
  for (const Range& range : std::vector<Range>{{0, 4, "0123", true},
                                               {3, 4, "3456", true},
                                               {6, 4, "6789", false},
                                               {8, 100, "89", false},
                                               {10, 5, "", false},
                                               {1'000'000, 5, "", false},
                                               {0, 0, "", true},
                                               {2, std::nullopt, "23456789", false}}) {
    const auto content = gateway.read_file("f", {range.offset, range.limit});
    ASSERT_THAT(content, Succeeds());
    EXPECT_EQ(content->bytes, range.bytes) << range.offset;
    EXPECT_EQ(content->truncated, range.truncated) << range.offset;
    EXPECT_EQ(content->total_bytes, 10U);
  }
  EXPECT_THAT(gateway.read_file("f", {UINT64_MAX, 5}), FailsWith(FailureKind::invalid_request, EINVAL));
}

TEST(GatewayRead, NeverReturnsMoreThanTheLimit) {
  const Scene scene;
  scene.file("f", std::string(1000, 'x'));
  Policy policy = scene.policy();
  policy.limits.read_bytes = 100;
  const auto content = Scene::open(policy).read_file("f", {0, 500});
  ASSERT_THAT(content, Succeeds());
  EXPECT_EQ(content->bytes.size(), 100U);
  EXPECT_TRUE(content->truncated);
}

TEST(GatewayRead, TakesAnySpellingOfAPath) {
  const Scene scene;
  scene.file("a/b/f", "here");
  scene.file("n\nl \xff", "odd");
  scene.link("a/up", "../a/b");
  scene.link("chain", "a/up");
  const Gateway gateway = scene.open();
  for (const std::string& path :
       {std::string("a/b/f"), std::string("./a//b/./f"), std::string("a/b/../b/f"), scene.in("a/b/f"),
        scene.in("a/../a/b/f"), std::string("a/up/f"), std::string("chain/f")}) {
    const auto content = gateway.read_file(path);
    ASSERT_THAT(content, Succeeds()) << path;
    EXPECT_EQ(content->bytes, "here");
  }
  EXPECT_EQ(gateway.read_file("n\nl \xff")->bytes, "odd");
}

TEST(GatewayRead, SaysWhatIsWrong) {
  const Scene scene;
  scene.file("f", "x");
  scene.folder("d");
  scene.link("dangling", "nowhere");
  scene.link("loop", "loop");
  const Gateway gateway = scene.open();
  const auto invalid = FailureKind::invalid_request;
  EXPECT_THAT(gateway.read_file("missing"), FailsWith(invalid, ENOENT));
  EXPECT_THAT(gateway.read_file("dangling"), FailsWith(invalid, ENOENT));
  EXPECT_THAT(gateway.read_file("d"), FailsWith(invalid, EISDIR));
  EXPECT_THAT(gateway.read_file("f/x"), FailsWith(invalid, ENOTDIR));
  EXPECT_THAT(gateway.read_file("f/"), FailsWith(invalid, ENOTDIR));
  EXPECT_THAT(gateway.read_file("f/."), FailsWith(invalid, ENOTDIR));
  EXPECT_THAT(gateway.read_file("loop"), FailsWith(FailureKind::denied, ELOOP));
  EXPECT_THAT(gateway.read_file(""), FailsWith(invalid, ENOENT));
  EXPECT_THAT(gateway.read_file(std::string_view("f\0x", 3)), FailsWith(invalid, EINVAL));
  EXPECT_THAT(gateway.read_file(std::string(5000, 'x')), FailsWith(invalid, ENAMETOOLONG));
}

TEST(GatewayRead, EscapesNamesInMessages) {
  const Scene scene;
  const auto content = scene.open().read_file("no\x1b[2Jsuch\xff");
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().message.find('\x1b'), std::string::npos);
}

TEST(GatewayRead, AllowReadMakesAFolderReadableButNotWritable) {
  const Scene scene;
  Policy policy = scene.policy();
  policy.roots.push_back({"/the/alias", scene.outside()});
  policy.roots.push_back({scene.outside(), scene.outside()});
  const Gateway gateway = Scene::open(policy);
  EXPECT_EQ(gateway.read_file(scene.outside() + "/secret")->bytes, kSecret);
  EXPECT_EQ(gateway.read_file("/the/alias/secret")->bytes, kSecret);
  EXPECT_THAT(gateway.write_file(scene.outside() + "/secret", "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("/the/alias/new", "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_EQ(test::read_file(scene.outside() + "/secret"), kSecret);
}

TEST(GatewayRead, AllowReadOfAFileGivesThatFileOnly) {
  const Scene scene;
  test::write_file(scene.outside() + "/given", "given");
  Policy policy = scene.policy();
  policy.roots.push_back({scene.outside() + "/given", scene.outside() + "/given"});
  const Gateway gateway = Scene::open(policy);
  EXPECT_EQ(gateway.read_file(scene.outside() + "/given")->bytes, "given");
  EXPECT_THAT(gateway.read_file(scene.outside() + "/secret"), FailsWith(FailureKind::denied));
  EXPECT_THAT(gateway.read_file(scene.outside() + "/given/../secret"),
              FailsWith(FailureKind::invalid_request, ENOTDIR));
  EXPECT_THAT(gateway.read_file(scene.outside() + "/given/"), FailsWith(FailureKind::invalid_request, ENOTDIR));

  // Its name now leads to its neighbour; a root is not a link.
  std::filesystem::remove(scene.outside() + "/given");
  std::filesystem::create_symlink("secret", scene.outside() + "/given");
  EXPECT_THAT(gateway.read_file(scene.outside() + "/given"), FailsWith(FailureKind::denied));
}

TEST(GatewayRead, SeesARootFileThatWasReplaced) {
  const Scene scene;
  test::write_file(scene.outside() + "/given", "old");
  Policy policy = scene.policy();
  policy.roots.push_back({scene.outside() + "/given", scene.outside() + "/given"});
  const Gateway gateway = Scene::open(policy);
  test::write_file(scene.outside() + "/other", "new");
  std::filesystem::rename(scene.outside() + "/other", scene.outside() + "/given");
  EXPECT_EQ(gateway.read_file(scene.outside() + "/given")->bytes, "new");
}

TEST(GatewayRead, HidesWhatIsHidden) {
  const Scene scene;
  scene.file("shown", "shown");
  scene.file("hidden/key", "key");
  scene.file("hidden/but/this", "this");
  scene.file("masked", "masked");
  scene.file("own/settings.json", "{}");
  scene.link("to_hidden", "hidden/key");
  scene.link("to_folder", "hidden");
  std::filesystem::create_hard_link(scene.in("masked"), scene.in("alias"));
  Policy policy = scene.policy();
  policy.zones.push_back({scene.in("hidden"), Access::hidden});
  policy.zones.push_back({scene.in("hidden/but"), Access::readable});
  policy.zones.push_back({scene.in("masked"), Access::hidden});
  policy.zones.push_back({scene.in("own/settings.json"), Access::writable});
  policy.own = {scene.in("own")};
  const Gateway gateway = Scene::open(policy);
  for (const char* path :
       {"hidden", "hidden/key", "to_hidden", "to_folder/key", "masked", "alias", "own", "own/settings.json"}) {
    EXPECT_THAT(gateway.read_file(path), FailsWith(FailureKind::denied, EACCES)) << path;
    EXPECT_THAT(gateway.stat(path), FailsWith(FailureKind::denied, EACCES)) << path;
    EXPECT_THAT(gateway.write_file(path, "x"), FailsWith(FailureKind::denied, EACCES)) << path;
  }
  EXPECT_EQ(gateway.read_file("hidden/but/this")->bytes, "this");
  EXPECT_THAT(gateway.write_file("hidden/but/this", "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_THAT(gateway.write_file("hidden/new", "x"), FailsWith(FailureKind::denied, EACCES));
  EXPECT_EQ(scene.content("masked"), "masked");
}

TEST(GatewayRead, RefusesAWorkspaceThatIsALinkOrTheKernels) {
  const Scene scene;
  std::filesystem::create_directory_symlink("ws", scene.base() + "/link");
  for (const std::string& place : {scene.base() + "/link", std::string("/proc"), std::string("/sys/kernel"),
                                   scene.base() + "/missing", scene.outside() + "/secret/x"}) {
    Policy policy = scene.policy();
    policy.workspace = place;
    policy.roots = {{place, place}};
    EXPECT_FALSE(Gateway::open(policy)) << place;
  }
}

// The kernel of a thread with a filter has no openat2.
TEST(GatewayRead, AKernelWithoutOpenat2IsUnsupported) {
  const Scene scene;
  scene.file("f", "x");
  const Gateway opened_before = scene.open();
  std::thread([&] {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{std::size(code), code};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    EXPECT_THAT(Gateway::open(scene.policy()), FailsWith(FailureKind::unsupported, ENOSYS));
    EXPECT_THAT(opened_before.read_file("f"), FailsWith(FailureKind::unsupported, ENOSYS));
  }).join();
}

TEST(GatewayRead, StatNeverOpens) {
  const Scene scene;
  scene.file("f", "12345", 0640);
  scene.link("l", "f");
  scene.fifo("pipe");
  const Gateway gateway = scene.open();
  const auto info = gateway.stat("f");
  ASSERT_THAT(info, Succeeds());
  struct stat status {};
  ASSERT_EQ(::stat(scene.in("f").c_str(), &status), 0);
  EXPECT_EQ(info->kind, FileKind::regular);
  EXPECT_EQ(info->size, 5U);
  EXPECT_EQ(info->mode, 0640U);
  EXPECT_EQ(info->uid, status.st_uid);
  EXPECT_EQ(info->inode, status.st_ino);
  EXPECT_EQ(info->links, 1U);
  EXPECT_EQ(info->modified.count(), status.st_mtim.tv_sec * 1'000'000'000L + status.st_mtim.tv_nsec);
  EXPECT_EQ(gateway.stat("l")->kind, FileKind::regular);
  EXPECT_EQ(gateway.stat("l", false)->kind, FileKind::symlink);
  EXPECT_EQ(gateway.stat("pipe")->kind, FileKind::other);
  EXPECT_EQ(gateway.stat(".")->kind, FileKind::folder);
}

TEST(GatewayRead, HashesAsSha256Does) {
  const Scene scene;
  scene.file("empty", "");
  scene.file("abc", "abc");
  scene.file("big", std::string(1'000'000, 'a'));
  const Gateway gateway = scene.open();
  // FIPS 180-4's examples.
  EXPECT_EQ(*gateway.sha256("empty"), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(*gateway.sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(*gateway.sha256("big"), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

long peak_memory_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(GatewayRead, AHugeFileTakesNeitherMemoryNorTime) {
  const Scene scene;
  scene.sparse("huge", kTebibyte);
  Policy policy = scene.policy();
  policy.limits.file_bytes = 8ULL * 1024 * 1024;
  const Gateway gateway = Scene::open(policy);
  const long before = peak_memory_kib();
  const auto start = std::chrono::steady_clock::now();

  const auto content = gateway.read_file("huge", {static_cast<std::uint64_t>(kTebibyte) - 10, std::nullopt});
  const auto piece = gateway.read_file("huge", {0, 1024});
  SearchOptions search;
  search.text = "needle";

  ASSERT_THAT(content, Succeeds());
  EXPECT_EQ(content->bytes, std::string(10, '\0'));
  EXPECT_TRUE(piece->truncated);
  EXPECT_THAT(gateway.sha256("huge"), FailsWith(FailureKind::invalid_request, EFBIG));
  const auto found = gateway.search(".", search);
  ASSERT_THAT(found, Succeeds());
  ASSERT_EQ(found->skipped.size(), 1U);
  EXPECT_EQ(found->skipped.front().error_number, EFBIG);
  EXPECT_EQ(run(gateway, {"cat", "huge"}).err, "cat: huge: File too large\n");
  EXPECT_EQ(run(gateway, {"wc", "-c", "huge"}).out, "1099511627776 huge\n");
  EXPECT_EQ(run(gateway, {"tail", "-c", "3", "huge"}).out, std::string(3, '\0'));
  EXPECT_EQ(run(gateway, {"tail", "-n", "1", "huge"}).err, "tail: error reading 'huge': File too large\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_LT(peak_memory_kib() - before, 64 * 1024);
}

TEST(GatewayRead, ALineWithoutEndIsBounded) {
  const Scene scene;
  scene.file("line", std::string(3'000'000, 'x'));
  Policy policy = scene.policy();
  policy.limits.line_bytes = 1'000'000;
  const Gateway gateway = Scene::open(policy);
  SearchOptions search;
  search.text = "needle";
  ASSERT_EQ(gateway.search("line", search)->skipped.size(), 1U);
  EXPECT_EQ(gateway.search("line", search)->skipped.front().error_number, EFBIG);
  EXPECT_EQ(run(gateway, {"grep", "-F", "needle", "line"}).status, 2);
}

TEST(GatewayRead, EndsAtTheDeadline) {
  const Scene scene;
  scene.sparse("huge", kTebibyte);
  Policy policy = scene.policy();
  policy.limits.file_bytes = UINT64_MAX;
  const Gateway gateway = Scene::open(policy);
  Patience patience;
  patience.deadline = std::chrono::steady_clock::now() + 50ms;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(gateway.sha256("huge", patience), FailsWith(FailureKind::unavailable, ETIMEDOUT));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);

  CommandRequest request;
  request.argv = {"sha256sum", "huge"};
  request.patience.deadline = std::chrono::steady_clock::now() + 50ms;
  const CommandSinks sinks{[](std::string_view) {}, [](std::string_view) {}};
  const auto end = run_command(gateway, request, sinks);
  ASSERT_THAT(end, Succeeds());
  EXPECT_EQ(end->status, CommandStatus::timed_out);
}

TEST(GatewayRead, EndsWhenStopped) {
  const Scene scene;
  scene.sparse("huge", kTebibyte);
  Policy policy = scene.policy();
  policy.limits.file_bytes = UINT64_MAX;
  const Gateway gateway = Scene::open(policy);
  std::stop_source source;
  CommandRequest request;
  request.argv = {"sha256sum", "huge"};
  request.patience.stop = source.get_token();
  std::jthread stopper([&] { source.request_stop(); });
  const CommandSinks sinks{[](std::string_view) {}, [](std::string_view) {}};
  const auto end = run_command(gateway, request, sinks);
  ASSERT_THAT(end, Succeeds());
  EXPECT_EQ(end->status, CommandStatus::cancelled);
  EXPECT_THAT(gateway.read_file("huge", {}, request.patience), FailsWith(FailureKind::unavailable, ECANCELED));
  EXPECT_THAT(gateway.write_file("new", "x", {}, request.patience), FailsWith(FailureKind::unavailable, ECANCELED));
  EXPECT_FALSE(test::exists(scene.in("new")));
}

TEST(GatewayRead, AFileThatGrowsAndShrinksIsReadAsItIs) {
  const Scene scene;
  scene.file("f", "");
  const Gateway gateway = scene.open();
  std::atomic<bool> done = false;
  std::jthread changer([&] {
    const UniqueFd fd(::open(scene.in("f").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string text(5'000, 'g');
    while (!done) {
      for (int i = 0; i < 50; ++i) {
        if (::write(fd.get(), text.data(), text.size()) < 0) return;
      }
      if (::ftruncate(fd.get(), 0) != 0 || ::lseek(fd.get(), 0, SEEK_SET) != 0) return;
    }
  });
  for (int i = 0; i < 300; ++i) {
    const auto content = gateway.read_file("f");
    ASSERT_THAT(content, Succeeds());
    EXPECT_EQ(content->bytes.find_first_not_of('g'), std::string::npos);
    EXPECT_LE(content->bytes.size(), 250'000U);
    EXPECT_THAT(gateway.sha256("f"), Succeeds());
    EXPECT_EQ(run(gateway, {"tail", "-n", "3", "f"}).status, 0);
  }
  done = true;
}

}  // namespace
}  // namespace exechost::gateway
