# "./dev test". Sourced by ./dev.
# shellcheck shell=bash

# Where tests find an installed ExecHost: readable by the ordinary test user when root runs them.
test_prefix() {
  local variant=$1
  if ((EUID == 0)); then
    echo "/opt/exechost-test/$(source_id)-$variant"
  else
    echo "$(build_root)/$variant/prefix"
  fi
}

dev_test() {
  take_preset dev "$@"
  local build prefix
  build=$(build_root)/$PRESET
  prefix=$(test_prefix "$PRESET")
  install_packages build test
  configure "$PRESET" "$build"
  compile "$build"
  "$SOURCE_DIR/tests/testbed/up"
  install_into "$prefix" "$build"
  say "testing (preset $PRESET, installed in $prefix)"
  cd "$SOURCE_DIR" || return 1
  EXECHOST_TEST_PREFIX=$prefix ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" "${REST[@]}"
}
