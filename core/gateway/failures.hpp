// The failures of the gateway tier, in one form.
#pragma once

#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::gateway {

// The policy says no. `rule` completes the sentence that begins with the quoted path.
Failure refused(std::string_view path, std::string_view rule, std::string hint = {});
// The request can't be met as it is: `error` says why in the kernel's terms.
Failure unfit(std::string_view path, std::string_view rule, int error, std::string hint = {});
// What a system call answered, sorted into the kinds of failure.
Failure from_errno(std::string_view path, std::string_view step, int error);

// The deadline passed or somebody stopped it: not the path's fault.
bool is_interruption(const Failure& failure);
// Refused by the gateway's own rules, or by the kernel on their behalf: another tier may see more.
bool is_refusal(const Failure& failure);

// Untranslated, whatever the process's locale is.
std::string error_text(int error);

}  // namespace exechost::gateway
