// A host to be killed: starts a keeper (argv[1]: "child" or "in_process"), with the plugin in argv[2]
// and the ledger in argv[3], runs two commands, one through the guest, prints "PID of a process
// without guest, PID that left its session" on one line, and waits.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <string_view>

#include "core/base/reactor.hpp"
#include "core/keeper/client.hpp"
#include "core/keeper/placement.hpp"
#include "exechost_test_paths.hpp"
#include "tests/unit/keeper/support.hpp"

namespace {

using namespace exechost;
using namespace exechost::keeper;

std::string first_line_of(Reactor& reactor, Client& client, std::uint64_t environment, bool guest,
                          const std::string& script) {
  test::Pipe out;
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  SpawnRequest request;
  request.environment = environment;
  request.argv = {"/bin/sh", "-c", script};
  request.variables = {"PATH=/usr/bin:/bin"};
  request.cwd = "/";
  request.use_guest = guest;
  request.confinement.landlock = false;
  request.stdio = {null.get(), out.write.get(), null.get()};
  std::promise<void> sent;
  reactor.post([&] {
    client.spawn(request, [](const ExecutionEvent& /*event*/) {});
    sent.set_value();
  });
  sent.get_future().get();
  return test::read_line(out.read.get());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto placement = argv[1] == std::string_view("child") ? KeeperPlacement::child : KeeperPlacement::in_process;
  KeeperOptions options;
  options.ledger_folder = argv[3];
  options.guest_path = EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-guest";
  auto keeper = start(placement, EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", options);
  if (!keeper) return 3;
  Reactor reactor;
  std::unique_ptr<Client> client;
  std::promise<Reply> opened;
  reactor.post([&] {
    client = std::make_unique<Client>(reactor, (*keeper)->take_socket());
    OpenRequest request;
    request.plugin.id = "plain";
    request.plugin.library = argv[2];
    request.document = nlohmann::json::object();
    client->open(request, [&opened](Reply reply) { opened.set_value(std::move(reply)); });
  });
  const Reply reply = opened.get_future().get();
  if (reply.status != ReplyStatus::ok) return 4;
  const auto environment = reply.body.at("environment").get<std::uint64_t>();
  const std::string plain = first_line_of(reactor, *client, environment, false, "echo $$; exec sleep 1000");
  const std::string stray =
      first_line_of(reactor, *client, environment, true, "setsid sleep 1000 & echo $!; exec sleep 1000");
  std::printf("%s %s\n", plain.c_str(), stray.c_str());
  static_cast<void>(std::fflush(stdout));
  while (true) ::pause();
}
