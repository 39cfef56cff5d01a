// Waiting for what another process does, by looking again and again: the only way when it may be anything.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace exechost::conformance {

// Looks until it is so, at most `patience`; whether it was.
bool becomes_true(const std::function<bool()>& is_so, std::chrono::milliseconds patience);

// A file that a process appends to as long as it lives.
bool is_beating(const std::string& path);  // it has begun
bool beats_on(const std::string& path);    // it still grows, watched for half a second
// The shell words of a process that does that, to be run by sh -c.
std::string beating(const std::string& path);

}  // namespace exechost::conformance
