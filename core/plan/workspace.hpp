// Which folder a command may write, and which folders can never be that.
#pragma once

#include <string>
#include <vector>

#include "core/plan/facts.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::plan {

// True for a folder that is somebody's home: the user's, root's, or one below /home.
bool is_a_home(const std::string& resolved, const Facts& facts);

// The workspace with all links resolved; invalid_request when it can't be one. Adds a warning when
// dangerously_allow_workspace was needed.
Result<std::string> choose_workspace(const settings::Settings& settings, const Facts& facts,
                                     std::vector<std::string>& warnings);

// In the node tier the workspace bounds nothing and is only the folder to start in: any that exists.
Result<std::string> choose_host_folder(const Facts& facts);

// Where the command starts, links resolved. Whether it is visible is for the view to say.
Result<std::string> choose_cwd(const std::optional<std::string>& requested, const settings::Settings& settings,
                               const Facts& facts, const std::string& workspace);

}  // namespace exechost::plan
