// Folders below the runtime folder that belong to this user alone: the ledger's, the detached keepers'.
#pragma once

#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::cleanup {

// Opens the folder for reading. Refused (unavailable) when it is a link, not this user's, open to others, or in a
// folder where others could replace it. `what` is for the message: "the ledger's folder".
Result<UniqueFd> open_own_folder(const std::string& folder, const char* what);

// The same, after making it and the one above it (0700) where they are missing; nothing above these.
Result<UniqueFd> make_own_folder(const std::string& folder, const char* what);

}  // namespace exechost::cleanup
