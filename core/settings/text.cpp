#include "core/settings/text.hpp"

#include <algorithm>

#include "core/base/utf8.hpp"

namespace exechost::settings {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestShown = 80;

std::string shortened(const std::string& text) {
  if (text.size() <= kLongestShown) return text;
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t limit) {
  const std::size_t longer = std::max(left.size(), right.size());
  if (longer > kLongestName || longer - std::min(left.size(), right.size()) > limit) return limit + 1;
  std::vector<std::size_t> before_last(right.size() + 1);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return std::min(last[right.size()], limit + 1);
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::size_t limit = name.size() < 3 ? 0 : name.size() < 6 ? 1 : 2;
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate, limit);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const auto best = nearest_name(name, candidates);
  return best ? " (did you mean " + *best + "?)" : "";
}

std::string show_value(const nlohmann::json& value) {
  return shortened(escape_for_terminal(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

std::string show_value(std::string_view text) { return shortened('"' + escape_for_terminal(text) + '"'); }

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

}  // namespace exechost::settings
