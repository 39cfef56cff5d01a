#include "core/keeper/wire.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "core/keeper/failures.hpp"
#include "core/keeper/messages.hpp"
#include "core/keeper/nesting_guard.hpp"

namespace exechost::keeper {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMagic = 0x314b4845;  // "EHK1"
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kProtocolVersion;
  std::uint32_t in_memfd = 0;  // 1: the document is in the first descriptor
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;  // of the document
};
static_assert(sizeof(Header) == 24);

Failure broken(std::string message) {
  return make_failure(FailureKind::protocol_error, Phase::run, std::move(message), "packet");
}

Result<UniqueFd> sealed_memfd(std::span<const unsigned char> bytes) {
  const auto failed = [](const char* step) {
    const int error = errno;
    return unexpected(make_failure(FailureKind::unavailable, Phase::provision,
                                   fmt::format("a large message can't be passed on: {}", std::strerror(error)), step,
                                   error));
  };
  UniqueFd fd(::memfd_create("exechost-message", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return failed("memfd_create");
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) return failed("seal");
  return fd;
}

Result<std::vector<unsigned char>> read_memfd(int fd, std::uint64_t length) {
  struct stat status {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  // Without the seals the sender could shrink it under us.
  if (seals < 0 || (seals & kSeals) != kSeals) return unexpected(broken("a large message is not in a sealed memfd"));
  if (::fstat(fd, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != length) {
    return unexpected(broken(fmt::format("a large message is not as long as its header says ({} bytes)", length)));
  }
  std::vector<unsigned char> bytes(length);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return unexpected(broken("a large message can't be read"));
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

Result<json> parse_document(std::span<const unsigned char> bytes) {
  try {
    NestingGuard guard(kMaxNesting);
    if (!json::sax_parse(bytes.begin(), bytes.end(), &guard, json::input_format_t::cbor)) {
      return unexpected(broken("a message is not a CBOR document of allowed depth and size"));
    }
    json document = json::from_cbor(bytes.begin(), bytes.end(), true, false);
    if (document.is_discarded()) return unexpected(broken("a message is not a CBOR document"));
    return document;
  } catch (const std::exception& error) {
    return unexpected(broken(fmt::format("a message is not a CBOR document: {}", error.what())));
  }
}

// Takes every descriptor that came, so that none leaks whatever the packet holds.
std::vector<UniqueFd> take_descriptors(msghdr& message) {
  std::vector<UniqueFd> taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t index = 0; index < count; ++index) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + index * sizeof(int), sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

Result<void> take_document(std::span<const unsigned char> received, Packet& packet) {
  Header header;
  if (received.size() < sizeof header) {
    return unexpected(broken(fmt::format("a packet of {} bytes is shorter than its header", received.size())));
  }
  std::memcpy(&header, received.data(), sizeof header);
  if (header.magic != kMagic) return unexpected(broken("a packet does not begin with the magic number"));
  if (header.version != kProtocolVersion) {
    return unexpected(
        broken(fmt::format("the peer speaks protocol version {}, this is {}", header.version, kProtocolVersion)));
  }
  if (header.length > kMaxPacketBytes) {
    return unexpected(broken(fmt::format("a message of {} bytes is larger than {}", header.length, kMaxPacketBytes)));
  }
  const auto rest = received.subspan(sizeof header);
  if (header.in_memfd == 0) {
    if (rest.size() != header.length) {
      return unexpected(broken(fmt::format("a packet holds {} bytes, its header says {}", rest.size(), header.length)));
    }
    auto document = parse_document(rest);
    if (!document) return unexpected(document.error());
    packet.body = std::move(*document);
    return {};
  }
  if (packet.descriptors.empty()) return unexpected(broken("a large message came without its memfd"));
  const UniqueFd memfd = std::move(packet.descriptors.front());
  packet.descriptors.erase(packet.descriptors.begin());
  const auto bytes = read_memfd(memfd.get(), header.length);
  if (!bytes) return unexpected(bytes.error());
  auto document = parse_document(*bytes);
  if (!document) return unexpected(document.error());
  packet.body = std::move(*document);
  return {};
}

}  // namespace

Result<EncodedPacket> encode_packet(Packet packet) {
  std::vector<unsigned char> document;
  try {
    document = json::to_cbor(packet.body);
  } catch (const json::exception& error) {
    return unexpected(make_failure(FailureKind::invalid_request, Phase::provision,
                                   fmt::format("a message can't be encoded: {}", error.what()), "packet"));
  }
  if (document.size() > kMaxPacketBytes) {
    return unexpected(make_failure(
        FailureKind::invalid_request, Phase::provision,
        fmt::format("the request has {} bytes; at most {} can be passed on", document.size(), kMaxPacketBytes),
        "packet"));
  }
  Header header;
  header.length = document.size();
  EncodedPacket encoded;
  if (document.size() > kMaxInlineBytes) {
    auto memfd = sealed_memfd(document);
    if (!memfd) return unexpected(memfd.error());
    header.in_memfd = 1;
    encoded.descriptors.push_back(std::move(*memfd));
    document.clear();
  }
  for (auto& fd : packet.descriptors) encoded.descriptors.push_back(std::move(fd));
  if (encoded.descriptors.size() > kMaxPacketDescriptors) {
    return unexpected(make_failure(
        FailureKind::invalid_request, Phase::provision,
        fmt::format("{} descriptors in one message; at most {}", encoded.descriptors.size(), kMaxPacketDescriptors),
        "packet"));
  }
  encoded.bytes.resize(sizeof header + document.size());
  std::memcpy(encoded.bytes.data(), &header, sizeof header);
  if (!document.empty()) std::memcpy(encoded.bytes.data() + sizeof header, document.data(), document.size());
  return encoded;
}

SendResult send_packet(int socket, const EncodedPacket& packet, int& error_number) {
  iovec bytes{const_cast<unsigned char*>(packet.bytes.data()), packet.bytes.size()};  // NOLINT: iovec's type
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<unsigned char, CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors)> control{};
  if (!packet.descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * packet.descriptors.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * packet.descriptors.size());
    for (std::size_t index = 0; index < packet.descriptors.size(); ++index) {
      const int fd = packet.descriptors[index].get();
      std::memcpy(CMSG_DATA(rights) + index * sizeof fd, &fd, sizeof fd);
    }
  }
  while (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    // ETOOMANYREFS: descriptors in flight, until the peer has received some.
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS) {
      return SendResult::would_block;
    }
    error_number = errno;
    return SendResult::closed;
  }
  return SendResult::sent;
}

Result<ReceiveResult> receive_packet(int socket, Packet& packet) {
  packet = Packet{};
  constexpr std::size_t kSize = sizeof(Header) + kMaxInlineBytes;
  const auto buffer = std::make_unique_for_overwrite<unsigned char[]>(kSize);
  iovec bytes{buffer.get(), kSize};
  alignas(cmsghdr) std::array<unsigned char, CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors)> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // ECONNRESET (the peer ended with something unread) is told once; what it had sent is still there.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return ReceiveResult::would_block;
  if (got <= 0) return ReceiveResult::closed;
  packet.descriptors = take_descriptors(message);
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return unexpected(broken(fmt::format("a packet is larger than {} bytes", kSize)));
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    if (packet.descriptors.size() >= kMaxPacketDescriptors) {
      return unexpected(broken(fmt::format("a packet carries more than {} descriptors", kMaxPacketDescriptors)));
    }
    packet.descriptors_lost = true;
  }
  auto taken = take_document(std::span(buffer.get(), static_cast<std::size_t>(got)), packet);
  if (!taken) return unexpected(taken.error());
  return ReceiveResult::received;
}

Result<json> parse_bounded(std::string_view text, std::size_t max_bytes) {
  if (text.empty()) return json();
  if (text.size() > max_bytes) {
    return unexpected(broken(fmt::format("a JSON answer of {} bytes is larger than {}", text.size(), max_bytes)));
  }
  try {
    NestingGuard guard(kMaxNesting);
    if (!json::sax_parse(text, &guard)) return unexpected(broken("an answer is not JSON of allowed depth"));
    return json::parse(text);
  } catch (const json::exception& error) {
    return unexpected(broken(fmt::format("an answer is not JSON: {}", error.what())));
  }
}

}  // namespace exechost::keeper
