// The child keeper is killed: a typed failure, nothing left, and the next run has a new keeper.
#include <gmock/gmock.h>
#include <csignal>
#include <future>

#include "tests/support/library_host.hpp"

namespace exechost::test {
namespace {

pid_t find_keeper() {
  for (const auto& process : descendants_of(getpid())) {
    if (process.name == "exechost-keeper" && process.parent == getpid() && process.state != 'Z') return process.pid;
  }
  return 0;
}

TEST(KeeperKilled, RunningCommandsFailAsPluginCrashed) {
  become_subreaper();
  const auto scene = own_scene();
  scene->install_probe();
  ExecHost host(host_options(*scene, KeeperPlacement::child));
  std::promise<void> up;
  Request request = shell_request("./.probe outlive double_fork " + scene->workspace() + "/beat");
  request.on_output = [&up](StdStream, std::string_view) { up.set_value(); };
  auto execution = host.start(request);
  ASSERT_TRUE(execution) << execution.error().message;
  ASSERT_EQ(up.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const pid_t keeper = find_keeper();
  ASSERT_NE(keeper, 0);

  ASSERT_EQ(kill(keeper, SIGKILL), 0);

  const ExecResult& result = execution->wait();
  EXPECT_EQ(result.status, Status::failed);
  EXPECT_EQ(result.started, Started::yes);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::plugin_crashed);
  const auto left = running_descendants(std::chrono::seconds(1));
  EXPECT_TRUE(left.empty()) << to_text(left);

  const ExecResult next = host.run(shell_request("echo again"));
  EXPECT_EQ(next.status, Status::exited);
  EXPECT_EQ(next.out.data, "again\n");
  EXPECT_TRUE(next.environment_recreated);
  EXPECT_NE(find_keeper(), keeper);
}

TEST(KeeperKilled, BetweenTwoRunsTheSecondSaysThatItsEnvironmentIsNew) {
  become_subreaper();
  const auto scene = own_scene();
  ExecHost host(host_options(*scene, KeeperPlacement::child));
  ASSERT_EQ(host.run(shell_request("echo > /tmp/mark")).status, Status::exited);
  const pid_t keeper = find_keeper();
  ASSERT_NE(keeper, 0);
  ASSERT_EQ(kill(keeper, SIGKILL), 0);
  ASSERT_TRUE(wait_until_ended(keeper, std::chrono::seconds(20)));

  const ExecResult next = host.run(shell_request("ls /tmp; echo ran"));
  EXPECT_EQ(next.out.data, "ran\n") << next.to_json();
  EXPECT_TRUE(next.environment_recreated);
  EXPECT_FALSE(host.run(shell_request("true")).environment_recreated);
}

TEST(KeeperKilled, DestroyingTheHostEndsEverything) {
  become_subreaper();
  const auto scene = own_scene();
  scene->install_probe();
  {
    ExecHost host(host_options(*scene, KeeperPlacement::child));
    std::promise<void> up;
    Request request = shell_request("./.probe outlive ignores_signals " + scene->workspace() + "/beat");
    request.on_output = [&up](StdStream, std::string_view) { up.set_value(); };
    auto execution = host.start(request);
    ASSERT_TRUE(execution) << execution.error().message;
    ASSERT_EQ(up.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  const auto left = running_descendants(std::chrono::milliseconds(0));
  EXPECT_TRUE(left.empty()) << to_text(left);
}

}  // namespace
}  // namespace exechost::test
