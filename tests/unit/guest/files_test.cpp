// Files out of an environment and into it, by the guest's own hands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "guest/files/report.hpp"
#include "guest/files/tar.hpp"
#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

SpecWriter builtin(const std::vector<std::string>& arguments) {
  SpecWriter spec = spec_of(arguments);
  spec.set_builtin(true);
  return spec;
}

class Files : public InEveryPlace {
 protected:
  void SetUp() override {
    InEveryPlace::SetUp();
    folder_ = programs_.folder() + "/files";
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::all);
  }
  // Owned so that the account of the place can read it.
  void write(const std::string& name, const std::string& content, mode_t mode = 0644) const {
    std::ofstream(folder_ + "/" + name) << content;
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The exit status, -1 when it ended otherwise.
  static int status_of(const GuestProcess& guest) {
    const Message* exited = guest.find(MessageType::exited);
    return exited != nullptr && WIFEXITED(exited->wait_status) ? WEXITSTATUS(exited->wait_status) : -1;
  }
  std::string folder_;
};
INSTANTIATE_TEST_SUITE_P(Guest, Files, testing::ValuesIn(every_place_and_served()), name_of);

// What GNU tar says about a stream.
std::string listed(const std::string& folder, const std::string& stream) {
  std::ofstream(folder + "/listed.tar", std::ios::binary) << stream;
  const std::string command = "tar -tvf " + folder + "/listed.tar 2>&1";
  // NOLINTNEXTLINE(cert-env33-c): a fixed command on the test's own file.
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  EXPECT_EQ(::pclose(pipe), 0) << text;
  return text;
}

TEST_P(Files, AFileGoesOutByteForByte) {
  std::string content(200'000, 'x');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  write("file", content, 0755);
  GuestProcess guest(programs_, builtin({"pack", folder_ + "/file"}), here());
  ASSERT_TRUE(guest.finish());
  ASSERT_THAT(guest.types(), ElementsAre(MessageType::confined, MessageType::started, MessageType::exited));
  EXPECT_EQ(status_of(guest), files::kBuiltinDone) << guest.err();
  EXPECT_EQ(guest.err(), "done 1 0 0 200000 0\n");
  EXPECT_EQ(guest.out().size(), 200'192 + 3 * tar::kBlock);
  EXPECT_EQ(guest.out().substr(tar::kBlock, content.size()), content);
  EXPECT_THAT(listed(folder_, guest.out()), HasSubstr("-rwxr-xr-x"));
}

TEST_P(Files, AFolderGoesOutWithWhatCanTravel) {
  fs::create_directories(folder_ + "/tree/empty");
  fs::create_directories(folder_ + "/tree/" + std::string(120, 'd'));
  write("tree/a b", "1");
  write("tree/" + std::string(120, 'd') + "/" + std::string(200, 'f'), "2");
  fs::create_symlink("/etc/passwd", folder_ + "/tree/link");
  fs::create_symlink(std::string(300, 't'), folder_ + "/tree/long-link");
  ASSERT_EQ(::mkfifo((folder_ + "/tree/fi\nfo").c_str(), 0644), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder_ + "/tree/socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << address.sun_path;
  ::close(socket);
  GuestProcess guest(programs_, builtin({"pack", folder_ + "/tree"}), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(status_of(guest), files::kBuiltinDone) << guest.err();
  EXPECT_THAT(guest.err(), HasSubstr("skipped fifo data/fi%0Afo\n"));
  EXPECT_THAT(guest.err(), HasSubstr("skipped socket data/socket\n"));
  EXPECT_THAT(guest.err(), HasSubstr("done 2 3 2 2 2\n"));
  const std::string list = listed(folder_, guest.out());
  EXPECT_THAT(list, HasSubstr("data/a b\n"));
  EXPECT_THAT(list, HasSubstr("data/" + std::string(120, 'd') + "/" + std::string(200, 'f') + "\n"));
  EXPECT_THAT(list, HasSubstr("data/link -> /etc/passwd\n"));
  EXPECT_THAT(list, HasSubstr("data/long-link -> " + std::string(300, 't') + "\n"));
}

TEST_P(Files, WhatCantGoOutIsNamed) {
  fs::create_symlink("file", folder_ + "/link");
  const struct {
    std::string path;
    std::string line;
  } cases[] = {
      {folder_ + "/missing", "failed stat 2 " + folder_ + "/missing\n"},
      {folder_ + "/link", "failed stat " + std::to_string(ELOOP) + " " + folder_ + "/link\n"},
      {"/dev/null", "failed stat " + std::to_string(ENOTSUP) + " /dev/null\n"},
  };
  for (const auto& wrong : cases) {
    GuestProcess guest(programs_, builtin({"pack", wrong.path}), here());
    ASSERT_TRUE(guest.finish());
    EXPECT_EQ(status_of(guest), files::kBuiltinFailed);
    EXPECT_EQ(guest.err(), wrong.line);
    EXPECT_EQ(guest.out(), "");
  }
}

TEST_P(Files, AKillEndsItAndLeavesNothing) {
  fs::create_directory(folder_ + "/out");
  GuestOptions options = here();
  options.keep_input_open = true;  // no end of the stream: it waits for more
  GuestProcess guest(programs_, builtin({"unpack", folder_ + "/out", "name"}), std::move(options));
  ASSERT_TRUE(guest.wait_for(MessageType::started));
  guest.kill();
  ASSERT_TRUE(guest.finish());
  const Message* exited = guest.find(MessageType::exited);
  ASSERT_NE(exited, nullptr);
  ASSERT_TRUE(WIFSIGNALED(exited->wait_status));
  EXPECT_EQ(WTERMSIG(exited->wait_status), SIGKILL);
  EXPECT_TRUE(fs::is_empty(folder_ + "/out"));
}

// One entry after the other, as a host writes them; and as it never would.
class Stream {
 public:
  Stream& add(tar::Type type, const std::string& name, const std::string& content = {}, const std::string& link = {},
              std::uint32_t mode = 0644) {
    tar::Header header;
    header.type = type;
    header.mode = mode;
    header.size = content.size();
    std::memcpy(header.name, name.data(), std::min(name.size(), tar::kShortName));
    std::memcpy(header.link, link.data(), std::min(link.size(), tar::kShortName));
    char block[tar::kBlock];
    tar::encode(header, block);
    bytes_.append(block, sizeof block).append(content).append(tar::padding(content.size()), '\0');
    return *this;
  }
  std::string end() const { return bytes_ + std::string(2 * tar::kBlock, '\0'); }
  std::string open() const { return bytes_; }

 private:
  std::string bytes_;
};

TEST_P(Files, AFolderComesInUnderItsNameOrAsTheTarget) {
  const std::string stream =
      Stream()
          .add(tar::Type::folder, "data", "", "", 0500)
          .add(tar::Type::file, "data/run", "#!", "", 0755)
          .add(tar::Type::folder, "data/deep", "", "", 0755)
          .add(tar::Type::long_name, "././@LongLink", "data/deep/" + std::string(200, 'n') + '\0')
          .add(tar::Type::file, "cut", "long", "", 06600)
          .add(tar::Type::link, "data/link", "", "/nowhere")
          .end();
  for (const bool inside : {true, false}) {
    const std::string target = folder_ + (inside ? "/there" : "/new");
    if (inside) {
      fs::create_directory(target);
      fs::permissions(target, fs::perms::all);
    }
    GuestOptions options = here();
    options.input = stream;
    GuestProcess guest(programs_, builtin({"unpack", target, "name"}), std::move(options));
    ASSERT_TRUE(guest.finish());
    ASSERT_EQ(status_of(guest), files::kBuiltinDone) << guest.err();
    EXPECT_EQ(guest.err(), "done 2 2 1 6 0\n");
    const std::string root = target + (inside ? "/name" : "");
    struct stat status {};
    ASSERT_EQ(::stat((root + "/run").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0755U);
    ASSERT_EQ(::stat((root + "/deep/" + std::string(200, 'n')).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    ASSERT_EQ(::stat(root.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    EXPECT_EQ(fs::read_symlink(root + "/link"), "/nowhere");
  }
}

TEST_P(Files, AFileReplacesWhatHasItsNameWholeOrNotAtAll) {
  write("target", "old");
  ::chmod((folder_ + "/target").c_str(), 0666);
  GuestOptions cut = here();
  cut.input = Stream().add(tar::Type::file, "data", std::string(1024, 'n')).open().substr(0, 1000);
  GuestProcess truncated(programs_, builtin({"unpack", folder_ + "/target", "x"}), std::move(cut));
  ASSERT_TRUE(truncated.finish());
  EXPECT_EQ(status_of(truncated), files::kBuiltinFailed);
  EXPECT_EQ(truncated.err(), "before 0 0 0 0 0\nfailed write " + std::to_string(EPIPE) + " data\n");
  EXPECT_EQ(read("target"), "old");
  fs::create_symlink("target", folder_ + "/link");
  GuestOptions options = here();
  options.input = Stream().add(tar::Type::file, "data", "new").end();
  GuestProcess guest(programs_, builtin({"unpack", folder_ + "/link", "x"}), std::move(options));
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(status_of(guest), files::kBuiltinDone) << guest.err();
  EXPECT_EQ(read("target"), "old");  // the link was replaced, not followed
  EXPECT_EQ(read("link"), "new");
  EXPECT_FALSE(fs::is_symlink(folder_ + "/link"));
}

TEST_P(Files, AStreamThatIsNoneIsRefused) {
  fs::create_directory(folder_ + "/out");
  fs::permissions(folder_ + "/out", fs::perms::all);
  const auto file = tar::Type::file;
  const auto folder = tar::Type::folder;
  const auto link = tar::Type::link;
  std::string wrong_sum = Stream().add(file, "data", "x").end();
  wrong_sum[0] = 'e';
  const std::string streams[] = {
      "",
      std::string(2 * tar::kBlock, '\0'),
      wrong_sum,
      Stream().add(file, "other").end(),
      Stream().add(file, "/data").end(),
      Stream().add(file, "data/x").end(),
      Stream().add(folder, "data").add(file, "data/../x").end(),
      Stream().add(folder, "data").add(file, "data/./x").end(),
      Stream().add(folder, "data").add(file, "data//x").end(),
      Stream().add(folder, "data").add(file, "other/x").end(),
      Stream().add(folder, "data").add(folder, "data").end(),
      Stream().add(link, "data", "", "/etc").end(),
      Stream().add(folder, "data").add(link, "data/l", "", "/etc").add(file, "data/l/x", "evil").end(),
      Stream().add(file, "data").add(file, "data/x", "y").end(),
      Stream().add(folder, "data").add(file, "data/x", "y").add(folder, "data/x").end(),
      Stream().add(folder, "data").open(),
      Stream().add(folder, "data").open() + std::string(tar::kBlock, '\0'),
      Stream().add(tar::Type::long_name, "././@LongLink", "data").add(file, "cut").end(),
      Stream().add(tar::Type::long_name, "././@LongLink", std::string("data\0data\0", 10)).add(file, "cut").end(),
      Stream().add(tar::Type::long_name, "x", std::string("data\0", 5)).end(),
      Stream().add(static_cast<tar::Type>('1'), "data", "", "/etc/passwd").end(),
      Stream().add(static_cast<tar::Type>('3'), "data").end(),
  };
  for (const std::string& stream : streams) {
    GuestOptions options = here();
    options.input = stream;
    GuestProcess guest(programs_, builtin({"unpack", folder_ + "/out", "n"}), std::move(options));
    ASSERT_TRUE(guest.finish());
    EXPECT_EQ(status_of(guest), files::kBuiltinFailed) << &stream - streams;
    EXPECT_THAT(guest.err(), testing::MatchesRegex("before [ 0-9]+\nfailed [a-z]+ [0-9]+ [^ ]*\n"))
        << &stream - streams;
    fs::remove_all(folder_ + "/out/n");
  }
  EXPECT_FALSE(fs::exists("/etc/x"));
}

TEST_P(Files, OnlyABuiltInIsOne) {
  for (const auto& arguments : {std::vector<std::string>{"/bin/true"}, {"pack"}, {"pack", "a", "b"}, {"unpack", "a"}}) {
    GuestProcess guest(programs_, builtin(arguments), here());
    ASSERT_TRUE(guest.finish());
    EXPECT_EQ(status_of(guest), files::kBuiltinUsage);
  }
}

// ---- looking and removing ---------------------------------------------------------

TEST_P(Files, WhatIsInAFolderIsListedAWordPerNumberAndCodedNames) {
  write("plain", "12345", 0640);
  write("odd \n%", "");
  fs::create_symlink("/no/such", folder_ + "/link");
  GuestProcess guest(programs_, builtin({"list", folder_}), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(status_of(guest), files::kBuiltinDone) << guest.err();
  EXPECT_EQ(guest.err(), "done 3 0 0 0 0\n");
  EXPECT_THAT(guest.out(), testing::ContainsRegex("file 416 5 [0-9]+ [0-9]+ plain\n"));
  EXPECT_THAT(guest.out(), testing::ContainsRegex("file 420 0 [0-9]+ [0-9]+ odd%20%0A%25\n"));
  EXPECT_THAT(guest.out(), testing::ContainsRegex("link 511 8 [0-9]+ [0-9]+ link\n"));
  GuestProcess none(programs_, builtin({"stat", folder_ + "/none"}), here());
  ASSERT_TRUE(none.finish());
  EXPECT_EQ(none.err(), "failed stat 2 " + folder_ + "/none\n");
}

TEST_P(Files, ATreeIsRemovedOverNoLink) {
  fs::create_directories(folder_ + "/tree/a/b");
  fs::create_directory(folder_ + "/kept");
  write("tree/a/b/file", "x");
  write("kept/file", "x");
  fs::create_symlink(folder_ + "/kept", folder_ + "/tree/a/link");
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.is_directory()) fs::permissions(entry, fs::perms::all);
  }
  GuestProcess full(programs_, builtin({"remove", folder_ + "/tree"}), here());
  ASSERT_TRUE(full.finish());
  EXPECT_EQ(full.err(), "failed remove " + std::to_string(ENOTEMPTY) + " " + folder_ + "/tree\n");
  GuestProcess guest(programs_, builtin({"remove-tree", folder_ + "/tree"}), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.err(), "done 2 3 0 0 0\n");
  EXPECT_FALSE(fs::exists(folder_ + "/tree"));
  EXPECT_EQ(read("kept/file"), "x");
  GuestProcess root(programs_, builtin({"remove-tree", "/"}), here());
  ASSERT_TRUE(root.finish());
  EXPECT_EQ(root.err(), "failed remove " + std::to_string(EBUSY) + " /\n");
}

}  // namespace
}  // namespace exechost::guest::test
