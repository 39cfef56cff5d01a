// Arithmetic on absolute paths, without looking at the machine.
#pragma once

#include <string>
#include <string_view>

namespace exechost::plan {

// Absolute and lexically normal: no ".", "..", doubled or trailing slashes. `path` may be absolute,
// "~" or "~/…" (below `home`), or relative (below `base`). "~name" is a relative name like any other.
std::string expand_path(std::string_view path, std::string_view base, std::string_view home);

// Whether expand_path() would leave an absolute path as it is.
bool is_normal(std::string_view path);

// True for `folder` itself and everything below it. Both normal.
bool is_at_or_below(std::string_view path, std::string_view folder);
// True below it only.
bool is_below(std::string_view path, std::string_view folder);

// "/" for "/" and for its children.
std::string parent_of(std::string_view path);
// 0 for "/", 1 for "/usr", …
std::size_t depth_of(std::string_view path);
// "/usr/lib" and "x/y" -> "/usr/lib/x/y".
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace exechost::plan
