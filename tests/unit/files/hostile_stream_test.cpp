// What comes out of an environment may be anything. Each trick is one line of the table: the failure that it gets,
// and nothing outside of the target, ever.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/files/local_target.hpp"
#include "core/files/tar_reader.hpp"
#include "core/files/transfer.hpp"
#include "guest/files/tar.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/tree.hpp"

namespace exechost::files {
namespace {

namespace fs = std::filesystem;
namespace tar = guest::tar;
using ::testing::HasSubstr;

constexpr auto kFile = tar::Type::file;
constexpr auto kFolder = tar::Type::folder;
constexpr auto kLink = tar::Type::link;

class Stream {
 public:
  Stream& add(tar::Type type, const std::string& name, const std::string& content = {}, const std::string& link = {}) {
    return header(type, name, content.size(), link).raw(content).raw(std::string(tar::padding(content.size()), '\0'));
  }
  Stream& header(tar::Type type, const std::string& name, std::uint64_t size, const std::string& link = {}) {
    tar::Header made;
    made.type = type;
    made.mode = 0755;
    made.size = size;
    std::memcpy(made.name, name.data(), std::min(name.size(), tar::kShortName));
    std::memcpy(made.link, link.data(), std::min(link.size(), tar::kShortName));
    char block[tar::kBlock];
    tar::encode(made, block);
    return raw({block, sizeof block});
  }
  Stream& raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  Stream& long_name(const std::string& text) { return add(tar::Type::long_name, "././@LongLink", text + '\0'); }
  // A field of the last header, with its checksum put right again.
  Stream& patch(std::size_t offset, const std::string& bytes) {
    char* block = bytes_.data() + bytes_.size() - tar::kBlock;
    bytes.copy(block + offset, bytes.size());
    std::memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (std::size_t i = 0; i < tar::kBlock; ++i) sum += static_cast<unsigned char>(block[i]);
    (void)std::snprintf(block + 148, 8, "%06o", sum);
    return *this;
  }
  std::string end() const { return bytes_ + std::string(2 * tar::kBlock, '\0'); }
  std::string open() const { return bytes_; }

 private:
  std::string bytes_;
};

UniqueFd memory_of(const std::string& bytes) {
  UniqueFd fd(::memfd_create("stream", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

struct Trick {
  const char* name;
  std::string stream;
  FailureKind kind;
  const char* says;
};

std::vector<Trick> tricks() {
  const FailureKind broken = FailureKind::protocol_error;
  const FailureKind unfit = FailureKind::invalid_request;
  const auto root = [] { return Stream().add(kFolder, "data"); };
  const auto with_type = [&root](char type) {
    return root().header(static_cast<tar::Type>(type), "data/x", 0, "/etc/passwd").end();
  };
  std::string deep = "data";
  Stream nested = root();
  for (int i = 0; i < 70; ++i) nested.long_name(deep += "/d").add(kFolder, "cut");
  return {
      {"nothing", "", broken, "too early"},
      {"only_an_end", std::string(1024, '\0'), broken, "holds nothing"},
      {"garbage", std::string(4096, 'g'), broken, "no entry of a kind"},
      {"absolute", root().add(kFile, "/etc/x", "evil").end(), broken, "not a path below"},
      {"absolute_root", Stream().add(kFile, "/data", "evil").end(), broken, "not a path below"},
      {"up", root().add(kFile, "data/../../x", "evil").end(), broken, "not a path below"},
      {"up_at_the_end", root().add(kFolder, "data/..").end(), broken, "not a path below"},
      {"up_in_a_long_name",
       root().long_name("data/" + std::string(150, 'a') + "/../../../x").add(kFile, "c", "evil").end(), broken,
       "not a path below"},
      {"dot", root().add(kFile, "data/./x", "evil").end(), broken, "not a path below"},
      {"empty_component", root().add(kFile, "data//x", "evil").end(), broken, "not a path below"},
      {"beside_the_root", root().add(kFile, "other", "evil").end(), broken, "not a path below"},
      {"root_as_prefix", root().add(kFile, "data2/x", "evil").end(), broken, "not a path below"},
      {"name_too_long", root().long_name("data/" + std::string(256, 'n')).add(kFile, "c").end(), broken,
       "not a path below"},
      {"path_too_long", root().long_name(std::string(5000, 'n')).add(kFile, "c").end(), broken, "impossible length"},
      {"nul_in_a_long_name", root().long_name(std::string("data/a\0b", 8)).add(kFile, "c").end(), broken, "NUL"},
      {"long_name_of_nothing", root().long_name("data/x").end(), broken, "name of nothing"},
      {"two_long_names", root().long_name("data/x").long_name("data/y").add(kFile, "c").end(), broken,
       "two long names"},
      {"no_root", Stream().add(kFile, "data/x", "evil").end(), broken, "before what it is in"},
      {"root_twice", root().add(kFolder, "data").end(), broken, "comes twice"},
      {"root_is_a_link", Stream().add(kLink, "data", "", "/etc").end(), broken, "link to nothing, or the root"},
      {"below_a_file", Stream().add(kFile, "data", "f").add(kFile, "data/x", "evil").end(), broken, "no folder"},
      {"below_a_link", root().add(kLink, "data/l", "", "/etc").add(kFile, "data/l/x", "evil").end(), broken,
       "no folder"},
      {"link_then_folder",
       root().add(kLink, "data/l", "", "/etc").add(kFolder, "data/l").add(kFile, "data/l/x", "evil").end(), broken,
       "comes twice"},
      {"file_then_folder", root().add(kFile, "data/x", "f").add(kFolder, "data/x").end(), broken, "comes twice"},
      {"folder_then_file", root().add(kFolder, "data/x").add(kFile, "data/x", "f").end(), broken, "comes twice"},
      {"folder_then_link", root().add(kFolder, "data/x").add(kLink, "data/x", "", "/etc").end(), broken, "comes twice"},
      {"file_twice", root().add(kFile, "data/x", "1").add(kFile, "data/x", "2").end(), broken, "comes twice"},
      {"folder_reopened", root().add(kFolder, "data/a").add(kFolder, "data/b").add(kFile, "data/a/x", "late").end(),
       broken, "not at its place"},
      {"folder_never_opened", root().add(kFile, "data/a/x", "early").end(), broken, "no folder"},
      {"hard_link", with_type('1'), broken, "no entry of a kind"},
      {"character_device", with_type('3'), broken, "no entry of a kind"},
      {"block_device", with_type('4'), broken, "no entry of a kind"},
      {"fifo", with_type('6'), broken, "no entry of a kind"},
      {"contiguous_file", with_type('7'), broken, "no entry of a kind"},
      {"pax_header", with_type('x'), broken, "no entry of a kind"},
      {"global_pax_header", with_type('g'), broken, "no entry of a kind"},
      {"sparse_file", with_type('S'), broken, "no entry of a kind"},
      {"old_type", with_type('\0'), broken, "no entry of a kind"},
      {"posix_magic",
       root()
           .header(kFile, "data/x", 0)
           .patch(257, std::string("ustar\0"
                                   "00",
                                   8))
           .end(),
       broken, "no entry of a kind"},
      {"prefix_with_posix_magic",
       root()
           .header(kFile, "data/x", 0)
           .patch(257, std::string("ustar\0"
                                   "00",
                                   8))
           .patch(345, "/etc")
           .end(),
       broken, "no entry of a kind"},
      {"wrong_checksum", root().add(kFile, "data/x").open().replace(512, 1, "e") + std::string(1024, '\0'), broken,
       "no entry of a kind"},
      {"folder_with_content", root().header(kFolder, "data/x", 512).raw(std::string(512, 'x')).end(), broken,
       "no entry of a kind"},
      {"link_with_content", root().header(kLink, "data/x", 512, "t").raw(std::string(512, 'x')).end(), broken,
       "no entry of a kind"},
      {"link_to_nothing", root().add(kLink, "data/x").end(), broken, "link to nothing"},
      {"size_that_is_none", root().header(kFile, "data/x", 0).patch(124, "99999999999").end(), broken,
       "no entry of a kind"},
      {"negative_size", root().header(kFile, "data/x", 0).patch(124, std::string(12, '\xff')).end(), broken,
       "no entry of a kind"},
      {"size_beyond_64_bits", root().header(kFile, "data/x", 0).patch(124, "\x80\x01" + std::string(10, '\xff')).end(),
       broken, "no entry of a kind"},
      {"size_over_the_limit", root().header(kFile, "data/x", 1ULL << 40).end(), unfit, "files.max_bytes"},
      {"size_at_the_end_of_numbers", root().add(kFile, "data/a", "a").header(kFile, "data/x", INT64_MAX).end(), unfit,
       "files.max_bytes"},
      {"cut_in_a_header", root().open() + std::string(100, 'x'), broken, "too early"},
      {"cut_in_content", root().header(kFile, "data/x", 1000).raw("short").open(), broken, "too early"},
      {"cut_in_padding", root().header(kFile, "data/x", 5).raw("12345").open(), broken, "too early"},
      {"no_end", root().add(kFile, "data/x", "x").open(), broken, "too early"},
      {"half_an_end", root().open() + std::string(512, '\0'), broken, "too early"},
      {"something_behind_the_end", root().end() + Stream().add(kFile, "data/x", "evil").end(), broken,
       "behind the end"},
      {"something_in_the_end", root().open() + std::string(512, '\0') + Stream().add(kFile, "data/x", "evil").end(),
       broken, "behind the end"},
      {"endless_end", root().end() + std::string(64UL * 1024, '\0'), broken, "behind the end"},
      {"deeper_than_allowed", nested.end(), unfit, "files.max_depth"},
      {"more_than_allowed",
       [&root] {
         Stream many = root();
         for (int i = 0; i < 2000; ++i) many.add(kFile, "data/" + std::to_string(i));
         return many.end();
       }(),
       unfit, "files.max_entries"},
  };
}

class Hostile : public ::testing::TestWithParam<Trick> {
 protected:
  Hostile() {
    fs::create_directory(around_.path() + "/target");
    target_.reset(::open((around_.path() + "/target").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  Result<void> take(const std::string& stream, LinkRule links, Counts& counts) {
    const UniqueFd fd = memory_of(stream);
    TransferOptions options;
    options.limits = {1000, 1024UL * 1024, 64};
    TarReader reader(fd.get(), options.limits.entries);
    LocalTargetOptions target;
    target.links = links;
    target.shown = "target/name";
    LocalTarget sink(target_.get(), "name", std::move(target));
    return transfer(reader, sink, options, counts);
  }
  test::TempFolder around_{"/var/tmp", geteuid(), getegid()};
  UniqueFd target_;
};

INSTANTIATE_TEST_SUITE_P(Stream, Hostile, ::testing::ValuesIn(tricks()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Hostile, IsRefusedAndReachesNothingElse) {
  const auto before = test::describe_tree("/etc");
  for (const LinkRule links : {LinkRule::skip, LinkRule::keep_inside}) {
    Counts counts;
    const auto taken = take(GetParam().stream, links, counts);
    ASSERT_FALSE(taken.has_value());
    EXPECT_EQ(taken.error().kind, GetParam().kind) << describe(taken.error());
    EXPECT_THAT(taken.error().message, HasSubstr(GetParam().says));
    // Nothing beside what was asked for, and nothing half done.
    for (const auto& entry : fs::directory_iterator(around_.path())) EXPECT_EQ(entry.path().filename(), "target");
    for (const auto& entry : fs::recursive_directory_iterator(around_.path() + "/target")) {
      EXPECT_FALSE(entry.is_symlink());
      EXPECT_FALSE(entry.path().filename().string().starts_with(".exechost-"));
      EXPECT_THAT(entry.path().string(), ::testing::StartsWith(around_.path() + "/target/name"));
    }
    fs::remove_all(around_.path() + "/target/name");
  }
  EXPECT_EQ(test::changed_paths(before, test::describe_tree("/etc")), std::vector<std::string>{});
}

class Harmless : public Hostile {};
// What looks odd and is fine: the tests above fail for their reason and not for any.
TEST_F(Harmless, IsTaken) {
  const std::string odd = "data/\x1b[31m\n\xff";
  const std::string stream = Stream()
                                 .add(kFolder, "data")
                                 .add(kFile, odd, "1")
                                 .add(kFolder, "data/..x")
                                 .add(kFile, "data/..x/...", "2")
                                 .long_name("data/" + std::string(255, 'n'))
                                 .add(kFile, "cut", "3")
                                 .header(kFile, "data/set-id", 0)
                                 .patch(100, "0007777")
                                 .end();
  Counts counts;
  const auto taken = take(stream, LinkRule::skip, counts);
  ASSERT_TRUE(taken.has_value()) << describe(taken.error());
  EXPECT_EQ(counts.files, 4U);
  EXPECT_EQ(counts.folders, 2U);
  const std::string root = around_.path() + "/target/name";
  EXPECT_EQ(test::read_file(root + "/\x1b[31m\n\xff"), "1");
  EXPECT_EQ(test::read_file(root + "/..x/..."), "2");
  EXPECT_EQ(test::read_file(root + "/" + std::string(255, 'n')), "3");
  struct stat status {};
  ASSERT_EQ(::lstat((root + "/set-id").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07000U, 0U);
}

TEST_F(Harmless, LinksThatWereThereAreNotFollowed) {
  const std::string root = around_.path() + "/target/name";
  const std::string outside = around_.path() + "/outside";
  fs::create_directories(root);
  fs::create_directory(outside);
  fs::create_symlink(outside, root + "/sub");
  Counts counts;
  const auto taken = take(Stream().add(kFolder, "data").add(kFolder, "data/sub").add(kFile, "data/sub/x", "evil").end(),
                          LinkRule::keep_inside, counts);
  ASSERT_FALSE(taken.has_value());
  EXPECT_TRUE(fs::is_empty(outside));
  // A file takes the place of a link, and does not go through it.
  test::write_file(outside + "/kept", "kept");
  fs::create_symlink(outside + "/kept", root + "/file");
  const auto replaced =
      take(Stream().add(kFolder, "data").add(kFile, "data/file", "new").end(), LinkRule::skip, counts);
  ASSERT_TRUE(replaced.has_value()) << describe(replaced.error());
  EXPECT_EQ(test::read_file(outside + "/kept"), "kept");
  EXPECT_EQ(test::read_file(root + "/file"), "new");
}

TEST_F(Harmless, ATreeIsNoPlaceForASingleFileWithItsName) {
  fs::create_directories(around_.path() + "/target/name/in/it");
  Counts counts;
  const auto taken = take(Stream().add(kFile, "data", "x").end(), LinkRule::skip, counts);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().error_number, EISDIR);
  EXPECT_TRUE(fs::exists(around_.path() + "/target/name/in/it"));
}

TEST_F(Harmless, AFileIsWholeOrAsItWas) {
  test::write_file(around_.path() + "/target/name", "old");
  Counts counts;
  const auto taken =
      take(Stream().header(kFile, "data", 100'000).raw(std::string(50'000, 'n')).open(), LinkRule::skip, counts);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(test::read_file(around_.path() + "/target/name"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(around_.path() + "/target"), {}), 1);
}

}  // namespace
}  // namespace exechost::files
