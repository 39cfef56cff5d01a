// The parts of the C++ wrapper that need no plugin.
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <nlohmann/json.hpp>

#include "core/base/clock.hpp"
#include "core/plugin/loader.hpp"
#include "exechost/backend.hpp"
#include "tests/unit/plugin/small_host.hpp"

namespace exechost::sdk {
namespace {

using test::SmallHost;

struct TestCall {
  explicit TestCall(plugin::CallLimits limits = {}) : made("test", exechost::Phase::provision, limits) {}
  plugin::Call made;
  Call call{made.call()};
};

TEST(SdkOutcome, HoldsAValueOrAFailure) {
  const Outcome<int> value = 7;
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
  Failure why;
  why.message = "no";
  const Outcome<int> failure = why;
  EXPECT_FALSE(failure);
  EXPECT_EQ(failure.failure().message, "no");
  EXPECT_TRUE(Outcome<void>());
  EXPECT_FALSE(Outcome<void>(Failure::timed_out()));
}

TEST(SdkOutcome, ConvertsWhatItsValueConverts) {
  const Outcome<std::string> text = "literal";
  EXPECT_EQ(*text, "literal");
  const Outcome<std::optional<int>> nothing = std::nullopt;
  EXPECT_FALSE(nothing->has_value());
}

TEST(SdkJsonQuote, EscapesWhatJsonNeeds) {
  const std::string text = std::string("a\"b\\c\n\x01\x1f/ä", 11);
  EXPECT_EQ(nlohmann::json::parse(json_quote(text)).get<std::string>(), text);
  EXPECT_EQ(json_quote(""), "\"\"");
}

TEST(SdkFd, ClosesOnce) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Fd reader(ends[0]);
  {
    Fd writer(ends[1]);
    Fd moved = std::move(writer);
    EXPECT_FALSE(writer);  // NOLINT(bugprone-use-after-move): what is left behind is empty
    EXPECT_EQ(moved.get(), ends[1]);
  }
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
  const int raw = reader.release();
  EXPECT_EQ(::close(raw), 0);
}

TEST(SdkCall, KnowsWhenToStop) {
  TestCall endless;
  EXPECT_FALSE(endless.call.should_stop());
  EXPECT_FALSE(endless.call.cancelled());

  plugin::CallLimits past;
  past.deadline_ns = monotonic_now_ns() - 1;
  const TestCall late(past);
  ASSERT_TRUE(late.call.should_stop());
  EXPECT_EQ(late.call.should_stop()->status, EH_TIMED_OUT);

  const Fd cancel(::eventfd(1, EFD_CLOEXEC));
  past.cancel_fd = cancel.get();
  const TestCall both(past);
  EXPECT_EQ(both.call.should_stop()->status, EH_CANCELLED);
}

TEST(SdkCall, WaitsForADescriptor) {
  const Fd ready(::eventfd(1, EFD_CLOEXEC));
  TestCall call;
  EXPECT_TRUE(call.call.wait_for(ready.get()));

  const Fd never(::eventfd(0, EFD_CLOEXEC));
  plugin::CallLimits limits;
  limits.deadline_ns = deadline_after(std::chrono::milliseconds(20));
  const TestCall timed(limits);
  const Outcome<void> waited = timed.call.wait_for(never.get());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.failure().status, EH_TIMED_OUT);
  EXPECT_GE(monotonic_now_ns(), limits.deadline_ns);
}

TEST(SdkCall, ABadDescriptorIsNoEvent) {
  const TestCall call;
  const Outcome<void> waited = call.call.wait_for(1'000'000);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.failure().error_number, EBADF);
}

TEST(SdkHost, GivesSecrets) {
  SmallHost small;
  small.secrets["token"] = "hunter2";
  small.secrets["long"] = std::string(5000, 's');
  const Host host(small.table());
  EXPECT_EQ(host.secret("token")->view(), "hunter2");
  EXPECT_FALSE(host.secret("unknown"));
  small.secret_calls = 0;
  EXPECT_EQ(host.secret("long")->view(), std::string(5000, 's'));
  EXPECT_EQ(small.secret_calls, 2);
}

TEST(SdkHost, SecretsMoveWithoutACopy) {
  SmallHost small;
  small.secrets["token"] = "hunter2";
  std::optional<Secret> secret = Host(small.table()).secret("token");
  const char* const place = secret->view().data();
  const Secret moved = std::move(*secret);
  EXPECT_EQ(moved.view().data(), place);
  EXPECT_EQ(secret->view(), "");  // NOLINT(bugprone-use-after-move): what is left behind is empty
}

TEST(SdkHost, StartsProcesses) {
  SmallHost small;
  const Host host(small.table());
  TestCall call;
  ProcessSpec spec;
  spec.arguments = {"/bin/sh", "-c", "exit 5"};
  spec.descriptors = {-1, -1, -1};
  Outcome<Process> process = host.spawn(spec, call.call);
  ASSERT_TRUE(process);
  const Outcome<int> status = process->wait(call.call);
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 5);
  EXPECT_EQ(process->try_wait(), *status);
  process->reset();
  EXPECT_EQ(small.running(), 0U);
}

TEST(SdkHost, AProcessThatGoesAwayIsKilled) {
  SmallHost small;
  const Host host(small.table());
  TestCall call;
  ProcessSpec spec;
  spec.arguments = {"/bin/sleep", "600"};
  spec.descriptors = {-1, -1, -1};
  {
    Outcome<Process> first = host.spawn(spec, call.call);
    ASSERT_TRUE(first);
    Process moved = std::move(*first);
    EXPECT_FALSE(*first);
    EXPECT_EQ(small.running(), 1U);
    plugin::CallLimits soon;
    soon.deadline_ns = deadline_after(std::chrono::milliseconds(20));
    const TestCall short_call(soon);
    EXPECT_EQ(moved.wait(short_call.call).failure().status, EH_TIMED_OUT);
  }
  EXPECT_EQ(small.running(), 0U);
}

TEST(SdkBridge, ALongExceptionTextIsCut) {
  TestCall call;
  const eh_status status = detail::guard(call.call.raw(), Phase::run,
                                         []() -> eh_status { throw std::runtime_error(std::string(10'000, 'x')); });
  const plugin::CallOutcome outcome = call.made.finish(status);
  EXPECT_EQ(outcome.status, EH_FAILED);
  EXPECT_EQ(outcome.failure.message.size(), 512U);
}

}  // namespace
}  // namespace exechost::sdk
