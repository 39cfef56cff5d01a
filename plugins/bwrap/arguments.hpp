// Turns the open document into bwrap's options: a pure function, so that every rule has a
// golden test and no process is needed to see what would be mounted.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace exechost::bwrap {

// What the options refer to by descriptor number inside bwrap.
struct DescriptorNumbers {
  int arguments = 7;    // --args
  int status = 8;       // --json-status-fd
  int first_mask = 10;  // one empty file for each masked path, from here on
};

struct Rendered {
  std::vector<std::string> options;  // for --args, in order
  std::vector<std::string> command;  // bwrap's own command line after argv[0]: --args N ... -- GUEST
  std::size_t mask_count = 0;        // descriptors needed from first_mask on
  std::string init;                  // where the guest is inside
};

// Throws std::invalid_argument naming the member when the document isn't what the open
// schema says (the core never sends such a one; the SDK's wrapper turns it into protocol_error).
Rendered render(const nlohmann::json& document, const DescriptorNumbers& numbers);

// Descriptors are bounded by the host's spawn; more masked paths than this are refused.
inline constexpr std::size_t kMaxMasks = 240;

}  // namespace exechost::bwrap
