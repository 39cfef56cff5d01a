// A keeper that breaks the protocol gets no more say: the guest ends everything and itself.
#include <sys/wait.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "guest/serve/frames.hpp"
#include "tests/unit/guest/support/guest_process.hpp"
#include "tests/unit/guest/support/stream_process.hpp"

namespace exechost::guest::test {
namespace {

constexpr char kDaemon[] = "(setsid sh -c 'sh -c \"echo up; exec sleep 1000\" &' &) ; sleep 1000";

std::string header(std::uint32_t length, int type, int stream = 0, std::uint32_t execution = 0) {
  const FrameHeader header{length, static_cast<FrameType>(type), static_cast<StreamId>(stream), execution};
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

std::string run_frame(std::uint32_t number, std::uint32_t spec_bytes, std::uint32_t terminal = 0) {
  Run run;
  run.spec_bytes = spec_bytes;
  run.terminal = terminal;
  return frame_with(FrameType::run, number, run);
}

struct Fault {
  const char* name;
  std::string bytes;  // while command 1 runs
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all{
      {"no type", header(0, 0)},
      {"unknown type", header(0, 18)},
      {"largest type", header(0, 0xffff)},
      {"longer than any payload", header(kMaxPayload + 1, 5, 0, 1)},
      {"largest length", header(0xffffffff, 5, 0, 1)},
      {"a length that the type can't have", header(3, 8, 0, 1)},
      {"data of no length", header(0, 5, 0, 1)},
      {"a heartbeat with a payload", frame(FrameType::heartbeat, 0, "x")},
      {"a heartbeat of an execution", header(0, 12, 0, 1)},
      {"an execution that can't be", header(0, 10, 0, 0x80000000)},
      {"a kill of none", header(0, 10)},
      {"a stream that can't be", header(1, 5, 3, 1) + "x"},
      {"a stream where there is none", header(0, 10, 1, 1)},
      {"data to an output", frame(FrameType::data, 1, "x", StreamId::output)},
      {"credit for input", frame_with(FrameType::credit, 1, Credit{1}, StreamId::input)},
      {"more credit than a window", frame_with(FrameType::credit, 1, Credit{kMaxWindow + 1}, StreamId::output)},
      {"a guest's frame", frame(FrameType::started, 1)},
      {"a second hello of the keeper", frame_with(FrameType::open, 0, Open{})},
      {"an execution of the future", frame(FrameType::kill, 77)},
      {"a number that was there", run_frame(1, 10)},
      {"a specification of no length", run_frame(2, 0)},
      {"a specification that is too long", run_frame(2, 64 * 1024 * 1024 + 1)},
      {"a terminal of an unknown kind", run_frame(2, 10, 2)},
      {"a specification that nobody announced", frame(FrameType::spec, 2, "x")},
      {"more than was announced", run_frame(2, 3) + frame(FrameType::spec, 2, "four")},
      {"another's specification", run_frame(2, 3) + frame(FrameType::spec, 1, "x")},
      {"two specifications at once", run_frame(2, 3) + run_frame(3, 3)},
      {"input after its end", frame(FrameType::closed, 1) + frame(FrameType::data, 1, "x")},
  };
  return all;
}

class StreamFaults : public InEveryPlace {
 protected:
  StreamOptions options() const {
    StreamOptions options;
    options.place = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Guest, StreamFaults, testing::ValuesIn(every_place()), name_of);

TEST_P(StreamFaults, WhoBreaksTheProtocolEndsEverything) {
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(fault.name);
    StreamProcess guest(programs_, options());
    guest.hello();
    ASSERT_EQ(guest.open(shell("")).header.type, FrameType::confined);
    const auto number = guest.run(shell(kDaemon));
    ASSERT_EQ(number, 1U);
    ASSERT_TRUE(guest.wait_for_output(number, "up\n"));
    guest.send(fault.bytes);
    EXPECT_EQ(guest.wait_end(), 0);  // and nothing is left
  }
}

TEST_P(StreamFaults, MoreInputThanItHasRoomForEndsEverything) {
  StreamProcess guest(programs_, options());
  guest.hello();
  ASSERT_EQ(guest.open(shell("")).header.type, FrameType::confined);
  const auto number = guest.run(shell("sleep 1000"));
  ASSERT_TRUE(guest.wait_for(number, FrameType::started));
  // What its pipe takes counts as taken: so much more than that and the window.
  for (int i = 0; i < 4; ++i) guest.send(FrameType::data, number, std::string(kMaxPayload, 'x'));
  EXPECT_EQ(guest.wait_end(), 0);
}

TEST_P(StreamFaults, AWrongBeginningIsTheEnd) {
  Open other_magic;
  other_magic.magic = 7;
  other_magic.lease_ms = 1000;
  other_magic.spec_bytes = 10;
  Open other_version = other_magic;
  other_version.magic = kStreamMagic;
  other_version.version = kStreamVersion + 1;
  Open no_lease = other_version;
  no_lease.version = kStreamVersion;
  no_lease.lease_ms = kMinLeaseMs - 1;
  Open endless_lease = no_lease;
  endless_lease.lease_ms = kMaxLeaseMs + 1;
  Open no_window = no_lease;
  no_window.lease_ms = 1000;
  no_window.output_window = 0;
  Open large_window = no_window;
  large_window.output_window = kMaxWindow + 1;
  Open no_spec = no_window;
  no_spec.output_window = kFirstWindow;
  no_spec.spec_bytes = 0;
  std::vector<std::string> all{frame(FrameType::heartbeat, 0), run_frame(1, 10), "GET / HTTP/1.1\r\n\r\n"};
  for (const Open& open : {other_magic, other_version, no_lease, endless_lease, no_window, large_window, no_spec})
    all.push_back(frame_with(FrameType::open, 0, open));
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    StreamProcess guest(programs_, options());
    guest.hello();
    guest.send(all[i]);
    EXPECT_TRUE(guest.closed());
    EXPECT_EQ(guest.wait_end(), 0);  // it had nothing to end
  }
}

TEST_P(StreamFaults, AConfinementThatCantBePutOnIsSaidAndNothingServes) {
  StreamProcess guest(programs_, options());
  guest.hello();
  SpecWriter spec = shell("");
  spec.add_view_check("/no/such/path", 1, 1, true);
  const Frame failed = guest.open(spec);
  ASSERT_EQ(failed.header.type, FrameType::failed);
  EXPECT_EQ(failed.header.execution, 0U);
  EXPECT_EQ(static_cast<Step>(failed.as<Failed>().step), Step::view);
  EXPECT_TRUE(guest.closed());
  EXPECT_EQ(WEXITSTATUS(guest.wait_end()), 1);
}

TEST_P(StreamFaults, ASpecificationThatIsNoneIsTheCommandsFailureOnly) {
  StreamProcess guest(programs_, options());
  guest.hello();
  ASSERT_EQ(guest.open(shell("")).header.type, FrameType::confined);
  guest.send(run_frame(1, 5) + frame(FrameType::spec, 1, "wrong"));
  ASSERT_TRUE(guest.wait_finished(1));
  EXPECT_EQ(static_cast<Step>(guest.find(1, FrameType::failed)->as<Failed>().step), Step::read_spec);
  // One that does not inherit would be confined differently: refused, too.
  const std::string bytes = bytes_of(shell("echo not reached"));
  guest.send(run_frame(2, static_cast<std::uint32_t>(bytes.size())) + frame(FrameType::spec, 2, bytes));
  ASSERT_TRUE(guest.wait_finished(2));
  EXPECT_NE(guest.find(2, FrameType::failed), nullptr);
  EXPECT_EQ(guest.out(2), "");
  guest.send(FrameType::kill, 2);  // of one that is over: dropped
  SpecWriter spec = shell("echo on");
  spec.set_inherited(true);
  const std::string good = bytes_of(spec);
  guest.send(run_frame(3, static_cast<std::uint32_t>(good.size())) + frame(FrameType::spec, 3, good));
  ASSERT_TRUE(guest.wait_finished(3));
  EXPECT_EQ(guest.out(3), "on\n");
}

TEST_P(StreamFaults, SmallPiecesAreFramesAllTheSame) {
  StreamProcess guest(programs_, options());
  guest.hello();
  ASSERT_EQ(guest.open(shell("")).header.type, FrameType::confined);
  const auto number = guest.run(shell("cat"));
  for (const char byte : frame(FrameType::data, number, "in pieces\n") + frame(FrameType::closed, number))
    guest.send(std::string_view(&byte, 1));
  ASSERT_TRUE(guest.wait_finished(number));
  EXPECT_EQ(guest.out(number), "in pieces\n");
}

}  // namespace
}  // namespace exechost::guest::test
