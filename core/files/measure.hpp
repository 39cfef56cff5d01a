// How much a local tree is, before anything of it is sent.
#pragma once

#include <string>

#include "core/files/local_tree.hpp"
#include "core/files/transfer.hpp"

namespace exechost::files {

// Fails like the transfer itself would: over a limit, or something that can't be copied.
Result<Counts> measure(int folder, const std::string& name, const std::string& shown, const TransferOptions& options);

}  // namespace exechost::files
