// A command as one line for a person, which a shell takes apart into the same words again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace exechost::plan {

// Every word exactly, whatever its bytes; what could rewrite a terminal (control characters,
// bidirectional overrides, bytes that are no UTF-8) as $'\xHH', which bash, zsh and ksh understand. So
// it is safe on a terminal and may be pasted back.
std::string shell_line(const std::vector<std::string>& argv);
std::string shell_word(std::string_view word);

// `SHELL -c SCRIPT`, as words. The kernel takes no word of 128 KiB or more, so a longer script comes in several that
// the shell puts together again; it sees that in nothing but a trace that was on before, and $BASH_EXECUTION_STRING.
std::vector<std::string> script_words(std::string_view shell, std::string_view script);
// The parts of a script that are short enough, at least one, and the positional parameters that put `count` of them
// together.
std::vector<std::string> script_parts(std::string_view script);
std::string joined_parameters(std::size_t count);

}  // namespace exechost::plan
