// The view becomes bwrap options: each rule by itself, and what has to hold for every document.
#include "arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace exechost::bwrap {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json document(json view, const std::string& network = "none") {
  return {{"view", std::move(view)},
          {"network", {{"mode", network}}},
          {"init", {{"source", "/opt/libexec/exechost-guest"}, {"target", "/run/exechost/guest"}}}};
}

std::size_t position(const std::vector<std::string>& options, const std::vector<std::string>& wanted) {
  const auto found = std::search(options.begin(), options.end(), wanted.begin(), wanted.end());
  EXPECT_NE(found, options.end()) << "missing: " << json(wanted).dump() << " in " << json(options).dump();
  return static_cast<std::size_t>(found - options.begin());
}

bool contains(const std::vector<std::string>& options, const std::string& option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

const json kRoot = {{"path", "/"}, {"access", "ro"}};

TEST(BwrapArguments, EveryNamespaceAndNoCapability) {
  const auto options = render(document({kRoot}), {}).options;
  for (const char* option : {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
                             "--unshare-net", "--new-session", "--as-pid-1", "--clearenv"}) {
    EXPECT_TRUE(contains(options, option)) << option;
  }
  position(options, {"--cap-drop", "ALL"});
}

TEST(BwrapArguments, OnlyTheFullNetworkSharesTheHosts) {
  EXPECT_FALSE(contains(render(document({kRoot}, "full"), {}).options, "--unshare-net"));
  EXPECT_TRUE(contains(render(document({kRoot}, "filtered"), {}).options, "--unshare-net"));
  EXPECT_TRUE(contains(render(document({kRoot}, "anything else"), {}).options, "--unshare-net"));
}

TEST(BwrapArguments, ProcAndDevLieOnTheRootAndBelowEverythingElse) {
  const auto options =
      render(document({kRoot, {{"path", "/dev/shm"}, {"access", "private"}, {"size", 4096}}}), {}).options;
  const std::size_t root = position(options, {"--ro-bind", "/", "/"});
  const std::size_t dev = position(options, {"--proc", "/proc", "--dev", "/dev"});
  const std::size_t shm = position(options, {"--perms", "1777", "--size", "4096", "--tmpfs", "/dev/shm"});
  EXPECT_LT(root, dev);
  EXPECT_LT(dev, shm);
}

TEST(BwrapArguments, KernelSettingsInProcAreReadOnly) {
  const auto options = render(document({kRoot}), {}).options;
  const std::size_t proc = position(options, {"--proc", "/proc"});
  for (const char* path :
       {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/pressure"}) {
    EXPECT_LT(proc, position(options, {"--ro-bind-try", path, path})) << path;
  }
}

TEST(BwrapArguments, EachAccessHasItsOptions) {
  const auto rendered = render(document({kRoot,
                                         {{"path", "/srv/data"}, {"access", "ro"}, {"source", "/mnt/real"}},
                                         {{"path", "/srv/w"}, {"access", "rw"}},
                                         {{"path", "/srv/p"}, {"access", "private"}},
                                         {{"path", "/srv/secret"}, {"access", "masked"}},
                                         {{"path", "/srv/secret2"}, {"access", "masked"}}}),
                               {});
  position(rendered.options, {"--ro-bind", "/mnt/real", "/srv/data"});
  position(rendered.options, {"--bind", "/srv/w", "/srv/w"});
  position(rendered.options, {"--perms", "0755", "--tmpfs", "/srv/p"});
  position(rendered.options, {"--perms", "0000", "--ro-bind-data", "10", "/srv/secret"});
  position(rendered.options, {"--perms", "0000", "--ro-bind-data", "11", "/srv/secret2"});
  EXPECT_EQ(rendered.mask_count, 2U);
}

TEST(BwrapArguments, AHiddenFolderIsPassableOnlyWhenSomethingIsShownInside) {
  const auto closed = render(document({kRoot, {{"path", "/home"}, {"access", "hidden"}}}), {}).options;
  position(closed, {"--perms", "0000", "--size", "65536", "--tmpfs", "/home"});
  // "/homework" is no part of "/home".
  const auto sibling =
      render(document({kRoot, {{"path", "/home"}, {"access", "hidden"}}, {{"path", "/homework"}, {"access", "rw"}}}),
             {})
          .options;
  position(sibling, {"--perms", "0000", "--size", "65536", "--tmpfs", "/home"});
  const auto open =
      render(document({kRoot, {{"path", "/home"}, {"access", "hidden"}}, {{"path", "/home/u/work"}, {"access", "rw"}}}),
             {})
          .options;
  const std::size_t folder = position(open, {"--perms", "0111", "--size", "65536", "--tmpfs", "/home"});
  const std::size_t inside = position(open, {"--bind", "/home/u/work", "/home/u/work"});
  const std::size_t sealed = position(open, {"--remount-ro", "/home"});
  EXPECT_LT(folder, inside);
  EXPECT_LT(inside, sealed) << "mount points inside have to exist before the folder becomes read-only";
}

TEST(BwrapArguments, TheGuestIsReadOnlyAndComesAfterTheView) {
  const auto rendered = render(document({kRoot, {{"path", "/run"}, {"access", "private"}}}), {});
  EXPECT_EQ(rendered.init, "/run/exechost/guest");
  const std::size_t run = position(rendered.options, {"--tmpfs", "/run"});
  const std::size_t guest =
      position(rendered.options, {"--ro-bind", "/opt/libexec/exechost-guest", "/run/exechost/guest"});
  EXPECT_LT(run, guest);
  EXPECT_THAT(rendered.command, ElementsAre("--args", "7", "--json-status-fd", "8", "--"));
}

struct BadDocument {
  const char* name;
  json value;
  const char* complaint;
};

class BwrapBadDocuments : public testing::TestWithParam<BadDocument> {};

TEST_P(BwrapBadDocuments, AreRefusedByName) {
  try {
    static_cast<void>(render(GetParam().value, {}));
    FAIL() << "rendered";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
  }
}

json without(json value, const char* name) {
  value.erase(name);
  return value;
}

json many_masks() {
  json view = {kRoot};
  for (int i = 0; i < 300; ++i) view.push_back({{"path", "/f" + std::to_string(i)}, {"access", "masked"}});
  return document(view);
}

INSTANTIATE_TEST_SUITE_P(
    All, BwrapBadDocuments,
    testing::Values(BadDocument{"no_view", without(document({kRoot}), "view"), "view"},
                    BadDocument{"empty_view", document(json::array()), "view"},
                    BadDocument{"no_network", without(document({kRoot}), "network"), "network"},
                    BadDocument{"no_init", without(document({kRoot}), "init"), "init"},
                    BadDocument{"relative", document({kRoot, {{"path", "tmp"}, {"access", "rw"}}}), "absolute"},
                    BadDocument{"nul", document({kRoot, {{"path", std::string("/a\0b", 4)}, {"access", "rw"}}}),
                                "absolute"},
                    BadDocument{"unknown_access", document({kRoot, {{"path", "/x"}, {"access", "rwx"}}}), "rwx"},
                    BadDocument{"no_access", document({kRoot, {{"path", "/x"}}}), "access"},
                    BadDocument{"too_many_masks", many_masks(), "240"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace exechost::bwrap
