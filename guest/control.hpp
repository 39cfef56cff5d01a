// The guest's side of the control socket.
#pragma once

#include <cstdint>

#include "guest/outcome.hpp"
#include "guest/protocol.hpp"

namespace exechost::guest {

// Waits for the keeper's first packet and takes the descriptor that came with it
// (close-on-exec). EPROTO: the packet is not what the protocol says; EPROTONOSUPPORT:
// another version; EBADF: not exactly one descriptor; ECONNRESET: the keeper is gone.
Outcome receive_spec(int& spec_fd);

enum class Received { message, nothing, closed };
// Never blocks. A packet of the wrong shape counts as closed: who breaks the protocol gets no more say.
Received receive(Message& message);

// The same for packets that may bring descriptors: the first `count` of the array are the caller's then
// (close-on-exec); more than fit are closed and counted.
Received receive_with(Message& message, int (&descriptors)[kMostRunDescriptors], int& count);

// True once the other end is closed and everything it had sent was received.
bool keeper_is_gone();

// A keeper that is gone is noticed by receive(), so nothing is reported here.
void send(const Message& message);
void send_failed(const Outcome& outcome);

}  // namespace exechost::guest
