#include "core/gateway/commands/arguments.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>

#include "core/plan/report.hpp"

namespace exechost::gateway {

Failure not_here(const CommandForm& form, std::string_view what) {
  Failure failure;
  failure.kind = FailureKind::unsupported;
  failure.phase = Phase::plan;
  failure.message = fmt::format("the gateway tier's {} does not have {}", form.name, what);
  failure.hint = fmt::format("it has: {}; for everything else use tier \"sandbox\"", form.usage);
  failure.step = "arguments";
  return failure;
}

bool Arguments::has(char letter) const {
  return std::any_of(options.begin(), options.end(), [&](const Option& option) { return option.letter == letter; });
}

Result<Arguments> parse_arguments(const CommandForm& form, const Words& words, std::string_view letters) {
  Arguments arguments;
  bool options_ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (options_ended || word == "-" || !word.starts_with('-')) {
      arguments.operands.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    for (std::size_t at = 1; at < word.size(); ++at) {
      const std::size_t known = word[at] == ':' ? std::string_view::npos : letters.find(word[at]);
      if (known == std::string_view::npos) return unexpected(not_here(form, plan::quote(word)));
      if (letters.substr(known + 1, 1) != ":") {
        arguments.options.push_back({word[at], {}});
        continue;
      }
      std::string value(word.substr(at + 1));
      if (value.empty()) {
        if (++i == words.size())
          return unexpected(not_here(form, fmt::format("{} without a value", plan::quote(word))));
        value = words[i];
      }
      arguments.options.push_back({word[at], std::move(value)});
      break;
    }
  }
  return arguments;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count > INT64_MAX) return std::nullopt;
  return count;
}

}  // namespace exechost::gateway
