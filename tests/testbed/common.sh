# Names shared by the testbed's scripts. Sourced.
# shellcheck shell=bash disable=SC2034

TEST_USER=exechost-test
# Written into the account's name field: what has it was made here, and only that is removed.
TEST_USER_MARK='ExecHost tests (created by tests/testbed/up)'
TEST_PREFIX_ROOT=/opt/exechost-test

say() { printf 'testbed: %s\n' "$*" >&2; }
