// Shell patterns over the bytes of one name.
#pragma once

#include <clocale>
#include <string>

namespace exechost::gateway {

// The C library's fnmatch in the C locale, whatever the process's is: a byte is a character, and a
// leading dot is nothing special.
class NamePattern {
 public:
  explicit NamePattern(std::string pattern);
  ~NamePattern();
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;

  bool matches(const std::string& name) const;

 private:
  std::string pattern_;
  locale_t locale_;
};

}  // namespace exechost::gateway
