#include "core/c_api/approver.hpp"

#include <nlohmann/json.hpp>

#include "core/base/utf8.hpp"
#include "core/c_api/handles.hpp"

namespace exechost::c_api {
namespace {

std::string to_json(const AdmissionQuestion& question) {
  nlohmann::json argv = nlohmann::json::array();
  for (const std::string& argument : question.argv) argv.push_back(to_valid_utf8(argument));
  nlohmann::json lost = nlohmann::json::array();
  for (const std::string& protection : question.isolation_lost) lost.push_back(to_valid_utf8(protection));
  return nlohmann::json{{"tier", question.tier},
                        {"backend", question.backend},
                        {"argv", std::move(argv)},
                        {"command", to_valid_utf8(question.command)},
                        {"cwd", to_valid_utf8(question.cwd)},
                        {"isolation_lost", std::move(lost)},
                        {"why", to_valid_utf8(question.why)}}
      .dump();
}

Answer answer_of(exechost_answer answer) {
  switch (answer) {
    case EXECHOST_ANSWER_ONCE: return Answer::once;
    case EXECHOST_ANSWER_SESSION: return Answer::session;
    case EXECHOST_ANSWER_DENY: return Answer::deny;
    case EXECHOST_ANSWER_NO_ROUTE: break;
  }
  return Answer::no_route;
}

}  // namespace

Approver make_approver(exechost_approver function, void* user) {
  if (function == nullptr) return nullptr;
  return [function, user](const AdmissionQuestion& question, const std::stop_token& stop) {
    const exechost_question handle{to_json(question), stop};
    return answer_of(function(user, &handle));
  };
}

}  // namespace exechost::c_api

const char* exechost_question_json(const exechost_question* question, size_t* size) {
  if (size != nullptr) *size = question->json.size();
  return question->json.c_str();
}

int exechost_question_withdrawn(const exechost_question* question) {
  return question->withdrawn.stop_requested() ? 1 : 0;
}
