// What a guest says over its byte stream, as the keeper takes it: every frame is one that a guest may send, what is in
// no order is refused, and no more is kept than the windows allow.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/keeper/event_loop.hpp"
#include "core/keeper/stream_command.hpp"
#include "core/keeper/stream_link.hpp"

namespace {

using namespace exechost;          // NOLINT(google-build-using-namespace)
using namespace exechost::keeper;  // NOLINT(google-build-using-namespace)

constexpr std::uint32_t kCommands = 3;

UniqueFd sealed_spec() {
  UniqueFd spec(memfd_create("spec", MFD_CLOEXEC));
  if (!spec || write(spec.get(), "spec", 4) != 4) std::abort();
  return spec;
}

std::shared_ptr<StreamCommand> make_command(const std::shared_ptr<EventLoop>& loop, std::uint32_t number,
                                            std::vector<UniqueFd>& kept) {
  int control[2];
  int out[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0)
    std::abort();
  kept.emplace_back(control[1]);
  kept.emplace_back(out[0]);
  std::vector<UniqueFd> stdio;
  stdio.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  stdio.emplace_back(out[1]);
  stdio.emplace_back(fcntl(out[1], F_DUPFD_CLOEXEC, 3));
  auto command = std::make_shared<StreamCommand>(loop, number, UniqueFd(control[0]), std::move(stdio),
                                                 SpecFrames(sealed_spec(), number), guest::kFirstWindow,
                                                 StreamCommand::Hooks{[] {}, [] {}});
  command->start(std::make_shared<ServedProcess>(loop, std::weak_ptr<CommandServer>(),
                                                 static_cast<std::int32_t>(number), UniqueFd(eventfd(0, EFD_CLOEXEC))));
  return command;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto loop = std::make_shared<EventLoop>();
  const auto reader = std::make_unique<guest::FrameReader>(guest::Sender::guest);
  const auto writer = std::make_unique<guest::FrameWriter>();
  guest::WindowGrowth growth;
  std::vector<UniqueFd> kept;
  std::array<std::shared_ptr<StreamCommand>, kCommands> commands;
  for (std::uint32_t i = 0; i < kCommands; ++i) {
    commands.at(i) = make_command(loop, i + 1, kept);
    if (!commands.at(i)->introduce(*writer)) std::abort();
  }
  const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  while (size != 0) {
    const std::size_t taken = reader->put(reinterpret_cast<const char*>(data), size);
    data += taken;
    size -= taken;
    guest::FrameHeader header;
    const char* payload = nullptr;
    for (;;) {
      const auto next = reader->next(header, payload);
      if (next == guest::FrameReader::Next::malformed) return 0;
      if (next == guest::FrameReader::Next::incomplete) break;
      if (!is_valid(header, guest::Sender::guest) || header.length > guest::kMaxPayload) std::abort();
      if (header.execution == 0 || header.execution > kCommands) continue;
      StreamCommand& command = *commands.at(header.execution - 1);
      if (!command.take(header, payload)) return 0;
      command.say(*writer, growth);
      command.feed(*writer);
      if (writer->flush(nowhere.get()) != guest::FrameWriter::Flushed::all) std::abort();
    }
    if (taken == 0) std::abort();  // whole frames always make room
  }
  if (growth.left > guest::kWindowGrowth) std::abort();
  return 0;
}
