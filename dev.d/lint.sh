# Formatting and static analysis. Sourced by ./dev.
# shellcheck shell=bash

# Tracked and new files whose names match one of the patterns.
source_files() { git -C "$SOURCE_DIR" ls-files --cached --others --exclude-standard -- "$@"; }

dev_format() {
  cd "$SOURCE_DIR" || return 1
  source_files '*.cpp' '*.hpp' '*.c' '*.h' | xargs -r clang-format -i
}

check_format() {
  local bad
  bad=$(source_files '*.cpp' '*.hpp' '*.c' '*.h' | xargs -r clang-format --dry-run 2>&1 | sed -n 's/: warning: code should be clang-formatted.*//p' | cut -d: -f1 | sort -u)
  [[ -z $bad ]] && return 0
  say "not in the project's format (./dev format):" "$bad"
  return 1
}

check_shell() {
  local -a scripts=()
  mapfile -t scripts < <(source_files | while read -r file; do
    [[ -f $file ]] || continue
    case $file in *.sh) echo "$file" ;; *) head -c 64 "$file" | head -n 1 | grep -aqE '^#!.*\b(ba)?sh$' && echo "$file" ;; esac
  done || true)
  ((${#scripts[@]})) || return 0
  shellcheck --external-sources --source-path=SCRIPTDIR:"$SOURCE_DIR" "${scripts[@]}"
}

# A build tree whose generated headers are there.
lint_build() {
  local preset
  for preset in release dev asan; do
    [[ -x $(build_root)/$preset/bin/exechost ]] && echo "$(build_root)/$preset" && return
  done
  dev_build && echo "$(build_root)/dev"
}

# tidy_files DATABASE [--all]: C++ files that the build knows; without --all those that are changed
# or in commits of this branch only.
tidy_files() {
  local -a known=()
  mapfile -t known < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$1" | sort -u)
  if [[ ${2:-} == --all ]]; then
    source_files '*.cpp' | sed "s|^|$SOURCE_DIR/|"
  else
    { git diff --name-only HEAD -- '*.cpp'; git diff --name-only '@{upstream}...' -- '*.cpp' 2>/dev/null || git show --name-only --format= HEAD -- '*.cpp'; } |
      sort -u | sed "s|^|$SOURCE_DIR/|"
  fi | grep -xF -f <(printf '%s\n' "${known[@]}") || true
}

# Precompiled headers are the compiler's own format: the flags that use them are removed.
check_tidy() {
  local build database
  database=$(build_root)/tidy
  local -a files=()
  build=$(lint_build) || return 1
  mkdir -p "$database"
  sed -E 's/-Winvalid-pch//g; s/-fno-gnu-unique//g; s/-include [^ ]*cmake_pch[^ ]*//g' "$build/compile_commands.json" >"$database/compile_commands.json"
  mapfile -t files < <(tidy_files "$database/compile_commands.json" "$@")
  ((${#files[@]})) || return 0
  say "clang-tidy on ${#files[@]} files"
  "$SOURCE_DIR/dev.d/tidy.py" "$database" "$(job_count)" "${files[@]}"
}

dev_lint() {
  install_packages build test
  cd "$SOURCE_DIR" || return 1
  local failed=0
  check_format || failed=1
  check_shell || failed=1
  check_tidy "$@" || failed=1
  return $failed
}
