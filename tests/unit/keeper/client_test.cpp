// A keeper that can't be told of a command: nothing of the command is anywhere.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <future>
#include <memory>
#include <vector>

#include "core/base/reactor.hpp"
#include "core/base/unique_fd.hpp"
#include "core/keeper/client.hpp"

namespace exechost::keeper {
namespace {

using namespace std::chrono_literals;

TEST(ClientQueue, ACommandThatWasNeverPassedOnIsTakenBackByAKill) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // Nobody reads: the socket is as full as one that refuses descriptors.
  const std::vector<char> junk(1000);
  while (::send(ours.get(), junk.data(), junk.size(), 0) > 0) {
  }
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Reactor reactor;
  std::unique_ptr<Client> client;
  std::promise<ExecutionEvent> told;
  reactor.post([&] {
    client = std::make_unique<Client>(reactor, std::move(ours));
    SpawnRequest request;
    request.argv = {"true"};
    request.stdio = {null.get(), null.get(), null.get()};
    const Ticket execution =
        client->spawn(request, [&told](ExecutionEvent event) { told.set_value(std::move(event)); });
    client->signal(execution, SIGTERM);
    client->signal(execution, SIGKILL);
  });
  auto end = told.get_future();
  ASSERT_EQ(end.wait_for(20s), std::future_status::ready);
  const ExecutionEvent event = end.get();
  EXPECT_EQ(event.kind, ExecutionEvent::Kind::failed);
  EXPECT_EQ(event.was_started, Started::no);
  EXPECT_EQ(event.failure.kind, FailureKind::spawn_failed);
  EXPECT_EQ(event.failure.step, "queue");
  std::promise<void> closed;
  reactor.post([&] {
    client.reset();
    closed.set_value();
  });
  closed.get_future().wait();
}

}  // namespace
}  // namespace exechost::keeper
