// Many commands of one guest: none knows of another, and each ends whole.
#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

using Serve = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, Serve, testing::ValuesIn(every_place()), name_of);

constexpr char kDaemon[] = "(setsid sh -c 'sh -c \"echo up; exec sleep 1000\" &' &) ; ";

GuestOptions served_by(ServeProcess& server) {
  GuestOptions options;
  options.server = &server;
  return options;
}

int exit_code(const GuestProcess& guest) {
  const Message* exited = guest.find(MessageType::exited);
  return exited == nullptr || !WIFEXITED(exited->wait_status) ? -1 : WEXITSTATUS(exited->wait_status);
}

TEST_P(Serve, ManyCommandsAtOnceAndOneAfterTheOther) {
  ServeProcess server(programs_, shell(""), GetParam());
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<GuestProcess>> commands;
    for (int i = 0; i < 20; ++i) {
      const std::string number = std::to_string(i);
      commands.push_back(std::make_unique<GuestProcess>(
          programs_, shell("cat; echo out " + number + "; echo err " + number + " >&2; exit " + number), [&] {
            GuestOptions options = served_by(server);
            options.input = "in " + number + "\n";
            return options;
          }()));
    }
    for (int i = 0; i < 20; ++i) {
      GuestProcess& command = *commands[static_cast<std::size_t>(i)];
      ASSERT_TRUE(command.finish());
      const std::string number = std::to_string(i);
      EXPECT_EQ(command.out(), "in " + number + "\nout " + number + "\n");
      EXPECT_EQ(command.err(), "err " + number + "\n");
      EXPECT_EQ(exit_code(command), i);
      EXPECT_EQ(command.guest_status(), 0);
    }
  }
  EXPECT_EQ(server.close_and_wait(), 0);
}

TEST_P(Serve, IsConfinedBeforeAndItsCommandsAreLikeIt) {
  ServeProcess server(programs_, shell(""), GetParam());
  const Message first = server.wait_first();
  ASSERT_EQ(first.type, MessageType::confined);
  EXPECT_EQ(first.seccomp, 1u);
  // Without a filter of its own in what it is told.
  SpecWriter spec;
  spec.add_argument("/bin/cat");
  spec.add_argument("/proc/self/status");
  GuestProcess command(programs_, spec, served_by(server));
  ASSERT_TRUE(command.finish());
  EXPECT_EQ(command.find(MessageType::confined)->seccomp, 1u);
  for (const char* line : {"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n"})
    EXPECT_NE(command.out().find(line), std::string::npos) << command.out();
}

TEST_P(Serve, ACommandGetsNothingOfAnother) {
  ServeProcess server(programs_, shell(""), GetParam());
  GuestOptions options = served_by(server);
  options.keep_input_open = true;
  GuestProcess waiting(programs_, shell("echo up; read line"), std::move(options));
  ASSERT_TRUE(waiting.wait_for_output("up\n"));
  GuestProcess listing(programs_, spec_of({"ls", "/proc/self/fd"}), served_by(server));
  ASSERT_TRUE(listing.finish());
  EXPECT_EQ(listing.out(), "0\n1\n2\n3\n");  // 3 is the folder that ls reads
  waiting.close_input();
  waiting.kill();
  ASSERT_TRUE(waiting.finish());
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read, write;
};

TEST_P(Serve, FurtherDescriptorsGetTheirPlaces) {
  ServeProcess server(programs_, shell(""), GetParam());
  for (const auto& [first, second] : std::vector<std::pair<int, int>>{{8, 9}, {4, 3}, {5, 4}, {3, 15}}) {
    Pipe in;
    Pipe out;
    GuestOptions options = served_by(server);
    options.further = {in.read.get(), out.write.get()};
    const std::string from = std::to_string(first);
    const std::string to = std::to_string(second);  // a plain sh knows one digit only
    SpecWriter spec = shell("cat <&" + from + "; bash -c 'echo there >&" + to + "'; ls /proc/self/fd | wc -l");
    spec.add_descriptor(static_cast<std::uint32_t>(first));
    spec.add_descriptor(static_cast<std::uint32_t>(second));
    GuestProcess command(programs_, spec, std::move(options));
    in.read.reset();
    out.write.reset();
    ASSERT_EQ(::write(in.write.get(), "here\n", 5), 5);
    in.write.reset();
    ASSERT_TRUE(command.finish());
    EXPECT_EQ(command.out(), "here\n6\n") << first;  // with the folder that ls reads
    char text[16] = {};
    EXPECT_EQ(::read(out.read.get(), text, sizeof text), 6);
    EXPECT_STREQ(text, "there\n");
    EXPECT_EQ(::read(out.read.get(), text, sizeof text), 0) << "somebody else holds it";
  }
}

TEST_P(Serve, DescriptorsAndPlacesHaveToBeAsMany) {
  ServeProcess server(programs_, shell(""), GetParam());
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int descriptors = 0; descriptors <= 2; ++descriptors) {
    for (std::uint32_t places = 0; places <= 2; ++places) {
      if (static_cast<int>(places) == descriptors) continue;
      SpecWriter spec = shell("echo not reached");
      for (std::uint32_t i = 0; i < places; ++i) spec.add_descriptor(8 + i);
      GuestOptions options = served_by(server);
      options.further.assign(static_cast<std::size_t>(descriptors), null.get());
      GuestProcess command(programs_, spec, std::move(options));
      ASSERT_TRUE(command.finish());
      ASSERT_NE(command.find(MessageType::failed), nullptr);
      EXPECT_EQ(command.find(MessageType::failed)->step, Step::read_spec);
      EXPECT_EQ(command.out(), "");
    }
  }
}

TEST_P(Serve, AnotherCommandWhereTheFirstIsNotThere) {
  ServeProcess server(programs_, shell(""), GetParam());
  const auto run = [&](const std::vector<std::string>& first, const std::vector<std::string>& second) {
    SpecWriter spec = spec_of(first);
    for (const std::string& argument : second) spec.add_fallback_argument(argument);
    auto command = std::make_unique<GuestProcess>(programs_, spec, served_by(server));
    EXPECT_TRUE(command->finish());
    return command;
  };
  EXPECT_EQ(run({"/no/such", "x"}, {"echo", "second"})->out(), "second\n");
  EXPECT_EQ(run({"/etc/passwd"}, {"echo", "second"})->out(), "second\n");  // not executable
  EXPECT_EQ(run({"echo", "first"}, {"echo", "second"})->out(), "first\n");
  const auto neither = run({"/no/such"}, {"/no/other"});
  ASSERT_NE(neither->find(MessageType::failed), nullptr);
  EXPECT_EQ(neither->find(MessageType::failed)->step, Step::exec);
  EXPECT_EQ(neither->find(MessageType::failed)->error_number, ENOENT);
}

TEST_P(Serve, EndingOneLeavesTheOthers) {
  ServeProcess server(programs_, shell(""), GetParam());
  GuestOptions options = served_by(server);
  options.keep_input_open = true;
  GuestProcess other(programs_, shell(std::string(kDaemon) + "read line; exit 4"), std::move(options));
  ASSERT_TRUE(other.wait_for_output("up\n"));
  GuestProcess killed(programs_, shell(std::string(kDaemon) + "trap '' TERM; sleep 1000"), served_by(server));
  ASSERT_TRUE(killed.wait_for_output("up\n"));
  server.end(killed.number());
  ASSERT_TRUE(killed.finish());  // its daemon held its output
  other.write_input("go\n");
  ASSERT_TRUE(other.finish());
  EXPECT_EQ(exit_code(other), 4);
  EXPECT_EQ(server.close_and_wait(), 0);
}

// A command can kill who supervises it: same user. That frees nothing, and hurts nobody else.
TEST_P(Serve, ACommandThatKillsItsSupervisorIsOver) {
  ServeProcess server(programs_, shell(""), GetParam());
  GuestOptions options = served_by(server);
  options.keep_input_open = true;
  GuestProcess other(programs_, shell("echo up; read line; exit 4"), std::move(options));
  ASSERT_TRUE(other.wait_for_output("up\n"));
  for (int i = 0; i < 5; ++i) {
    GuestProcess guest(
        programs_, shell(std::string(kDaemon) + "while [ -e /proc/$PPID ] && kill -9 $PPID; do :; done; sleep 1000"),
        served_by(server));
    ASSERT_TRUE(guest.finish());
    EXPECT_EQ(guest.find(MessageType::exited), nullptr);
    EXPECT_TRUE(WIFSIGNALED(guest.guest_status()));
  }
  other.write_input("go\n");
  ASSERT_TRUE(other.finish());
  EXPECT_EQ(exit_code(other), 4);
}

TEST_P(Serve, ACommandThatStopsItsSupervisorIsServedAllTheSame) {
  ServeProcess server(programs_, shell(""), GetParam());
  GuestProcess guest(programs_, shell("i=0; while [ $i -lt 50 ]; do kill -STOP $PPID; i=$((i+1)); done; exit 6"),
                     served_by(server));
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(exit_code(guest), 6);
  EXPECT_EQ(guest.guest_status(), 0);
}

TEST_P(Serve, ItsEndIsTheEndOfEverything) {
  auto server = std::make_unique<ServeProcess>(programs_, shell(""), GetParam());
  std::vector<std::unique_ptr<GuestProcess>> commands;
  for (int i = 0; i < 5; ++i) {
    commands.push_back(
        std::make_unique<GuestProcess>(programs_, shell(std::string(kDaemon) + "sleep 1000"), served_by(*server)));
    ASSERT_TRUE(commands.back()->wait_for_output("up\n"));
  }
  EXPECT_EQ(server->close_and_wait(), 0);
  for (const auto& command : commands) EXPECT_TRUE(command->wait_for_closed_streams());
}

TEST_P(Serve, WhoBreaksTheProtocolEndsEverything) {
  const Message wrong_type = [] {
    Message message;
    message.type = MessageType::kill;  // a command's, not a server's
    return message;
  }();
  using Send = std::function<void(ServeProcess&)>;
  const std::vector<Send> all{
      [](ServeProcess& server) { server.send("x", 1); },
      [](ServeProcess& server) { server.send(std::string(5000, 'x').data(), 5000); },
      [&](ServeProcess& server) { server.send(&wrong_type, sizeof wrong_type); },
      [](ServeProcess& server) { server.run_as(7, {}); },
      [](ServeProcess& server) {
        server.run_as(7, {0, 1, 2});
      },
      [](ServeProcess& server) {
        server.run_as(7, {0, 1, 2, 0, 1, 2, 0});
      },
  };
  for (const Send& send : all) {
    ServeProcess server(programs_, shell(""), GetParam());
    GuestProcess command(programs_, shell(std::string(kDaemon) + "sleep 1000"), served_by(server));
    ASSERT_TRUE(command.wait_for_output("up\n"));
    send(server);
    EXPECT_TRUE(command.wait_for_closed_streams());
  }
}

TEST_P(Serve, ANumberThatIsTakenOrNoneIsRefused) {
  ServeProcess server(programs_, shell(""), GetParam());
  GuestOptions options = served_by(server);
  options.keep_input_open = true;
  GuestProcess command(programs_, shell("echo up; read line; exit 3"), std::move(options));
  ASSERT_TRUE(command.wait_for_output("up\n"));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int number : {command.number(), 0, -1}) {
    server.run_as(number, {null.get(), null.get(), null.get(), null.get()});
    const Message over = server.wait_over(number);
    EXPECT_EQ(over.step, Step::fork);
    EXPECT_EQ(over.error_number, EAGAIN);
  }
  command.write_input("go\n");
  EXPECT_TRUE(command.wait_for(MessageType::exited));
  EXPECT_EQ(exit_code(command), 3);
}

TEST_P(Serve, ACommandThatIsNotToInheritIsNotStarted) {
  ServeProcess server(programs_, shell(""), GetParam());
  GuestOptions options = served_by(server);
  auto sealed = shell("echo not reached").seal();
  ASSERT_TRUE(sealed);
  options.spec_fd = std::move(*sealed);
  GuestProcess command(programs_, shell(""), std::move(options));
  ASSERT_TRUE(command.finish());
  ASSERT_NE(command.find(MessageType::failed), nullptr);
  EXPECT_EQ(command.find(MessageType::failed)->step, Step::read_spec);
  EXPECT_EQ(command.out(), "");
}

TEST_P(Serve, AServerThatIsToInheritDoesNotServe) {
  SpecWriter spec = shell("");
  spec.set_inherited(true);
  ServeProcess server(programs_, spec, GetParam());
  const Message first = server.wait_first();
  EXPECT_EQ(first.type, MessageType::failed);
  EXPECT_EQ(first.step, Step::read_spec);
  EXPECT_NE(server.close_and_wait(), 0);
}

TEST_P(Serve, ASingleCommandCantInherit) {
  SpecWriter spec = shell("echo not reached");
  spec.set_inherited(true);
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::failed), nullptr);
  EXPECT_EQ(guest.find(MessageType::failed)->step, Step::read_spec);
  EXPECT_EQ(guest.out(), "");
}

}  // namespace
}  // namespace exechost::guest::test
