// Options and operands of the commands, and the refusal of everything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::gateway {

using Words = std::vector<std::string>;  // argv without argv[0]

// What one command of the gateway is called and takes, for messages.
struct CommandForm {
  std::string_view name;
  std::string_view usage;
};

// `unsupported`, naming the tier that has it.
Failure not_here(const CommandForm& form, std::string_view what);

struct Arguments {
  struct Option {
    char letter;
    std::string value;
  };
  std::vector<Option> options;  // in order
  std::vector<std::string> operands;

  bool has(char letter) const;
};

// `letters` as for getopt ("n:c" : -n with a value, -c without). Options may follow operands, as with
// GNU's programs; after "--" everything is an operand. Long options are not here.
Result<Arguments> parse_arguments(const CommandForm& form, const Words& words, std::string_view letters);

// Decimal digits and nothing else.
std::optional<std::uint64_t> parse_count(std::string_view text);

}  // namespace exechost::gateway
