// A folder with files that were not there before.
#pragma once

#include <string>
#include <vector>

#include "cli/plugin_project/content.hpp"
#include "exechost/failure.hpp"

namespace exechost::cli {

// Makes `folder` with the files in it. It may be there already if it is empty. Nothing is overwritten, and
// no link is followed but on the way to the folder; after a failure nothing of it is left. Only the owner may
// write what is made, whatever the umask: ExecHost loads no plugin that others could change.
// `unavailable` names the file or folder and the reason.
Result<void> make_folder(const std::string& folder, const std::vector<ProjectFile>& files);

}  // namespace exechost::cli
