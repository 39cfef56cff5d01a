#include "guest/control.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace exechost::guest {

namespace {
// More room than is needed, so that a surplus is seen and closed rather than cut off.
constexpr int kMaxDescriptors = kMostRunDescriptors + 4;

// Keeps the first `capacity` descriptors that came with the packet and closes the others; returns how many came.
int take_descriptors(msghdr& header, int* descriptors, int capacity) {
  int count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t bytes = part->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      if (count < capacity) {
        descriptors[count] = fd;
      } else {
        ::close(fd);
      }
      ++count;
    }
  }
  return count;
}

// One packet of any kind; `got` as recvmsg(2).
struct Packet {
  ssize_t got = -1;
  bool cut = false;  // longer than a message
  bool descriptors_lost = false;
  int descriptor_count = 0;  // may be more than were asked for; those are closed
};
Packet receive_packet(Message& message, int* descriptors, int capacity, int flags) {
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  Packet packet;
  do {
    packet.got = ::recvmsg(kControlFd, &header, MSG_CMSG_CLOEXEC | flags);
  } while (packet.got < 0 && errno == EINTR);
  if (packet.got <= 0) return packet;
  packet.cut = (header.msg_flags & MSG_TRUNC) != 0;
  packet.descriptors_lost = (header.msg_flags & MSG_CTRUNC) != 0;
  packet.descriptor_count = take_descriptors(header, descriptors, capacity);
  return packet;
}

bool is_message(const Packet& packet) { return packet.got == static_cast<ssize_t>(sizeof(Message)) && !packet.cut; }
}  // namespace

Outcome receive_spec(int& spec_fd) {
  spec_fd = -1;
  Message message;
  const Packet packet = receive_packet(message, &spec_fd, 1, 0);
  if (packet.got < 0) return failure(Step::read_spec, errno);
  if (packet.got == 0) return failure(Step::read_spec, ECONNRESET);
  if (!is_message(packet) || message.type != MessageType::spec) return failure(Step::read_spec, EPROTO);
  if (message.version != kProtocolVersion) return failure(Step::read_spec, EPROTONOSUPPORT);
  if (packet.descriptor_count != 1 || packet.descriptors_lost) return failure(Step::read_spec, EBADF);
  return success();
}

Received receive_with(Message& message, int (&descriptors)[kMostRunDescriptors], int& count) {
  for (int& fd : descriptors) fd = -1;
  const Packet packet = receive_packet(message, descriptors, kMostRunDescriptors, MSG_DONTWAIT);
  count = packet.descriptor_count;
  if (packet.got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing;
  if (is_message(packet) && !packet.descriptors_lost) return Received::message;
  for (const int fd : descriptors) ::close(fd);
  return Received::closed;
}

Received receive(Message& message) {
  for (;;) {
    // MSG_TRUNC: the packet's real length, so that a longer one is noticed.
    const ssize_t received = ::recv(kControlFd, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing;
    return received == static_cast<ssize_t>(sizeof message) ? Received::message : Received::closed;
  }
}

bool keeper_is_gone() {
  char byte = 0;
  return ::recv(kControlFd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void send(const Message& message) {
  ssize_t sent = -1;
  do {
    sent = ::send(kControlFd, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
}

void send_failed(const Outcome& outcome) {
  Message message;
  message.type = MessageType::failed;
  message.version = kProtocolVersion;
  message.step = outcome.step;
  message.error_number = outcome.error_number;
  message.number = outcome.detail;
  send(message);
}

}  // namespace exechost::guest
