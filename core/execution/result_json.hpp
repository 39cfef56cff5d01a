// The JSON form of results and failures (schema: `exechost schema result`).
#pragma once

#include <nlohmann/json.hpp>

#include "exechost/exec_result.hpp"
#include "exechost/failure.hpp"

namespace exechost::execution {

nlohmann::json to_json(const Failure& failure);
nlohmann::json to_json(const ExecResult& result);

}  // namespace exechost::execution
