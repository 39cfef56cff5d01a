// A packet from the other end of the keeper's socket: a document or protocol_error.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "core/keeper/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 60'000) return 0;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const exechost::UniqueFd left(ends[0]);
  const exechost::UniqueFd right(ends[1]);
  if (send(left.get(), data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) std::abort();
  exechost::keeper::Packet packet;
  const auto result = exechost::keeper::receive_packet(right.get(), packet);
  if (!result && result.error().message.empty()) std::abort();
  return 0;
}
