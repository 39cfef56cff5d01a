// A command as one line for a person, which a shell takes apart into the same words again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exechost::plan {

// Every word exactly, whatever its bytes; what could rewrite a terminal (control characters,
// bidirectional overrides, bytes that are no UTF-8) as $'\xHH', which bash, zsh and ksh understand. So
// it is safe on a terminal and may be pasted back.
std::string shell_line(const std::vector<std::string>& argv);
std::string shell_word(std::string_view word);

}  // namespace exechost::plan
