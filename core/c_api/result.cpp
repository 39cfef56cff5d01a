#include "core/c_api/handles.hpp"

namespace exechost::c_api {

exechost_result* make_result(ExecResult result) {
  std::string json = result.to_json();
  exechost_failure failure;
  if (result.failure) {
    failure = {*result.failure, std::string(to_string(result.failure->kind)),
               std::string(to_string(result.failure->phase))};
  }
  return new exechost_result{std::move(result), std::move(json), std::move(failure)};
}

namespace {

const char* bytes_of(const std::string& bytes, std::size_t* size) {
  if (size != nullptr) *size = bytes.size();
  return bytes.c_str();
}

}  // namespace
}  // namespace exechost::c_api

exechost_status exechost_result_status(const exechost_result* result) {
  switch (result->result.status) {
    case exechost::Status::exited: return EXECHOST_EXITED;
    case exechost::Status::signaled: return EXECHOST_SIGNALED;
    case exechost::Status::timed_out: return EXECHOST_TIMED_OUT;
    case exechost::Status::cancelled: return EXECHOST_CANCELLED;
    case exechost::Status::resource_exhausted: return EXECHOST_RESOURCE_EXHAUSTED;
    case exechost::Status::failed: return EXECHOST_FAILED;
  }
  return EXECHOST_FAILED;
}

exechost_started exechost_result_started(const exechost_result* result) {
  switch (result->result.started) {
    case exechost::Started::no: return EXECHOST_STARTED_NO;
    case exechost::Started::yes: return EXECHOST_STARTED_YES;
    case exechost::Started::unknown: return EXECHOST_STARTED_UNKNOWN;
  }
  return EXECHOST_STARTED_UNKNOWN;
}

int exechost_result_exit_code(const exechost_result* result) { return result->result.exit_code; }

int exechost_result_signal(const exechost_result* result) { return result->result.signal_number; }

const char* exechost_result_stdout(const exechost_result* result, size_t* size) {
  return exechost::c_api::bytes_of(result->result.out.data, size);
}

const char* exechost_result_stderr(const exechost_result* result, size_t* size) {
  return exechost::c_api::bytes_of(result->result.err.data, size);
}

const char* exechost_result_json(const exechost_result* result, size_t* size) {
  return exechost::c_api::bytes_of(result->json, size);
}

const exechost_failure* exechost_result_failure(const exechost_result* result) {
  return result->result.failure ? &result->failure : nullptr;
}

void exechost_result_destroy(exechost_result* result) { delete result; }
