#include "cli/place_argument.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/setting_overrides.hpp"
#include "core/base/utf8.hpp"

namespace exechost::cli {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t kLongestName = 64;

bool is_session_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && kLetters.find(name.front()) != std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return kLetters.find(c) != std::string_view::npos || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

Result<PlaceArgument> place_argument(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (word.empty()) return unexpected(usage_failure("a path is empty"));
  if (colon == std::string::npos || word.find('/') < colon) return PlaceArgument{std::nullopt, word};
  const std::string name = word.substr(0, colon);
  const std::string shown = to_valid_utf8(word);
  if (!is_session_name(name)) {
    return unexpected(usage_failure(fmt::format("\"{}\": what stands before the colon is no session's name", shown),
                                    "a file of this machine with a colon in its name is ./NAME"));
  }
  if (colon + 1 == word.size()) {
    return unexpected(
        usage_failure(fmt::format("\"{}\" names no path in the session", shown), "such as SESSION:/tmp/file"));
  }
  return PlaceArgument{name, word.substr(colon + 1)};
}

}  // namespace exechost::cli
