// A path of this machine, as somebody gave it, on the way to being read or written.
//
// It is the caller's own word, so links on the way are followed, as everywhere. But not where a command could have
// laid them: in a folder that commands may write a link leads wherever the command wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::files {

struct PlaceRules {
  std::string base;                          // where relative paths begin, absolute
  std::vector<std::string> writable_inside;  // folders that commands may write, links resolved
};

struct Place {
  UniqueFd folder;       // O_PATH
  std::string name;      // in it; "" when the path names the folder itself ("..", "/", "a/")
  std::string shown;     // as it was given
  bool planted = false;  // the folder is one that commands may write
};

Result<Place> find_place(std::string_view path, const PlaceRules& rules);

// The name that a copy of this gets in a folder: the last of the path. invalid_request when it has none.
Result<std::string> name_for_copy(std::string_view path);

// Where a copy named `source_name` goes: into the place when it is a folder, else in its stead. A link there is
// followed to a folder only where no command can have laid it; else it is replaced (files) or refused (folders).
struct Target {
  UniqueFd folder;
  std::string name;
  std::string shown;
};
Result<Target> find_target(std::string_view path, const std::string& source_name, const PlaceRules& rules);

}  // namespace exechost::files
