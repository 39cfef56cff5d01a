// Packets between host and keeper: one packet of a SOCK_SEQPACKET socket is one message, a CBOR
// document behind a fixed header. A document above kMaxInlineBytes travels in a sealed memfd, the
// first descriptor of the packet; the message's own descriptors follow by SCM_RIGHTS.
//
// Everything received is bounded and may be hostile: size, number of descriptors, nesting.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

inline constexpr std::size_t kMaxInlineBytes = 32UL * 1024;
inline constexpr std::size_t kMaxPacketBytes = 64UL * 1024 * 1024;
inline constexpr std::size_t kMaxPacketDescriptors = 8;
inline constexpr int kMaxNesting = 128;

struct Packet {
  nlohmann::json body;
  std::vector<UniqueFd> descriptors;
  bool descriptors_lost = false;  // received: this process has no free descriptor for some of them
};

// A packet ready for the socket.
struct EncodedPacket {
  std::vector<unsigned char> bytes;
  std::vector<UniqueFd> descriptors;
};

// invalid_request when it is too large or holds too many descriptors, unavailable when no memfd
// can be made.
Result<EncodedPacket> encode_packet(Packet packet);

enum class SendResult { sent, would_block, closed };
// Never blocks, raises no SIGPIPE. `error_number` is set when the answer is `closed`.
SendResult send_packet(int socket, const EncodedPacket& packet, int& error_number);

enum class ReceiveResult { received, would_block, closed };
// Never blocks. A failure (protocol_error) means the peer broke the protocol.
Result<ReceiveResult> receive_packet(int socket, Packet& packet);

// Parses JSON text of a plugin: at most `max_bytes`, nested at most kMaxNesting. Empty text: null.
Result<nlohmann::json> parse_bounded(std::string_view text, std::size_t max_bytes);

}  // namespace exechost::keeper
