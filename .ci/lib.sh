# Shared by .ci/run and .ci/full. Sourced.
# shellcheck shell=bash

# shellcheck source=dev.d/common.sh
source "$SOURCE_DIR/dev.d/common.sh"

PASSED=0
FAILED=0
SKIPPED=0
FAILURES=()

say() { printf '\n==== %s\n' "$*"; }

# count_check NAME COMMAND...: one check, passed or failed.
count_check() {
  local name=$1 status
  shift
  say "$name"
  # Not as a condition: there "set -e" inside a check would mean nothing.
  "$@" </dev/null
  status=$?
  if ((status == 0)); then
    PASSED=$((PASSED + 1))
  else
    FAILED=$((FAILED + 1))
    FAILURES+=("$name")
  fi
}

xpath() { xmllint --nonet --xpath "$1" "$2" 2>/dev/null || true; }

# The skipped tests of a JUnit file that .ci/allowed-skips does not name.
forbidden_skips() {
  xpath '//testcase[skipped or @status="disabled"]/@name' "$1" | sed -n 's/^ *name="\(.*\)"$/\1/p' |
    grep -vxE -f <(sed -e 's/[[:space:]]*#.*//' -e '/^$/d' "$SOURCE_DIR/.ci/allowed-skips") || true
}

# count_junit NAME FILE: adds what ctest wrote. A missing or empty file is a failure: a run that
# broke off must not look like one without tests.
count_junit() {
  local name=$1 file=$2 total skipped failed
  total=$(xpath 'count(//testcase)' "$file")
  if [[ ! ${total:-0} =~ ^[1-9][0-9]*$ ]]; then
    FAILED=$((FAILED + 1))
    FAILURES+=("$name: no test ran")
    return
  fi
  skipped=$(xpath 'count(//testcase[skipped or @status="disabled"])' "$file")
  # Anything that neither ran to a good end nor was skipped has failed (not run, timed out, crashed).
  failed=$(xpath 'count(//testcase[not(@status="run") and not(skipped) and not(@status="disabled")])' "$file")
  PASSED=$((PASSED + total - skipped - failed))
  SKIPPED=$((SKIPPED + skipped))
  FAILED=$((FAILED + failed))
  local test
  while read -r test; do
    [[ -n $test ]] && FAILURES+=("$name: $test")
  done < <(xpath '//testcase[not(@status="run") and not(skipped) and not(@status="disabled")]/@name' "$file" | sed -n 's/^ *name="\(.*\)"$/\1/p')
  while read -r test; do
    [[ -n $test ]] || continue
    FAILED=$((FAILED + 1))
    SKIPPED=$((SKIPPED - 1))
    FAILURES+=("$name: $test was skipped, which .ci/allowed-skips does not allow")
  done < <(forbidden_skips "$file")
}

# run_tests PRESET [CTEST ARGUMENTS...]
run_tests() {
  local preset=$1
  shift
  local junit
  junit=$(build_root)/$preset/junit.xml
  mkdir -p "$(dirname "$junit")"
  rm -f "$junit"
  say "tests, preset $preset"
  # The counts come from the report; ctest's status says nothing more.
  "$SOURCE_DIR/dev" test --preset "$preset" --output-junit "$junit" "$@" </dev/null || true
  count_junit "$preset" "$junit"
}

finish() {
  local failure
  echo
  for failure in "${FAILURES[@]}"; do echo "FAILED: $failure"; done
  echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
  ((FAILED == 0))
}
