// Files into and out of real environments, through the library.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/support/keepers.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/temp_folder.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Copy : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  std::string local(const std::string& name) const { return local_.path() + "/" + name; }
  std::string inside(const std::string& script) {
    const ExecResult result = host_.run(shell_request(script));
    EXPECT_EQ(result.status, Status::exited) << (result.failure ? describe(*result.failure) : "");
    EXPECT_EQ(result.exit_code, 0) << result.err.data;
    return result.out.data;
  }
  static void expect_done(const CopyResult& result) {
    EXPECT_EQ(result.status, Status::exited) << result.to_json();
    EXPECT_FALSE(result.failure) << result.to_json();
  }
  static void expect_failed(const CopyResult& result, FailureKind kind, int error) {
    ASSERT_EQ(result.status, Status::failed) << result.to_json();
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, kind) << result.to_json();
    EXPECT_EQ(result.failure->error_number, error) << result.to_json();
  }
  // Nothing that a transfer had begun and not finished.
  static bool has_temporaries(const std::string& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with(".exechost-")) return true;
    }
    return false;
  }

  void TearDown() override { end_keepers(*scene_); }

  std::unique_ptr<Scene> scene_ = own_scene();
  TempFolder local_{"/var/tmp", geteuid(), getegid()};
  ExecHost host_{host_options(*scene_, GetParam())};
};

INSTANTIATE_TEST_SUITE_P(With, Copy, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         [](const auto& tested) {
                           return std::string(tested.param == KeeperPlacement::child ? "child" : "in_process");
                         });

TEST_P(Copy, AFileGoesInAndComesBack) {
  std::string content(3'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + i / 251);
  write_file(local("data.bin"), content, 0754);
  const CopyResult in = host_.copy_in(local("data.bin"), Request{}, "/tmp");
  expect_done(in);
  EXPECT_EQ(in.files, 1U);
  EXPECT_EQ(in.bytes, content.size());
  EXPECT_EQ(inside("stat -c '%s %a' /tmp/data.bin"), "3000000 754\n");
  const CopyResult out = host_.copy_out(Request{}, "/tmp/data.bin", local("back.bin"));
  expect_done(out);
  EXPECT_EQ(out.bytes, content.size());
  EXPECT_TRUE(read_file(local("back.bin")) == content);
  struct stat status {};
  ASSERT_EQ(::stat(local("back.bin").c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 07777U, 0754U & ~mask);
}

TEST_P(Copy, AFolderGoesInAndComesBack) {
  fs::create_directories(local("tree/empty"));
  fs::create_directories(local("tree/a/b/c"));
  const std::string long_name(250, 'n');
  write_file(local("tree/a/b/c/" + long_name), "deep");
  write_file(local("tree/a/line\nbreak \x1b[31m"), "odd");
  write_file(local("tree/a/not-utf8-\xff"), "bytes");
  write_file(local("tree/none"), "");
  fs::create_symlink("a/b", local("tree/link"));
  const CopyResult in = host_.copy_in(local("tree"), Request{}, "/tmp/new");
  expect_done(in);
  EXPECT_EQ(in.files, 4U);
  EXPECT_EQ(in.folders, 5U);
  EXPECT_EQ(in.links, 1U);
  EXPECT_EQ(inside("cat /tmp/new/link/c/n*; readlink /tmp/new/link; ls -A /tmp/new/empty"), "deepa/b\n");
  const CopyResult out = host_.copy_out(Request{}, "/tmp/new", local(""));
  expect_done(out);
  EXPECT_EQ(out.files, 4U);
  EXPECT_EQ(out.folders, 5U);
  // By default no link comes out, and it is said.
  EXPECT_EQ(out.links, 0U);
  ASSERT_EQ(out.skipped_count, 1U);
  EXPECT_EQ(out.skipped.at(0).path, "link");
  EXPECT_EQ(out.skipped.at(0).reason, "link");
  EXPECT_EQ(read_file(local("new/a/b/c/" + long_name)), "deep");
  EXPECT_EQ(read_file(local("new/a/line\nbreak \x1b[31m")), "odd");
  EXPECT_EQ(read_file(local("new/a/not-utf8-\xff")), "bytes");
  EXPECT_TRUE(fs::is_empty(local("new/empty")));
  EXPECT_FALSE(exists(local("new/link")));
}

TEST_P(Copy, WhatACommandLaidOutIsNotTakenOut) {
  write_file(local("secret"), "mine");
  inside(
      "mkdir -p /tmp/t/sub/deeper; cd /tmp/t; ln -s / root; ln -s ../../etc out; ln -s sub ok; ln -s ../sub sub/ok; "
      "ln -s sub/../.. dotdot; mkfifo fifo; echo x > sub/file; ln sub/file sub/hard; mkdir shut; echo y > shut/f; "
      "chmod 0 shut");
  CopyOptions options;
  options.keep_links = true;
  const CopyResult out = host_.copy_out(Request{}, "/tmp/t", local("out"), options);
  expect_done(out);
  std::vector<std::string> skipped;
  for (const auto& entry : out.skipped) skipped.push_back(entry.reason + " " + entry.path);
  const std::vector<std::string> always{"link root", "link out", "link dotdot", "fifo fifo"};
  for (const auto& entry : always) EXPECT_THAT(skipped, ::testing::Contains(entry));
  EXPECT_EQ(fs::read_symlink(local("out/ok")), "sub");
  EXPECT_EQ(fs::read_symlink(local("out/sub/ok")), "../sub");
  struct stat one {};
  ASSERT_EQ(::stat(local("out/sub/hard").c_str(), &one), 0);
  EXPECT_EQ(one.st_nlink, 1U);
  EXPECT_EQ(out.links, 2U);
  // Whatever reads all can read a shut folder; else it is reported.
  if (geteuid() != 0) {
    EXPECT_THAT(skipped, ::testing::Contains("unreadable shut"));
  }
  ::chmod(local("out/shut").c_str(), 0700);
}

TEST_P(Copy, ALinkThatACommandMayHaveLaidIsNotFollowed) {
  fs::create_directory(local("victim"));
  write_file(local("victim/secret"), "mine");
  const std::string workspace = scene_->workspace();
  inside("ln -s '" + local("victim") + "' planted; ln -s '" + local("victim/secret") +
         "' file; echo new > /tmp/secret");
  // Neither into where it leads, nor out of there.
  expect_failed(host_.copy_out(Request{}, "/tmp/secret", workspace + "/planted/secret"), FailureKind::denied, ELOOP);
  expect_failed(host_.copy_out(Request{}, "/tmp/secret", workspace + "/planted/"), FailureKind::denied, ELOOP);
  expect_failed(host_.copy_in(workspace + "/planted/secret", Request{}, "/tmp/x"), FailureKind::denied, ELOOP);
  expect_failed(host_.copy_in(workspace + "/file", Request{}, "/tmp/x"), FailureKind::denied, ELOOP);
  // A file takes the link's place.
  expect_done(host_.copy_out(Request{}, "/tmp/secret", workspace + "/file"));
  EXPECT_EQ(read_file(workspace + "/file"), "new\n");
  EXPECT_FALSE(fs::is_symlink(workspace + "/file"));
  expect_done(host_.copy_out(Request{}, "/tmp/secret", workspace + "/planted"));
  EXPECT_FALSE(fs::is_symlink(workspace + "/planted"));
  EXPECT_EQ(read_file(local("victim/secret")), "mine");
  // The caller's own link to a folder is as good as the folder.
  fs::create_symlink(local("victim"), local("own"));
  expect_done(host_.copy_out(Request{}, "/tmp/secret", local("own")));
  EXPECT_EQ(read_file(local("victim/secret")), "new\n");
}

TEST_P(Copy, WhatIsInTheWayIsNamedAndStays) {
  inside("mkdir -p /tmp/d/x; echo f > /tmp/f; echo g > /tmp/d/x/g");
  fs::create_directories(local("f"));
  expect_done(host_.copy_out(Request{}, "/tmp/f", local("f")));  // into it
  EXPECT_EQ(read_file(local("f/f")), "f\n");
  fs::create_directories(local("t/f"));
  expect_failed(host_.copy_out(Request{}, "/tmp/f", local("t")), FailureKind::invalid_request, EISDIR);
  write_file(local("plain"), "p");
  expect_failed(host_.copy_out(Request{}, "/tmp/d", local("plain")), FailureKind::invalid_request, EEXIST);
  expect_failed(host_.copy_out(Request{}, "/tmp/d", local("plain/below")), FailureKind::invalid_request, ENOTDIR);
  expect_failed(host_.copy_out(Request{}, "/tmp/d", local("no/such/d")), FailureKind::invalid_request, ENOENT);
  expect_failed(host_.copy_out(Request{}, "/tmp/missing", local("m")), FailureKind::invalid_request, ENOENT);
  expect_failed(host_.copy_out(Request{}, "/tmp/.", local("m")), FailureKind::invalid_request, EINVAL);
  expect_failed(host_.copy_in(local("plain"), Request{}, "/tmp/no/such"), FailureKind::invalid_request, ENOENT);
  expect_failed(host_.copy_in(local("plain"), Request{}, "/usr/bin"), FailureKind::denied, EROFS);
  expect_failed(host_.copy_in(local("missing"), Request{}, "/tmp"), FailureKind::invalid_request, ENOENT);
  expect_failed(host_.copy_in("/dev/null", Request{}, "/tmp"), FailureKind::invalid_request, ENOTSUP);
  ASSERT_EQ(::mkfifo(local("fifo").c_str(), 0600), 0);
  const CopyResult fifo = host_.copy_in(local("fifo"), Request{}, "/tmp");
  expect_failed(fifo, FailureKind::invalid_request, ENOTSUP);
  EXPECT_THAT(fifo.failure->message, HasSubstr("fifo"));
  EXPECT_EQ(read_file(local("plain")), "p");
  EXPECT_FALSE(has_temporaries(local("")));
}

TEST_P(Copy, LimitsHoldBothWays) {
  fs::create_directories(local("tree/a/b"));
  write_file(local("tree/one"), std::string(600'000, '1'));
  write_file(local("tree/two"), std::string(600'000, '2'));
  const struct {
    const char* setting;
    const char* named;
  } cases[] = {{R"({"files":{"max_bytes":"1m"}})", "files.max_bytes"},
               {R"({"files":{"max_entries":4}})", "files.max_entries"},
               {R"({"files":{"max_depth":1}})", "files.max_depth"}};
  expect_done(host_.copy_in(local("tree"), Request{}, "/tmp/whole"));
  for (const auto& limit : cases) {
    Request request;
    request.settings_json = limit.setting;
    const CopyResult in = host_.copy_in(local("tree"), request, "/tmp/less");
    expect_failed(in, FailureKind::invalid_request, EFBIG);
    EXPECT_THAT(in.failure->message, HasSubstr(limit.named));
    const CopyResult out = host_.copy_out(request, "/tmp/whole", local("less"));
    expect_failed(out, FailureKind::invalid_request, EFBIG);
    EXPECT_THAT(out.failure->message, HasSubstr(limit.named));
    EXPECT_FALSE(has_temporaries(local("")));
    fs::remove_all(local("less"));
  }
  // What is too much from here is known before anything is sent.
  EXPECT_EQ(inside("ls -A /tmp"), "whole\n");
}

TEST_P(Copy, AFullDiskInsideIsSaid) {
  Request small;
  small.settings_json = R"({"resources":{"tmp_size":"1m"}})";
  write_file(local("big"), std::string(3'000'000, 'b'));
  expect_failed(host_.copy_in(local("big"), small, "/tmp"), FailureKind::unavailable, ENOSPC);
}

TEST_P(Copy, ACancelledOneLeavesNothing) {
  inside("truncate -s 9G /tmp/big");
  std::stop_source stop;
  CopyOptions options;
  options.on_progress = [&stop](const CopyProgress& progress) {
    if (progress.bytes > 0) stop.request_stop();
  };
  const CopyResult out = host_.copy_out(Request{}, "/tmp/big", local("big"), options, stop.get_token());
  EXPECT_EQ(out.status, Status::cancelled) << out.to_json();
  EXPECT_EQ(out.files, 0U);
  EXPECT_TRUE(fs::is_empty(local_.path()));
  // The environment is as good as before.
  EXPECT_EQ(inside("echo still"), "still\n");
}

TEST_P(Copy, ItsDeadlineHolds) {
  inside("truncate -s 9G /tmp/big");
  Request request;
  request.timeout = 300ms;
  const CopyResult out = host_.copy_out(request, "/tmp/big", local("big"));
  EXPECT_EQ(out.status, Status::timed_out) << out.to_json();
  EXPECT_TRUE(fs::is_empty(local_.path()));
}

TEST_P(Copy, FromOneSessionToAnother) {
  Request from;
  from.session = "one";
  Request to;
  to.session = "two";
  Request make = from;
  make.shell = "mkdir -p /tmp/t/d; echo deep > /tmp/t/d/f; ln -s d /tmp/t/l; mkfifo /tmp/t/p";
  ASSERT_EQ(host_.run(make).exit_code, 0);
  const CopyResult copied = host_.copy_between(from, "/tmp/t", to, "/tmp");
  expect_done(copied);
  EXPECT_EQ(copied.files, 1U);
  EXPECT_EQ(copied.skipped_count, 1U);
  Request look = to;
  look.shell = "cat /tmp/t/l/f; ls /tmp/t";
  EXPECT_EQ(host_.run(look).out.data, "deep\nd\nl\n");
  expect_failed(host_.copy_between(from, "/tmp/missing", to, "/tmp"), FailureKind::invalid_request, ENOENT);
  expect_failed(host_.copy_between(from, "/tmp/t/d/f", to, "/usr/x"), FailureKind::denied, EROFS);
}

TEST_P(Copy, OnlyWhereSomethingIsApart) {
  Request node;
  node.tier = "node";
  const CopyResult result = host_.copy_out(node, "/etc/passwd", local("x"));
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::unsupported) << result.to_json();
}

// ---- looking and removing ---------------------------------------------------------

TEST_P(Copy, FilesInsideAreListedAndDescribed) {
  inside(
      "mkdir -p d/inner && cd d && printf 12345 > file && chmod 751 file && ln -s /etc/passwd link && "
      "mkfifo fifo && touch -d @1000000000.5 file && touch \"$(printf 'odd \\n\\377')\"");
  const auto listed = host_.list_files(Request{}, "d");
  ASSERT_TRUE(listed) << describe(listed.error());
  std::vector<std::string> seen;
  for (const FileEntry& entry : *listed) seen.push_back(entry.name + " " + std::string(to_string(entry.type)));
  EXPECT_THAT(seen, ::testing::ElementsAre("fifo fifo", "file file", "inner folder", "link link", "odd \n\xff file"));
  Request below;
  below.cwd = scene_->workspace() + "/d";
  const auto file = host_.file_status(below, "file");
  ASSERT_TRUE(file) << describe(file.error());
  EXPECT_EQ(file->name, "file");
  EXPECT_EQ(file->size, 5U);
  EXPECT_EQ(file->mode, 0751U);
  EXPECT_EQ(file->modified, 1'000'000'000'500ms);
  EXPECT_EQ(host_.file_status(below, "link")->type, FileType::link) << "not what it leads to";
}

TEST_P(Copy, WhatCanNotBeLookedAtIsAFailureWithItsErrno) {
  inside("mkdir -p /tmp/d && touch /tmp/d/file");
  const auto missing = host_.file_status(Request{}, "/tmp/d/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, FailureKind::invalid_request);
  EXPECT_EQ(missing.error().error_number, ENOENT);
  const auto no_folder = host_.list_files(Request{}, "/tmp/d/file");
  ASSERT_FALSE(no_folder);
  EXPECT_EQ(no_folder.error().error_number, ENOTDIR);
  inside("cd /tmp/d && touch $(seq 50)");
  Request few;
  few.settings_json = R"({"files": {"max_entries": 20}})";
  const auto many = host_.list_files(few, "/tmp/d");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().error_number, EFBIG);
  EXPECT_THAT(many.error().message, HasSubstr("files.max_entries"));
}

TEST_P(Copy, FilesInsideAreRemoved) {
  inside("mkdir -p /tmp/d/a/b /tmp/kept && touch /tmp/d/a/b/file /tmp/kept/file && ln -s /tmp/kept /tmp/d/a/link");
  const auto full = host_.remove_file(Request{}, "/tmp/d");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().error_number, ENOTEMPTY);
  EXPECT_TRUE(host_.remove_file(Request{}, "/tmp/d/a/b/file"));
  EXPECT_TRUE(host_.remove_file(Request{}, "/tmp/d/a/b"));
  const auto tree = host_.remove_file(Request{}, "/tmp/d", true);
  EXPECT_TRUE(tree) << describe(tree.error());
  EXPECT_EQ(inside("ls /tmp; ls /tmp/kept"), "kept\nfile\n");
  for (const char* const root : {"/", "//", "/tmp/..", "/tmp/../."}) {
    const auto refused = host_.remove_file(Request{}, root, true);
    ASSERT_FALSE(refused) << root;
    EXPECT_EQ(refused.error().error_number, EBUSY) << root;
  }
  EXPECT_EQ(inside("ls /tmp/kept"), "file\n");
  // A mount of the same device as its source.
  write_file(scene_->workspace() + "/mine", "x");
  const auto mount = host_.remove_file(Request{}, scene_->workspace(), true);
  ASSERT_FALSE(mount);
  EXPECT_EQ(mount.error().error_number, EXDEV);
  EXPECT_EQ(read_file(scene_->workspace() + "/mine"), "x");
}

}  // namespace
}  // namespace exechost::test
