#include <cstdlib>
#include <cstring>

#include "core/c_api/handles.hpp"

namespace exechost::c_api {

exechost_failure* make_failure(const Failure& failure) {
  return new exechost_failure{failure, std::string(to_string(failure.kind)), std::string(to_string(failure.phase))};
}

char* make_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void report(exechost_failure** where, const Failure& failure) {
  if (where != nullptr) *where = make_failure(failure);
}

namespace {

exechost_kind kind_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::invalid_request: return EXECHOST_INVALID_REQUEST;
    case FailureKind::unsupported: return EXECHOST_UNSUPPORTED;
    case FailureKind::unavailable: return EXECHOST_UNAVAILABLE;
    case FailureKind::provision_failed: return EXECHOST_PROVISION_FAILED;
    case FailureKind::spawn_failed: return EXECHOST_SPAWN_FAILED;
    case FailureKind::denied: return EXECHOST_DENIED;
    case FailureKind::environment_lost: return EXECHOST_ENVIRONMENT_LOST;
    case FailureKind::protocol_error: return EXECHOST_PROTOCOL_ERROR;
    case FailureKind::plugin_crashed: return EXECHOST_PLUGIN_CRASHED;
  }
  return EXECHOST_PROTOCOL_ERROR;
}

}  // namespace
}  // namespace exechost::c_api

exechost_kind exechost_failure_kind(const exechost_failure* failure) {
  return exechost::c_api::kind_of(failure->failure.kind);
}

const char* exechost_failure_kind_name(const exechost_failure* failure) { return failure->kind_name.c_str(); }

const char* exechost_failure_phase_name(const exechost_failure* failure) { return failure->phase_name.c_str(); }

const char* exechost_failure_message(const exechost_failure* failure) { return failure->failure.message.c_str(); }

const char* exechost_failure_hint(const exechost_failure* failure) { return failure->failure.hint.c_str(); }

int exechost_failure_errno(const exechost_failure* failure) { return failure->failure.error_number; }

void exechost_failure_destroy(exechost_failure* failure) { delete failure; }

void exechost_text_destroy(char* text) { std::free(text); }
