// Commands that go on in a named session when the program that started them has ended.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "tests/contract/session/named_scene.hpp"
#include "tests/support/background.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Background : public NamedScene {
 protected:
  static Request script(std::string text) { return shell_request(std::move(text)); }
  static std::string all_of(const Session& session, const std::string& id, int stream) {
    std::string text;
    for (std::uint64_t offset = 0;;) {
      const auto part = session.read_log(id, stream, offset);
      EXPECT_TRUE(part);
      if (!part || part->empty()) return text;
      text += *part;
      offset += part->size();
    }
  }
};

TEST_F(Background, GoesOnWithoutItsHostAndAnotherHearsOfIt) {
  const Barrier barrier(scene_->workspace() + "/barrier");
  const Witness witness(scene_->workspace() + "/witness");
  std::string id;
  {
    const auto host = make_host();
    const auto started = host->session("s").start_detached(
        script(witness.hold() + "echo one; echo error >&2; " + barrier.wait() + "echo two; exit 7"));
    ASSERT_TRUE(started) << started.error().message;
    id = *started;
  }
  ASSERT_TRUE(witness.wait_held());
  const auto host = make_host();
  const Session session = host->session("s");
  const auto running = session.await(id, 0, 0, 20s);
  ASSERT_TRUE(running);
  EXPECT_FALSE(running->ended);
  EXPECT_EQ(running->started, Started::yes);
  barrier.open();
  const DetachedCommand ended = end_of(session, id);
  EXPECT_EQ(ended.status, Status::exited);
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_FALSE(ended.failure);
  EXPECT_EQ(all_of(session, id, 1), "one\ntwo\n");
  EXPECT_EQ(all_of(session, id, 2), "error\n");
  EXPECT_TRUE(witness.let_go());
}

TEST_F(Background, TheCommandLineDoesAllOfIt) {
  const Barrier barrier(scene_->workspace() + "/barrier");
  const ProgramEnd started = command(
      {"start", "--detach", "--session", "s", "--id", "job", "--shell", "echo said; " + barrier.wait() + "exit 3"});
  ASSERT_EQ(started.exit_status(), 0) << started.err;
  EXPECT_EQ(started.out, "job\n");
  Program waiting(cli({"wait", "s", "job"}));
  Program following(cli({"logs", "--follow", "s"}));
  EXPECT_TRUE(following.wait_for_output("said"));
  barrier.open();
  EXPECT_EQ(following.finish().exit_status(), 3);
  EXPECT_EQ(waiting.finish().exit_status(), 3);
  EXPECT_EQ(command({"logs", "s", "job"}).out, "said\n");
  EXPECT_EQ(command({"logs", "--from", "2", "s"}).out, "id\n");
  const ProgramEnd unknown = command({"logs", "s", "other"});
  EXPECT_EQ(unknown.exit_status(), 125);
  EXPECT_THAT(unknown.err, HasSubstr("no command \"other\""));
  EXPECT_THAT(command({"wait", "nowhere"}).err, HasSubstr("nowhere"));
}

TEST_F(Background, KillEndsTheWholeTree) {
  const auto host = make_host();
  const Session session = host->session("s");
  const Witness witness(scene_->workspace() + "/witness");
  ASSERT_TRUE(session.start_detached(script(witness.hold() + "(setsid sleep 100 &); trap '' TERM; sleep 100")));
  ASSERT_TRUE(witness.wait_held());
  EXPECT_EQ(command({"kill", "--signal", "KILL", "s"}).exit_status(), 0);
  const DetachedCommand ended = end_of(session, "");
  EXPECT_EQ(ended.status, Status::signaled);
  EXPECT_EQ(ended.signal_number, SIGKILL);
  EXPECT_TRUE(witness.let_go());
}

TEST_F(Background, ATimeOutHoldsWithoutAHost) {
  const auto host = make_host();
  const Session session = host->session("s");
  Request request = script("trap '' TERM; sleep 100");
  request.timeout = 500ms;
  request.settings_json = R"({"resources": {"kill_grace": "100ms"}})";
  ASSERT_TRUE(session.start_detached(request));
  EXPECT_EQ(end_of(session, "").status, Status::timed_out);
}

TEST_F(Background, KeepsItsSessionFromBeingIdle) {
  const auto host = make_host();
  const Session session = host->session("s");
  Request request = script("sleep 1; ls /tmp");
  request.settings_json = R"({"session": {"idle_timeout": "100ms"}})";
  Request mark = request;
  mark.shell = "echo > /tmp/mark";
  ASSERT_EQ(session.run(mark).exit_code, 0);
  ASSERT_TRUE(session.start_detached(request));
  EXPECT_EQ(end_of(session, "").exit_code, 0);
  EXPECT_EQ(all_of(session, "", 1), "mark\n") << "what it said is kept after its session";
}

TEST_F(Background, InputIsExactAndEnds) {
  const auto host = make_host();
  const Session session = host->session("s");
  const auto id = session.start_detached(script("cat; echo over"), {"cat", true});
  ASSERT_TRUE(id) << id.error().message;
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const auto taken = session.write_input(*id, all);
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, all.size());
  ASSERT_TRUE(session.close_input(*id));
  EXPECT_EQ(end_of(session, *id).exit_code, 0);
  EXPECT_EQ(all_of(session, *id, 1), all + "over\n");
  const auto late = session.write_input(*id, "x");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, FailureKind::invalid_request);
}

TEST_F(Background, InputBeyondThePipeWaitsForRoom) {
  const auto host = make_host();
  const Session session = host->session("s");
  const Barrier barrier(scene_->workspace() + "/barrier");
  const auto id = session.start_detached(script(barrier.wait() + "wc -c"), {"count", true});
  ASSERT_TRUE(id) << id.error().message;
  const std::string all(1024UL * 1024, 'x');
  std::size_t sent = 0;
  for (bool open = false; sent < all.size();) {
    const auto taken = session.write_input(*id, std::string_view(all).substr(sent));
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_GT(*taken, 0u) << "it waits until there is room";
    sent += *taken;
    if (!std::exchange(open, true)) barrier.open();
  }
  ASSERT_TRUE(session.close_input(*id));
  EXPECT_EQ(end_of(session, *id).exit_code, 0);
  EXPECT_EQ(all_of(session, *id, 1), "1048576\n");
}

TEST_F(Background, EndlessOutputKeepsItsEnd) {
  const auto host = make_host();
  const Session session = host->session("s");
  ASSERT_TRUE(session.start_detached(script("head -c 20000000 /dev/zero | tr '\\0' x; echo last")));
  const DetachedCommand ended = end_of(session, "");
  EXPECT_EQ(ended.out.end, 20000005u);
  EXPECT_EQ(ended.out.end - ended.out.begin, 4u * 1024 * 1024);
  const std::string kept = all_of(session, "", 1);
  EXPECT_EQ(kept.size(), 4u * 1024 * 1024);
  EXPECT_TRUE(kept.ends_with("xlast\n"));
}

TEST_F(Background, WhatCanNotStartSaysSo) {
  const auto host = make_host();
  const Session session = host->session("s");
  Request request;
  request.argv = {"/nonexistent/program"};
  const auto started = session.start_detached(request);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().kind, FailureKind::spawn_failed);
  const ProgramEnd unnamed = command({"start", "--detach", "--", "true"});
  EXPECT_EQ(unnamed.exit_status(), 125);
  EXPECT_THAT(unnamed.err, HasSubstr("--session"));
  ASSERT_TRUE(session.start_detached(script("sleep 100"), {"twice", false}));
  const auto again = session.start_detached(script("sleep 100"), {"twice", false});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, FailureKind::invalid_request);
}

TEST_F(Background, AllOfThemAreListed) {
  ASSERT_EQ(command({"start", "--detach", "--session", "s", "--id", "long", "--", "sleep", "1000"}).exit_status(), 0);
  ASSERT_EQ(command({"start", "--detach", "--session", "s", "--id", "short", "--", "true"}).exit_status(), 0);
  ASSERT_EQ(command({"wait", "s", "short"}).exit_status(), 0);
  const ProgramEnd listed = command({"ps"});
  EXPECT_THAT(listed.out, ::testing::ContainsRegex("s +bwrap +1 command runs"));
  EXPECT_THAT(listed.out, HasSubstr(scene_->workspace()));
  EXPECT_THAT(listed.out, ::testing::ContainsRegex("s +long +running +sleep 1000"));
  EXPECT_THAT(listed.out, ::testing::ContainsRegex("s +short +ended +true"));
}

}  // namespace
}  // namespace exechost::test
