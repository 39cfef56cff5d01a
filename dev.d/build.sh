# Configures and builds. Sourced by ./dev.
# shellcheck shell=bash

# take_preset DEFAULT ARGS...: sets PRESET and REST.
PRESET=dev
REST=()
take_preset() {
  PRESET=$1
  shift
  if [[ ${1:-} == --preset ]]; then
    [[ -n ${2:-} ]] || die "--preset needs a name: dev, release, asan or tsan"
    PRESET=$2
    shift 2
  fi
  REST=("$@")
}

# configure PRESET BUILD_DIR [CMAKE ARGUMENTS...]
configure() {
  local preset=$1 build=$2
  shift 2
  [[ -e $build/build.ninja ]] && return 0
  say "configuring $build"
  (cd "$SOURCE_DIR" && cmake --preset "$preset" -B "$build" "$@") >&2
}

# compile BUILD_DIR [TARGET...]: silent when nothing is to be done.
compile() {
  local build=$1
  shift
  if ninja -C "$build" -n "$@" 2>/dev/null | grep -q 'no work to do'; then return 0; fi
  say "building $build with $(job_count) jobs"
  ninja -C "$build" -j "$(job_count)" "$@" >&2
}

# install_into PREFIX BUILD_DIR: only when the build is newer than what is installed.
install_into() {
  local prefix=$1 build=$2
  local stamp=$prefix/.installed
  if [[ -e $stamp ]] && [[ -z $(find "$build/bin" "$build/lib" "$build/libexec" "$build/cmake_install.cmake" -newer "$stamp" -print -quit 2>/dev/null) ]]; then
    return 0
  fi
  # Only the owner may write: a plugin that others could change is refused.
  (umask 022 && mkdir -p "$prefix" && cmake --install "$build" --prefix "$prefix" >/dev/null)
  touch "$stamp"
}

dev_build() {
  take_preset dev "$@"
  install_packages build test
  configure "$PRESET" "$(build_root)/$PRESET"
  compile "$(build_root)/$PRESET" "${REST[@]}"
}

dev_clean() {
  "$SOURCE_DIR/tests/testbed/down"
  rm -rf "$(build_root)" "$(run_prefix)"
}
