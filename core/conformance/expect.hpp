// What most checks compare. Each gives the verdict of one comparison; `first_failure` puts several together.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/conformance/check.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {

// The first that is not passed; passed when all are.
Verdict first_failure(const std::vector<Verdict>& verdicts);

// A step that had to succeed did not.
Verdict failed(std::string_view what, const Failure& failure);

// `what`: names the command in the message.
Verdict exits_with(std::string_view what, const ExecResult& result, int code);
Verdict same_bytes(std::string_view what, std::string_view seen, std::string_view expected);
// Ends with `code`, writes exactly these bytes to its streams.
Verdict exact(std::string_view what, const ExecResult& result, std::string_view out, std::string_view err = {},
              int code = 0);

}  // namespace exechost::conformance
