// The one kind of failure this module makes.
#pragma once

#include <string>
#include <utility>

#include "exechost/failure.hpp"

namespace exechost::plugin {

// "FILE: rule": the file can't be used as (part of) a plugin.
inline Failure refused(const std::string& path, const std::string& rule, std::string hint = {}, int error_number = 0) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.message = "\"" + path + "\" " + rule;
  failure.hint = std::move(hint);
  failure.error_number = error_number;
  return failure;
}

}  // namespace exechost::plugin
