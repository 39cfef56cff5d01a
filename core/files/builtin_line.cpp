#include "core/files/builtin_line.hpp"

#include "guest/files/tar.hpp"

namespace exechost::files {
namespace {

int hex(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

const std::size_t kLongestBuiltinLine = 3 * (guest::tar::kMaxPath + 1) + 128;

std::string decode_path(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
    path += coded ? static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
    if (coded) i += 2;
  }
  return path;
}

}  // namespace exechost::files
