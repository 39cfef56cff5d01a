// Where the plugins of tests/victims/plugins are.
#pragma once

#include <string>

#include "core/plugin/loader.hpp"
#include "exechost_test_paths.hpp"

namespace exechost::test {

inline std::string good_plugins() { return EXECHOST_BUILD_PREFIX "/tests/victims/plugins"; }
inline std::string bad_plugins() { return EXECHOST_BUILD_PREFIX "/tests/victims/plugins/bad"; }
inline std::string good_plugin(const std::string& id) { return good_plugins() + "/" + id + ".so"; }
inline std::string bad_plugin(const std::string& id) { return bad_plugins() + "/" + id + ".so"; }

inline plugin::LoadOptions load_options() {
  plugin::LoadOptions options;
  options.check_program = EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-plugin-check";
  return options;
}

}  // namespace exechost::test
