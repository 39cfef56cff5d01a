// What the program itself prints. Text from elsewhere (a command, a file, a plugin) is escaped,
// so that it can't rewrite the terminal around it.
#pragma once

#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::cli {

// Writes all of `text`; false when the descriptor refused (closed pipe, full disk).
bool write_all(int descriptor, std::string_view text);

// To stdout, for a command whose output is its result: 0, or 1 with a message when it could not
// be written.
int print(std::string_view text);

// "exechost: MESSAGE" and, when there is one, "exechost: hint: HINT" on stderr.
void print_failure(const Failure& failure);
void print_warning(std::string_view text);
void print_note(std::string_view text);

}  // namespace exechost::cli
