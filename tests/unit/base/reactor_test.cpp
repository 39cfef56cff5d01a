#include "core/base/reactor.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <future>

namespace exechost {
namespace {

TEST(Reactor, RunsWorkOnItsOwnThread) {
  Reactor reactor;
  std::promise<bool> there;
  reactor.post([&] { there.set_value(reactor.on_reactor_thread()); });
  EXPECT_TRUE(there.get_future().get());
  EXPECT_FALSE(reactor.on_reactor_thread());
}

TEST(Reactor, TakesNoSignals) {
  Reactor reactor;
  std::promise<sigset_t> mask;
  reactor.post([&] {
    sigset_t current;
    pthread_sigmask(SIG_SETMASK, nullptr, &current);
    mask.set_value(current);
  });
  const sigset_t blocked = mask.get_future().get();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGWINCH}) {
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
  }
  // The caller's own mask is as it was.
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0);
}

TEST(Reactor, DestructionDropsWhatIsQueued) {
  std::promise<void> started;
  std::promise<void> release;
  bool ran = false;
  {
    Reactor reactor;
    reactor.post([&] {
      started.set_value();
      release.get_future().wait();
    });
    started.get_future().wait();
    reactor.context().stop();
    reactor.post([&] { ran = true; });
    release.set_value();
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace exechost
