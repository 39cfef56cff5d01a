// workspace.mode copy with real environments: the workspace stays as it is until somebody says otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/support/keepers.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/tree.hpp"

namespace exechost::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CopyMode : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  CopyMode() {
    fs::create_directory(in("src"));
    write_file(in("src/a"), "a\n");
    write_file(in("kept"), "kept\n");
    write_file(in("gone"), "gone\n");
  }
  std::string in(const std::string& name) const { return scene_->workspace() + "/" + name; }
  std::unique_ptr<ExecHost> make_host() { return std::make_unique<ExecHost>(host_options(*scene_, GetParam())); }
  static Request copied(const std::string& script, const std::string& session = {}, const std::string& more = {}) {
    Request request = shell_request(script);
    request.settings_json = R"({"workspace":{"mode":"copy"})" + more + "}";
    if (!session.empty()) request.session = session;
    return request;
  }
  static std::string output(ExecHost& host, const Request& request) {
    const ExecResult result = host.run(request);
    EXPECT_EQ(result.status, Status::exited) << (result.failure ? describe(*result.failure) : "");
    return result.out.data + result.err.data;
  }
  static std::vector<std::string> listed(const Result<ChangeList>& list) {
    std::vector<std::string> lines;
    if (!list) return {describe(list.error())};
    for (const Change& change : list->changes) lines.push_back(std::string(to_string(change.kind)) + " " + change.path);
    return lines;
  }
  void TearDown() override { end_keepers(*scene_); }

  std::unique_ptr<Scene> scene_ = own_scene();
};

INSTANTIATE_TEST_SUITE_P(With, CopyMode, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         [](const auto& tested) {
                           return std::string(tested.param == KeeperPlacement::child ? "child" : "in_process");
                         });

TEST_P(CopyMode, TheWorkspaceStaysUntilItIsApplied) {
  const auto before = describe_tree(scene_->workspace());
  const auto host = make_host();
  EXPECT_EQ(output(*host, copied("pwd; cat src/a; echo new > src/b; echo changed > src/a; rm gone", "s")),
            scene_->workspace() + "\na\n");
  EXPECT_EQ(changed_paths(before, describe_tree(scene_->workspace())), std::vector<std::string>{});
  // The next run of the session goes on with it, another session does not see it.
  EXPECT_EQ(output(*host, copied("cat src/b; ls", "s")), "new\nkept\nsrc\n");
  EXPECT_EQ(output(*host, copied("cat src/a; ls", "t")), "a\ngone\nkept\nsrc\n");
  // From another program, with nothing running.
  Request session;
  session.session = "s";
  const auto other = make_host();
  EXPECT_THAT(listed(other->changes(session)), ElementsAre("deleted gone", "modified src/a", "added src/b"));
  write_file(in("gone"), "mine\n");
  const auto applied = other->apply(session);
  ASSERT_TRUE(applied.has_value()) << describe(applied.error());
  EXPECT_EQ(applied->count(ApplyOutcome::applied), 2U) << applied->to_json();
  EXPECT_EQ(applied->count(ApplyOutcome::conflict), 1U);
  EXPECT_EQ(read_file(in("src/a")), "changed\n");
  EXPECT_EQ(read_file(in("src/b")), "new\n");
  EXPECT_EQ(read_file(in("gone")), "mine\n");
  EXPECT_THAT(listed(other->changes(session)), ElementsAre("deleted gone"));
}

TEST_P(CopyMode, WithoutASessionItGoesWithTheHost) {
  std::string copy;
  {
    const auto host = make_host();
    output(*host, copied("echo new > src/b"));
    const auto list = host->changes(Request{});
    ASSERT_TRUE(list.has_value()) << describe(list.error());
    EXPECT_THAT(listed(list), ElementsAre("added src/b"));
    copy = list->copy;
    EXPECT_TRUE(fs::exists(copy));
    // Nobody else's program has anything to do with it.
    EXPECT_FALSE(make_host()->changes(Request{}).has_value());
  }
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_FALSE(exists(in("src/b")));
}

TEST_P(CopyMode, WhatIsProtectedIsProtectedInTheCopyAndStays) {
  const std::string protect = R"(,"filesystem":{"deny_write":["src"]})";
  const auto host = make_host();
  const std::string said = output(*host, copied("echo x > src/new; mv src other; echo y > fine; ls src", "s", protect));
  EXPECT_THAT(said, HasSubstr("Read-only file system"));
  EXPECT_THAT(said, HasSubstr("a\n"));
  Request session;
  session.session = "s";
  EXPECT_THAT(listed(host->changes(session)), ElementsAre("added fine"));
  // What an earlier run could still write is not carried over when it is protected now.
  Request unprotected = copied("echo x > src/new", "s");
  unprotected.recreate_session = true;  // another place than the one the session was opened for
  output(*host, unprotected);
  session.settings_json = R"({"filesystem":{"deny_write":["src"]}})";
  const auto applied = host->apply(session);
  ASSERT_TRUE(applied.has_value()) << describe(applied.error());
  EXPECT_EQ(applied->count(ApplyOutcome::refused), 1U) << applied->to_json();
  EXPECT_FALSE(exists(in("src/new")));
  EXPECT_TRUE(exists(in("fine")));
}

TEST_P(CopyMode, NothingInItReachesTheWorkspaceOrTheState) {
  const auto host = make_host();
  const Request session = [] {
    Request request;
    request.session = "s";
    return request;
  }();
  output(*host, copied("true", "s"));
  const std::string copy = host->changes(session)->copy;
  const auto before = describe_tree(scene_->workspace());
  const std::string said = output(*host, copied("ls '" + copy + "' 2>&1; cat '" + copy + "/../base' 2>&1; touch '" +
                                                    copy + "/x' 2>&1; ln -s '" + in("kept") + "' l; ls",
                                                "s"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("lock")));
  EXPECT_FALSE(exists(copy + "/x"));
  EXPECT_EQ(changed_paths(before, describe_tree(scene_->workspace())), std::vector<std::string>{});
}

TEST_P(CopyMode, OnlyWhereItIsWorthSomething) {
  const auto host = make_host();
  Request node = copied("true");
  node.tier = "node";
  const ExecResult refused = host->run(node);
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->kind, FailureKind::unsupported);
  for (const char* mode : {"upload", "mirror"}) {
    Request request = shell_request("true");
    request.settings_json = std::string(R"({"workspace":{"mode":")") + mode + "\"}}";
    const ExecResult result = host->run(request);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, FailureKind::unsupported);
    EXPECT_THAT(result.failure->message, HasSubstr(mode));
  }
  const ExecResult large = host->run(copied("true", {}, R"(,"files":{"max_entries":2})"));
  ASSERT_TRUE(large.failure);
  EXPECT_EQ(large.failure->error_number, EFBIG);
  EXPECT_EQ(large.started, Started::no);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(host->run(copied("true"), stop.get_token()).status, Status::cancelled);
}

TEST_P(CopyMode, TheCommandLineShowsAndAppliesIt) {
  {
    const auto host = make_host();
    output(*host, copied("echo new > src/b; printf 'x' > $(printf 'odd\\033[31m'); echo changed > kept; rm gone", "s"));
  }
  const ProgramEnd listed = scene_->run({"changes", "s"});
  EXPECT_EQ(listed.exit_status(), 0) << listed.err;
  EXPECT_THAT(listed.out, ::testing::StartsWith("D gone\nM kept\nA odd"));
  EXPECT_THAT(listed.out, HasSubstr("A src/b\n"));
  EXPECT_THAT(listed.out, ::testing::Not(HasSubstr("\x1b")));
  write_file(in("kept"), "mine\n");
  const ProgramEnd applied = scene_->run({"apply", "s", "src", "kept"});
  EXPECT_EQ(applied.exit_status(), 1);
  EXPECT_EQ(applied.out, "A src/b\n");
  EXPECT_THAT(applied.err, HasSubstr("conflict: kept"));
  EXPECT_EQ(read_file(in("src/b")), "new\n");
  EXPECT_EQ(read_file(in("kept")), "mine\n");
  EXPECT_TRUE(exists(in("gone")));
  EXPECT_EQ(scene_->run({"apply", "s", "gone"}).exit_status(), 0);
  EXPECT_FALSE(exists(in("gone")));
  EXPECT_EQ(scene_->run({"apply", "s", "../elsewhere"}).exit_status(), 1);
  EXPECT_EQ(scene_->run({"apply", "s", "--discard"}).exit_status(), 0);
  const ProgramEnd none = scene_->run({"changes", "s"});
  EXPECT_EQ(none.exit_status(), 1);
  EXPECT_THAT(none.err, HasSubstr("no copy"));
}

TEST_P(CopyMode, ItCanBeThrownAway) {
  const auto host = make_host();
  output(*host, copied("echo new > src/b", "s"));
  Request session;
  session.session = "s";
  ASSERT_TRUE(host->discard_changes(session).has_value());
  EXPECT_FALSE(host->changes(session).has_value());
  // The next run gets a new one.
  EXPECT_EQ(output(*host, copied("ls src", "s")), "a\n");
}

}  // namespace
}  // namespace exechost::test
