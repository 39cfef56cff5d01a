#include "core/files/links.hpp"

namespace exechost::files {

bool stays_inside(std::size_t depth, std::string_view target) {
  if (target.empty() || target.front() == '/') return false;
  bool named = false;
  while (!target.empty()) {
    const std::size_t slash = target.find('/');
    const std::string_view part = target.substr(0, slash);
    target = slash == std::string_view::npos ? std::string_view() : target.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      named = true;
    } else if (named || depth-- == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace exechost::files
