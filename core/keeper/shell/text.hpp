// What is put around a script so that the shell takes over the state of an earlier one and hands its own on
// (docs/sessions.md). Constant texts; program.cpp puts them together.
#pragma once

#include <string_view>

namespace exechost::keeper::shell {

// Where the guest puts the two pipes. One digit, because that is all that a plain sh can name.
inline constexpr int kStateIn = 8;
inline constexpr int kStateOut = 9;

// For bash, read as BASH_ENV, so that the script itself stays what bash was called with: its line numbers, its $0
// and what it says about syntax errors are those of `bash -c`.
extern const std::string_view kBashSetUp;   // first
extern const std::string_view kBashReturn;  // functions that take a state over
// For a plain sh, which has no such file: the script is evaluated by this one.
extern const std::string_view kShSetUp;
extern const std::string_view kShReturn;
extern const std::string_view kShRun;  // $1: the script; what it gets first is in __exechost_options

}  // namespace exechost::keeper::shell
