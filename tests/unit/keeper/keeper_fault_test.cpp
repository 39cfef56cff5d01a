// The keeper among plugins, guests and hosts that break their word, in both placements.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "core/cleanup/ledger.hpp"
#include "core/keeper/process_launcher.hpp"
#include "core/keeper/wire.hpp"
#include "exechost_test_paths.hpp"
#include "tests/unit/keeper/keeper_fixture.hpp"

namespace exechost::keeper {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class KeeperFaultTest : public KeeperTest {};
// What only a program of its own can do.
class ChildKeeperFaultTest : public KeeperFaultTest {};
INSTANTIATE_TEST_SUITE_P(Placements, ChildKeeperFaultTest, ::testing::Values(KeeperPlacement::child), placement_name);

INSTANTIATE_TEST_SUITE_P(Placements, KeeperFaultTest,
                         ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child), placement_name);

TEST_P(KeeperFaultTest, ABlockingOpenIsCancelled) {
  Ticket ticket = 0;
  auto reply = ask(open_request(victim("moody", {{"open", "block"}})), &ticket);
  ASSERT_TRUE(test::eventually([this] { return ledger_entries() == 1; })) << "recorded before it is opened";
  on_reactor([&] { client_->cancel(ticket); });
  EXPECT_EQ(answer(reply).status, ReplyStatus::cancelled);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperFaultTest, ADeadlineEndsABlockingOpen) {
  OpenRequest request = open_request(victim("moody", {{"open", "block"}}));
  request.deadline_ns = deadline_after(milliseconds(100));
  const Reply reply = call(request);
  EXPECT_EQ(reply.status, ReplyStatus::timed_out) << describe(reply.failure);
  EXPECT_GE(monotonic_now_ns(), request.deadline_ns);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperFaultTest, APluginThatIgnoresItsDeadlineIsNotWaitedFor) {
  OpenRequest request = open_request(victim("moody", {{"open", "stubborn"}}));  // 3 s
  request.deadline_ns = deadline_after(milliseconds(50));
  const Reply reply = call(request);
  EXPECT_EQ(reply.status, ReplyStatus::failed);
  EXPECT_EQ(reply.failure.kind, FailureKind::protocol_error);
  EXPECT_THAT(reply.failure.message, HasSubstr("did not return within 2 s of its deadline"));
  EXPECT_TRUE(test::eventually([this] { return ledger_entries() == 0; })) << "opened too late, and closed again";
}

TEST_P(KeeperFaultTest, FailuresOfAPluginAreTyped) {
  Reply reply = call(open_request(victim("moody", {{"open", "fail"}})));
  EXPECT_EQ(reply.status, ReplyStatus::failed);
  EXPECT_EQ(reply.failure.kind, FailureKind::provision_failed);
  EXPECT_EQ(reply.failure.message, "told to fail");
  EXPECT_EQ(reply.failure.error_number, 28);
  EXPECT_EQ(reply.failure.code, "E-MOOD");
  EXPECT_EQ(reply.failure.backend, "moody");
  EXPECT_EQ(ledger_entries(), 0U);
  reply = call(open_request(victim("moody", {{"create", "fail"}})));
  EXPECT_EQ(reply.failure.kind, FailureKind::unavailable);
  reply = call(open_request(victim("moody", {{"create", "throw"}})));
  EXPECT_EQ(reply.failure.kind, FailureKind::protocol_error);
  reply = call(ProbeRequest{victim("moody", {{"probe", "null"}})});
  EXPECT_EQ(reply.failure.kind, FailureKind::protocol_error) << "not JSON";
  reply = call(open_request(victim("nothing_here")));
  EXPECT_EQ(reply.failure.kind, FailureKind::unavailable);
  EXPECT_EQ(reply.failure.backend, "nothing_here");
  PluginChoice disguised = victim("plain");
  disguised.id = "moody";
  reply = call(open_request(disguised));
  EXPECT_EQ(reply.failure.kind, FailureKind::unavailable);
  OpenRequest wrong = open_request(victim("plain"));
  wrong.document = {{"id", "../../somewhere"}};
  EXPECT_EQ(call(wrong).failure.kind, FailureKind::invalid_request);
  wrong.document = json::array();
  EXPECT_EQ(call(wrong).failure.kind, FailureKind::invalid_request);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperFaultTest, AThrowingOpenKeepsItsEntry) {
  leaves_entries_ = true;  // nobody knows what it has begun
  const Reply reply = call(open_request(victim("moody", {{"open", "throw"}})));
  EXPECT_EQ(reply.failure.kind, FailureKind::protocol_error);
  EXPECT_EQ(cleanup::Ledger::open(options_.ledger_folder)->orphans().size(), 1U);
}

TEST_P(KeeperFaultTest, AFailedCloseKeepsTheEntryUntilOneSucceeds) {
  const auto environment = open(victim("moody", {{"close", "fail"}}));
  EXPECT_EQ(close(environment).failure.message, "told to fail");
  EXPECT_EQ(ledger_entries(), 1U);
  EXPECT_TRUE(cleanup::Ledger::open(options_.ledger_folder)->orphans().empty()) << "still kept";
  EXPECT_EQ(close(environment).status, ReplyStatus::ok);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperFaultTest, AnExecutionWithoutDescriptorIsRefused) {
  const auto environment = open(victim("moody"));
  SpawnRequest request = request_for(environment, {"true"});
  request.use_guest = false;
  EXPECT_EQ(spawn(request).trace->wait(Kind::failed).failure.kind, FailureKind::protocol_error);
  EXPECT_EQ(spawn(request_for(environment, {"true"})).trace->wait(Kind::failed).failure.kind, FailureKind::unsupported)
      << "it has no place for a guest";
}

TEST_P(KeeperFaultTest, AnEndBeforeTheStartIsNoRun) {
  const auto environment = open(victim("unruly", {{"mode", "at_once"}}));
  const ExecutionEvent event = spawn(request_for(environment, {"true"})).trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::provision_failed);
  EXPECT_THAT(event.failure.message, HasSubstr("exited with 3 before the command had started"));
  EXPECT_EQ(event.was_started, Started::no);
  const auto lost = open(victim("unruly", {{"mode", "lost"}}));
  const ExecutionEvent told = spawn(request_for(lost, {"true"})).trace->wait(Kind::failed);
  EXPECT_EQ(told.failure.message, "told to be lost");
  EXPECT_EQ(told.was_started, Started::no);
}

TEST_P(KeeperFaultTest, AGuestThatBreaksTheProtocolIsEnded) {
  for (const auto& [mode, started] :
       {std::pair("junk", Started::no), std::pair("backwards", Started::no), std::pair("twice", Started::yes)}) {
    const auto environment = open(victim("unruly", {{"mode", mode}}));
    Running run = spawn(request_for(environment, {"true"}));
    const ExecutionEvent event = run.trace->wait(Kind::failed);
    EXPECT_EQ(event.failure.kind, FailureKind::protocol_error) << mode;
    EXPECT_EQ(event.was_started, started) << mode;
    EXPECT_EQ(close(environment).status, ReplyStatus::ok) << mode;
  }
}

TEST_P(KeeperFaultTest, AGuestThatVanishesIsALostEnvironment) {
  const auto environment = open(victim("unruly", {{"mode", "vanishes"}}));
  Running run = spawn(request_for(environment, {"true"}));
  const ExecutionEvent event = run.trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::environment_lost);
  EXPECT_EQ(event.was_started, Started::yes);
}

TEST_P(KeeperFaultTest, WhatCantBeKilledCostsItsEnvironment) {
  const auto environment = open(victim("unruly", {{"mode", "silent"}}));
  Running run = spawn(request_for(environment, {"true"}));
  signal(run, SIGKILL);
  const ExecutionEvent event = run.trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::environment_lost);
  EXPECT_THAT(event.failure.message, HasSubstr("its environment was destroyed"));
  EXPECT_EQ(close(environment).failure.kind, FailureKind::environment_lost);
  EXPECT_EQ(ledger_entries(), 0U);
}

TEST_P(KeeperFaultTest, MalformedInputEndsTheKeeperAndEverythingItHas) {
  const auto environment = open();
  Running run = shell(environment, "echo $$; exec sleep 1000");
  const int pid = std::stoi(test::read_line(run.out.get()));
  // A keeper of its own that gets junk.
  auto other = start(GetParam(), EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", options_);
  ASSERT_TRUE(other);
  const UniqueFd socket = (*other)->take_socket();
  ASSERT_EQ(::send(socket.get(), "junk", 4, MSG_NOSIGNAL), 4);
  ASSERT_TRUE(test::becomes_readable(socket.get()));
  char byte = 0;
  EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0);
  EXPECT_FALSE(is_gone(pid)) << "the other one is not concerned";
  // And this one, with something running.
  Packet packet;
  packet.body = {{"type", "spawn"}, {"ticket", 1}};
  auto encoded = encode_packet(std::move(packet));
  ASSERT_TRUE(encoded);
  auto mixed = start(GetParam(), EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", options_);
  ASSERT_TRUE(mixed);
  const UniqueFd second = (*mixed)->take_socket();
  int error = 0;
  ASSERT_EQ(send_packet(second.get(), *encoded, error), SendResult::sent);
  ASSERT_TRUE(test::becomes_readable(second.get()));
  EXPECT_LE(::recv(second.get(), &byte, 1, 0), 0);
}

TEST_P(KeeperFaultTest, AHostThatIgnoresSigchld) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  {
    auto other = start(GetParam(), EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", options_);
    if (GetParam() == KeeperPlacement::in_process) {
      ASSERT_FALSE(other);
      EXPECT_EQ(other.error().kind, FailureKind::unavailable);
      EXPECT_THAT(other.error().hint, HasSubstr("child placement"));
    } else {
      ASSERT_TRUE(other);
      stop_keeper();
      keeper_ = std::move(*other);
      on_reactor([this] { client_ = std::make_unique<Client>(reactor_, keeper_->take_socket()); });
      Running run = shell(open(), "exit 9");
      EXPECT_EQ(run.trace->wait(Kind::exited).wait_status, W_EXITCODE(9, 0));
      stop_keeper();
    }
  }
  ::sigaction(SIGCHLD, &before, nullptr);
}

TEST_P(ChildKeeperFaultTest, ADeadKeeperEndsEverythingAsCrashed) {
  leaves_entries_ = true;
  const auto environment = open();
  SpawnRequest request = request_for(environment, {"/bin/sh", "-c", "echo $$; exec sleep 1000"});
  request.use_guest = false;
  Running run = spawn(request);
  const int pid = std::stoi(test::read_line(run.out.get()));
  run.trace->wait(Kind::started);
  auto pending = ask(open_request(victim("moody", {{"open", "block"}})));
  ASSERT_TRUE(test::eventually([this] { return ledger_entries() == 2; }));
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  const ExecutionEvent event = run.trace->wait(Kind::failed);
  EXPECT_EQ(event.failure.kind, FailureKind::plugin_crashed);
  EXPECT_EQ(event.was_started, Started::yes);
  EXPECT_EQ(answer(pending).failure.kind, FailureKind::plugin_crashed);
  EXPECT_TRUE(test::eventually([pid] { return is_gone(pid); }, 1000));
  EXPECT_EQ(cleanup::Ledger::open(options_.ledger_folder)->orphans().size(), 2U) << "for a later start to find";
  EXPECT_EQ(call(open_request(victim("plain"))).failure.kind, FailureKind::plugin_crashed);
  EXPECT_EQ(shell(environment, "true").trace->wait(Kind::failed).was_started, Started::no);
}

TEST_P(KeeperFaultTest, EverythingIsGoneASecondAfterTheHostWasKilled) {
  leaves_entries_ = GetParam() == KeeperPlacement::in_process;  // the keeper is killed with it
  test::Pipe out;
  ProcessSpec spec;
  spec.argv = {EXECHOST_HOST_VICTIM, GetParam() == KeeperPlacement::child ? "child" : "in_process",
               victim("plain").library, options_.ledger_folder};
  spec.descriptors = {-1, out.write.get(), STDERR_FILENO};
  auto host = make_process_launcher()->launch(spec);
  ASSERT_TRUE(host) << describe(host.error());
  out.write.reset();
  std::istringstream line(test::read_line(out.read.get()));
  int plain = 0;
  int stray = 0;
  ASSERT_TRUE(line >> plain >> stray);
  ASSERT_FALSE(is_gone(plain));
  ASSERT_FALSE(is_gone(stray));
  ASSERT_TRUE((*host)->signal(SIGKILL));
  EXPECT_TRUE(test::eventually([&] { return is_gone(plain); }, 1000));
  if (GetParam() == KeeperPlacement::child) {
    // With the keeper alive its guests clean up. Without it that is a PID namespace's to do, which
    // this backend does not have.
    EXPECT_TRUE(test::eventually([&] { return is_gone(stray) && ledger_entries() == 0; }, 1000));
  } else {
    ::kill(stray, SIGKILL);
    // The lock goes when the kernel has taken the dead host apart.
    const auto orphans = [&] { return cleanup::Ledger::open(options_.ledger_folder)->orphans().size(); };
    EXPECT_TRUE(test::eventually([&] { return orphans() == 1; }, 1000)) << orphans();
  }
}

TEST_P(ChildKeeperFaultTest, AKeeperThatIsNotThereIsUnavailable) {
  const auto missing = start(GetParam(), "/no/such/keeper", options_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, FailureKind::unavailable);
  EXPECT_EQ(missing.error().error_number, ENOENT);
}

}  // namespace
}  // namespace exechost::keeper
