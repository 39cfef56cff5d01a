// The limit of open files (RLIMIT_NOFILE) of this process, and failures that it is the reason of.
#pragma once

#include <cstddef>

#include "exechost/failure.hpp"

namespace exechost {

// What preparing one command needs; far less than any usual limit.
inline constexpr std::size_t kNeededOpenFiles = 48;

// Fails with `unavailable`, naming the limit, when fewer than kNeededOpenFiles more descriptors could
// be opened now: half prepared, a command would fail in stranger ways. Safe from any thread.
Result<void> check_open_files();

// Adds the limit as the hint of a failure with EMFILE.
void name_open_files_limit(Failure& failure);

}  // namespace exechost
