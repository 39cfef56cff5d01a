// The keeper's end of one guest's control socket. The guest is untrusted from the moment it has
// started the command: every packet is checked for size, type and order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/unique_fd.hpp"
#include "core/keeper/messages.hpp"
#include "exechost/failure.hpp"
#include "guest/protocol.hpp"

namespace exechost::keeper {

namespace shell {
struct Program;
}

class GuestChannel {
 public:
  // Makes the socket pair and puts the specification into it; `guest_end` is for the guest.
  // `served`: the guest is one that a serving guest makes for one command, and is confined already.
  // `program`: of a served one, in place of the request's command and variables; it gets two more descriptors.
  static Result<GuestChannel> make(const SpawnRequest& request, UniqueFd& guest_end, bool served = false,
                                   const shell::Program* program = nullptr);

  int fd() const { return socket_.get(); }
  UniqueFd take_socket() { return std::move(socket_); }

  enum class Read { message, nothing, closed };
  // The next message that is in order. protocol_error: the guest broke the protocol. Never blocks.
  Result<Read> read(guest::Message& message);

  // False when the socket takes nothing more (the guest does not read) or is closed.
  bool send_signal(int number);
  bool send_kill();

  bool confined() const { return confined_; }
  bool started() const { return started_; }
  bool exited() const { return exited_; }

 private:
  explicit GuestChannel(UniqueFd socket) : socket_(std::move(socket)) {}
  bool send(const guest::Message& message);
  Result<void> check_order(const guest::Message& message);

  UniqueFd socket_;
  bool confined_ = false;
  bool started_ = false;
  bool failed_ = false;
  bool exited_ = false;
};

// What a guest's `failed` means, in words; `request` names the command and its folder.
Failure describe_guest_failure(const guest::Message& message, const SpawnRequest& request);

}  // namespace exechost::keeper
