#include "core/keeper/command_server.hpp"

#include <chrono>
#include <csignal>
#include <utility>

#include "core/keeper/guest_server.hpp"
#include "core/keeper/stream_guest.hpp"
#include "core/keeper/stream_link.hpp"

namespace exechost::keeper {
namespace {

constexpr int kEndMs = 500;    // by itself
constexpr int kKillMs = 2500;  // what it takes to end what others have stopped, and itself

bool has_ended(StartedProcess& process, int timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const ProcessNews news = process.news();
    if (news.kind == ProcessNews::Kind::ended) return true;
    if (news.kind == ProcessNews::Kind::failed) return !news.perhaps_left;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    waits_for(process.event_fd(), static_cast<int>(left));
  }
}

}  // namespace

ServingGuest::ServingGuest() = default;
ServingGuest::ServingGuest(ServingGuest&&) noexcept = default;
ServingGuest& ServingGuest::operator=(ServingGuest&&) noexcept = default;
ServingGuest::~ServingGuest() = default;

bool end_guest(ServingGuest& guest) {
  // Their end-of-file ends the guest.
  guest.socket.reset();
  if (guest.stream) {
    guest.stream->to.reset();
    guest.stream->from.reset();
  }
  bool ended = has_ended(*guest.process, kEndMs);
  if (!ended) {
    guest.process->signal(SIGKILL);
    ended = has_ended(*guest.process, kKillMs);
  }
  guest.process->release();
  return ended;
}

std::shared_ptr<CommandServer> make_command_server(std::shared_ptr<EventLoop> loop, ServingGuest guest,
                                                   const std::string& backend) {
  if (guest.stream) return std::make_shared<StreamGuest>(std::move(loop), std::move(guest), backend);
  return std::make_shared<GuestServer>(std::move(loop), std::move(guest), backend);
}

}  // namespace exechost::keeper
