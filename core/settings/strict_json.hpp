// JSON from outside: bounded, no duplicate keys, no comments, and errors that say where.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::settings {

struct JsonLimits {
  std::size_t max_bytes = 1024UL * 1024;
  std::size_t max_depth = 64;  // nested objects and arrays
};

// Parses RFC 8259 JSON text. invalid_request names `source` (a file, a variable, an option),
// line, column and rule: too large, nested too deep, a key twice in one object, not UTF-8, not
// JSON, a number too large for a double. Values are never quoted: they may be secrets.
// Pure. [any thread]
Result<nlohmann::json> parse_json_strict(std::string_view text, std::string_view source, const JsonLimits& limits = {});

}  // namespace exechost::settings
