// Specifications and first packets that no keeper would send.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

std::string record(std::uint32_t tag, std::string_view bytes, std::uint32_t claimed) {
  const RecordHeader header{tag, claimed};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + std::string(bytes);
}
std::string record(Tag tag, std::string_view bytes) {
  return record(static_cast<std::uint32_t>(tag), bytes, static_cast<std::uint32_t>(bytes.size()));
}
std::string number(std::uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

const std::string kCommand = record(Tag::argument, "/bin/true");
const std::string kEnd = record(Tag::end, "");

class Spec : public testing::Test {
 protected:
  GuestOptions options() const {
    GuestOptions options;
    options.place = {false, ::geteuid() == 0};
    return options;
  }
  // What the guest says to these bytes: 0 for a command that ran, else read_spec's errno.
  int answer(UniqueFd memfd) {
    GuestOptions with = options();
    with.spec_fd = std::move(memfd);
    GuestProcess guest(programs_, SpecWriter(), std::move(with));
    EXPECT_TRUE(guest.finish());
    if (guest.find(MessageType::exited) != nullptr) return 0;
    const Message* failed = guest.find(MessageType::failed);
    EXPECT_NE(failed, nullptr);
    if (failed == nullptr) return -1;
    EXPECT_EQ(failed->step, Step::read_spec);
    EXPECT_EQ(guest.find(MessageType::confined), nullptr);
    return failed->error_number;
  }
  // The same for a first packet of the test's own making.
  int answer_to_packet(std::string_view bytes, const std::vector<int>& descriptors) {
    GuestOptions with = options();
    with.send_spec = false;
    GuestProcess guest(programs_, SpecWriter(), std::move(with));
    iovec data{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 16)] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
      cmsghdr* part = CMSG_FIRSTHDR(&header);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      std::memcpy(CMSG_DATA(part), descriptors.data(), sizeof(int) * descriptors.size());
    }
    EXPECT_EQ(::sendmsg(guest.control(), &header, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(guest.finish());
    const Message* failed = guest.find(MessageType::failed);
    if (failed == nullptr) return 0;
    EXPECT_EQ(failed->step, Step::read_spec);
    return failed->error_number;
  }
  StagedPrograms programs_;
};

std::string packet(MessageType type, std::uint32_t version = kProtocolVersion) {
  Message message;
  message.type = type;
  message.version = version;
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

TEST_F(Spec, TheSmallestOneRuns) { EXPECT_EQ(answer(memfd_of(kCommand + kEnd)), 0); }

TEST_F(Spec, MalformedOnesAreRefused) {
  const std::string nul("a\0b", 3);
  const struct {
    const char* what;
    std::string bytes;
  } rows[] = {
      {"one byte", "x"},
      {"half a header", kCommand + std::string(4, '\0')},
      {"no end", kCommand},
      {"no command", kEnd},
      {"bytes after the end", kCommand + kEnd + "x"},
      {"a record after the end", kCommand + kEnd + kCommand},
      {"an end with content", kCommand + record(Tag::end, "x")},
      {"a length one too long", kCommand + record(1, "abc", 4)},
      {"a length beyond everything", kCommand + record(1, "abc", 0xffffffffU) + kEnd},
      {"a length that wraps", kCommand + record(1, "abc", 0xfffffff8U) + kEnd},
      {"an unknown tag", kCommand + record(11, "", 0) + kEnd},
      {"a tag of 31", kCommand + record(31, "", 0) + kEnd},
      {"a tag of 32", kCommand + record(32, "", 0) + kEnd},
      {"a huge tag", kCommand + record(0xffffffffU, "", 0) + kEnd},
      {"a NUL in an argument", kCommand + record(Tag::argument, nul) + kEnd},
      {"a NUL in a variable", kCommand + record(Tag::environment, "A=" + nul) + kEnd},
      {"a variable without =", kCommand + record(Tag::environment, "A") + kEnd},
      {"a variable without a name", kCommand + record(Tag::environment, "=x") + kEnd},
      {"an empty variable", kCommand + record(Tag::environment, "") + kEnd},
      {"a relative folder", kCommand + record(Tag::working_directory, "usr") + kEnd},
      {"an empty folder", kCommand + record(Tag::working_directory, "") + kEnd},
      {"a NUL in a folder", kCommand + record(Tag::working_directory, "/" + nul) + kEnd},
      {"two folders", kCommand + record(Tag::working_directory, "/") + record(Tag::working_directory, "/") + kEnd},
      {"a relative rule", kCommand + record(Tag::landlock_read, "usr") + kEnd},
      {"a NUL in a rule", kCommand + record(Tag::landlock_write, "/" + nul) + kEnd},
      {"a short number", kCommand + record(Tag::tty, "\1") + kEnd},
      {"a long number", kCommand + record(Tag::tty, number(1) + number(0)) + kEnd},
      {"a tty of 2", kCommand + record(Tag::tty, number(2)) + kEnd},
      {"landlock of 2", kCommand + record(Tag::landlock, number(2)) + kEnd},
      {"a umask of 01000", kCommand + record(Tag::umask, number(01000)) + kEnd},
      {"a place below 3", kCommand + record(Tag::descriptor, number(2)) + kEnd},
      {"a place above 15", kCommand + record(Tag::descriptor, number(16)) + kEnd},
      {"a short place", kCommand + record(Tag::descriptor, "\1") + kEnd},
      {"a place twice", kCommand + record(Tag::descriptor, number(8)) + record(Tag::descriptor, number(8)) + kEnd},
      {"three places", kCommand + record(Tag::descriptor, number(8)) + record(Tag::descriptor, number(9)) +
                           record(Tag::descriptor, number(10)) + kEnd},
      {"a NUL in another command", kCommand + record(Tag::fallback_argument, nul) + kEnd},
      {"nothing but another command", record(Tag::fallback_argument, "x") + kEnd},
      {"a short limit", kCommand + record(Tag::rlimit, number(0)) + kEnd},
      {"an unknown limit", kCommand + record(Tag::rlimit, number(RLIM_NLIMITS) + std::string(12, '\0')) + kEnd},
      {"a limit with a second word",
       kCommand + record(Tag::rlimit, number(0) + number(1) + std::string(8, '\0')) + kEnd},
  };
  for (const auto& row : rows) EXPECT_EQ(answer(memfd_of(row.bytes)), EBADMSG) << row.what;
  EXPECT_EQ(answer(memfd_of("")), EBADMSG) << "an empty one";
  for (const char* profile : {"", "bas", "base2", "none"}) {
    EXPECT_EQ(answer(memfd_of(kCommand + record(Tag::seccomp_profile, profile) + kEnd)), ENOTSUP) << profile;
  }
}

// Every prefix of a good one is a bad one, and none makes the guest crash.
TEST_F(Spec, EveryTruncationIsRefused) {
  const std::string whole = kCommand + record(Tag::environment, "A=b") + record(Tag::umask, number(022)) + kEnd;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(answer(memfd_of(whole.substr(0, size))), EBADMSG) << size;
  }
  EXPECT_EQ(answer(memfd_of(whole)), 0);
}

TEST_F(Spec, PlacesAreForServedCommandsOnly) {
  EXPECT_EQ(answer(memfd_of(kCommand + record(Tag::descriptor, number(8)) + kEnd)), EPROTO);
}

TEST_F(Spec, WhatCanStillChangeIsRefused) {
  EXPECT_EQ(answer(memfd_of(kCommand + kEnd, false)), EPERM);
  for (const int missing : {F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK}) {
    UniqueFd fd = memfd_of(kCommand + kEnd, false);
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) & ~missing), 0);
    EXPECT_EQ(answer(std::move(fd)), EPERM) << missing;
  }
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd write_end(pipe_ends[1]);
  EXPECT_EQ(answer(UniqueFd(pipe_ends[0])), EPERM);
  EXPECT_EQ(answer(UniqueFd(::open("/etc/passwd", O_RDONLY | O_CLOEXEC))), EPERM);
}

TEST_F(Spec, TooLargeIsRefusedUnread) {
  UniqueFd fd(::memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(kMaxSpecBytes) + 1), 0);  // sparse
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
  EXPECT_EQ(answer(std::move(fd)), EFBIG);
}

TEST_F(Spec, FirstPacketsThatAreNotOne) {
  const UniqueFd good = memfd_of(kCommand + kEnd);
  const int fd = good.get();
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec), {fd}), 0);
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec), {}), EBADF);
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec), {fd, fd}), EBADF);
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec), {fd, fd, fd, fd, fd, fd, fd, fd}), EBADF);
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec, kProtocolVersion + 1), {fd}), EPROTONOSUPPORT);
  EXPECT_EQ(answer_to_packet(packet(MessageType::kill), {fd}), EPROTO);
  EXPECT_EQ(answer_to_packet(packet(static_cast<MessageType>(99)), {fd}), EPROTO);
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec).substr(1), {fd}), EPROTO);
  EXPECT_EQ(answer_to_packet(packet(MessageType::spec) + "x", {fd}), EPROTO);
  EXPECT_EQ(answer_to_packet("x", {fd}), EPROTO);
}

TEST_F(Spec, AKeeperThatIsGoneBeforeTheFirstPacket) {
  GuestOptions with = options();
  with.send_spec = false;
  GuestProcess guest(programs_, SpecWriter(), std::move(with));
  guest.close_control();
  ASSERT_TRUE(guest.finish());
  EXPECT_TRUE(WIFEXITED(guest.guest_status()));
  EXPECT_EQ(WEXITSTATUS(guest.guest_status()), 1);
}

TEST(SpecWriterTest, RefusesWhatIsTooLarge) {
  SpecWriter spec;
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 65; ++i) spec.add_argument(large);
  const auto sealed = spec.seal();
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().kind, FailureKind::invalid_request);
  EXPECT_EQ(sealed.error().error_number, E2BIG);
}

TEST(SpecWriterTest, TheMemfdIsSealedForGood) {
  SpecWriter spec;
  spec.add_argument("x");
  const auto sealed = spec.seal();
  ASSERT_TRUE(sealed);
  EXPECT_EQ(::fcntl(sealed->get(), F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  EXPECT_EQ(::fcntl(sealed->get(), F_GETFD), FD_CLOEXEC);
}

TEST(SpecWriterTest, AClosedGuestIsAProtocolError) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd ours(sockets[0]);
  ::close(sockets[1]);
  SpecWriter spec;
  spec.add_argument("x");
  const auto sealed = spec.seal();
  ASSERT_TRUE(sealed);
  const auto sent = send_spec(ours.get(), sealed->get());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, FailureKind::protocol_error);
  EXPECT_EQ(sent.error().error_number, EPIPE);
}

}  // namespace
}  // namespace exechost::guest::test
