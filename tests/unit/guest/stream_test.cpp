// A guest that serves over byte streams: the same commands as over a socket, and what is its own: windows, the lease.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/guest/support/guest_process.hpp"
#include "tests/unit/guest/support/stream_process.hpp"

namespace exechost::guest::test {
namespace {

constexpr char kDaemon[] = "(setsid sh -c 'sh -c \"echo up; exec sleep 1000\" &' &) ; ";

class Stream : public InEveryPlace {
 protected:
  StreamOptions options() const {
    StreamOptions options;
    options.place = GetParam();
    return options;
  }
  std::unique_ptr<StreamProcess> serving(StreamOptions options) {
    auto guest = std::make_unique<StreamProcess>(programs_, std::move(options));
    EXPECT_EQ(guest->hello().header.type, FrameType::hello);
    EXPECT_EQ(guest->open(shell("")).header.type, FrameType::confined);
    return guest;
  }
  std::unique_ptr<StreamProcess> serving() { return serving(options()); }
};
INSTANTIATE_TEST_SUITE_P(Guest, Stream, testing::ValuesIn(every_place()), name_of);

TEST_P(Stream, SaysWhatItIsAndIsConfinedBeforeAnythingElse) {
  StreamProcess guest(programs_, options());
  const auto hello = guest.hello().as<Hello>();
  EXPECT_EQ(hello.magic, kStreamMagic);
  EXPECT_EQ(hello.version, kStreamVersion);
  EXPECT_EQ(hello.page_size, static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(hello.max_executions, 1024U);
  const Frame confined = guest.open(shell(""));
  ASSERT_EQ(confined.header.type, FrameType::confined);
  EXPECT_EQ(confined.as<Confined>().seccomp, 1U);
  const auto number = guest.run(spec_of({"/bin/cat", "/proc/self/status"}));
  ASSERT_TRUE(guest.wait_finished(number));
  EXPECT_EQ(guest.find(number, FrameType::confined)->as<Confined>().seccomp, 1U);
  for (const char* line : {"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n"})
    EXPECT_NE(guest.out(number).find(line), std::string::npos) << guest.out(number);
  EXPECT_EQ(guest.close_and_wait(), 0);
}

TEST_P(Stream, LifeCyclesOfManyAtOnce) {
  const auto guest = serving();
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i < 20; ++i) {
      const std::string name = std::to_string(i);
      numbers.push_back(guest->run(shell("cat; echo out " + name + "; echo err " + name + " >&2; exit " + name)));
      guest->send(FrameType::data, numbers.back(), "in " + name + "\n");
      guest->send(FrameType::closed, numbers.back());
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t number = numbers[static_cast<std::size_t>(i)];
      const std::string name = std::to_string(i);
      ASSERT_TRUE(guest->wait_finished(number));
      EXPECT_EQ(guest->out(number), "in " + name + "\nout " + name + "\n");
      EXPECT_EQ(guest->err(number), "err " + name + "\n");
      EXPECT_EQ(guest->exit_code(number), i);
      EXPECT_EQ(guest->find(number, FrameType::over)->as<Over>().error_number, 0);
    }
  }
  EXPECT_EQ(guest->close_and_wait(), 0);
}

TEST_P(Stream, ACommandThatIsNotThereIsAFailureWithItsStep) {
  const auto guest = serving();
  const auto number = guest->run(spec_of({"no-such-program"}));
  ASSERT_TRUE(guest->wait_finished(number));
  const auto failed = guest->find(number, FrameType::failed)->as<Failed>();
  EXPECT_EQ(static_cast<Step>(failed.step), Step::exec);
  EXPECT_EQ(failed.error_number, ENOENT);
  EXPECT_EQ(guest->find(number, FrameType::started), nullptr);
}

TEST_P(Stream, ACommandHasItsThreeStreamsAndTheUsualLimits) {
  const auto guest = serving();
  const auto waiting = guest->run(shell("echo up; read line"));
  ASSERT_TRUE(guest->wait_for_output(waiting, "up\n"));
  const auto number = guest->run(shell("ls /proc/self/fd; ulimit -n"));
  ASSERT_TRUE(guest->wait_finished(number));
  const auto direct = guest->run(shell("true"));
  ASSERT_TRUE(guest->wait_finished(direct));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(guest->out(number), "0\n1\n2\n3\n" + std::to_string(limit.rlim_cur) + "\n");
}

TEST_P(Stream, ASlowReaderStopsItsOwnStreamOnly) {
  const auto guest = serving();
  guest->gives_credit = false;
  const auto slow = guest->run(shell("head -c 1000000 /dev/zero; echo end >&2"));
  while (guest->out(slow).size() < kFirstWindow) ASSERT_NE(guest->next().header.type, FrameType::heartbeat);
  // Its neighbour's window is its own.
  const auto other = guest->run(shell("head -c 60000 /dev/zero"));
  ASSERT_TRUE(guest->wait_finished(other));
  EXPECT_EQ(guest->out(other).size(), 60000U);
  EXPECT_EQ(guest->out(slow).size(), kFirstWindow);
  EXPECT_EQ(guest->err(slow), "");
  guest->gives_credit = true;
  guest->send(frame_with(FrameType::credit, slow, Credit{kFirstWindow}, StreamId::output));
  ASSERT_TRUE(guest->wait_finished(slow));
  EXPECT_EQ(guest->out(slow).size(), 1000000U);
  EXPECT_EQ(guest->err(slow), "end\n");
}

TEST_P(Stream, AKillDoesNotWaitForAReader) {
  const auto guest = serving();
  guest->gives_credit = false;
  const auto number = guest->run(shell("exec cat /dev/zero"));
  while (guest->out(number).size() < kFirstWindow) ASSERT_NE(guest->next().header.type, FrameType::heartbeat);
  guest->send(FrameType::kill, number);
  ASSERT_TRUE(guest->wait_for(number, FrameType::over));
  EXPECT_EQ(guest->find(number, FrameType::over)->as<Over>().error_number, 0);
  EXPECT_EQ(guest->find(number, FrameType::exited)->as<Exited>().wait_status, SIGKILL);
  // What nobody wants any more is given up, and each stream is closed once.
  guest->send(FrameType::closed, number, {}, StreamId::output);
  ASSERT_TRUE(guest->wait_finished(number));
}

TEST_P(Stream, InputHasAWindowThatGrows) {
  const auto guest = serving();
  const auto number = guest->run(shell("read line; exec wc -c"));
  guest->send(FrameType::data, number, std::string(kFirstWindow, 'x'));
  const auto other = guest->run(shell("echo not held up"));
  ASSERT_TRUE(guest->wait_finished(other));
  // "read" takes one byte after the other: credit comes when it has taken half of them.
  ASSERT_TRUE(guest->wait_for(number, FrameType::credit));
  std::uint64_t sent = kFirstWindow, allowed = 0, granted = 0;
  bool grew = false;
  const auto take = [&](const Frame& frame) {
    if (frame.header.type != FrameType::credit || frame.header.execution != number) return;
    const std::uint32_t credit = frame.as<Credit>().bytes;
    allowed += credit;
    granted += credit;
  };
  take(*guest->find(number, FrameType::credit));
  guest->send(FrameType::data, number, "\n");
  --allowed;
  ++sent;
  constexpr std::uint64_t kTotal = 8ULL * 1024 * 1024;
  while (sent < kTotal) {
    while (allowed == 0) {
      const Frame frame = guest->next();
      ASSERT_NE(frame.header.type, FrameType::heartbeat);
      take(frame);
    }
    grew = grew || granted + kFirstWindow > sent + kFirstWindow;
    const std::size_t size = std::min<std::uint64_t>({allowed, kMaxPayload, kTotal - sent});
    guest->send(FrameType::data, number, std::string(size, 'y'));
    sent += size;
    allowed -= size;
  }
  guest->send(FrameType::closed, number);
  ASSERT_TRUE(guest->wait_finished(number));
  EXPECT_EQ(guest->out(number), std::to_string(kTotal - kFirstWindow - 1) + "\n");
  EXPECT_TRUE(grew);
}

TEST_P(Stream, WhoReadsNoInputSaysSo) {
  const auto guest = serving();
  const auto number = guest->run(shell("exec <&-; echo deaf; read line < /dev/stdout"));
  ASSERT_TRUE(guest->wait_for(number, FrameType::closed));
  EXPECT_EQ(guest->find(number, FrameType::closed)->header.stream, StreamId::input);
  guest->send(FrameType::data, number, "too late");
  guest->send(FrameType::kill, number);
  ASSERT_TRUE(guest->wait_finished(number));
  const auto next = guest->run(shell("echo on"));
  ASSERT_TRUE(guest->wait_finished(next));
  EXPECT_EQ(guest->out(next), "on\n");
}

TEST_P(Stream, SignalsKillsAndEndsFindTheirCommand) {
  const auto guest = serving();
  const auto other = guest->run(shell("echo up; read line; exit 4"));
  const auto signalled = guest->run(shell("trap 'exit 9' USR1; echo up; while :; do sleep 1000 & wait $!; done"));
  const auto killed = guest->run(shell(std::string(kDaemon) + "trap '' TERM; sleep 1000"));
  const auto ended = guest->run(shell(std::string(kDaemon) + "sleep 1000"));
  for (const auto number : {other, signalled, killed, ended}) ASSERT_TRUE(guest->wait_for_output(number, "up\n"));
  guest->send(frame_with(FrameType::signal, signalled, Signal{SIGUSR1}));
  guest->send(FrameType::kill, killed);
  guest->send(FrameType::end, ended);
  for (const auto number : {signalled, killed, ended}) {
    ASSERT_TRUE(guest->wait_finished(number));  // its daemon held its output
    EXPECT_EQ(guest->find(number, FrameType::over)->as<Over>().error_number, 0);
  }
  EXPECT_EQ(guest->exit_code(signalled), 9);
  EXPECT_TRUE(WIFSIGNALED(guest->find(ended, FrameType::over)->as<Over>().wait_status));
  guest->send(FrameType::data, other, "go\n");
  ASSERT_TRUE(guest->wait_finished(other));
  EXPECT_EQ(guest->exit_code(other), 4);
}

TEST_P(Stream, ATerminalWithItsSize) {
  const auto guest = serving();
  const auto number = guest->run(
      [] {
        SpecWriter spec =
            shell("trap 'stty size; echo again' WINCH; stty size; echo up; while :; do sleep 1000 & wait $!; done");
        spec.set_tty(true);
        return spec;
      }(),
      true, {33, 101, 0, 0});
  ASSERT_TRUE(guest->wait_for_output(number, "33 101\r\nup\r\n"));
  guest->send(frame_with(FrameType::resize, number, TerminalSize{44, 55, 0, 0}));
  ASSERT_TRUE(guest->wait_for_output(number, "44 55\r\nagain\r\n"));
  guest->send(FrameType::data, number, "\x03");
  ASSERT_TRUE(guest->wait_for(number, FrameType::over));
  EXPECT_EQ(guest->find(number, FrameType::exited)->as<Exited>().wait_status, SIGINT);
}

TEST_P(Stream, ItsStreamsEndIsTheEndOfEverything) {
  const auto guest = serving();
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 3; ++i) {
    numbers.push_back(guest->run(shell(std::string(kDaemon) + "sleep 1000")));
    ASSERT_TRUE(guest->wait_for_output(numbers.back(), "up\n"));
  }
  EXPECT_EQ(guest->close_and_wait(), 0);  // it waits for the last of them
}

TEST_P(Stream, AHalfFrameAndTheEndAreTheEndOfEverything) {
  const auto guest = serving();
  const auto number = guest->run(shell(std::string(kDaemon) + "sleep 1000"));
  ASSERT_TRUE(guest->wait_for_output(number, "up\n"));
  guest->send(frame(FrameType::data, number, std::string(1000, 'x')).substr(0, 500));
  EXPECT_EQ(guest->close_and_wait(), 0);
}

// Nothing is sent, and nothing is closed: only the lease can end it.
TEST_P(Stream, ALeaseThatLapsesIsTheEndOfEverything) {
  StreamOptions short_lease = options();
  short_lease.lease_ms = 300;
  const auto guest = serving(short_lease);
  const auto number = guest->run(shell(std::string(kDaemon) + "sleep 1000"));
  ASSERT_TRUE(guest->wait_for_output(number, "up\n"));
  EXPECT_EQ(guest->wait_end(), 0);
  EXPECT_TRUE(guest->closed());  // its daemons hold nothing any more
}

TEST_P(Stream, HeartbeatsKeepALeaseBothWays) {
  StreamOptions short_lease = options();
  short_lease.lease_ms = 400;
  const auto guest = serving(short_lease);
  // The guest's own heartbeats pace the test: longer than several leases, and nothing else is said.
  const auto number = guest->run(shell("sleep 1.5; exit 6"));
  while (guest->find(number, FrameType::over) == nullptr) {
    guest->send(FrameType::heartbeat, 0);
    ASSERT_TRUE(guest->next_or_heartbeat());
  }
  EXPECT_EQ(guest->exit_code(number), 6);
}

}  // namespace
}  // namespace exechost::guest::test
