#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>
#include <limits>

#include "core/keeper/codec.hpp"
#include "core/keeper/wire.hpp"
#include "tests/unit/keeper/support.hpp"

namespace exechost::keeper {
namespace {

using nlohmann::json;

struct Sockets {
  Sockets() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    a.reset(ends[0]);
    b.reset(ends[1]);
  }
  UniqueFd a;
  UniqueFd b;
};

SendResult send(int socket, Packet packet) {
  auto encoded = encode_packet(std::move(packet));
  EXPECT_TRUE(encoded);
  int error = 0;
  return send_packet(socket, *encoded, error);
}

HostMessage spawn_message() {
  SpawnRequest request;
  request.environment = 7;
  request.argv = {"prog", "", std::string("\xff\xfe\0x", 4), "new\nline"};
  request.variables = {"A=1", "B=\xc3\x28"};
  request.cwd = "/w\xff";
  request.tty = true;
  request.use_guest = false;
  request.confinement.seccomp_profile = "base";
  request.confinement.none = true;
  request.confinement.landlock = false;
  request.confinement.landlock_rules = {{"/usr", false}, {"/w\xff", true}};
  request.confinement.rlimits = {{7, std::numeric_limits<std::uint64_t>::max()}};
  request.shell = plan::ShellRun{"echo \xff\n", true, {"A", "B\xff"}, true};
  request.deadline_ns = 123;
  return {std::numeric_limits<std::uint64_t>::max(), request};
}

TEST(Wire, CarriesMessagesExactly) {
  Sockets sockets;
  const HostMessage message = spawn_message();
  Packet packet;
  packet.body = encode(message);
  ASSERT_EQ(send(sockets.a.get(), std::move(packet)), SendResult::sent);
  Packet received;
  const auto result = receive_packet(sockets.b.get(), received);
  ASSERT_TRUE(result) << describe(result.error());
  const auto decoded = decode_host_message(received.body);
  ASSERT_TRUE(decoded) << describe(decoded.error());
  EXPECT_EQ(decoded->ticket, message.ticket);
  const auto& sent = std::get<SpawnRequest>(message.body);
  const auto& got = std::get<SpawnRequest>(decoded->body);
  EXPECT_EQ(got.environment, sent.environment);
  EXPECT_EQ(got.argv, sent.argv);
  EXPECT_EQ(got.variables, sent.variables);
  EXPECT_EQ(got.cwd, sent.cwd);
  EXPECT_EQ(got.tty, sent.tty);
  EXPECT_EQ(got.use_guest, sent.use_guest);
  EXPECT_EQ(got.confinement.none, sent.confinement.none);
  EXPECT_EQ(got.confinement.landlock, sent.confinement.landlock);
  EXPECT_EQ(got.confinement.landlock_rules, sent.confinement.landlock_rules);
  EXPECT_EQ(got.confinement.rlimits, sent.confinement.rlimits);
  ASSERT_TRUE(got.shell);
  EXPECT_EQ(got.shell->script, sent.shell->script);
  EXPECT_EQ(got.shell->cwd_given, sent.shell->cwd_given);
  EXPECT_EQ(got.shell->given_variables, sent.shell->given_variables);
  EXPECT_EQ(got.shell->refuse_when_busy, sent.shell->refuse_when_busy);
  EXPECT_EQ(got.deadline_ns, sent.deadline_ns);
}

TEST(Wire, CarriesEventsAndReplies) {
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::exited;
  event.wait_status = 0x8b;
  event.usage = {std::chrono::microseconds(5), std::chrono::microseconds(6), 7};
  event.was_started = Started::yes;
  event.failure.kind = FailureKind::environment_lost;
  event.failure.message = "bytes \xff";
  event.warnings = {"one \xff", ""};
  const auto decoded = decode_keeper_message(encode(KeeperMessage{3, event}));
  ASSERT_TRUE(decoded) << describe(decoded.error());
  const auto& got = std::get<ExecutionEvent>(decoded->body);
  EXPECT_EQ(got.kind, event.kind);
  EXPECT_EQ(got.warnings, event.warnings);
  EXPECT_EQ(got.wait_status, event.wait_status);
  EXPECT_EQ(got.usage.user_time, event.usage.user_time);
  EXPECT_EQ(got.usage.max_rss_bytes, 7U);
  EXPECT_EQ(got.was_started, Started::yes);
  EXPECT_EQ(got.failure, event.failure);
  Reply reply;
  reply.status = ReplyStatus::timed_out;
  reply.body = {{"environment", 4}};
  const auto back = decode_keeper_message(encode(KeeperMessage{9, reply}));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<Reply>(back->body).status, ReplyStatus::timed_out);
  EXPECT_EQ(std::get<Reply>(back->body).body, reply.body);
}

TEST(Wire, LargeMessagesGoThroughASealedMemfdWithDescriptorsAfterIt) {
  Sockets sockets;
  test::Pipe pipe;
  Packet packet;
  packet.body = json{{"data", std::string(2UL * 1024 * 1024, 'x')}};
  packet.descriptors.emplace_back(::dup(pipe.write.get()));
  ASSERT_EQ(send(sockets.a.get(), std::move(packet)), SendResult::sent);
  Packet received;
  ASSERT_TRUE(receive_packet(sockets.b.get(), received));
  EXPECT_EQ(received.body["data"].get_ref<const std::string&>().size(), 2UL * 1024 * 1024);
  ASSERT_EQ(received.descriptors.size(), 1U);
  EXPECT_EQ(::fcntl(received.descriptors[0].get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(received.descriptors[0].get(), "!", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 1);
}

TEST(Wire, RefusesWhatIsTooLarge) {
  Packet packet;
  packet.body = json{{"data", std::string(kMaxPacketBytes, 'x')}};
  const auto encoded = encode_packet(std::move(packet));
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().kind, FailureKind::invalid_request);
}

TEST(Wire, NeverBlocks) {
  Sockets sockets;
  Packet received;
  auto nothing = receive_packet(sockets.b.get(), received);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, ReceiveResult::would_block);
  Packet packet;
  packet.body = json{{"data", std::string(30'000, 'x')}};
  auto encoded = encode_packet(std::move(packet));
  ASSERT_TRUE(encoded);
  int error = 0;
  int sent = 0;
  while (send_packet(sockets.a.get(), *encoded, error) == SendResult::sent) ASSERT_LT(++sent, 10'000);
  EXPECT_EQ(error, 0) << "full is not closed";
  for (int index = 0; index < sent; ++index) ASSERT_TRUE(receive_packet(sockets.b.get(), received));
  sockets.a.reset();
  nothing = receive_packet(sockets.b.get(), received);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, ReceiveResult::closed);
  EXPECT_EQ(send_packet(sockets.b.get(), *encoded, error), SendResult::closed);
  EXPECT_EQ(error, EPIPE);
}

// Raw packets as a broken or hostile peer would send them.
struct RawHeader {
  std::uint32_t magic = 0x314b4845;
  std::uint32_t version = kProtocolVersion;
  std::uint32_t in_memfd = 0;
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;
};

Result<ReceiveResult> receive_raw(const RawHeader& header, const std::string& document, int fd = -1,
                                  std::size_t cut = 0) {
  Sockets sockets;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += document;
  bytes.resize(bytes.size() - cut);
  EncodedPacket packet;
  packet.bytes.assign(bytes.begin(), bytes.end());
  if (fd >= 0) packet.descriptors.emplace_back(::dup(fd));
  int error = 0;
  EXPECT_EQ(send_packet(sockets.a.get(), packet, error), SendResult::sent);
  Packet received;
  return receive_packet(sockets.b.get(), received);
}

RawHeader header_for(const std::string& document) {
  RawHeader header;
  header.length = document.size();
  return header;
}

TEST(Wire, MalformedPacketsAreProtocolErrors) {
  const std::string good("\xa0", 1);
  ASSERT_TRUE(receive_raw(header_for(good), good));
  const auto expect_broken = [](const Result<ReceiveResult>& result, const char* what) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, FailureKind::protocol_error) << what;
  };
  RawHeader header = header_for(good);
  header.magic = 1;
  expect_broken(receive_raw(header, good), "magic");
  header = header_for(good);
  header.version = 99;
  expect_broken(receive_raw(header, good), "version");
  header = header_for(good);
  header.length = 2;
  expect_broken(receive_raw(header, good), "length");
  expect_broken(receive_raw(header_for(good), good, -1, good.size() + 1), "short header");
  expect_broken(receive_raw(header_for("\xff"), "\xff"), "no CBOR");
  expect_broken(receive_raw(header_for("\xa1\x61"), "\xa1\x61"), "truncated CBOR");
  const std::string deep(30'000, '\x81');  // arrays in arrays
  expect_broken(receive_raw(header_for(deep), deep), "nesting");
  const std::string huge("\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9);  // an array of 2^64-1 elements
  expect_broken(receive_raw(header_for(huge), huge), "element count");
  const std::string long_text("\x7b\x00\x00\x00\x7f\xff\xff\xff\xff", 9);
  expect_broken(receive_raw(header_for(long_text), long_text), "text length");
  const std::string large(kMaxInlineBytes + 1, 'x');
  expect_broken(receive_raw(header_for(large), large), "too long for a packet");
  header = header_for("");
  header.in_memfd = 1;
  header.length = 1;
  expect_broken(receive_raw(header, ""), "memfd missing");
  header.length = kMaxPacketBytes + 1;
  expect_broken(receive_raw(header, "", STDIN_FILENO), "memfd length");
  const UniqueFd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::write(unsealed.get(), good.data(), good.size()), 1);
  header.length = 1;
  expect_broken(receive_raw(header, "", unsealed.get()), "not sealed");
  ASSERT_EQ(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  EXPECT_TRUE(receive_raw(header, "", unsealed.get()));
  header.length = 2;
  expect_broken(receive_raw(header, "", unsealed.get()), "memfd of another size");
}

TEST(Wire, LostDescriptorsAreNoticed) {
  Sockets sockets;
  // One before: the sanitizer needs descriptors itself for a type that it sees for the first time.
  Packet received;
  Packet first;
  first.body = json::object();
  ASSERT_EQ(send(sockets.a.get(), std::move(first)), SendResult::sent);
  ASSERT_TRUE(receive_packet(sockets.b.get(), received));
  test::Pipe pipe;
  Packet packet;
  packet.body = json::object();
  for (int index = 0; index < 3; ++index) packet.descriptors.emplace_back(::dup(pipe.write.get()));
  ASSERT_EQ(send(sockets.a.get(), std::move(packet)), SendResult::sent);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd next(::dup(STDIN_FILENO));
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next.get()) + 2;  // one more is free
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const auto result = receive_packet(sockets.b.get(), received);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_TRUE(received.descriptors_lost);
  EXPECT_LT(received.descriptors.size(), 3U);
}

TEST(Codec, EveryMemberIsChecked) {
  const json good = encode(spawn_message());
  ASSERT_TRUE(decode_host_message(good));
  EXPECT_FALSE(decode_host_message(json::array()));
  EXPECT_FALSE(decode_host_message(nullptr));
  for (const auto& [name, value] : good.items()) {
    json without = good;
    without.erase(name);
    EXPECT_FALSE(decode_host_message(without)) << name << " missing";
    json wrong = good;
    wrong[name] = json::array({json::object()});
    const auto decoded = decode_host_message(wrong);
    ASSERT_FALSE(decoded) << name << " of a wrong type";
    EXPECT_EQ(decoded.error().kind, FailureKind::protocol_error);
  }
  json unknown = good;
  unknown["type"] = "explode";
  EXPECT_FALSE(decode_host_message(unknown));
  json negative = good;
  negative["environment"] = -1;
  EXPECT_FALSE(decode_host_message(negative));
  json text = good;
  text["argv"] = {"text, not bytes"};
  EXPECT_FALSE(decode_host_message(text));
  EXPECT_FALSE(decode_host_message({{"type", "signal"}, {"ticket", 1}, {"number", 1ULL << 40U}}));
}

TEST(Json, AnswersAreBounded) {
  EXPECT_TRUE(parse_bounded("", 10)->is_null());
  EXPECT_EQ(parse_bounded("{\"a\":[1]}", 100)->at("a")[0], 1);
  EXPECT_FALSE(parse_bounded("[1,2,3,4,5]", 5));
  EXPECT_FALSE(parse_bounded(std::string(1000, '['), 10'000));
  EXPECT_FALSE(parse_bounded("{\"a\":", 100));
}

}  // namespace
}  // namespace exechost::keeper
