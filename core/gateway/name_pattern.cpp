#include "core/gateway/name_pattern.hpp"

#include <fnmatch.h>

#include <new>

namespace exechost::gateway {

NamePattern::NamePattern(std::string pattern)
    : pattern_(std::move(pattern)), locale_(::newlocale(LC_ALL_MASK, "C", nullptr)) {
  if (locale_ == nullptr) throw std::bad_alloc();
}

NamePattern::~NamePattern() { ::freelocale(locale_); }

bool NamePattern::matches(const std::string& name) const {
  const locale_t before = ::uselocale(locale_);  // of this thread only
  const bool matched = ::fnmatch(pattern_.c_str(), name.c_str(), 0) == 0;
  ::uselocale(before);
  return matched;
}

}  // namespace exechost::gateway
