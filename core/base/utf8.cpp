#include "core/base/utf8.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace exechost {
namespace {

// Length of the valid sequence at the start of `bytes`, 0 when there is none.
std::size_t sequence_length(std::string_view bytes, std::uint32_t& code_point) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) {
    code_point = first;
    return 1;
  }
  std::size_t length = 0;
  std::uint32_t smallest = 0;
  if ((first & 0xE0) == 0xC0) {
    length = 2, code_point = first & 0x1Fu, smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3, code_point = first & 0x0Fu, smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    length = 4, code_point = first & 0x07u, smallest = 0x10000;
  } else {
    return 0;
  }
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point < smallest || code_point > 0x10FFFF || surrogate ? 0 : length;
}

bool rewrites_terminal(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) ||        // C0, DEL, C1
         (code_point >= 0x200B && code_point <= 0x200F) ||                        // zero width, marks
         (code_point >= 0x2028 && code_point <= 0x202E) ||                        // separators, bidi embeddings
         (code_point >= 0x2060 && code_point <= 0x206F) || code_point == 0xFEFF;  // isolates, invisible
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  std::uint32_t code_point = 0;
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes, code_point);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  std::uint32_t code_point = 0;
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes, code_point);
    if (length == 0) {
      text += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

std::string escape_for_terminal(std::string_view bytes) {
  std::string text;
  std::uint32_t code_point = 0;
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes, code_point);
    if (length == 0) {
      text += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(bytes[0]));
      bytes.remove_prefix(1);
      continue;
    }
    if (!rewrites_terminal(code_point)) {
      text += bytes.substr(0, length);
    } else if (code_point == '\n') {
      text += "\\n";
    } else if (code_point == '\t') {
      text += "\\t";
    } else {
      text += fmt::format("\\u{{{:x}}}", code_point);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace exechost
