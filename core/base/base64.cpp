#include "core/base/base64.hpp"

#include <boost/beast/core/detail/base64.hpp>

namespace exechost {

namespace codec = boost::beast::detail::base64;

std::string base64_encode(std::string_view bytes) {
  std::string text(codec::encoded_size(bytes.size()), '\0');
  text.resize(codec::encode(text.data(), bytes.data(), bytes.size()));
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string bytes(codec::decoded_size(text.size()), '\0');
  const auto [written, read] = codec::decode(bytes.data(), text.data(), text.size());
  bytes.resize(written);
  // The decoder stops at the first character it doesn't know; re-encoding shows whether the
  // text was the one canonical spelling of these bytes.
  if (base64_encode(bytes) != text) return std::nullopt;
  static_cast<void>(read);
  return bytes;
}

}  // namespace exechost
