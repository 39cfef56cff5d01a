#include "guest/control.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace exechost::guest {

namespace {
// More room than one descriptor needs, so that a surplus is seen and closed rather than cut off.
constexpr int kMaxDescriptors = 4;

// Closes every descriptor that came with the packet but the first; returns how many came.
int take_descriptors(msghdr& header, int& first) {
  int count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t bytes = part->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      if (count++ == 0) {
        first = fd;
      } else {
        ::close(fd);
      }
    }
  }
  return count;
}
}  // namespace

Outcome receive_spec(int& spec_fd) {
  spec_fd = -1;
  Message message;
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t received = -1;
  do {
    received = ::recvmsg(kControlFd, &header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return failure(Step::read_spec, errno);
  if (received == 0) return failure(Step::read_spec, ECONNRESET);

  const int count = take_descriptors(header, spec_fd);
  const bool right_shape = received == static_cast<ssize_t>(sizeof message) && (header.msg_flags & MSG_TRUNC) == 0 &&
                           message.type == MessageType::spec;
  if (!right_shape) return failure(Step::read_spec, EPROTO);
  if (message.version != kProtocolVersion) return failure(Step::read_spec, EPROTONOSUPPORT);
  if (count != 1 || (header.msg_flags & MSG_CTRUNC) != 0) return failure(Step::read_spec, EBADF);
  return success();
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
