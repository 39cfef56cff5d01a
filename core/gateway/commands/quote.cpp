#include "core/gateway/commands/quote.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace exechost::gateway {
namespace {

constexpr std::string_view kPlain = "%+,-./:@_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz]{}";

bool is_printable(char byte) { return byte >= ' ' && byte <= '~'; }

std::string escape(char byte) {
  switch (byte) {
    case '\a': return "\\a";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\v': return "\\v";
    default: return fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
  }
}

}  // namespace

std::string quote_for_shell(std::string_view name) {
  if (name.find('\'') != std::string_view::npos && name.find_first_of("\"$`\\") == std::string_view::npos &&
      std::all_of(name.begin(), name.end(), is_printable)) {
    return fmt::format("\"{}\"", name);
  }
  std::string quoted = "'";
  bool escaping = false;
  for (const char byte : name) {
    const bool escapes = !is_printable(byte);
    if (escapes != escaping) quoted += escapes ? "'$'" : "''";
    escaping = escapes;
    if (escapes) {
      quoted += escape(byte);
    } else if (byte == '\'') {
      quoted += "'\\''";
    } else {
      quoted += byte;
    }
  }
  return quoted + '\'';
}

std::string quote_if_needed(std::string_view name) {
  const bool plain = !name.empty() && name.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(name) : quote_for_shell(name);
}

std::string quote_for_reading(std::string_view name) {
  std::string quoted = "'";
  for (const char byte : name) {
    if (byte == '\'' || byte == '\\') quoted += '\\';
    quoted += is_printable(byte) ? std::string(1, byte) : escape(byte);
  }
  return quoted + '\'';
}

}  // namespace exechost::gateway
