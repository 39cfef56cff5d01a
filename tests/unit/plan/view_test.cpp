// The composition of the view. Names that begin with a letter and a number are rows of the
// conformance table; what a row says about writing is said here about the access in force.
#include "core/plan/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/confinement.hpp"
#include "core/plan/paths.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kWs = "/home/u/ws";

class ViewTest : public ::testing::Test {
 public:
  ViewTest& allow_write(json paths) { return set("filesystem.allow_write", std::move(paths)); }
  ViewTest& deny_write(json paths) { return set("filesystem.deny_write", std::move(paths)); }
  ViewTest& allow_read(json paths) { return set("filesystem.allow_read", std::move(paths)); }
  ViewTest& deny_read(json paths) { return set("filesystem.deny_read", std::move(paths)); }
  ViewTest& set(const std::string& name, json value) {
    planned_.settings.set(name, std::move(value));
    return *this;
  }
  View view() {
    auto view = planned_.view(&warnings_);
    EXPECT_TRUE(view) << (view ? "" : view.error().message);
    return view ? *view : View{};
  }

 protected:
  Failure failure() {
    auto view = planned_.view(&warnings_);
    EXPECT_FALSE(view);
    return view ? Failure{} : view.error();
  }
  static Access at(const View& view, const std::string& path) {
    const ViewEntry* entry = view.deciding(path);
    EXPECT_NE(entry, nullptr) << path;
    return entry == nullptr ? Access::hidden : entry->access;
  }
  FakeMachine& machine() { return planned_.machine; }

  Planned planned_;
  std::vector<std::string> warnings_;
};

TEST_F(ViewTest, DefaultIsReadOnlySystemPrivateScratchAndHomeAndAWritableWorkspace) {
  EXPECT_THAT(shape(view()), ElementsAre("/=ro", "/home=hidden", "/root=hidden", "/run=private", "/tmp=private",
                                         "/dev/shm=private", "/home/u=private", "/var/tmp=private", "/home/u/ws=rw"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ViewTest, DefaultAsRoot) {
  machine().folder("/root/ws").file("/etc/shadow").folder("/etc/sudoers.d").facts.uid = 0;
  machine().facts.home = "/root";
  machine().facts.workspace = "/root/ws";
  machine().facts.credential_paths = {"/etc/shadow", "/etc/sudoers.d"};
  EXPECT_THAT(shape(view()),
              ElementsAre("/=ro", "/home=hidden", "/root=private", "/run=private", "/tmp=private", "/dev/shm=private",
                          "/etc/shadow=masked", "/etc/sudoers.d=hidden", "/root/ws=rw", "/var/tmp=private"));
}

TEST_F(ViewTest, ShallowComesBeforeDeep) {
  machine().folder("/home/u/ws/a/b/c/d").folder("/srv/x/y");
  const View result = allow_write({"/srv/x/y", "/srv"}).deny_write({"a/b/c/d", "/srv/x"}).view();
  for (std::size_t i = 1; i < result.entries.size(); ++i) {
    EXPECT_LE(depth_of(result.entries[i - 1].path), depth_of(result.entries[i].path)) << result.entries[i].path;
  }
}

TEST_F(ViewTest, SizesComeFromSettings) {
  set("resources.tmp_size", 1000).set("resources.home_size", 2000);
  const View result = view();
  EXPECT_EQ(result.deciding("/tmp/x")->size_bytes, 1000U);
  EXPECT_EQ(result.deciding("/home/u/x")->size_bytes, 2000U);
}

TEST_F(ViewTest, MissingFoldersOfTheSystemAreNotMountedOn) {
  machine().without("/root").without("/var/tmp");
  EXPECT_THAT(shape(view()), Not(Contains(HasSubstr("/root"))));
  EXPECT_THAT(shape(view()), Not(Contains(HasSubstr("/var/tmp"))));
}

TEST_F(ViewTest, ALinkedScratchFolderIsTheOneItLeadsTo) {
  machine().without("/var/tmp").link("/var/tmp", "/tmp");
  const View result = view();
  EXPECT_EQ(std::count_if(result.entries.begin(), result.entries.end(),
                          [](const ViewEntry& entry) { return entry.path == "/tmp"; }),
            1);
  EXPECT_THAT(shape(result), Not(Contains(HasSubstr("/var/tmp"))));
}

TEST_F(ViewTest, AHomeThatProgramsNeedIsNotReplaced) {
  for (const char* home : {"/", "/usr/sbin", "/bin", "/dev", "/etc"}) {
    machine().folder("/usr/sbin").folder("/srv/ws").facts.home = home;
    machine().facts.workspace = "/srv/ws";
    EXPECT_EQ(at(view(), "/usr/bin/sh"), Access::ro) << home;
    EXPECT_EQ(at(view(), std::string(home) == "/" ? "/usr" : home), Access::ro) << home;
    EXPECT_EQ(home_inside(machine().facts), "/tmp") << home;
  }
}

// ---- homes ---------------------------------------------------------------------------------

class HomeModes : public ViewTest {
 protected:
  void SetUp() override {
    machine()
        .folder("/home/u/.nvm/versions")
        .folder("/home/u/.cargo/bin")
        .file("/home/u/.npmrc")
        .folder("/home/u/.ssh");
    machine().file("/home/u/notes").folder("/home/other/data").file("/home/u/.nvm/token");
    machine().facts.toolchain_paths = {"/home/u/.cargo/bin", "/home/u/.nvm"};
    machine().facts.credential_paths = {"/home/u/.npmrc", "/home/u/.nvm/token", "/home/u/.ssh"};
  }
};

TEST_F(HomeModes, ToolchainsShowsToolsOnly) {
  const View result = view();
  EXPECT_EQ(at(result, "/home/u/.nvm/versions/x"), Access::ro);
  EXPECT_EQ(at(result, "/home/u/.cargo/bin/cargo"), Access::ro);
  EXPECT_EQ(at(result, "/home/u/.nvm/token"), Access::masked);
  EXPECT_EQ(at(result, "/home/u/.cargo/credentials.toml"), Access::private_);
  EXPECT_EQ(at(result, "/home/u/.ssh/id_ed25519"), Access::private_);
  EXPECT_EQ(at(result, "/home/u/notes"), Access::private_);
  EXPECT_EQ(at(result, "/home/other/data"), Access::hidden);
}

TEST_F(HomeModes, HiddenShowsNothing) {
  set("filesystem.home", "hidden");
  EXPECT_EQ(at(view(), "/home/u/.nvm/versions/x"), Access::private_);
  EXPECT_EQ(at(view(), "/home/u/ws/x"), Access::rw);
}

TEST_F(HomeModes, ReadShowsAllButCredentials) {
  set("filesystem.home", "read");
  const View result = view();
  EXPECT_EQ(at(result, "/home/u/notes"), Access::ro);
  EXPECT_EQ(at(result, "/home/u/.npmrc"), Access::masked);
  EXPECT_EQ(at(result, "/home/u/.ssh/id_ed25519"), Access::hidden);
  EXPECT_EQ(at(result, "/home/other/data"), Access::hidden);
  EXPECT_EQ(at(result, "/home/u/ws"), Access::rw);
}

TEST_F(HomeModes, ACredentialIsShownWhenNamed) {
  set("filesystem.home", "read").allow_read({"~/.npmrc", "~"});
  EXPECT_EQ(at(view(), "/home/u/.npmrc"), Access::ro);
  EXPECT_EQ(at(view(), "/home/u/.ssh"), Access::hidden) << "naming the home is not naming the key";
}

TEST_F(HomeModes, ADeniedHomeShowsNoTools) {
  deny_read({"~"});
  EXPECT_EQ(at(view(), "/home/u/.nvm/versions"), Access::hidden);
  EXPECT_EQ(at(view(), "/home/u/ws/x"), Access::rw);
}

TEST_F(HomeModes, ToolsInTheWorkspaceStayWritable) {
  machine().folder("/home/u/ws/.venv/bin");
  machine().facts.toolchain_paths.emplace_back("/home/u/ws/.venv");
  EXPECT_EQ(at(view(), "/home/u/ws/.venv/bin/x"), Access::rw);
}

TEST_F(HomeModes, AToolFolderThatIsALinkIsFoundUnderItsName) {
  machine().link("/home/u/.pyenv", "/data/pyenv").folder("/data/pyenv/bin");
  machine().facts.toolchain_paths.emplace_back("/home/u/.pyenv");
  EXPECT_THAT(shape(view()), Contains("/home/u/.pyenv=ro</data/pyenv"));
}

TEST_F(HomeModes, WhatIsHiddenIsHiddenUnderALinksNameToo) {
  machine().link("/home/u/.pyenv", "/data/pyenv").folder("/data/pyenv/bin").folder("/data/pyenv/private");
  machine().file("/data/pyenv/etc/npmrc").link("/home/u/.nvm2", "/data/denied").folder("/data/denied/bin");
  machine().facts.toolchain_paths = {"/home/u/.pyenv", "/home/u/.nvm2"};
  machine().facts.credential_paths = {"/data/pyenv/etc/npmrc"};
  deny_read({"/data/pyenv/private", "/data/denied"});
  const View result = view();
  EXPECT_EQ(at(result, "/home/u/.pyenv/bin/x"), Access::ro);
  EXPECT_THAT(shape(result), Contains("/home/u/.pyenv/etc/npmrc=masked"));
  EXPECT_THAT(shape(result), Contains("/home/u/.pyenv/private=hidden"));
  EXPECT_THAT(shape(result), Not(Contains(HasSubstr(".nvm2"))));
}

TEST_F(HomeModes, AnotherFolderInHOMEIsHidden) {
  machine().folder("/data/ci/.aws").facts.environment_home = "/data/ci";
  EXPECT_EQ(at(view(), "/data/ci/.aws/credentials"), Access::hidden);
}

TEST_F(HomeModes, HomesOfOtherAccountsAreHidden) {
  machine().folder("/data/anna/.ssh").folder("/usr/anna").folder("/data/anna/shared");
  machine().facts.other_homes = {"/data/anna", "/usr/anna", "/home"};
  EXPECT_EQ(at(view(), "/data/anna/.ssh/id"), Access::hidden);
  EXPECT_EQ(at(view(), "/usr/anna/x"), Access::ro) << "programs need what is there";
  EXPECT_EQ(at(view(), "/home/u/x"), Access::private_) << "it holds the user's own";
  allow_read({"/data/anna/shared"});
  EXPECT_EQ(at(view(), "/data/anna/shared/x"), Access::ro);
}

// ---- rows of the conformance table -------------------------------------------------------------

TEST_F(ViewTest, F02_OutsideIsReadOnly) {
  machine().folder("/srv/out");
  EXPECT_EQ(at(view(), "/srv/out/f"), Access::ro);
}
TEST_F(ViewTest, F05_SharedMemoryOfTheHost) {
  allow_write({"/dev/shm"});
  EXPECT_EQ(at(view(), "/dev/shm/f"), Access::rw);
}
TEST_F(ViewTest, F07_MissingWritableRootIsSkippedWithAWarning) {
  allow_write({kWs, "/home/u/ws/none", "/srv/none"});
  const View result = view();
  EXPECT_EQ(at(result, kWs), Access::rw);
  EXPECT_THAT(shape(result), Not(Contains(HasSubstr("none"))));
  EXPECT_THAT(warnings_, Contains(HasSubstr("/srv/none")));
}
TEST_F(ViewTest, F08_TmpOfTheHostIsNotWritten) { EXPECT_EQ(at(view(), "/tmp/f"), Access::private_); }
TEST_F(ViewTest, F11_ALinkOutGivesNothing) {
  machine().folder("/srv/out").link("/home/u/ws/l", "/srv/out");
  EXPECT_EQ(at(view(), "/srv/out/n"), Access::ro);
}
TEST_F(ViewTest, F17_ReadOnlyWorkspaceMakesNothingWritable) {
  set("filesystem.workspace_access", "ro");
  for (const ViewEntry& entry : view().entries) EXPECT_NE(entry.access, Access::rw) << entry.path;
}
TEST_F(ViewTest, F18_EmptyListsChangeNothing) {
  const std::vector<std::string> before = shape(view());
  deny_read(json::array()).allow_write(json::array());
  EXPECT_EQ(shape(view()), before);
}

TEST_F(ViewTest, R01_DeniedFolderIsHidden) {
  machine().folder("/srv/D").file("/srv/D/secret");
  deny_read({"/srv/D"});
  EXPECT_EQ(at(view(), "/srv/D/secret"), Access::hidden);
}
TEST_F(ViewTest, R04_AllowedBelowDeniedBelowWritable) {
  machine().folder("/srv/p/D/a").folder("/srv/p/D/b");
  deny_read({"/srv/p/D"}).allow_read({"/srv/p/D/a"}).allow_write({"/srv/p"});
  const View result = view();
  EXPECT_EQ(at(result, "/srv/p/D/a/visible"), Access::ro);
  EXPECT_EQ(at(result, "/srv/p/D/b"), Access::hidden);
  EXPECT_EQ(at(result, "/srv/p/other"), Access::rw);
}
TEST_F(ViewTest, R05_R06_R07_DeniedRootWithAllowedParts) {
  machine().folder("/srv/T").file("/home/u/.bashrc");
  deny_read({"/"}).allow_read({"/srv/T", "/bin", "/usr", "/lib", "/etc"});
  View result = view();
  EXPECT_EQ(at(result, "/srv/T/f"), Access::ro);
  EXPECT_EQ(at(result, "/usr/bin/cat"), Access::ro);
  EXPECT_EQ(at(result, "/opt"), Access::hidden);
  EXPECT_EQ(at(result, "/home/u/.bashrc"), Access::private_) << "an empty home, not the host's";
  EXPECT_THAT(shape(result), Contains("/bin=ro</usr/bin"))
      << "the link /bin is hidden with the root, so it gets a name";
  EXPECT_EQ(result.entries.front().path, "/");
  EXPECT_EQ(result.entries.front().access, Access::hidden);
  allow_write({"/srv/T"});
  EXPECT_EQ(at(view(), "/srv/T/w"), Access::rw);
}
TEST_F(ViewTest, R10_SameFolderDeniedAndAllowed) {
  machine().folder("/srv/H/p");
  deny_read({"/srv/H"}).allow_read({"/srv/H", "/srv/H/p"}).allow_write({"/srv/H/p"});
  EXPECT_EQ(at(view(), "/srv/H/p/t"), Access::rw);
  EXPECT_EQ(at(view(), "/srv/H/x"), Access::hidden) << "deny wins at equal depth";
}
TEST_F(ViewTest, R11_ReadableParentComesBeforeWritableChild) {
  machine().folder("/srv/P/c/g");
  deny_read({"/srv/P"}).allow_read({"/srv/P/c"}).allow_write({"/srv/P/c/g"});
  const std::vector<std::string> lines = shape(view());
  const auto parent = std::find(lines.begin(), lines.end(), "/srv/P/c=ro");
  ASSERT_NE(parent, lines.end());
  EXPECT_NE(std::find(parent, lines.end(), "/srv/P/c/g=rw"), lines.end());
}
TEST_F(ViewTest, R13_R14_CarveOutsOfTheWorkspace) {
  machine().folder("/home/u/ws/blocked/ok");
  deny_read({"blocked"});
  EXPECT_EQ(at(view(), "/home/u/ws/blocked/f"), Access::hidden);
  allow_write({"blocked/ok"});
  EXPECT_EQ(at(view(), "/home/u/ws/blocked/ok/n"), Access::rw);
  EXPECT_EQ(at(view(), "/home/u/ws/blocked/f"), Access::hidden);
}
TEST_F(ViewTest, R16_ADeniedFolderIsNotWritableScratch) {
  machine().folder("/srv/D");
  deny_read({"/srv/D", "/tmp"});
  EXPECT_EQ(at(view(), "/srv/D/n"), Access::hidden);
  EXPECT_EQ(at(view(), "/tmp/n"), Access::hidden);
}
TEST_F(ViewTest, R17_FoldersAboveADeniedOneArePinned) {
  machine().folder("/home/u/ws/a/b/D");
  deny_read({"a/b/D"});
  EXPECT_THAT(shape(view()), Contains("/home/u/ws/a=rw"));
  EXPECT_THAT(shape(view()), Contains("/home/u/ws/a/b=rw"));
}
TEST_F(ViewTest, R20_DeniedThroughALinkIsDeniedWhereItIs) {
  machine().folder("/home/u/ws/pkg/a/build").link("/home/u/ws/pkg/linked", "a/build");
  deny_read({"pkg/linked"});
  EXPECT_EQ(at(view(), "/home/u/ws/pkg/a/build/1.out"), Access::hidden);
}
TEST_F(ViewTest, R24_ANameIsNotAPrefix) {
  machine().folder("/srv/build").folder("/srv/build-cache");
  deny_read({"/srv/build"});
  EXPECT_EQ(at(view(), "/srv/build-cache"), Access::ro);
}
TEST_F(ViewTest, R32_AFifoIsMasked) {
  machine().fifo("/srv/pipe");
  deny_read({"/srv/pipe"});
  EXPECT_THAT(shape(view()), Contains("/srv/pipe=masked"));
}

TEST_F(ViewTest, W30_W38_ADeniedPathOverAWritableLinkIsRefused) {
  machine().folder("/home/u/ws/decoy").file("/home/u/ws/decoy/settings.json").link("/home/u/ws/link", "decoy");
  deny_write({"link/settings.json"});
  EXPECT_EQ(failure().kind, FailureKind::unsupported);
  EXPECT_THAT(failure().message, HasSubstr("/home/u/ws/link"));
  set("best_effort", {"filesystem.deny_write"});
  EXPECT_EQ(at(view(), "/home/u/ws/decoy/settings.json"), Access::ro) << "the target at least";
  EXPECT_THAT(warnings_, Contains(HasSubstr("could be replaced")));
}
TEST_F(ViewTest, W21_ADeniedNameThatDoesNotExistIsRefusedWhereItCouldBeMade) {
  deny_write({"a/b/f"});
  EXPECT_EQ(failure().kind, FailureKind::unsupported);
  EXPECT_THAT(failure().hint, HasSubstr("best_effort"));
  deny_write({"/srv/none", "~/none"});
  EXPECT_EQ(shape(view()).size(), 9U) << "nothing to protect where the host is not written";
}
TEST_F(ViewTest, W50_DeniedFileInAWritableFolderInADeniedOne) {
  machine().folder("/srv/x/y/z").file("/srv/x/y/z/.git/config");
  allow_write({"/srv/x/y/z"}).deny_read({"/srv/x/y"}).deny_write({"/srv/x/y/z/.git/config"});
  const View result = view();
  EXPECT_EQ(at(result, "/srv/x/y/z/.git/config"), Access::ro);
  EXPECT_EQ(at(result, "/srv/x/y/z/new"), Access::rw);
  EXPECT_EQ(at(result, "/srv/x/y/other"), Access::hidden);
  EXPECT_THAT(shape(result), Contains("/srv/x/y/z/.git=rw")) << "pinned";
}
TEST_F(ViewTest, W51_DenyWriteWinsAtAnyDepth) {
  machine().folder("/srv/D/t/w");
  deny_write({"/srv/D"}).deny_read({"/srv/D/t"}).allow_write({"/srv/D/t/w"});
  EXPECT_EQ(at(view(), "/srv/D/t/w/p"), Access::ro);
  EXPECT_EQ(at(view(), "/srv/D/t/x"), Access::hidden);
}
TEST_F(ViewTest, W52_DenyWriteOfAFileInIt) {
  machine().folder("/srv/D/t/w").file("/srv/D/t/w/secret");
  deny_write({"/srv/D", "/srv/D/t/w/secret"}).deny_read({"/srv/D/t"}).allow_write({"/srv/D/t/w"});
  EXPECT_EQ(at(view(), "/srv/D/t/w/secret"), Access::ro);
}
TEST_F(ViewTest, W53_DeniedForBothWithAWritablePart) {
  machine().folder("/srv/repo/sub/x").file("/srv/repo/sub/x/secret");
  deny_read({"/srv/repo"}).allow_write({"/srv/repo/sub"}).deny_write({"/srv/repo/sub/x/secret"});
  EXPECT_THAT(shape(view()), Contains("/srv/repo/sub/x=rw")) << "pinned: it can't be renamed";
  EXPECT_EQ(at(view(), "/srv/repo/sub/x/secret"), Access::ro);
  deny_write({"/srv/repo", "/srv/repo/sub/x/secret"});
  EXPECT_EQ(at(view(), "/srv/repo/sub/x/y"), Access::ro);
}
TEST_F(ViewTest, W54_LinkSpelledDeniedReadIsHiddenAtItsPlace) {
  machine().folder("/srv/d/w").file("/srv/d/w/secret").link("/srv/s-link", "d/w/secret").link("/srv/link", "d");
  deny_read({"/srv/s-link"}).allow_write({"/srv/d/w"});
  EXPECT_EQ(at(view(), "/srv/d/w/secret"), Access::masked);
}
TEST_F(ViewTest, W55_W56_TheWorkspaceItselfInDenyWrite) {
  machine().file("/home/u/ws/.env");
  deny_write({kWs}).deny_read({".env"});
  EXPECT_EQ(at(view(), "/home/u/ws/.gitconfig"), Access::ro);
  EXPECT_EQ(at(view(), "/home/u/ws/.env"), Access::masked);
}
TEST_F(ViewTest, W57_OneEntryForAFolderAndAFileInIt) {
  machine().folder("/home/u/ws/PROJ/sub").file("/home/u/ws/PROJ/sub/f");
  deny_write({"PROJ", "PROJ/sub/f"});
  const std::vector<std::string> one = shape(view());
  deny_write({"PROJ/sub/f", "PROJ"});
  EXPECT_EQ(shape(view()), one);
  EXPECT_THAT(one, Contains("/home/u/ws/PROJ=ro"));
  EXPECT_THAT(one, Not(Contains(HasSubstr("PROJ/sub"))));
}
TEST_F(ViewTest, W60_ARuleByNameBeatsABuiltInOne) {
  machine().folder("/home/u/.aws");
  machine().facts.credential_paths = {"/home/u/.aws"};
  allow_write({"~/.aws"});
  EXPECT_EQ(at(view(), "/home/u/.aws/config"), Access::rw);
}
TEST_F(ViewTest, W65_ALinkInAWritableFolderGivesNothing) {
  machine().folder("/srv/UA").folder("/srv/PROT").link("/srv/UA/evil", "/srv/PROT");
  for (const json& order : {json{"/srv/UA", "/srv/UA/evil"}, json{"/srv/UA/evil", "/srv/UA"}}) {
    warnings_.clear();
    allow_write(order);
    EXPECT_EQ(at(view(), "/srv/PROT/secret"), Access::ro);
    EXPECT_EQ(at(view(), "/srv/UA/x"), Access::rw);
    EXPECT_THAT(warnings_, Contains(HasSubstr("/srv/UA/evil")));
  }
}
TEST_F(ViewTest, W65_ChainThatPassesAWritableFolder) {
  machine().folder("/srv/PROT").link("/srv/first", "/home/u/ws/second").link("/home/u/ws/second", "/srv/PROT");
  allow_write({"/srv/first"});
  EXPECT_EQ(at(view(), "/srv/PROT/x"), Access::ro);
  EXPECT_THAT(warnings_, Contains(HasSubstr("/home/u/ws/second")));
}
TEST_F(ViewTest, W65_ReadingThroughAPlantedLink) {
  machine().folder("/home/u/.ssh").link("/home/u/ws/keys", "/home/u/.ssh");
  allow_read({"keys"});
  EXPECT_EQ(at(view(), "/home/u/.ssh/id"), Access::private_);
  EXPECT_THAT(warnings_, Contains(HasSubstr("keys")));
}
TEST_F(ViewTest, W67_ALinkWhoseFolderIsTheOnlyOneNamed) {
  machine().folder("/srv/BASE").link("/srv/parent", "/srv/BASE");
  allow_write({"/srv/parent"});
  EXPECT_EQ(at(view(), "/srv/BASE/x"), Access::rw) << "nobody inside could have laid it";
}
TEST_F(ViewTest, W68_TrailingSlashAndBrokenLink) {
  machine().folder("/srv/UA").link("/srv/broken", "/srv/nowhere");
  allow_write({"/srv/UA/", "/srv/broken"});
  EXPECT_EQ(at(view(), "/srv/UA/f"), Access::rw);
  EXPECT_THAT(warnings_, Contains(HasSubstr("/srv/broken")));
}
TEST_F(ViewTest, W69_ALinkOutsideWritableFolders) {
  machine().folder("/srv/REAL").file("/srv/REAL/.git/config").link("/srv/LINK", "REAL");
  allow_write({"/srv/LINK"}).deny_write({"/srv/REAL/.git/config"});
  EXPECT_EQ(at(view(), "/srv/REAL/f"), Access::rw);
  EXPECT_EQ(at(view(), "/srv/REAL/.git/config"), Access::ro);
  EXPECT_THAT(shape(view()), Not(Contains(HasSubstr("/srv/LINK")))) << "seen through the read-only system";
}

TEST_F(ViewTest, WhatIsDeniedIsDeniedUnderALinksNameToo) {
  machine().link("/home/u/share", "/data/share").folder("/data/share/secret").file("/data/share/open");
  allow_read({"/home/u/share"}).deny_read({"/data/share/secret"});
  EXPECT_EQ(at(view(), "/home/u/share/open"), Access::ro);
  EXPECT_EQ(at(view(), "/home/u/share/secret/x"), Access::hidden);
}

TEST_F(ViewTest, WhatIsNotWritableIsNotWritableUnderALinksNameEither) {
  machine().link("/home/u/share", "/data/share").folder("/data/share/kept").folder("/data/share/own");
  machine().facts.own_paths = {"/data/share/own"};
  allow_write({"/home/u/share"}).deny_write({"/data/share/kept"});
  EXPECT_EQ(at(view(), "/home/u/share/x"), Access::rw);
  EXPECT_EQ(at(view(), "/home/u/share/kept/x"), Access::ro);
  EXPECT_EQ(at(view(), "/home/u/share/own/x"), Access::ro);
  deny_write({"/data"});
  EXPECT_EQ(at(view(), "/home/u/share/x"), Access::ro);
}

// ---- own files -------------------------------------------------------------------------------

class OwnFiles : public ViewTest {
 protected:
  void SetUp() override {
    machine().folder("/home/u/.config/exechost/plugins").folder("/home/u/.local/state/exechost");
    machine().facts.own_paths = {"/home/u/.config/exechost"};
    machine().facts.own_private_paths = {"/home/u/.local/state/exechost"};
  }
};

TEST_F(OwnFiles, StayOutOfReachWhateverIsAllowed) {
  for (const json& list :
       {json{"~"}, json{"~/.config"}, json{"~/.config/exechost"}, json{"~/.config/exechost/plugins"}, json{"/"},
        json{"~/.local/state/exechost"}, json{"~", "~/.config/exechost/plugins", "~/.local/state/exechost"}}) {
    allow_write(list).allow_read(list);
    const View result = view();
    for (const char* path : {"/home/u/.config/exechost", "/home/u/.config/exechost/plugins/x.so"}) {
      EXPECT_NE(at(result, path), Access::rw) << list << " " << path;
    }
    const Access state = at(result, "/home/u/.local/state/exechost/ledger");
    EXPECT_TRUE(state == Access::hidden || state == Access::private_) << list;
  }
}

TEST_F(OwnFiles, NoLinkToThemIsReplaced) {
  machine().folder("/opt/x/lib").link("/opt/x/lib/own.so", "own.so.1").file("/opt/x/lib/own.so.1");
  machine().facts.own_paths = {"/opt/x/lib/own.so.1"};
  machine().facts.own_links = {"/opt/x/lib/own.so"};
  allow_write({"/opt/x"});
  EXPECT_EQ(at(view(), "/opt/x/other"), Access::rw);
  EXPECT_EQ(at(view(), "/opt/x/lib/own.so"), Access::ro);
  EXPECT_EQ(at(view(), "/opt/x/lib/own.so.2"), Access::ro) << "a link of the name could lead to it";
  machine().facts.own_links = {"/home/u/ws/own.so"};
  EXPECT_EQ(failure().kind, FailureKind::invalid_request);
}

TEST_F(OwnFiles, ArePinnedInAWritableHome) {
  allow_write({"~"});
  EXPECT_THAT(shape(view()), Contains("/home/u/.config=rw"));
  EXPECT_THAT(shape(view()), Contains("/home/u/.config/exechost=ro"));
  EXPECT_THAT(shape(view()), Contains("/home/u/.local/state/exechost=hidden"));
}

TEST_F(OwnFiles, ThatDoNotExistAreRefusedWhereTheyCouldBeMade) {
  machine().without("/home/u/.config/exechost");
  EXPECT_EQ(at(view(), "/home/u/.config/exechost"), Access::private_);
  allow_write({"~/.config"});
  EXPECT_EQ(failure().kind, FailureKind::invalid_request);
  EXPECT_THAT(failure().message, HasSubstr("/home/u/.config/exechost"));
  EXPECT_THAT(failure().hint, HasSubstr("mkdir"));
}

TEST_F(OwnFiles, AnAllowedHomeAsWorkspaceStillProtectsThem) {
  machine().facts.workspace = "/home/u";
  set("dangerously_allow_workspace", {"/home/u"});
  const auto plan = planned_.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(at(plan->view, "/home/u/x"), Access::rw);
  EXPECT_EQ(at(plan->view, "/home/u/.config/exechost/settings.json"), Access::ro);
  EXPECT_EQ(at(plan->view, "/home/u/.local/state/exechost/x"), Access::hidden);
}

// ---- other rules ----------------------------------------------------------------------------

TEST_F(ViewTest, TheEnvironmentsOwnTreesCanNotBeGiven) {
  machine().folder("/proc/sys").folder("/dev/pts");
  allow_write({"/proc", "/dev", "/dev/pts", "/proc/sys"});
  EXPECT_THAT(shape(view()), Not(Contains(HasSubstr("/proc"))));
  EXPECT_EQ(warnings_.size(), 4U);
  allow_write(json::array()).deny_read({"/proc/sys"});
  EXPECT_EQ(failure().kind, FailureKind::unsupported);
}

TEST_F(ViewTest, DenyWriteTakesScratchAwayToo) {
  deny_write({"/tmp"});
  EXPECT_EQ(at(view(), "/tmp/x"), Access::hidden);
  EXPECT_EQ(at(view(), "/var/tmp/x"), Access::private_);
}

TEST_F(ViewTest, AllowReadInScratchShowsTheHosts) {
  machine().folder("/tmp/shared");
  allow_read({"/tmp/shared"});
  EXPECT_EQ(at(view(), "/tmp/shared/x"), Access::ro);
  EXPECT_EQ(at(view(), "/tmp/x"), Access::private_);
}

TEST_F(ViewTest, AllowReadNeverTakesWritingAway) {
  machine().folder("/home/u/ws/sub");
  allow_read({kWs, "sub"});
  EXPECT_EQ(at(view(), "/home/u/ws/sub/x"), Access::rw);
}

TEST_F(ViewTest, APathThatIsNotUtf8IsRefused) {
  machine().folder("/srv/\xff").link("/srv/link", "\xff");
  allow_write({"/srv/link"});
  EXPECT_EQ(failure().kind, FailureKind::invalid_request);
  EXPECT_THAT(failure().message, HasSubstr("UTF-8"));
}

TEST_F(ViewTest, WithoutAHomeATildeIsNotTheRoot) {
  machine().folder("/srv/ws").facts.home.clear();
  machine().facts.workspace = "/srv/ws";
  allow_write({"~", "~/x"});
  EXPECT_EQ(at(view(), "/etc/x"), Access::ro);
  EXPECT_EQ(warnings_.size(), 2U);
}

TEST(ConfinementRules, FollowTheView) {
  View view;
  view.entries = {{"/", Access::ro, "", 0, ""},
                  {"/home", Access::hidden, "", 0, ""},
                  {"/home/u", Access::private_, "", 1, ""},
                  {"/home/u/ws", Access::rw, "", 0, ""},
                  {"/x", Access::masked, "", 0, ""}};
  Resources resources;
  resources.pids = 7;
  Facts facts;
  facts.uid = 1000;
  const Confinement user = make_confinement(view, resources, facts);
  EXPECT_THAT(user.landlock_rules, Contains(LandlockRule{"/", false}));
  EXPECT_THAT(user.landlock_rules, Contains(LandlockRule{"/home/u", true}));
  EXPECT_THAT(user.landlock_rules, Contains(LandlockRule{"/home/u/ws", true}));
  EXPECT_THAT(user.landlock_rules, Contains(LandlockRule{"/dev/null", true}));
  for (const LandlockRule& rule : user.landlock_rules) {
    EXPECT_NE(rule.path, "/home");
    EXPECT_NE(rule.path, "/x");
  }
  EXPECT_EQ(user.rlimits.size(), 2U);
  facts.uid = 0;
  EXPECT_EQ(make_confinement(view, resources, facts).rlimits.size(), 1U) << "root is not bound by RLIMIT_NPROC";
}

TEST(ConfinementRules, WhatIsShownMustBeThereAndWhatIsNotMustNot) {
  View view;
  view.entries = {{"/", Access::ro, "", 0, ""},
                  {"/usr", Access::ro, "", 0, ""},
                  {"/home", Access::hidden, "", 0, ""},
                  {"/home/u/ws", Access::rw, "/mnt/ws", 0, ""},
                  {"/home/u/ws/x", Access::masked, "", 0, ""},
                  {"/run", Access::private_, "", 1, ""},
                  {"/gone", Access::ro, "", 0, ""}};
  Facts facts;
  const auto know = [&facts](const std::string& path, FileKind kind, std::uint64_t inode) {
    facts.paths[path].kind = kind;
    facts.paths[path].device = 1;
    facts.paths[path].inode = inode;
  };
  know("/", FileKind::folder, 1);  // can't be exchanged
  know("/usr", FileKind::folder, 2);
  know("/home", FileKind::folder, 3);
  know("/mnt/ws", FileKind::folder, 4);
  know("/home/u/ws/x", FileKind::regular, 5);
  know("/run", FileKind::folder, 6);
  EXPECT_THAT(
      make_confinement(view, {}, facts).view_checks,
      ElementsAre(ViewCheck{"/usr", 1, 2, true}, ViewCheck{"/home", 1, 3, false}, ViewCheck{"/home/u/ws", 1, 4, true},
                  ViewCheck{"/home/u/ws/x", 1, 5, false}, ViewCheck{"/run", 1, 6, false}));
  EXPECT_THAT(make_confinement(view, {}, facts, false).view_checks, ElementsAre(ViewCheck{"/usr", 1, 2, true}))
      << "without the view everything is where it is on this machine";
}

TEST(Paths, AreExpandedLexically) {
  struct Row {
    const char* given;
    const char* expanded;
  };
  for (const Row& row : {Row{"/a/./b/../c/", "/a/c"}, Row{"x", "/base/x"}, Row{".", "/base"}, Row{"..", "/"},
                         Row{"~", "/home/u"}, Row{"~/x", "/home/u/x"}, Row{"~x", "/base/~x"}, Row{"//a//b", "/a/b"},
                         Row{"/", "/"}, Row{"/..", "/"}, Row{"", "/base"}, Row{"~/../..", "/"}}) {
    EXPECT_EQ(expand_path(row.given, "/base", "/home/u"), row.expanded) << row.given;
    EXPECT_TRUE(is_normal(row.expanded)) << row.expanded;
    EXPECT_EQ(is_normal(row.given), std::string_view(row.given) == row.expanded) << row.given;
  }
  EXPECT_TRUE(is_at_or_below("/a", "/a"));
  EXPECT_TRUE(is_below("/a", "/"));
  EXPECT_FALSE(is_below("/", "/"));
  EXPECT_FALSE(is_at_or_below("/ab", "/a"));
}

}  // namespace
}  // namespace exechost::plan::testing
