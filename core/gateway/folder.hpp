// What a folder holds, as far as it may be seen.
#pragma once

#include <vector>

#include "core/gateway/places.hpp"

namespace exechost::gateway {

struct FolderContents {
  std::vector<FolderEntry> entries;  // in the folder's own order; without "." and ".." and what is hidden
  bool truncated = false;
};

// Stops after `most` entries.
Result<FolderContents> read_folder(const AccessRules& rules, const Located& folder, std::uint64_t most,
                                   const Patience& patience);
void sort_by_name(std::vector<FolderEntry>& entries);

}  // namespace exechost::gateway
