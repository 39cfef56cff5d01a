// Writes the specification of one execution into a sealed memfd and hands it to a guest.
// Used by the keeper and by tests; the guest itself never includes this.
//
// SpecWriter is a plain buffer: not thread-safe, reusable after seal(). Values are stored as
// given (raw bytes); the guest refuses NUL bytes, relative paths and anything malformed, and
// answers with Step::read_spec.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"
#include "guest/protocol.hpp"
#include "guest/spec.hpp"

namespace exechost::guest {

class SpecWriter {
 public:
  void add_argument(std::string_view argument) { text(Tag::argument, argument); }
  // The words of another command, started where the first one's program is not there.
  void add_fallback_argument(std::string_view argument) { text(Tag::fallback_argument, argument); }
  // For a command of a `serve` guest: the next descriptor that comes with it gets this number, kLowestPlace to
  // kHighestPlace.
  void add_descriptor(std::uint32_t place) { number(Tag::descriptor, place); }
  // "NAME=value".
  void add_environment(std::string_view variable) { text(Tag::environment, variable); }
  // Absolute, inside the environment. Not set: "/".
  void set_working_directory(std::string_view path) { text(Tag::working_directory, path); }
  // Descriptor 0 is a terminal's slave and becomes the command's controlling terminal.
  void set_tty(bool tty) { number(Tag::tty, tty ? 1U : 0U); }
  // "base" is the only one there is; not set: no filter.
  void set_seccomp_profile(std::string_view name) { text(Tag::seccomp_profile, name); }
  // Use Landlock where the kernel has it. Without a rule nothing at all can be opened.
  void set_landlock(bool on) { number(Tag::landlock, on ? 1U : 0U); }
  // Absolute paths; one that does not exist inside is skipped.
  void add_landlock_read(std::string_view path) { text(Tag::landlock_read, path); }
  void add_landlock_write(std::string_view path) { text(Tag::landlock_write, path); }
  // What must be (or, not `same`, must not be) at an absolute path: st_dev and st_ino.
  void add_view_check(std::string_view path, std::uint64_t device, std::uint64_t inode, bool same) {
    std::string bytes(2 * sizeof device, '\0');
    std::memcpy(bytes.data(), &device, sizeof device);
    std::memcpy(bytes.data() + sizeof device, &inode, sizeof inode);
    text(same ? Tag::view_same : Tag::view_other, bytes.append(path));
  }
  // RLIMIT_*; soft and hard limit. A lower hard limit that is already in force stays.
  void add_rlimit(std::uint32_t resource, std::uint64_t value) {
    char bytes[16];
    const std::uint32_t zero = 0;
    std::memcpy(bytes, &resource, 4);
    std::memcpy(bytes + 4, &zero, 4);
    std::memcpy(bytes + 8, &value, 8);
    text(Tag::rlimit, {bytes, sizeof bytes});
  }
  // For the node tier: nothing is put on, and privileges and umask stay as they are.
  void set_unconfined(bool on) { number(Tag::unconfined, on ? 1U : 0U); }
  // For a command of a `serve` guest: it is confined as that guest is.
  void set_inherited(bool on) { number(Tag::inherited, on ? 1U : 0U); }
  // Not set: 022.
  void set_umask(std::uint32_t mask) { number(Tag::umask, mask); }

  // The specification as a memfd (close-on-exec) that nobody can change any more.
  // invalid_request: it is larger than kMaxSpecBytes; unavailable: the kernel refused, with errno.
  Result<UniqueFd> seal() const;

 private:
  void text(Tag tag, std::string_view bytes) {
    // A length that 32 bits can't hold is far above kMaxSpecBytes: seal() refuses it.
    const RecordHeader header{static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(bytes.size())};
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes_.append(bytes);
  }
  void number(Tag tag, std::uint32_t value) { text(tag, {reinterpret_cast<const char*>(&value), sizeof value}); }

  std::string bytes_;
};

// Sends the first packet: Message{spec} with the specification attached. protocol_error when
// the guest's end is closed.
Result<void> send_spec(int control_fd, int spec_fd);

// ---- implementation ----------------------------------------------------------------

inline tl::unexpected<Failure> spec_failure(FailureKind kind, const char* step, std::string message, int error) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::spawn;
  failure.message = std::move(message);
  failure.error_number = error;
  failure.step = step;
  return tl::unexpected<Failure>(std::move(failure));
}

inline Result<UniqueFd> SpecWriter::seal() const {
  std::string all = bytes_;
  const RecordHeader end{static_cast<std::uint32_t>(Tag::end), 0};
  all.append(reinterpret_cast<const char*>(&end), sizeof end);
  if (all.size() > kMaxSpecBytes) {
    return spec_failure(
        FailureKind::invalid_request, "spec",
        fmt::format("arguments and environment take {} bytes, at most {} are possible", all.size(), kMaxSpecBytes),
        E2BIG);
  }
  UniqueFd fd(::memfd_create("exechost-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) {
    const int error = errno;
    return spec_failure(FailureKind::unavailable, "memfd_create",
                        fmt::format("memfd_create for the guest's specification: {}", std::strerror(error)), error);
  }
  std::size_t done = 0;
  while (done < all.size()) {
    const ssize_t n = ::write(fd.get(), all.data() + done, all.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : EIO;
      return spec_failure(
          FailureKind::unavailable, "memfd_write",
          fmt::format("writing {} bytes of the guest's specification: {}", all.size(), std::strerror(error)), error);
    }
    done += static_cast<std::size_t>(n);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    const int error = errno;
    return spec_failure(FailureKind::unavailable, "memfd_seal",
                        fmt::format("sealing the guest's specification: {}", std::strerror(error)), error);
  }
  return fd;
}

inline Result<void> send_spec(int control_fd, int spec_fd) {
  Message message;
  message.type = MessageType::spec;
  message.version = kProtocolVersion;
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* attached = CMSG_FIRSTHDR(&header);
  attached->cmsg_level = SOL_SOCKET;
  attached->cmsg_type = SCM_RIGHTS;
  attached->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(attached), &spec_fd, sizeof spec_fd);
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(control_fd, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(sizeof message)) {
    const int error = sent < 0 ? errno : EIO;
    return spec_failure(FailureKind::protocol_error, "send_spec",
                        fmt::format("sending the specification to the guest: {}", std::strerror(error)), error);
  }
  return {};
}

}  // namespace exechost::guest
