#include "cli/plugin_project/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/setting_overrides.hpp"
#include "core/plan/capability.hpp"
#include "core/plan/shell_words.hpp"
#include "core/plugin/manifest.hpp"
#include "core/settings/schema_tree.hpp"
#include "embedded/template_c_build.hpp"
#include "embedded/template_c_manifest.hpp"
#include "embedded/template_c_readme.hpp"
#include "embedded/template_c_source.hpp"
#include "embedded/template_cpp_build.hpp"
#include "embedded/template_cpp_manifest.hpp"
#include "embedded/template_cpp_readme.hpp"
#include "embedded/template_cpp_source.hpp"

namespace exechost::cli {
namespace {

// What a template is written with, and what takes its place.
using Replacements = std::array<std::pair<std::string_view, std::string>, 2>;

std::string fill_in(std::string_view text, const Replacements& replacements) {
  std::string filled;
  while (!text.empty()) {
    const auto here = std::find_if(replacements.begin(), replacements.end(),
                                   [text](const auto& one) { return text.starts_with(one.first); });
    if (here == replacements.end()) {
      filled += text.front();
      text.remove_prefix(1);
    } else {
      filled += here->second;
      text.remove_prefix(here->first.size());
    }
  }
  return filled;
}

bool is_reserved(std::string_view id) {
  if (id == plan::kGatewayBackend || settings::canonical_backend(id) != id) return true;
  const auto own = settings::SchemaTree::make({});
  if (!own) return false;
  const auto& known = own->known_backends();
  return std::find(known.begin(), known.end(), id) != known.end();
}

}  // namespace

Result<void> check_plugin_id(std::string_view id) {
  constexpr const char* kExample = "for example: exechost plugin new my-box";
  if (id.empty()) return unexpected(usage_failure("which name shall the backend have?", kExample));
  if (!plugin::is_id(id)) {
    return unexpected(usage_failure(
        fmt::format("\"{}\" can't be a backend's name: it is a lower-case letter and at most {} more of a-z 0-9 - _",
                    id, plugin::kMaxId - 1),
        kExample));
  }
  if (is_reserved(id)) {
    return unexpected(usage_failure(fmt::format("\"{}\" is a name of ExecHost's own", id), "choose another name"));
  }
  return {};
}

std::vector<ProjectFile> project_files(const PluginProject& project) {
  const Replacements replacements{std::pair{"@NAME@", project.id},
                                  std::pair{"@PREFIX@", plan::shell_word(project.prefix)}};
  const auto file = [&](std::string name, std::string_view text) {
    return ProjectFile{std::move(name), fill_in(text, replacements)};
  };
  using namespace embedded;
  if (project.in_c) {
    return {file("CMakeLists.txt", template_c_build), file(project.id + ".json", template_c_manifest),
            file(project.id + ".c", template_c_source), file("README.md", template_c_readme)};
  }
  return {file("CMakeLists.txt", template_cpp_build), file(project.id + ".json", template_cpp_manifest),
          file(project.id + ".cpp", template_cpp_source), file("README.md", template_cpp_readme)};
}

}  // namespace exechost::cli
