#include "core/settings/strict_json.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/settings/text.hpp"

namespace exechost::settings {
namespace {

using nlohmann::json;

// Walks the text and leaves the number of characters taken where the callback can see it: the
// parser's callback has no position of its own.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* taken_;
};

// What our own rules refuse, thrown through the parser and caught below.
struct Refused {
  std::string rule;
};

class RuleCheck {
 public:
  explicit RuleCheck(std::size_t max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (static_cast<std::size_t>(depth) >= max_depth_) {
          throw Refused{fmt::format("objects and arrays nest at most {} deep", max_depth_)};
        }
        keys_.resize(static_cast<std::size_t>(depth) + 1);
        keys_.back().clear();
        break;
      case json::parse_event_t::key:
        if (!keys_.at(static_cast<std::size_t>(depth) - 1).insert(parsed.get<std::string>()).second) {
          throw Refused{fmt::format("the key {} is there twice in one object", show_value(parsed))};
        }
        break;
      default: break;
    }
    return true;
  }

 private:
  std::size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open now
};

Failure refused(std::string_view source, std::string_view text, std::size_t position, std::string_view rule) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (const char c : text.substr(0, position > 0 ? position - 1 : 0)) {
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n' ? 1 : 0;
  }
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.message = fmt::format("{}: line {}, column {}: {}", source, line, column, rule);
  failure.step = "json";
  return failure;
}

}  // namespace

Result<json> parse_json_strict(std::string_view text, std::string_view source, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    Failure failure;
    failure.kind = FailureKind::invalid_request;
    failure.message = fmt::format("{}: {} bytes of JSON; at most {} are read", source, text.size(), limits.max_bytes);
    failure.step = "json";
    return tl::unexpected(std::move(failure));
  }
  // The parser takes a zero byte for the end and would not look at what follows it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return tl::unexpected(refused(source, text, zero + 1, "a zero byte is not JSON"));
  }
  std::size_t taken = 0;
  const CountingIterator first(text.data(), &taken);
  const CountingIterator last(text.data() + text.size(), &taken);
  try {
    return json::parse(first, last, RuleCheck(limits.max_depth));
  } catch (const Refused& reason) {
    return tl::unexpected(refused(source, text, taken, reason.rule));
  } catch (const json::parse_error&) {
    const std::string_view rule = taken >= text.size()
                                      ? "the JSON ends too early or its last character is wrong"
                                      : "not valid JSON here (comments and trailing commas are not JSON)";
    return tl::unexpected(refused(source, text, taken, rule));
  } catch (const json::out_of_range&) {
    return tl::unexpected(refused(source, text, taken, "a number here is too large"));
  }
}

}  // namespace exechost::settings
