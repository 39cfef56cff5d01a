# Checks beside the tests. Sourced by .ci/run and .ci/full.
# shellcheck shell=bash

# An installed tree works from wherever it is, and other programs can be built against it.
check_install() {
  local scratch prefix base=$HOME
  # Not below /tmp: a plugin in a folder that others may write to is refused, sticky bit or not.
  ((EUID == 0)) && base=/opt
  scratch=$(mktemp -d "$base/exechost-install-XXXXXX") || return 1
  (
    set -e
    trap 'rm -rf "$scratch"' EXIT
    prefix=$scratch/first
    cmake --install "$(build_root)/release" --prefix "$prefix" >/dev/null
    mkdir "$scratch/workspace"
    cd "$scratch/workspace"
    [[ $("$prefix/bin/exechost" run -- echo installed) == installed ]]
    "$prefix/bin/exechost" doctor
    mv "$prefix" "$scratch/moved"
    [[ $("$scratch/moved/bin/exechost" run -- echo moved) == moved ]]
    cmake -S "$SOURCE_DIR/tests/install" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/moved" >/dev/null
    ninja -C "$scratch/build" >/dev/null
    [[ $("$scratch/build/consumer") == linked ]]
  )
}

# docs/settings.md is generated; docs/cli.md names every option there is.
check_generated_docs() {
  local program option command failed=0
  program=$(build_root)/release/bin/exechost
  diff -u "$SOURCE_DIR/docs/settings.md" <("$program" schema settings --markdown) || failed=1
  for command in run explain backends doctor settings schema conformance completion version; do
    while read -r option; do
      grep -qF -- "$option" "$SOURCE_DIR/docs/cli.md" || {
        echo "docs/cli.md does not name $option of $command"
        failed=1
      }
    done < <("$program" "$command" --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u)
  done
  return $failed
}

# Links between the project's own pages lead somewhere, and nothing is left to be done in them.
check_pages() {
  local page target failed=0
  while read -r page; do
    while read -r target; do
      target=${target%%#*}
      [[ -z $target || $target == *://* ]] && continue
      [[ -e $SOURCE_DIR/$(dirname "$page")/$target ]] || {
        echo "$page: the link to $target leads nowhere"
        failed=1
      }
    done < <(grep -oE '\]\([^)]+\)' "$SOURCE_DIR/$page" | sed -e 's/^](//' -e 's/)$//')
  done < <(git -C "$SOURCE_DIR" ls-files '*.md')
  # Split, so that this line is not found.
  if git -C "$SOURCE_DIR" grep -nIE "TO""DO|FIX""ME|X""XX[^X]" -- ':!tests/data' ':!*XXXXXX*' | grep -v XXXXXX; then
    echo "unfinished business in the tree"
    failed=1
  fi
  return $failed
}

# fuzz SECONDS: every target for that long, from its corpus. Needs clang.
fuzz() {
  local seconds=$1 build target name failed=0
  build=$(build_root)/fuzz
  cmake -S "$SOURCE_DIR" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DEXECHOST_BUILD_FUZZERS=ON -DEXECHOST_BUILD_CLI=OFF -DEXECHOST_SANITIZE=fuzzer-no-link,address,undefined >/dev/null || return 1
  ninja -C "$build" fuzz_json fuzz_manifest fuzz_guest_spec fuzz_packet || return 1
  for target in "$build"/tests/fuzz/fuzz_*; do
    name=$(basename "$target")
    [[ -x $target && -d $SOURCE_DIR/tests/fuzz/corpus/${name#fuzz_} ]] || continue
    mkdir -p "$build/corpus/$name"
    # What is found new goes to the build tree; the guest never unmaps what it read, hence the bound.
    "$target" -max_total_time="$seconds" -runs=200000 -rss_limit_mb=4096 -artifact_prefix="$build/" "$build/corpus/$name" \
      "$SOURCE_DIR/tests/fuzz/corpus/${name#fuzz_}" || failed=1
  done
  return $failed
}
