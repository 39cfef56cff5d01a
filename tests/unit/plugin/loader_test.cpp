#include "core/plugin/loader.hpp"

#include <gmock/gmock.h>
#include <thread>

#include "exechost_test_paths.hpp"
#include "tests/unit/plugin/temp_folder.hpp"
#include "tests/unit/plugin/victims.hpp"

namespace exechost::plugin {
namespace {

using test::bad_plugin;
using test::good_plugin;
using test::load_options;
using test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Victim {
  const char* id;
  const char* reason;
};

class BadPlugin : public ::testing::TestWithParam<Victim> {};

// A library with constructors is tried in another process first, and a sanitizer's runtime gives one
// to every library.
#ifdef EXECHOST_SANITIZED
constexpr const char* kThrowingEntry = "was tried and threw an exception: told to throw";
#else
constexpr const char* kThrowingEntry = "threw an exception from its entry function";
#endif

// That this program goes on to its next test is part of what is tested.
TEST_P(BadPlugin, IsATypedFailureAndTheProcessLives) {
  const Found found = inspect_plugin(bad_plugin(GetParam().id));
  ASSERT_FALSE(found.problem) << found.problem->message;
  LoadOptions options = load_options();
  options.trial_limit = std::chrono::milliseconds(1500);
  const auto loaded = load_plugin(found, options);
  ASSERT_FALSE(loaded);
  const Failure& failure = loaded.error();
  EXPECT_EQ(failure.kind, FailureKind::unavailable);
  EXPECT_EQ(failure.phase, Phase::provision);
  EXPECT_EQ(failure.backend, GetParam().id);
  EXPECT_THAT(failure.message, HasSubstr("\"" + found.library + "\" "));
  EXPECT_THAT(failure.message, HasSubstr(GetParam().reason));
  EXPECT_FALSE(failure.hint.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPlugin,
    ::testing::Values(
        Victim{"wrong_magic", "the magic number 0x12345678, not 0x31484745"},
        Victim{"wrong_major", "is built for plugin ABI 2, this ExecHost has 1"},
        Victim{"truncated_table", "gives a truncated table: 48 bytes, ABI 1.0 has 56"},
        Victim{"tiny_table", "gives a table of 4 bytes"}, Victim{"missing_function", "has no function \"create\""},
        Victim{"null_entry", "refuses this ExecHost (plugin ABI 1.0)"},
        Victim{"other_id", "says its id is \"somebody_else\", its manifest says \"other_id\""},
        Victim{"empty_id", "gives no usable id"},
        Victim{"other_version", "says its version is \"9.9.9\", its manifest says \"1.0.0\""},
        Victim{"throwing_constructor", "was tried and threw an exception: told to throw"},
        Victim{"throwing_int_constructor", "was tried and threw an exception: of a type unlike std::exception"},
        Victim{"aborting_constructor", "was tried and ended the process that loaded it (signal SIGABRT)"},
        Victim{"exiting_constructor", "was tried and ended the process that loaded it (exit status 0)"},
        Victim{"hanging_constructor", "was tried and did not load within 1500 ms"},
        Victim{"throwing_entry", kThrowingEntry}, Victim{"missing_symbol", "exechost_victim_nobody_has_this"},
        Victim{"no_entry", "has no function \"exechost_plugin_v1\""}, Victim{"text_file", "is not an ELF file"}),
    [](const auto& instance) { return instance.param.id; });

class Loader : public ::testing::Test {
 protected:
  // A copy of a good plugin, with its manifest.
  Found copied(const std::string& id) {
    const std::string library = folder_.copy(good_plugin(id), id + ".so");
    folder_.copy(test::good_plugins() + "/" + id + ".json", id + ".json");
    return inspect_plugin(library);
  }
  void refused(const Found& found, const std::string& reason, const LoadOptions& options = load_options()) {
    const auto loaded = load_plugin(found, options);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, FailureKind::unavailable);
    EXPECT_THAT(loaded.error().message, AllOf(HasSubstr(found.library), HasSubstr(reason)));
  }

  TempFolder folder_;
};

TEST_F(Loader, LoadsCppAndC) {
  for (const char* const id : {"plain", "plainc", "moody"}) {
    const auto loaded = load_plugin(inspect_plugin(good_plugin(id)), load_options());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(from_eh((*loaded)->table()->id), id);
    EXPECT_EQ((*loaded)->found().id, id);
  }
}

TEST_F(Loader, LoadsWhatPassedItsTrial) {
  const auto loaded = load_plugin(inspect_plugin(good_plugin("good_constructor")), load_options());
  EXPECT_TRUE(loaded) << loaded.error().message;
}

TEST_F(Loader, FindsTheCheckProgramByItself) {
  const auto loaded = load_plugin(inspect_plugin(good_plugin("good_constructor")));
  EXPECT_TRUE(loaded) << loaded.error().message;
}

TEST_F(Loader, SaysWhenTheCheckProgramIsMissing) {
  LoadOptions options;
  options.check_program = folder_ / "nowhere";
  const auto loaded = load_plugin(inspect_plugin(good_plugin("good_constructor")), options);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, AllOf(HasSubstr(folder_ / "nowhere"), HasSubstr("can't be started")));
}

TEST_F(Loader, TheSameFileTwiceIsOneTable) {
  const Found found = inspect_plugin(good_plugin("plainc"));
  const auto first = load_plugin(found, load_options());
  const auto second = load_plugin(found, load_options());
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->table(), (*second)->table());
}

TEST_F(Loader, ManyThreadsAtOnce) {
  const Found found = inspect_plugin(good_plugin("plain"));
  std::vector<std::thread> threads;
  std::array<bool, 8> ok{};
  for (bool& result : ok) threads.emplace_back([&] { result = load_plugin(found, load_options()).has_value(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ok, ::testing::Each(true));
}

TEST_F(Loader, AProblemFoundBeforeIsRepeated) {
  Found found = copied("plainc");
  ::chmod(found.library.c_str(), 0777);
  refused(inspect_plugin(found.library), "is writable by others (mode 0777)");
  // Not only what discovery saw counts: it is checked again.
  ASSERT_FALSE(found.problem);
  refused(found, "is writable by others (mode 0777)");
}

TEST_F(Loader, AWritableFolderIsRefused) {
  const Found found = copied("plainc");
  ::chmod(folder_.path().c_str(), 0777);
  const auto loaded = load_plugin(found, load_options());
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("\"" + folder_.path() + "\" is writable by others"));
}

TEST_F(Loader, NoManifestNoPlugin) {
  const Found found = copied("plainc");
  std::filesystem::remove(found.manifest_path);
  const auto loaded = load_plugin(inspect_plugin(found.library), load_options());
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr(found.manifest_path));
}

TEST_F(Loader, AReplacedFileIsNoticed) {
  const Found found = copied("plainc");
  ASSERT_TRUE(load_plugin(found, load_options()));
  // As a package manager does it: a new file under the old name.
  folder_.copy(good_plugin("plainc"), "new.so");
  std::filesystem::rename(folder_ / "new.so", found.library);
  refused(inspect_plugin(found.library), "is not the file that was loaded");
}

TEST_F(Loader, CutOffFilesAreNoticedBeforeTheyCanDoHarm) {
  const Found found = copied("plainc");
  const auto size = std::filesystem::file_size(found.library);
  for (const std::uintmax_t part : {size / 2, std::uintmax_t{200}, std::uintmax_t{64}, std::uintmax_t{10}}) {
    std::filesystem::resize_file(found.library, part);
    const auto loaded = load_plugin(found, load_options());
    ASSERT_FALSE(loaded) << part;
    EXPECT_EQ(loaded.error().kind, FailureKind::unavailable);
    EXPECT_THAT(loaded.error().message, HasSubstr(found.library));
  }
}

TEST_F(Loader, AProgramIsNoPlugin) {
  folder_.copy(EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-plugin-check", "plainc.so");
  folder_.copy(test::good_plugins() + "/plainc.json", "plainc.json");
  refused(inspect_plugin(folder_ / "plainc.so"), "can't be loaded: ");
}

TEST_F(Loader, AnotherMachinesLibraryIsNoPlugin) {
  const Found found = copied("plainc");
  std::fstream file(found.library, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(18);  // e_machine
  file.write("\x08\x00", 2);
  file.close();
  refused(found, "is for another machine (ELF machine 8)");
}

TEST_F(Loader, PinnedIsLoadedFromASealedCopy) {
  const Found found = copied("plainc");
  LoadOptions options = load_options();
  options.pinned_sha256 = found.sha256;
  const auto loaded = load_plugin(found, options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::string maps;
  std::getline(std::ifstream("/proc/self/maps"), maps, '\0');
  EXPECT_THAT(maps, HasSubstr("/memfd:exechost-plugin"));
  EXPECT_THAT(maps, ::testing::Not(HasSubstr(found.library)));
}

TEST_F(Loader, TwoPinnedPluginsAreTwo) {
  LoadOptions options = load_options();
  const Found c = copied("plainc");
  const Found cpp = copied("plain");
  options.pinned_sha256 = c.sha256;
  const auto first = load_plugin(c, options);
  options.pinned_sha256 = cpp.sha256;
  const auto second = load_plugin(cpp, options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(from_eh((*first)->table()->id), "plainc");
  EXPECT_EQ(from_eh((*second)->table()->id), "plain");
}

TEST_F(Loader, PinnedWithConstructorsIsTriedToo) {
  const std::string library = folder_.copy(bad_plugin("throwing_constructor"), "throwing_constructor.so");
  folder_.copy(test::bad_plugins() + "/throwing_constructor.json", "throwing_constructor.json");
  const Found found = inspect_plugin(library);
  LoadOptions options = load_options();
  options.pinned_sha256 = found.sha256;
  refused(found, "was tried and threw an exception: told to throw", options);
}

TEST_F(Loader, AnotherDigestIsRefused) {
  const Found found = copied("plainc");
  const auto loaded = load_plugin(found, std::string(64, '0'));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, FailureKind::unavailable);
  EXPECT_THAT(loaded.error().message, HasSubstr("has SHA-256 " + found.sha256 + ", pinned is " + std::string(64, '0')));
}

}  // namespace
}  // namespace exechost::plugin
