#include "core/keeper/stream_link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "core/base/utf8.hpp"
#include "guest/protocol.hpp"
#include "guest/spec.hpp"

namespace exechost::keeper {
namespace {

constexpr std::size_t kMaxSaid = 512;

}  // namespace

bool StreamLink::read_log() {
  char buffer[4096];
  constexpr int kRounds = 16;
  for (int i = 0; i < kRounds; ++i) {
    const ssize_t count = ::read(log.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) return false;
    said.append(buffer, std::min(static_cast<std::size_t>(count), kMaxSaid - said.size()));
  }
  return true;
}

std::string StreamLink::said_in_words() const {
  const std::string line = said.substr(0, said.find_last_not_of('\n') + 1);
  return line.empty() ? std::string() : fmt::format("; it wrote: \"{}\"", escape_for_terminal(to_valid_utf8(line)));
}

SpecFrames::SpecFrames(UniqueFd spec, std::uint32_t execution) : spec_(std::move(spec)), execution_(execution) {
  struct stat status {};
  if (::fstat(spec_.get(), &status) != 0 || status.st_size <= 0) return;
  if (static_cast<std::uint64_t>(status.st_size) <= guest::kMaxSpecBytes)
    size_ = static_cast<std::uint32_t>(status.st_size);
}

bool SpecFrames::put(guest::FrameWriter& writer) {
  while (!done() && writer.has_room(guest::kMaxPayload)) {
    const std::size_t wanted = std::min(size_ - sent_, guest::kMaxPayload);
    const ssize_t got = ::pread(spec_.get(), writer.next_payload(wanted), wanted, static_cast<off_t>(sent_));
    if (got <= 0) return false;
    writer.put_read(guest::FrameType::spec, execution_, guest::StreamId::input, static_cast<std::size_t>(got));
    sent_ += static_cast<std::uint32_t>(got);
  }
  if (done()) spec_.reset();
  return true;
}

UniqueFd receive_spec(int control) {
  guest::Message message;
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = buffer;
  header.msg_controllen = sizeof buffer;
  ssize_t got = -1;
  do {
    got = ::recvmsg(control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const part = got > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS || part->cmsg_len != CMSG_LEN(sizeof(int))) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
  return UniqueFd(fd);
}

void forget_broken_pipe() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  constexpr timespec kNow{};
  ::sigtimedwait(&broken_pipe, nullptr, &kNow);
}

ssize_t write_to_pipe(int fd, const char* bytes, std::size_t size) {
  ssize_t count = -1;
  do {
    count = ::write(fd, bytes, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EPIPE) {
    forget_broken_pipe();
    errno = EPIPE;
  }
  return count;
}

bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace exechost::keeper
