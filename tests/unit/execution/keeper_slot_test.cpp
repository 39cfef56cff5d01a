// A keeper that dies, as those see it who have asked it something.
#include "core/host/keeper_slot.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <utility>

#include "exechost_test_paths.hpp"

namespace exechost::host {
namespace {

// The next one takes its place before anybody has read that it is gone.
TEST(KeeperSlotTest, WhatADeadKeeperWasAskedIsAnswered) {
  std::string folder = "/tmp/exechost-slot-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string program = folder + "/keeper";
  std::filesystem::create_symlink(EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", program);
  KeeperStart how;
  how.placement = KeeperPlacement::child;
  how.program = program;
  how.options.ledger_folder = folder + "/run/ledger";
  how.options.guest_path = EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-guest";
  std::promise<keeper::Reply> answer;
  auto answered = answer.get_future();
  {
    Reactor reactor;
    KeeperSlot slot(reactor, std::move(how));
    auto port = slot.port();
    ASSERT_TRUE(port) << port.error().message;
    std::promise<void> gate;
    reactor.post([opened = gate.get_future().share()] { opened.wait(); });
    reactor.post([port = std::move(*port), &answer] {
      port->probe({}, [&answer](keeper::Reply reply) { answer.set_value(std::move(reply)); });
    });
    ASSERT_EQ(::kill(slot.pid(), SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(slot.pid()), &info, WEXITED | WNOWAIT), 0);
    std::filesystem::remove(program);  // so that the next one is not waited for
    EXPECT_FALSE(slot.port());
    gate.set_value();
    EXPECT_EQ(answered.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  const keeper::Reply reply = answered.get();
  EXPECT_EQ(reply.failure.kind, FailureKind::plugin_crashed);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace exechost::host
