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

# True when nobody but root and the caller can put a file at or above the folder: a plugin from
# anywhere else is refused, so that its tests can't run there.
is_trusted() {
  local folder=$1
  while :; do
    [[ $(stat -c '%u' "$folder") =~ ^(0|$EUID)$ ]] || return 1
    (($(stat -c '0%a' "$folder") & 022)) && return 1
    [[ $folder == / ]] && return 0
    folder=$(dirname "$folder")
  done
}

# Where build trees are: in the source tree, or, when that lies where others may write (below /tmp),
# in a folder of its own.
build_root() {
  if is_trusted "$SOURCE_DIR"; then
    echo "$SOURCE_DIR/build"
  elif ((EUID == 0)); then
    echo "/opt/exechost-build/$(source_id)"
  else
    echo "${XDG_CACHE_HOME:-$(home_folder)/.cache}/exechost-build/$(source_id)"
  fi
}

home_folder() { echo "${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"; }
