// Whether bytes can go into JSON as they are, and how they are shown when they can't.
#pragma once

#include <string>
#include <string_view>

namespace exechost {

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_valid_utf8(std::string_view bytes);
// Every byte that is not part of a valid sequence becomes U+FFFD: for messages, never for data.
std::string to_valid_utf8(std::string_view bytes);
// Control and bidirectional-override characters escaped, so that text shown on a terminal can't
// rewrite what is around it.
std::string escape_for_terminal(std::string_view bytes);

}  // namespace exechost
