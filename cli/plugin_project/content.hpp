// What `exechost plugin new` writes: the templates below sdk/template with their placeholders filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::cli {

struct PluginProject {
  std::string id;      // the backend's
  bool in_c = false;   // C11, else C++20
  std::string prefix;  // where ExecHost and its SDK are installed, for README.md
};

struct ProjectFile {
  std::string name;  // without folders
  std::string text;
};

// invalid_request when no plugin may have this id: it breaks the manifest's rule, or is ExecHost's own.
Result<void> check_plugin_id(std::string_view id);

std::vector<ProjectFile> project_files(const PluginProject& project);

}  // namespace exechost::cli
