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
    cmake --install "$SOURCE_DIR/build/release" --prefix "$prefix" >/dev/null
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
  local program=$SOURCE_DIR/build/release/bin/exechost option command failed=0
  diff -u "$SOURCE_DIR/docs/settings.md" <("$program" schema settings --markdown) || failed=1
  for command in run explain backends doctor settings schema completion version; do
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
