// RFC 4648 base64 for bytes that JSON can't carry.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace exechost {

std::string base64_encode(std::string_view bytes);
// Nothing for anything but canonical base64 with padding.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace exechost
