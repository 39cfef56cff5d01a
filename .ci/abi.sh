# The plugin ABI stays what it was. Sourced by .ci/run and .ci/full.
# shellcheck shell=bash

readonly ABI_DATA=$SOURCE_DIR/tests/data/abi

# The asserted layout, seen by every compiler and language version that plugins may be built with.
abi_layouts() {
  local source=$SOURCE_DIR/tests/unit/plugin/abi_layout.c failed=0 compiler standard
  for compiler in gcc clang; do
    for standard in c11 c17; do
      "$compiler" -std=$standard -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$SOURCE_DIR/sdk/include" "$source" || failed=1
    done
  done
  for compiler in g++ clang++; do
    for standard in c++17 c++20; do
      "$compiler" -std=$standard -x c++ -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$SOURCE_DIR/sdk/include" "$source" || failed=1
    done
  done
  return $failed
}

# build_abi_sample INCLUDE OUT: a plugin with debug information, which names every type of the interface.
build_abi_sample() {
  gcc -std=c11 -g -O1 -fPIC -shared -fvisibility=hidden -I"$1" '-DVICTIM_ID="plainc"' \
    -Wl,--version-script="$SOURCE_DIR/sdk/cmake/plugin.map" "$SOURCE_DIR/tests/victims/plugins/plainc.c" -o "$2"
}

# abi_compatible INCLUDE: whether plugins of the recorded version go on working with this header. Leaf changes
# only: else the struct that points to a changed one is what the suppressions are asked about. They also let
# other changes of a struct pass when nothing was added to it, so they are asked only when something was.
abi_compatible() {
  local scratch status=1
  scratch=$(mktemp -d) || return 1
  local -a compare=(abidiff --leaf-changes-only --no-added-syms)
  if gcc -std=c11 -fsyntax-only -I"$1" "$SOURCE_DIR/tests/unit/plugin/abi_layout.c" && build_abi_sample "$1" "$scratch/now.so" &&
    abidw --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs --headers-dir "$1" "$scratch/now.so" >"$scratch/now.abi"; then
    if "${compare[@]}" "$ABI_DATA/plugin-1.0.abi" "$scratch/now.abi" >"$scratch/report"; then
      status=0
    elif grep -q 'data member insertion' "$scratch/report"; then
      "${compare[@]}" --suppressions "$ABI_DATA/minor.suppressions" "$ABI_DATA/plugin-1.0.abi" "$scratch/now.abi" && status=0
    else
      cat "$scratch/report"
    fi
  fi
  rm -rf "$scratch"
  return $status
}

# with_change NAME SED-EXPRESSION EXPECTED: that abi_compatible says so of a header with this change.
with_change() {
  local scratch header status=0
  scratch=$(mktemp -d) || return 1
  mkdir "$scratch/exechost"
  header=$scratch/exechost/plugin.h
  sed -E "$2" "$SOURCE_DIR/sdk/include/exechost/plugin.h" >"$header"
  if cmp -s "$header" "$SOURCE_DIR/sdk/include/exechost/plugin.h"; then
    echo "$1: the change finds nothing to change"
    status=1
  elif abi_compatible "$scratch" >"$scratch/report" 2>&1; then
    [[ $3 == compatible ]] || { echo "$1: taken for compatible"; status=1; }
  else
    [[ $3 == broken ]] || { echo "$1: taken for a break"; cat "$scratch/report"; status=1; }
  fi
  rm -rf "$scratch"
  return $status
}

check_abi() {
  local failed=0
  abi_layouts || failed=1
  abi_compatible "$SOURCE_DIR/sdk/include" || failed=1
  # The comparison itself sees what it should.
  with_change "a member at the end" 's/^(  int64_t max_rss_bytes;)$/\1\n  int64_t added;/' compatible || failed=1
  with_change "a member in the middle" 's/^(  int32_t wait_status; .*)$/  int64_t added;\n\1/' broken || failed=1
  with_change "another type" 's/^  int64_t user_time_us;$/  int32_t user_time_us;/' broken || failed=1
  with_change "a removed function" '/\(\*list\)\(void\* self, const eh_call\* call\);/d' broken || failed=1
  return $failed
}
