// What the opaque handles of exechost.h are, and how its functions keep exceptions in.
#pragma once

#include <exception>
#include <new>
#include <stop_token>
#include <string>
#include <utility>

#include "exechost/exechost.h"
#include "exechost/host.hpp"

struct exechost_failure {
  exechost::Failure failure;
  std::string kind_name;
  std::string phase_name;
};

struct exechost_result {
  exechost::ExecResult result;
  std::string json;
  exechost_failure failure;
};

struct exechost_host {
  exechost::ExecHost host;
};

struct exechost_request {
  exechost::Request request;
};

struct exechost_execution {
  exechost::Execution execution;
};

struct exechost_question {
  std::string json;
  std::stop_token withdrawn;
};

namespace exechost::c_api {

exechost_failure* make_failure(const Failure& failure);
exechost_result* make_result(ExecResult result);
// A new text of the caller's, ended by NUL.
char* make_text(const std::string& text);

// Stores the failure where the caller wants it, if it does.
void report(exechost_failure** where, const Failure& failure);

// What a C caller gets where C++ would throw: memory has run out, or this library has a bug, which
// must not unwind through frames of another language.
template <class Value, class Function>
Value guarded(Value otherwise, Function&& function) noexcept {
  try {
    return std::forward<Function>(function)();
  } catch (const std::exception&) {
    return otherwise;
  }
}

}  // namespace exechost::c_api
