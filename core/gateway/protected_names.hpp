// Which names are never written: programs outside read them and do what they say.
#pragma once

#include <string_view>

#include "exechost/gateway.hpp"

namespace exechost::gateway {

// True when `path` is, or lies below, one of `names` at any depth. ASCII case does not count: on a
// file system that folds case ".GIT" is ".git".
bool is_protected(std::string_view path, const ProtectedNames& names);

}  // namespace exechost::gateway
