// Looks at real files below a temporary folder.
#include "core/plan/facts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/plan/inspector.hpp"
#include "core/plan/machine.hpp"
#include "core/plan/paths.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FactsTest : public ::testing::Test {
 public:
  FactsTest(const FactsTest&) = delete;
  FactsTest& operator=(const FactsTest&) = delete;

 protected:
  FactsTest() {
    std::string name = (fs::canonical(fs::temp_directory_path()) / "plan-facts-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~FactsTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string path(const std::string& name) const { return join_path(root_, name); }
  void folder(const std::string& name) const { fs::create_directories(path(name)); }
  void file(const std::string& name) const {
    fs::create_directories(parent_of(path(name)));
    std::ofstream(path(name)) << "x";
  }
  void link(const std::string& name, const std::string& target) const {
    fs::create_directories(parent_of(path(name)));
    fs::create_symlink(target, path(name));
  }
  void program(const std::string& name) const {
    file(name);
    fs::permissions(path(name), fs::perms::owner_all);
  }
  // With the home `home`; `writable` are names below the test's folder.
  std::vector<std::string> toolchains(const std::map<std::string, std::string>& environment,
                                      const std::vector<std::string>& credentials = {},
                                      const std::vector<std::string>& writable = {}) const {
    const std::vector<std::string> homes{path("home")};
    std::vector<std::string> places;
    for (const std::string& name : writable) places.push_back(path(name));
    Inspector inspector;
    return find_toolchains(inspector, {environment, homes, credentials, places});
  }
  static std::vector<std::string> credentials(const std::map<std::string, std::string>& environment,
                                              const std::vector<std::string>& homes, uid_t uid) {
    Inspector inspector;
    return find_credentials(inspector, environment, homes, uid);
  }
  std::string root_;
};

TEST_F(FactsTest, PathsAreResolvedAndLinksRemembered) {
  folder("real/sub");
  link("link", "real");
  link("second", path("link"));
  const PathFact fact = inspect_path(path("second/sub"));
  EXPECT_EQ(fact.kind, FileKind::folder);
  EXPECT_EQ(fact.resolved, path("real/sub"));
  EXPECT_EQ(fact.landing, path("real/sub"));
  EXPECT_FALSE(fact.is_link);
  EXPECT_THAT(fact.links, ElementsAre(path("second"), path("link")));
  EXPECT_TRUE(inspect_path(path("second")).is_link);
}

TEST_F(FactsTest, MissingPathsHaveAPlaceWhereTheyWouldBeMade) {
  folder("real");
  link("link", "real");
  const PathFact fact = inspect_path(path("link/a/b"));
  EXPECT_EQ(fact.kind, FileKind::missing);
  EXPECT_EQ(fact.resolved, "");
  EXPECT_EQ(fact.landing, path("real/a/b"));
}

TEST_F(FactsTest, BrokenAndCircularLinksAreMissing) {
  link("broken", "nowhere");
  link("a", "b");
  link("b", "a");
  EXPECT_EQ(inspect_path(path("broken")).kind, FileKind::missing);
  EXPECT_EQ(inspect_path(path("broken")).landing, path("nowhere"));
  EXPECT_TRUE(inspect_path(path("broken")).is_link);
  EXPECT_EQ(inspect_path(path("a")).kind, FileKind::missing);
  EXPECT_LE(inspect_path(path("a")).links.size(), 41U);
}

TEST_F(FactsTest, AFileIsNoFolderOnTheWay) {
  file("f");
  EXPECT_EQ(inspect_path(path("f")).kind, FileKind::regular);
  EXPECT_EQ(inspect_path(path("f/x")).kind, FileKind::missing);
}

TEST_F(FactsTest, ToolchainsComeFromPathAndVariables) {
  const std::string home = path("home");
  file("home/.nvm/versions/node/v20/bin/node");
  folder("home/.nvm/versions/node/v20/lib");
  file("home/.cargo/bin/cargo");
  file("home/.cargo/credentials.toml");
  folder("home/.rustup/toolchains");
  file("home/.pyenv/shims/python");
  file("home/go/bin/tool");
  program("home/.local/share/tool/versions/1.0");
  file("home/.local/share/pipx/venvs/black/bin/black");
  file("home/.local/share/pipx/venvs/black/pyvenv.cfg");
  link("home/.local/bin/tool", path("home/.local/share/tool/versions/1.0"));
  link("home/.local/bin/black", "../share/pipx/venvs/black/bin/black");
  folder("home/documents");
  const std::map<std::string, std::string> environment{
      {"PATH",
       fmt::format("/usr/bin:relative:{0}/.nvm/versions/node/v20/bin:{0}/.cargo/bin:{0}/.local/bin:{0}:{0}/none",
                   home)},
      {"PYENV_ROOT", home + "/.pyenv"},
      {"GOPATH", home + "/go"},
      {"SDKMAN_DIR", home + "/none"},
      {"JAVA_HOME", "/usr/lib/jvm"},
      {"NVM_DIR", "relative"},
      {"UNRELATED_DIR", home + "/documents"}};
  const std::vector<std::string> found = credentials(environment, {home}, 1000);
  EXPECT_THAT(
      toolchains(environment, found),
      ::testing::UnorderedElementsAre(home + "/.nvm/versions/node/v20", home + "/.cargo/bin", home + "/.rustup",
                                      home + "/.local/bin", home + "/.local/share/tool/versions/1.0",
                                      home + "/.local/share/pipx/venvs/black", home + "/.pyenv", home + "/go/bin"));
}

TEST_F(FactsTest, ToolchainsAreNeverAHomeOrACredential) {
  const std::string home = path("home");
  folder("home/.ssh/bin");
  folder("home/.config");
  const std::map<std::string, std::string> environment{{"PATH", home + ":" + root_ + ":" + home + "/.ssh/bin:/"},
                                                       {"NVM_DIR", home},
                                                       {"PYENV_ROOT", home + "/.config"},
                                                       {"GOROOT", home + "/.ssh"}};
  const std::vector<std::string> found = credentials(environment, {home}, 1000);
  EXPECT_THAT(found, ElementsAre(home + "/.ssh"));
  EXPECT_THAT(toolchains(environment, found), IsEmpty());
}

TEST_F(FactsTest, ALinkedToolchainKeepsItsNameAndItsTarget) {
  const std::string home = path("home");
  folder("data/pyenv");
  folder("home");
  link("home/.pyenv", path("data/pyenv"));
  EXPECT_THAT(toolchains({{"PYENV_ROOT", home + "/.pyenv"}}), ElementsAre(home + "/.pyenv"));
}

// What a command left in its workspace decides nothing about what a later one sees.
class PlantedLinks : public FactsTest {
 protected:
  PlantedLinks() {
    file("home/proj/.venv/pyvenv.cfg");
    program("home/proj/.venv/bin/pip");
    file("home/diary.txt");
    program("home/Documents/bin/x");
    folder("home/Documents/lib");
    file("home/private/letter");
    program("home/.config/app/token");
    program("home/.pyenv/versions/3.12/bin/python");
    folder("home/.pyenv/versions/3.12/lib");
    environment_ = {{"PATH", path("home/proj/.venv/bin")}, {"VIRTUAL_ENV", path("home/proj/.venv")}};
  }
  std::vector<std::string> seen(const std::vector<std::string>& writable) const {
    return toolchains(environment_, {path("home/.config/app/token")}, writable);
  }
  std::map<std::string, std::string> environment_;
};

TEST_F(PlantedLinks, TheWorkspaceContributesNothing) {
  link("home/proj/.venv/bin/a", path("home/diary.txt"));
  link("home/proj/.venv/bin/b", path("home/Documents/bin/x"));
  link("home/proj/.venv/bin/python", path("home/.pyenv/versions/3.12/bin/python"));
  EXPECT_THAT(seen({"home/proj"}), IsEmpty());
}

TEST_F(PlantedLinks, NeitherUnderAnotherNameOfIt) {
  link("home/proj/.venv/bin/b", path("home/Documents/bin/x"));
  link("home/alias", "proj");
  environment_ = {{"PATH", path("home/alias/.venv/bin")}, {"VIRTUAL_ENV", path("home/alias/.venv")}};
  EXPECT_THAT(seen({"home/alias", "home/proj"}), IsEmpty());
}

TEST_F(PlantedLinks, ProgramsThatAWritableFolderLeadsElsewhereAreNotShown) {
  program("home/.local/bin/other");
  link("home/.local/bin/tool", "../../proj/tool");
  link("home/proj/tool", path("home/Documents/bin/x"));
  environment_ = {{"PATH", path("home/.local/bin")}};
  EXPECT_THAT(seen({"home/proj"}), ElementsAre(path("home/.local/bin")));
}

TEST_F(PlantedLinks, InAnotherWorkspaceLinksShowSingleProgramsOnly) {
  link("home/proj/.venv/bin/a", path("home/diary.txt"));
  link("home/proj/.venv/bin/b", path("home/Documents/bin/x"));
  link("home/proj/.venv/bin/c", path("home/.config/app/token"));
  link("home/proj/.venv/bin/d", path("home/private"));
  EXPECT_THAT(seen({"home/proj2"}),
              ::testing::UnorderedElementsAre(path("home/proj/.venv"), path("home/Documents/bin/x")));
}

TEST_F(PlantedLinks, AVersionManagersProgramsNeedWhatIsBesideThem) {
  link("home/proj/.venv/bin/python", path("home/.pyenv/versions/3.12/bin/python"));
  EXPECT_THAT(seen({"home/proj2"}),
              ::testing::UnorderedElementsAre(path("home/proj/.venv"), path("home/.pyenv/versions/3.12")));
}

TEST_F(PlantedLinks, AFolderThatIsNotWhatTheVariableSaysIsNotShown) {
  fs::remove_all(path("home/proj/.venv"));
  link("home/proj/.venv", path("home/private"));
  EXPECT_THAT(seen({"home/proj2"}), IsEmpty());
  file("home/private/pyvenv.cfg");
  EXPECT_THAT(seen({"home/proj2"}), ::testing::UnorderedElementsAre(path("home/proj/.venv"), path("home/private")));
}

TEST_F(PlantedLinks, AProgramFolderElsewhereIsNeverWidened) {
  fs::remove_all(path("home/proj/.venv"));
  link("home/proj/.venv", path("home/Documents"));
  EXPECT_THAT(seen({"home/proj2"}),
              ::testing::UnorderedElementsAre(path("home/proj/.venv/bin"), path("home/Documents/bin")));
}

TEST_F(PlantedLinks, AProgramFolderElsewhereIsCalledLikeOne) {
  fs::remove_all(path("home/proj/.venv/bin"));
  link("home/proj/.venv/bin", path("home/private"));
  environment_.erase("VIRTUAL_ENV");
  EXPECT_THAT(seen({"home/proj2"}), IsEmpty());
}

TEST_F(FactsTest, CredentialsAreFoundWhereTheyExist) {
  const std::string home = path("home");
  file("home/.npmrc");
  folder("home/.aws");
  file("home/.cargo/credentials");
  file("dotfiles/netrc");
  link("home/.netrc", path("dotfiles/netrc"));
  EXPECT_THAT(credentials({}, {home}, 1000),
              ::testing::UnorderedElementsAre(home + "/.npmrc", home + "/.aws", home + "/.cargo/credentials",
                                              path("dotfiles/netrc")));
  EXPECT_THAT(credentials({}, {}, 1000), IsEmpty());
  if (fs::exists("/etc/shadow")) {
    EXPECT_THAT(credentials({}, {}, 0), Contains("/etc/shadow"));
  }
}

TEST_F(FactsTest, GatherAnswersWhatPlanningAsks) {
  folder("ws/sub");
  folder("ws/out");
  folder("own");
  link("ws-link", path("ws"));
  FactQuery query;
  query.workspace = path("ws-link");
  query.process_cwd = "/";
  query.cwd = "sub";
  query.own_paths = {path("own"), path("own-missing")};
  query.own_private_paths = {path("state")};
  query.environment = {{"HOME", "/nonexistent"}, {"PATH", "/usr/bin"}};
  SettingsBuilder settings;
  settings.set("filesystem.allow_write", {"out", "/no/such"});
  const auto facts = gather(settings.build(), query);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->uid, ::geteuid());
  EXPECT_EQ(facts->workspace, path("ws-link"));
  EXPECT_EQ(facts->path(facts->workspace).resolved, path("ws"));
  EXPECT_EQ(facts->path(path("ws/sub")).kind, FileKind::folder);
  EXPECT_EQ(facts->path(path("ws/out")).kind, FileKind::folder) << "relative to the resolved workspace";
  EXPECT_EQ(facts->path("/no/such").kind, FileKind::missing);
  EXPECT_EQ(facts->path("/never/asked").kind, FileKind::missing);
  EXPECT_THAT(facts->own_paths, ElementsAre(path("own"), path("own-missing")));
  EXPECT_THAT(facts->own_private_paths, ElementsAre(path("state")));
  EXPECT_EQ(facts->environment, query.environment);
  EXPECT_EQ(facts->platform, "linux");
  EXPECT_FALSE(facts->hostname.empty());
  EXPECT_EQ(facts->environment_home, "");
}

TEST_F(FactsTest, SettingsWorkspaceWinsOverTheDefault) {
  folder("a");
  folder("b");
  FactQuery query;
  query.workspace = path("a");
  query.process_cwd = root_;
  SettingsBuilder settings;
  settings.set("workspace.path", "b");
  EXPECT_EQ(gather(settings.build(), query)->workspace, path("b")) << "relative to where the process started";
  query.workspace.clear();
  EXPECT_EQ(gather(SettingsBuilder().build(), query)->workspace, root_);
}

TEST_F(FactsTest, AWorkingFolderWhosePathLeadsElsewhereIsRefused) {
  folder("a");
  folder("b");
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  FactQuery query;
  query.process_cwd = path("a");
  query.process_cwd_device = status.st_dev;
  query.process_cwd_inode = status.st_ino;
  const settings::Settings settings = SettingsBuilder().build();
  EXPECT_TRUE(gather(settings, query));
  std::filesystem::rename(path("a"), path("moved"));
  EXPECT_FALSE(gather(settings, query));
  link("a", path("b"));
  const auto facts = gather(settings, query);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, FailureKind::invalid_request);
  EXPECT_THAT(facts.error().message, HasSubstr("working folder"));
  query.workspace = path("b");  // said by name: that is what it is
  EXPECT_TRUE(gather(settings, query));
}

TEST_F(FactsTest, ACurrentFolderThatIsGoneIsNoWorkspace) {
  FactQuery query;
  const auto facts = gather(SettingsBuilder().build(), query);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, FailureKind::invalid_request);
  EXPECT_THAT(facts.error().message, HasSubstr("current folder does not exist"));
  EXPECT_FALSE(gather(SettingsBuilder().set("workspace.path", "b").build(), query));
  query.workspace = root_;
  EXPECT_TRUE(gather(SettingsBuilder().build(), query)) << "a workspace of its own needs no current folder";
}

TEST_F(FactsTest, AWorkspaceThatIsNotUtf8IsRefused) {
  folder("\xff");
  link("link", "\xff");
  for (const char* name : {"\xff", "link"}) {
    FactQuery query;
    query.workspace = path(name);
    query.process_cwd = "/";
    const auto facts = gather(SettingsBuilder().build(), query);
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().kind, FailureKind::invalid_request);
    EXPECT_THAT(facts.error().message, HasSubstr("UTF-8"));
  }
}

TEST_F(FactsTest, AnotherHomeInTheEnvironmentIsNoticed) {
  folder("home");
  FactQuery query;
  query.process_cwd = "/";
  query.environment = {{"HOME", path("home")}};
  EXPECT_EQ(gather(SettingsBuilder().build(), query)->environment_home, path("home"));
}

TEST_F(FactsTest, WhatACommandMayWriteIsNoToolchain) {
  for (const char* folder : {"home/ws/.venv", "home/granted/.venv", "home/other/.venv"}) {
    this->folder(std::string(folder) + "/bin");
    link(std::string(folder) + "/bin/x", path("home/Documents/bin/x"));
  }
  program("home/Documents/bin/x");
  FactQuery query;
  query.workspace = path("home/ws");
  query.process_cwd = "/";
  SettingsBuilder settings;
  settings.set("filesystem.allow_write", {"../granted"});
  query.environment = {{"HOME", path("home")},
                       {"PATH", path("home/ws/.venv/bin") + ":" + path("home/granted/.venv/bin")}};
  EXPECT_THAT(gather(settings.build(), query)->toolchain_paths, IsEmpty());
  query.environment["PATH"] += ":" + path("home/other/.venv/bin");
  EXPECT_THAT(gather(settings.build(), query)->toolchain_paths,
              ::testing::UnorderedElementsAre(path("home/other/.venv/bin"), path("home/Documents/bin/x")));
}

TEST_F(FactsTest, HomesOfOtherPeopleAreKnown) {
  folder("data/anna");
  folder("data/own");
  folder("data/service");
  folder("data/nologin");
  link("data/ben", "anna");
  std::ofstream(path("passwd")) << fmt::format(
      "root:x:0:0::/root:/bin/bash\n"
      "# a comment\n"
      "service:x:120:120::{0}/data/service:/bin/sh\n"
      "broken line\n"
      "anna:x:1000:1000::{0}/data/anna:/bin/bash\n"
      "ben:x:1001:1001::{0}/data/ben:/bin/bash\n"
      "own:x:1002:1002::{0}/data/own:/bin/bash\n"
      "mail:x:1003:1003::{0}/data/nologin:/usr/sbin/nologin\n"
      "gone:x:1004:1004::{0}/data/gone:/bin/bash\n"
      "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
      "relative:x:1005:1005::data:/bin/bash\n",
      root_);
  FactQuery query;
  query.process_cwd = root_;
  query.accounts = path("passwd");
  query.environment = {{"HOME", path("data/own")}};
  const auto facts = gather(SettingsBuilder().build(), query);
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->other_homes, ElementsAre(path("data/anna")));
  EXPECT_EQ(facts->path(path("data/anna")).kind, FileKind::folder);
  EXPECT_THAT(account_homes("/nowhere"), IsEmpty());
}

TEST_F(FactsTest, LinksOnTheWayToOwnFilesAreKnown) {
  file("tools/bwrap");
  link("ws/bwrap", "../tools/bwrap");
  FactQuery query;
  query.process_cwd = path("ws");
  query.own_paths = {path("ws/bwrap")};
  const auto facts = gather(SettingsBuilder().build(), query);
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->own_paths, ElementsAre(path("tools/bwrap")));
  EXPECT_THAT(facts->own_links, ElementsAre(path("ws/bwrap")));
}

TEST_F(FactsTest, RealFactsMakeARealPlan) {
  folder("ws/.git");
  file("ws/.git/config");
  FactQuery query;
  query.workspace = path("ws");
  query.process_cwd = "/";
  query.environment = {{"PATH", "/usr/bin"}, {"HOME", "/root"}};
  SettingsBuilder settings;
  settings.set("filesystem.deny_write", {".git/config"});
  const settings::Settings built = settings.build();
  const auto facts = gather(built, query);
  ASSERT_TRUE(facts);
  Request request;
  request.argv = {"true"};
  const std::vector<BackendFacts> backends{bwrap()};
  const auto plan = make_plan({request, built, backends, *facts});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->view.deciding(path("ws/x"))->access, Access::rw);
  EXPECT_EQ(plan->view.deciding(path("ws/.git/config"))->access, Access::ro);
  EXPECT_EQ(plan->view.deciding("/tmp")->access, Access::private_);
  for (const ViewEntry& entry : plan->view.entries) {
    const std::string& source = entry.source.empty() ? entry.path : entry.source;
    EXPECT_TRUE(fs::exists(source)) << source;
  }
}

}  // namespace
}  // namespace exechost::plan::testing
