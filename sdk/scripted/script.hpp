// A script as values: what the backend does otherwise than to work.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/backend.hpp"

namespace scripted {

// The calls of the ABI that a rule can stand at. A run begins with spawn and ends with its last event.
enum class Point { create, probe, open, spawn, run, close, reap, list };
inline constexpr std::array<std::string_view, 8> kPoints{"create", "probe", "open", "spawn",
                                                         "run",    "close", "reap", "list"};

// What is never told of a run.
enum class Never { nothing, started, ended };

struct Rule {
  Point at = Point::create;
  bool per_environment = false;  // calls are counted in each environment, not in the backend
  unsigned from = 1;             // the first call it holds for
  unsigned to = std::numeric_limits<unsigned>::max();
  int delay_ms = 0;
  bool stubborn = false;  // waits without looking at deadline and cancellation; a run: is not ended by signal 9

  // At most one of these.
  std::optional<exechost::sdk::Failure> fail;
  std::optional<std::int32_t> status;
  std::optional<std::string> answer;
  std::optional<std::string> throws;
  bool crash = false;
  std::optional<int> end;  // the wait status that is told
  Never never = Never::nothing;

  std::optional<std::uint64_t> after_bytes;  // of standard output: then fail, throw, crash or end
};

struct Script {
  nlohmann::json claims = nlohmann::json::object();  // over what the probe says by itself
  std::vector<Rule> rules;

  // The first rule that holds for this call; null: it works.
  const Rule* rule_for(Point at, unsigned call_of_backend, unsigned call_of_environment = 0) const {
    for (const Rule& rule : rules) {
      const unsigned call = rule.per_environment ? call_of_environment : call_of_backend;
      if (rule.at == at && rule.from <= call && call <= rule.to) return &rule;
    }
    return nullptr;
  }
};

}  // namespace scripted
