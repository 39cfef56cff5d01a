// Folders that belong to the operating system: names only, nothing here looks at the machine.
#pragma once

#include <string_view>

namespace exechost::plan {

// True at and below what programs can't do without: /usr, /etc, /lib, /sys, ...
bool is_in_system_tree(std::string_view path);

// True for what is the system's own and no project: the above, /proc, /dev and /run but for what
// users have there, and the folders in /var that services and package managers keep.
bool is_kept_by_system(std::string_view path);

}  // namespace exechost::plan
