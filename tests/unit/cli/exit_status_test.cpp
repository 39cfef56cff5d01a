#include "cli/exit_status.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace exechost::cli {
namespace {

struct Row {
  const char* name;
  ExecResult result;
  int interrupt_signal;
  int expected;
};

ExecResult exited(int code) {
  ExecResult result;
  result.status = Status::exited;
  result.started = Started::yes;
  result.exit_code = code;
  return result;
}

ExecResult ended(Status status, int signal_number = 0) {
  ExecResult result;
  result.status = status;
  result.started = Started::yes;
  result.signal_number = signal_number;
  return result;
}

ExecResult failed(FailureKind kind, int error_number = 0, const char* step = "") {
  ExecResult result;
  result.status = Status::failed;
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::spawn;
  failure.message = "m";
  failure.error_number = error_number;
  failure.step = step;
  result.failure = failure;
  return result;
}

class ExitStatus : public testing::TestWithParam<Row> {};

TEST_P(ExitStatus, IsWhatTheTableSays) {
  EXPECT_EQ(exit_status(GetParam().result, GetParam().interrupt_signal), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ExitStatus,
    testing::Values(Row{"zero", exited(0), 0, 0}, Row{"one", exited(1), 0, 1}, Row{"highest", exited(255), 0, 255},
                    Row{"own_124", exited(124), 0, 124}, Row{"own_127", exited(127), 0, 127},
                    // It cleaned up after an interruption and chose its own status.
                    Row{"own_after_interrupt", exited(3), SIGINT, 3},
                    Row{"killed", ended(Status::signaled, SIGKILL), 0, 137},
                    Row{"died_of_interrupt", ended(Status::signaled, SIGINT), SIGINT, 130},
                    Row{"realtime", ended(Status::signaled, 64), 0, 192},
                    Row{"timed_out", ended(Status::timed_out), 0, 124},
                    Row{"cancelled_int", ended(Status::cancelled), SIGINT, 130},
                    Row{"cancelled_term", ended(Status::cancelled), SIGTERM, 143},
                    Row{"cancelled_hup", ended(Status::cancelled), SIGHUP, 129},
                    Row{"cancelled_quit", ended(Status::cancelled), SIGQUIT, 131},
                    Row{"cancelled_by_nobody", ended(Status::cancelled), 0, 125},
                    Row{"exhausted_killed", ended(Status::resource_exhausted, SIGKILL), 0, 137},
                    Row{"exhausted", ended(Status::resource_exhausted), 0, 125},
                    Row{"not_found", failed(FailureKind::spawn_failed, ENOENT, "exec"), 0, 127},
                    Row{"no_permission", failed(FailureKind::spawn_failed, EACCES, "exec"), 0, 126},
                    Row{"no_format", failed(FailureKind::spawn_failed, ENOEXEC, "exec"), 0, 126},
                    Row{"no_folder", failed(FailureKind::spawn_failed, ENOENT, "working_directory"), 0, 125},
                    Row{"spawn_without_errno", failed(FailureKind::spawn_failed, 0, "exec"), 0, 125},
                    Row{"denied", failed(FailureKind::denied), 0, 126},
                    Row{"invalid_request", failed(FailureKind::invalid_request), 0, 125},
                    Row{"unsupported", failed(FailureKind::unsupported), 0, 125},
                    Row{"unavailable", failed(FailureKind::unavailable, ENOENT), 0, 125},
                    Row{"provision_failed", failed(FailureKind::provision_failed, ENOENT, "exec"), 0, 125},
                    Row{"environment_lost", failed(FailureKind::environment_lost), 0, 125},
                    Row{"protocol_error", failed(FailureKind::protocol_error), 0, 125},
                    Row{"plugin_crashed", failed(FailureKind::plugin_crashed), SIGINT, 125},
                    Row{"failed_without_failure", ended(Status::failed), 0, 125}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace exechost::cli
