#include "core/host/detached_command.hpp"

#include <fmt/format.h>

#include <exception>

namespace exechost::host {
namespace {

using nlohmann::json;

Failure broken(const std::exception& error) {
  Failure failure;
  failure.kind = FailureKind::protocol_error;
  failure.phase = Phase::run;
  failure.step = "session";
  failure.message = fmt::format("the keeper's answer about a command is malformed: {}", error.what());
  return failure;
}

LogRange range_from(const json& value) {
  return {value.at("begin").get<std::uint64_t>(), value.at("end").get<std::uint64_t>()};
}

Failure failure_from(const json& value) {
  Failure failure;
  failure.kind = failure_kind_from(value.at("kind").get<std::string>());
  failure.phase = phase_from(value.at("phase").get<std::string>(), Phase::run);
  failure.message = value.at("message").get<std::string>();
  failure.hint = value.at("hint").get<std::string>();
  failure.backend = value.at("backend").get<std::string>();
  failure.error_number = value.at("errno").get<int>();
  return failure;
}

Status status_from(const std::string& text) {
  if (text == "exited") return Status::exited;
  if (text == "signaled") return Status::signaled;
  if (text == "timed_out") return Status::timed_out;
  return Status::failed;
}

}  // namespace

Result<DetachedCommand> detached_command_from(const json& answer) {
  try {
    DetachedCommand command;
    command.id = answer.at("id").get<std::string>();
    command.command = answer.at("command").get<std::string>();
    command.ended = answer.at("state") == "ended";
    if (command.ended) command.status = status_from(answer.at("status").get<std::string>());
    if (answer.at("exit_code").is_number()) command.exit_code = answer.at("exit_code").get<int>();
    if (answer.at("signal").is_number()) command.signal_number = answer.at("signal").get<int>();
    const auto started = answer.at("started").get<std::string>();
    command.started = started == "yes" ? Started::yes : started == "no" ? Started::no : Started::unknown;
    if (!answer.at("failure").is_null()) command.failure = failure_from(answer.at("failure"));
    command.duration = std::chrono::milliseconds(answer.at("duration_ms").get<std::int64_t>());
    command.out = range_from(answer.at("stdout"));
    command.err = range_from(answer.at("stderr"));
    command.input_open = answer.at("input") == "open";
    return command;
  } catch (const json::exception& error) {
    return unexpected(broken(error));
  }
}

Result<std::string> log_part_from(const json& answer, std::uint64_t& offset) {
  try {
    const auto& bytes = answer.at("data").get_binary();
    offset = answer.at("offset").get<std::uint64_t>();
    return std::string(bytes.begin(), bytes.end());
  } catch (const json::exception& error) {
    return unexpected(broken(error));
  }
}

Result<std::size_t> taken_from(const json& answer) {
  try {
    return answer.at("taken").get<std::size_t>();
  } catch (const json::exception& error) {
    return unexpected(broken(error));
  }
}

}  // namespace exechost::host
