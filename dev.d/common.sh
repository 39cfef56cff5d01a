# Shared by the parts of ./dev. Sourced.
# shellcheck shell=bash

# Progress goes to stderr: stdout belongs to the command that "./dev run" runs.
say() { printf 'dev: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# Names this source tree in folders shared by several of them.
source_id() { printf '%s' "$SOURCE_DIR" | sha256sum | cut -c1-16; }

# One compiler per processor, but no more than memory allows (about 1 GiB each).
job_count() {
  local processors memory_kib
  processors=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  local by_memory=$((memory_kib / 1048576))
  ((by_memory < 1)) && by_memory=1
  echo $((processors < by_memory ? processors : by_memory))
}

home_folder() { echo "${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"; }
