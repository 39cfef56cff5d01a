// Environments whose guest is reached over byte streams: with the real guest, and with guests that lie.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/keeper/guest_channel.hpp"
#include "core/keeper/stream_link.hpp"
#include "core/keeper/stream_output.hpp"
#include "guest/serve/frames.hpp"
#include "tests/support/witness.hpp"
#include "tests/unit/keeper/keeper_fixture.hpp"

namespace exechost::keeper {
namespace {

using guest::FrameHeader;
using guest::FrameType;
using guest::StreamId;

std::string frame(FrameType type, std::uint32_t execution, std::string_view payload = {},
                  StreamId stream = StreamId::input) {
  const FrameHeader header{static_cast<std::uint32_t>(payload.size()), type, stream, execution};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header).append(payload);
}
template <class T>
std::string frame_with(FrameType type, std::uint32_t execution, const T& value, StreamId stream = StreamId::input) {
  return frame(type, execution, {reinterpret_cast<const char*>(&value), sizeof value}, stream);
}

guest::Hello good_hello() {
  guest::Hello hello;
  hello.architecture = guest::Architecture::x86_64;
  hello.page_size = 4096;
  hello.max_executions = 4;
  return hello;
}

class StreamKeeper : public KeeperTest {
 protected:
  OpenRequest stream_request() const {
    OpenRequest request = open_request(victim("plain"));
    request.serve = request.stream = true;
    request.confinement.landlock = false;
    return request;
  }
  std::uint64_t open_stream() {
    const Reply reply = call(stream_request());
    EXPECT_EQ(reply.status, ReplyStatus::ok) << describe(reply.failure);
    return reply.status == ReplyStatus::ok ? reply.body.at("environment").get<std::uint64_t>() : 0;
  }

  void file(const std::string& name, const std::string& bytes) const {
    std::ofstream(base_ + "/" + name, std::ios::binary) << bytes;
  }
  // In place of the guest from now on: a shell script, in which $0's folder has the files.
  void play(const std::string& script) {
    stop_keeper();
    const std::string path = base_ + "/liar";
    file("liar", "#!/bin/sh\ncd " + base_ + "\n" + script + "\n");
    ::chmod(path.c_str(), 0755);
    options_.guest_path = path;
    start_keeper();
  }
  // Says that it is confined, waits for its first command and then sends these bytes. `then`: what it does next.
  void play_until_run(const std::string& bytes, const std::string& then = "cat > /dev/null") {
    SpawnRequest nothing;
    nothing.argv = {"serve"};
    nothing.confinement = stream_request().confinement;
    const auto spec = make_spec(nothing, false, nullptr);
    ASSERT_TRUE(spec);
    struct stat status {};
    ASSERT_EQ(::fstat(spec->get(), &status), 0);
    const auto opening =
        sizeof(FrameHeader) + sizeof(guest::Open) + sizeof(FrameHeader) + static_cast<std::size_t>(status.st_size);
    file("hello", frame_with(FrameType::hello, 0, good_hello()));
    file("confined", frame_with(FrameType::confined, 0, guest::Confined{0, 1}));
    file("bytes", bytes);
    // The keeper's first heartbeat comes with what opened it; the header after that is the run's, and all of it is
    // written at once.
    play("cat hello; head -c " + std::to_string(opening) +
         " > /dev/null; cat confined; head -c 24 > /dev/null; cat bytes; " + then);
  }
};

INSTANTIATE_TEST_SUITE_P(In, StreamKeeper, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         placement_name);

TEST(StreamOutput, AReaderThatIsAlwaysBehindMakesNothingGrow) {
  test::Pipe pipe;
  ASSERT_TRUE(set_nonblocking(pipe.write.get()));
  ASSERT_TRUE(set_nonblocking(pipe.read.get()));
  StreamOutput output(std::move(pipe.write));
  const auto writer = std::make_unique<guest::FrameWriter>();
  const auto reader = std::make_unique<guest::FrameReader>(guest::Sender::keeper);
  test::Pipe frames;
  ASSERT_TRUE(set_nonblocking(frames.read.get()));
  guest::WindowGrowth growth;
  const std::string bytes(8192, 'x');
  std::string buffer(8192, '\0');
  std::uint64_t taken = 0, allowed = guest::kFirstWindow;
  // The pipe fills up; then its reader takes as much as comes, for ever.
  while (taken < std::uint64_t{16} * guest::kMaxWindow) {
    while (allowed >= bytes.size()) {
      ASSERT_TRUE(output.data(bytes.data(), static_cast<std::uint32_t>(bytes.size())));
      allowed -= bytes.size();
      ASSERT_LE(output.kept(), 2 * guest::kMaxWindow);
    }
    const ssize_t count = ::read(pipe.read.get(), buffer.data(), buffer.size());
    ASSERT_GT(count, 0);
    taken += static_cast<std::uint64_t>(count);
    output.write();
    output.say(*writer, 1, StreamId::output, growth);
    if (writer->empty()) continue;
    ASSERT_EQ(writer->flush(frames.write.get()), guest::FrameWriter::Flushed::all);
    ASSERT_EQ(reader->fill(frames.read.get()), guest::FrameReader::Got::bytes);
    FrameHeader header;
    const char* payload = nullptr;
    ASSERT_EQ(reader->next(header, payload), guest::FrameReader::Next::frame);
    ASSERT_EQ(header.type, FrameType::credit);
    allowed += guest::FrameReader::as<guest::Credit>(payload).bytes;
  }
}

TEST_P(StreamKeeper, ALifeCycle) {
  const auto environment = open_stream();
  for (int i = 0; i < 3; ++i) {
    const Running run = shell(environment, "echo hello; exit " + std::to_string(i));
    EXPECT_EQ(test::read_all(run.out.get()), "hello\n");
    EXPECT_EQ(run.trace->wait_for_end(), (std::vector<Kind>{Kind::confined, Kind::started, Kind::exited, Kind::gone}));
    const ExecutionEvent exited = run.trace->wait(Kind::exited);
    EXPECT_EQ(WEXITSTATUS(exited.wait_status), i);
    EXPECT_TRUE(run.trace->wait(Kind::confined).seccomp);
  }
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

TEST_P(StreamKeeper, ACommandThatIsNotThereIsNotStarted) {
  const auto environment = open_stream();
  const Running run = spawn(request_for(environment, {"no-such-program"}));
  const ExecutionEvent failed = run.trace->wait(Kind::failed);
  EXPECT_EQ(failed.failure.kind, FailureKind::spawn_failed);
  EXPECT_EQ(failed.failure.error_number, ENOENT);
  EXPECT_EQ(failed.was_started, Started::no);
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

TEST_P(StreamKeeper, AKillLeavesTheNeighbour) {
  const auto environment = open_stream();
  const Running neighbour = shell(environment, "echo up; read line; exit 9");
  const Running killed = shell(environment, "(setsid sleep 1000 &) ; echo up; exec sleep 1000");
  ASSERT_EQ(test::read_line(killed.out.get()), "up");
  signal(killed, SIGKILL);
  EXPECT_EQ(test::read_all(killed.out.get()), "");  // its daemon held it
  EXPECT_EQ(killed.trace->wait_for_end().back(), Kind::gone);
  EXPECT_EQ(neighbour.trace->wait_for_end().back(), Kind::gone);
  EXPECT_EQ(WEXITSTATUS(neighbour.trace->wait(Kind::exited).wait_status), 9);
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

TEST_P(StreamKeeper, TheEndComesAfterTheOutput) {
  const auto environment = open_stream();
  constexpr std::size_t kBytes = std::size_t{3} * 1024 * 1024;
  const Running run = shell(environment, "head -c " + std::to_string(kBytes) + " /dev/zero");
  run.trace->wait(Kind::started);
  EXPECT_EQ(run.trace->count(), 2U);  // nobody reads yet
  EXPECT_EQ(test::read_all(run.out.get()).size(), kBytes);
  EXPECT_EQ(run.trace->wait_for_end().back(), Kind::gone);
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
}

TEST_P(StreamKeeper, ALeaseThatLapsesIsTheEnvironmentsLoss) {
  OpenRequest request = stream_request();
  request.lease_ms = 400;
  const Reply reply = call(request);
  ASSERT_EQ(reply.status, ReplyStatus::ok) << describe(reply.failure);
  const auto environment = reply.body.at("environment").get<std::uint64_t>();
  // The guest is the parent of the parent of the shell; stopped, it says nothing any more.
  const test::Barrier barrier(base_ + "/barrier");
  const Running run = shell(environment, "guest=$(cut -d' ' -f4 /proc/$PPID/stat); echo up; " + barrier.wait() +
                                             "kill -STOP $guest; exec sleep 1000");
  ASSERT_EQ(test::read_line(run.out.get()), "up");
  barrier.open();
  const ExecutionEvent failed = run.trace->wait(Kind::failed);
  EXPECT_EQ(failed.failure.kind, FailureKind::environment_lost) << describe(failed.failure);
  EXPECT_EQ(failed.was_started, Started::yes);
  EXPECT_EQ(test::read_all(run.out.get()), "");
  const Running late = shell(environment, "echo not reached");
  EXPECT_EQ(late.trace->wait(Kind::failed).was_started, Started::no);
}

TEST_P(StreamKeeper, AGuestThatStopsTalkingIsNotWaitedForLonger) {
  play_until_run(frame_with(FrameType::confined, 1, guest::Confined{0, 1}) + frame(FrameType::started, 1));
  const auto environment = open_stream();
  const Running run = shell(environment, "true");
  run.trace->wait(Kind::started);
  signal(run, SIGKILL);  // which it does not hear
  const ExecutionEvent failed = run.trace->wait(Kind::failed);
  EXPECT_EQ(failed.failure.kind, FailureKind::environment_lost) << describe(failed.failure);
}

TEST_P(StreamKeeper, AGuestThatIsNoneIsAFailedOpen) {
  guest::Hello magic = good_hello();
  magic.magic = 1;
  guest::Hello version = good_hello();
  version.version = guest::kStreamVersion + 1;
  guest::Hello none = good_hello();
  none.max_executions = 0;
  guest::Hello many = good_hello();
  many.max_executions = 1U << 20U;
  guest::Hello window = good_hello();
  window.input_window = guest::kMaxWindow + 1;
  guest::Hello payload = good_hello();
  payload.max_payload = 1U << 20U;
  const std::string hello = frame_with(FrameType::hello, 0, good_hello());
  std::vector<std::string> all{"Welcome to this machine!\n",
                               frame(FrameType::heartbeat, 0),
                               hello + hello,
                               frame_with(FrameType::confined, 0, guest::Confined{0, 1}),
                               hello + frame(FrameType::started, 1),
                               std::string(1000, '\xff')};
  for (const guest::Hello& wrong : {magic, version, none, many, window, payload})
    all.push_back(frame_with(FrameType::hello, 0, wrong));
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    file("bytes", all[i]);
    play("cat bytes; cat > /dev/null");
    const Reply reply = call(stream_request());
    EXPECT_EQ(reply.status, ReplyStatus::failed);
    EXPECT_EQ(reply.failure.kind, FailureKind::protocol_error) << describe(reply.failure);
    EXPECT_EQ(ledger_entries(), 0U);
  }
}

TEST_P(StreamKeeper, WhatALauncherSaysIsShownEscaped) {
  play("printf 'no such image: \\033[31mred\\n' >&2; exit 3");
  const Reply reply = call(stream_request());
  EXPECT_EQ(reply.status, ReplyStatus::failed);
  EXPECT_NE(reply.failure.message.find("no such image"), std::string::npos) << describe(reply.failure);
  EXPECT_EQ(reply.failure.message.find('\033'), std::string::npos);
}

TEST_P(StreamKeeper, AGuestThatBreaksTheProtocolIsTheEnvironmentsLoss) {
  const std::string confined = frame_with(FrameType::confined, 1, guest::Confined{0, 1});
  const std::string started = confined + frame(FrameType::started, 1);
  const std::string exited = frame_with(FrameType::exited, 1, guest::Exited{});
  const std::string closed = frame(FrameType::closed, 1, {}, StreamId::output);
  std::string too_much;
  for (int i = 0; i < 48; ++i)
    too_much += frame(FrameType::data, 1, std::string(guest::kMaxPayload, 'x'), StreamId::output);
  const std::vector<std::pair<const char*, std::string>> all{
      {"no frame", std::string(100, '\xff')},
      {"a keeper's frame", frame(FrameType::kill, 1)},
      {"an execution that there is not", frame(FrameType::started, 2)},
      {"the guest's own again", frame_with(FrameType::confined, 0, guest::Confined{})},
      {"another hello", frame_with(FrameType::hello, 0, good_hello())},
      {"started before confined", frame(FrameType::started, 1)},
      {"confined twice", confined + confined},
      {"started twice", started + frame(FrameType::started, 1)},
      {"exited before started", confined + exited},
      {"exited twice", started + exited + exited},
      {"failed after started", started + frame_with(FrameType::failed, 1, guest::Failed{})},
      {"closed twice", started + closed + closed},
      {"data after closed", started + closed + frame(FrameType::data, 1, "x", StreamId::output)},
      {"input closed twice", started + frame(FrameType::closed, 1) + frame(FrameType::closed, 1)},
      {"more input than a window", started + frame_with(FrameType::credit, 1, guest::Credit{guest::kMaxWindow + 1})},
      {"more output than a window", started + too_much},
      {"no room after it was confined", started + frame_with(FrameType::over, 1, guest::Over{0, 11, 7})},
  };
  for (const auto& [name, bytes] : all) {
    SCOPED_TRACE(name);
    play_until_run(bytes);
    const auto environment = open_stream();
    const Running run = shell(environment, "true");
    const ExecutionEvent failed = run.trace->wait(Kind::failed);
    EXPECT_EQ(failed.failure.kind, FailureKind::protocol_error) << describe(failed.failure);
    // Nothing it says counts any more, for anybody.
    const Running late = shell(environment, "true");
    EXPECT_EQ(late.trace->wait(Kind::failed).was_started, Started::no);
  }
}

TEST_P(StreamKeeper, AStreamThatEndsIsTheEnvironmentsLoss) {
  const std::string confined = frame_with(FrameType::confined, 1, guest::Confined{0, 1});
  const std::string started = confined + frame(FrameType::started, 1);
  const std::string half = frame_with(FrameType::exited, 1, guest::Exited{}).substr(0, 20);
  // It was told to start the command: that it did not is nothing that silence says.
  const std::vector<std::pair<std::string, Started>> all{
      {"", Started::unknown}, {confined, Started::unknown}, {started, Started::yes}, {started + half, Started::yes}};
  for (const auto& [bytes, was_started] : all) {
    play_until_run(bytes, "exit 0");
    const auto environment = open_stream();
    const Running run = shell(environment, "true");
    const ExecutionEvent failed = run.trace->wait(Kind::failed);
    EXPECT_EQ(failed.failure.kind, FailureKind::environment_lost) << describe(failed.failure);
    EXPECT_EQ(failed.was_started, was_started);
  }
}

TEST_P(StreamKeeper, NoRoomIsACommandsFailureOnly) {
  play_until_run(frame_with(FrameType::over, 1, guest::Over{0, EAGAIN, 7}));
  const auto environment = open_stream();
  const Running run = shell(environment, "true");
  const ExecutionEvent failed = run.trace->wait(Kind::failed);
  EXPECT_EQ(failed.failure.kind, FailureKind::spawn_failed) << describe(failed.failure);
  EXPECT_EQ(failed.was_started, Started::no);
  EXPECT_EQ(test::read_all(run.out.get()), "");
}

}  // namespace
}  // namespace exechost::keeper
