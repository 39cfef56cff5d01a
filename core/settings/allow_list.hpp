// Changes the commands that the user's own settings file allows in a tier.
#pragma once

#include <string>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::settings {

using Words = std::vector<std::string>;

struct AllowList {
  std::string user_dir;     // of the user's settings.json
  std::string tier;         // "node"
  std::vector<Words> base;  // what the list starts with when the file has none of its own
};

// Adds or removes exactly this command; false when there was nothing to change. The rest of the file
// stays as it is, in its order. Written to a new file (mode 0600) that takes the old one's name, so that
// nobody reads half of it; two at a time wait for each other. invalid_request: the file is not one that
// would be read, or the result would break the schema; unavailable with errno: it can't be written.
// [any thread]
Result<bool> allow_command(const AllowList& list, const Words& command);
Result<bool> revoke_command(const AllowList& list, const Words& command);

}  // namespace exechost::settings
