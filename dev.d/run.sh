# "./dev run": from a source tree to a command in the sandbox. Sourced by ./dev.
# shellcheck shell=bash

# Outside the source tree: the folder a command may write must not hold ExecHost's own programs.
run_prefix() { echo "${XDG_DATA_HOME:-$(home_folder)/.local/share}/exechost-dev/$(source_id)"; }

dev_run() {
  local build prefix
  build=$(build_root)/run
  prefix=$(run_prefix)
  install_packages build
  configure release "$build" -DEXECHOST_BUILD_TESTS=OFF
  compile "$build"
  install_into "$prefix" "$build"
  exec "$prefix/bin/exechost" run "$@"
}
