#include "exechost/approver.hpp"

namespace exechost {

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::once: return "once";
    case Answer::session: return "session";
    case Answer::deny: return "deny";
    case Answer::no_route: return "no_route";
    case Answer::timed_out: return "timed_out";
    case Answer::cancelled: return "cancelled";
  }
  return "no_route";
}

}  // namespace exechost
