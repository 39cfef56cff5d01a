#include "tests/mutants/runner/options.hpp"

#include <charconv>
#include <string_view>

namespace mutants {
namespace {

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_reach(std::string_view text, Reach& reach) {
  if (text == "tree") reach = Reach::tree;
  if (text == "group") reach = Reach::group;
  if (text == "process") reach = Reach::process;
  return text == "tree" || text == "group" || text == "process";
}

bool read_option(std::string_view option, Options& options) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
  if (name == "--guest") return options.guest = true;
  if (name == "--namespaces") return options.namespaces = true;
  if (name == "--offline") return options.offline = true;
  if (name == "--rerun") return options.rerun = true;
  if (name == "--memory") return read_number(value, options.memory);
  if (name == "--cpu") return read_number(value, options.cpu_thousandths);
  if (name == "--at-end") return read_reach(value, options.at_end);
  if (name == "--on-kill") return read_reach(value, options.on_kill);
  return false;
}

}  // namespace

std::optional<Options> parse_options(int count, char* const* arguments) {
  Options options;
  for (int index = 1; index < count; ++index) {
    const std::string_view argument = arguments[index];
    if (argument == "--") {
      options.command = arguments + index + 1;
      if (*options.command == nullptr) return std::nullopt;
      return options;
    }
    if (!read_option(argument, options)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace mutants
