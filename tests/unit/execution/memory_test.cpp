// 100 MiB through a cap of 1 MiB: counts exact, memory bounded. In a child, whose peak is its own.
#include <sys/wait.h>

#include <fstream>
#include <string>
#include <thread>

#include "core/execution/pipes.hpp"
#include "core/execution/stream_pump.hpp"
#include "support.hpp"

namespace exechost::execution {
namespace {

constexpr std::size_t kTotal = 100UL * 1024 * 1024;

std::size_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      std::size_t value = 0;
      status >> value;
      return value;
    }
  }
  return 0;
}

// 0: fine; anything else names the check that failed.
int pump_in_child() {
  Reactor reactor;
  auto pipe = make_output_pipe();
  if (!pipe) return 2;
  PumpOptions options;
  options.cap_bytes = 1024UL * 1024;
  const std::size_t before = peak_kib();
  std::promise<void> ended;
  std::shared_ptr<StreamPump> pump;
  reactor.post([&] {
    pump = std::make_shared<StreamPump>(reactor.context(), std::move(pipe->ours), options);
    pump->start([&] { ended.set_value(); });
  });
  const std::string block(1024UL * 1024, 'x');
  for (std::size_t written = 0; written < kTotal; written += block.size()) test::write_all(pipe->commands.get(), block);
  pipe->commands.reset();
  ended.get_future().wait();
  const CapturedStream stream = test::on_reactor(reactor, [&] { return pump->take(); });
  test::on_reactor(reactor, [&] {
    pump.reset();
    return 0;
  });
  if (stream.total_bytes != kTotal || stream.data.size() != options.cap_bytes) return 3;
    // A sanitizer's shadow of the memory is memory too.
#ifndef EXECHOST_SANITIZED
  if (before == 0 || peak_kib() - before >= 16L * 1024) return 4;
#else
  static_cast<void>(before);
#endif
  return 0;
}

TEST(Memory, StaysBoundedUnderUnboundedOutput) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(pump_in_child());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace exechost::execution
