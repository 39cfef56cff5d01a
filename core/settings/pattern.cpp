#include "core/settings/pattern.hpp"

#include <re2/re2.h>

namespace exechost::settings {
namespace {

constexpr std::int64_t kMaxMemory = 1024L * 1024;  // of one compiled pattern and what its matching caches

}  // namespace

std::optional<Pattern> Pattern::compile(const std::string& text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  auto compiled = std::make_shared<const re2::RE2>(text, options);
  if (!compiled->ok()) return std::nullopt;
  return Pattern(std::move(compiled));
}

bool Pattern::is_found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace exechost::settings
