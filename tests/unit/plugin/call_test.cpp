#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

#include "core/plugin/loader.hpp"

namespace exechost::plugin {
namespace {

using ::testing::HasSubstr;

eh_failure failure_with(eh_kind kind, eh_phase phase, std::string_view message) {
  eh_failure failure{};
  failure.struct_size = sizeof failure;
  failure.kind = kind;
  failure.phase = phase;
  failure.message = to_eh(message);
  return failure;
}

void fail(const Call& call, const eh_failure& failure) { call.call()->fail(call.call()->context, &failure); }

TEST(PluginCall, CarriesDeadlineAndCancellation) {
  const Call call("box", Phase::provision, {123, 7});
  EXPECT_EQ(call.call()->struct_size, sizeof(eh_call));
  EXPECT_EQ(call.call()->deadline_ns, 123);
  EXPECT_EQ(call.call()->cancel_fd, 7);
}

TEST(PluginCall, CopiesTheAnswer) {
  Call call("box", Phase::provision, {});
  {
    const std::string first = "[1]";
    call.call()->answer(call.call()->context, to_eh(first));
    std::string second = "[2]";
    call.call()->answer(call.call()->context, to_eh(second));
    second = "xxx";
  }
  const CallOutcome outcome = call.finish(EH_OK);
  EXPECT_EQ(outcome.status, EH_OK);
  EXPECT_EQ(outcome.answer, "[2]");
}

TEST(PluginCall, CopiesTheFirstFailure) {
  Call call("box", Phase::provision, {});
  {
    std::string message = "no space";
    eh_failure failure = failure_with(EH_PROVISION_FAILED, EH_PHASE_SPAWN, message);
    failure.error_number = ENOSPC;
    failure.hint = to_eh("make some");
    failure.step = to_eh("mkdir");
    failure.code = to_eh("507");
    failure.request_id = to_eh("r-9");
    fail(call, failure);
    message = "overwritten";
    fail(call, failure_with(EH_DENIED, EH_PHASE_RUN, "second"));
  }
  const CallOutcome outcome = call.finish(EH_FAILED);
  EXPECT_EQ(outcome.status, EH_FAILED);
  Failure expected;
  expected.kind = FailureKind::provision_failed;
  expected.phase = Phase::spawn;
  expected.message = "no space";
  expected.hint = "make some";
  expected.backend = "box";
  expected.error_number = ENOSPC;
  expected.step = "mkdir";
  expected.code = "507";
  expected.request_id = "r-9";
  EXPECT_EQ(outcome.failure, expected);
}

TEST(PluginCall, EveryKindHasItsName) {
  const std::vector<std::pair<eh_kind, FailureKind>> kinds{{EH_INVALID_REQUEST, FailureKind::invalid_request},
                                                           {EH_UNSUPPORTED, FailureKind::unsupported},
                                                           {EH_UNAVAILABLE, FailureKind::unavailable},
                                                           {EH_PROVISION_FAILED, FailureKind::provision_failed},
                                                           {EH_SPAWN_FAILED, FailureKind::spawn_failed},
                                                           {EH_DENIED, FailureKind::denied},
                                                           {EH_ENVIRONMENT_LOST, FailureKind::environment_lost},
                                                           {EH_PROTOCOL_ERROR, FailureKind::protocol_error},
                                                           {EH_PLUGIN_CRASHED, FailureKind::plugin_crashed},
                                                           {0, FailureKind::protocol_error},
                                                           {77, FailureKind::protocol_error},
                                                           {-1, FailureKind::protocol_error}};
  for (const auto& [kind, expected] : kinds) {
    Call call("box", Phase::run, {});
    fail(call, failure_with(kind, 99, "m"));
    const CallOutcome outcome = call.finish(EH_FAILED);
    EXPECT_EQ(outcome.failure.kind, expected) << kind;
    EXPECT_EQ(outcome.failure.phase, Phase::run) << "an unknown phase reads as the call's";
  }
}

TEST(PluginCall, StatusesThatAreNotFailures) {
  for (const eh_status status : {EH_PENDING, EH_TIMED_OUT, EH_CANCELLED}) {
    Call call("box", Phase::run, {});
    EXPECT_EQ(call.finish(status).status, status);
  }
}

TEST(PluginCall, AnUnknownStatusIsAProtocolError) {
  for (const eh_status status : {5, 42, -1, INT32_MAX}) {
    Call call("box", Phase::run, {});
    fail(call, failure_with(EH_UNAVAILABLE, EH_PHASE_RUN, "not this"));
    const CallOutcome outcome = call.finish(status);
    EXPECT_EQ(outcome.status, EH_FAILED);
    EXPECT_EQ(outcome.failure.kind, FailureKind::protocol_error);
    EXPECT_THAT(outcome.failure.message, HasSubstr("status " + std::to_string(status)));
    EXPECT_EQ(outcome.failure.backend, "box");
  }
}

TEST(PluginCall, AFailureWithoutReasonIsAProtocolError) {
  Call call("box", Phase::cleanup, {});
  const CallOutcome outcome = call.finish(EH_FAILED);
  EXPECT_EQ(outcome.failure.kind, FailureKind::protocol_error);
  EXPECT_EQ(outcome.failure.phase, Phase::cleanup);
  EXPECT_THAT(outcome.failure.message, HasSubstr("\"box\" failed without a reason"));
}

TEST(PluginCall, ATruncatedFailureIsNotRead) {
  for (const std::uint32_t size : {0U, 4U, static_cast<std::uint32_t>(sizeof(eh_failure)) - 1}) {
    Call call("box", Phase::run, {});
    eh_failure failure = failure_with(EH_UNAVAILABLE, EH_PHASE_RUN, "m");
    failure.struct_size = size;
    fail(call, failure);
    const CallOutcome outcome = call.finish(EH_FAILED);
    EXPECT_EQ(outcome.failure.kind, FailureKind::protocol_error);
    EXPECT_THAT(outcome.failure.message, HasSubstr("truncated failure"));
  }
  Call call("box", Phase::run, {});
  call.call()->fail(call.call()->context, nullptr);
  EXPECT_THAT(call.finish(EH_FAILED).failure.message, HasSubstr("truncated failure"));
}

TEST(PluginCall, ALargerFailureOfANewerMinorIsRead) {
  struct Newer {
    eh_failure known;
    std::uint64_t added = 7;
  } newer{failure_with(EH_UNAVAILABLE, EH_PHASE_RUN, "m")};
  newer.known.struct_size = sizeof newer;
  Call call("box", Phase::run, {});
  fail(call, newer.known);
  EXPECT_EQ(call.finish(EH_FAILED).failure.kind, FailureKind::unavailable);
}

TEST(PluginCall, TextsAreBoundedAndMadeUtf8) {
  Call call("box", Phase::run, {});
  const std::string text = std::string("\xff bad ") + std::string(1'000'000, 'x');
  fail(call, failure_with(EH_UNAVAILABLE, EH_PHASE_RUN, text));
  const CallOutcome outcome = call.finish(EH_FAILED);
  EXPECT_EQ(outcome.failure.message.substr(0, 8), "\xEF\xBF\xBD bad ");
  EXPECT_LE(outcome.failure.message.size(), 8300U);

  Call silent("box", Phase::run, {});
  fail(silent, failure_with(EH_UNAVAILABLE, EH_PHASE_RUN, {}));
  EXPECT_THAT(silent.finish(EH_FAILED).failure.message, HasSubstr("gave no reason"));
}

TEST(PluginCall, AnAnswerThatIsTooLargeIsAProtocolError) {
  Call call("box", Phase::provision, {});
  const std::string large(17UL * 1024 * 1024, ' ');
  call.call()->answer(call.call()->context, to_eh(large));
  const CallOutcome outcome = call.finish(EH_OK);
  EXPECT_EQ(outcome.status, EH_FAILED);
  EXPECT_EQ(outcome.failure.kind, FailureKind::protocol_error);
  EXPECT_THAT(outcome.failure.message, HasSubstr("too large"));
}

TEST(PluginCall, ProgressReachesItsHandler) {
  Call call("box", Phase::provision, {});
  call.call()->progress(call.call()->context, to_eh("nobody listens"));
  std::vector<std::string> said;
  call.on_progress([&](std::string_view text) { said.emplace_back(text); });
  call.call()->progress(call.call()->context, to_eh("pulling"));
  EXPECT_THAT(said, ::testing::ElementsAre("pulling"));
}

TEST(PluginCall, AHandlerThatThrowsDoesNotReachThePlugin) {
  Call call("box", Phase::provision, {});
  call.on_progress([](std::string_view) { throw std::runtime_error("no"); });
  call.call()->progress(call.call()->context, to_eh("pulling"));
  EXPECT_EQ(call.finish(EH_OK).status, EH_OK);
}

TEST(PluginCall, ReportsFromManyThreads) {
  Call call("box", Phase::provision, {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        fail(call, failure_with(EH_UNAVAILABLE, EH_PHASE_RUN, "m"));
        call.call()->answer(call.call()->context, to_eh("{}"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(call.finish(EH_FAILED).failure.message, "m");
}

TEST(PluginCall, NullTextsAreEmpty) { EXPECT_EQ(from_eh(eh_str{nullptr, 5}), ""); }

}  // namespace
}  // namespace exechost::plugin
