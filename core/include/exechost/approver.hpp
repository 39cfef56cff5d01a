// Asking a person whether a command may run where nothing, or less than was chosen, isolates it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/export.hpp"

namespace exechost {

// What a person has to know to answer. All texts are for reading, not escaped: whoever shows them on a
// terminal escapes control and bidirectional characters, and shows them whole.
struct AdmissionQuestion {
  std::string tier;                         // "node", or "sandbox" for another backend than was chosen
  std::string backend;                      // where it would run
  std::vector<std::string> argv;            // exactly what would be executed, raw bytes
  std::string command;                      // the same as one line, quoted as a shell would need it
  std::string cwd;                          // where it would start
  std::vector<std::string> isolation_lost;  // one protection each, in words
  std::string why;                          // the rule that asks, or why the chosen backend can't be used
  std::optional<std::chrono::steady_clock::time_point> deadline;  // of the command; nothing: none
};

enum class Answer {
  once,       // this time
  session,    // this time, and as long as this ExecHost lives the same words with the same variables in the same place
  deny,       // no
  no_route,   // nobody could be asked
  timed_out,  // nobody answered before the deadline
  cancelled,  // the question was withdrawn
};
EXECHOST_API std::string_view to_string(Answer answer);

// Called on a thread of ExecHost's own, which may wait as long as it takes: one question at a time for
// each ExecHost, in the order in which they came up. `stop` is requested when the command's deadline has
// passed, when it is cancelled and when the ExecHost ends: then it has to return soon, and what it
// returns is not used. Anything it throws counts as no_route. Must not destroy the ExecHost.
using Approver = std::function<Answer(const AdmissionQuestion& question, const std::stop_token& stop)>;

}  // namespace exechost
