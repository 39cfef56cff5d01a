# Installs Debian packages that are missing. Sourced by ./dev.
# shellcheck shell=bash

# missing_packages GROUP...: one name a line.
missing_packages() {
  local group package command
  local -a wanted=()
  while read -r group package command; do
    [[ " $* " == *" $group "* ]] || continue
    [[ -n $command ]] && command -v "$command" >/dev/null && continue
    wanted+=("$package")
  done <"$SOURCE_DIR/dev.d/packages.txt"
  ((${#wanted[@]})) || return 0
  # One question for all: dpkg-query fails for a package it never heard of, which is an answer too.
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | awk '$2 == "installed" { print $1 }') || true
  for package in "${wanted[@]}"; do
    grep -qxF -- "$package" <<<"$installed" || echo "$package"
  done
}

apt_get() {
  local -a as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "installing packages needs root: run as root, or install sudo, or install by hand: $*"
    as_root=(sudo)
  fi
  # Its standard input is not the command's.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null >&2
}

install_packages() {
  local -a missing=()
  command -v dpkg-query >/dev/null || {
    say "no dpkg here: make sure yourself that these are installed: $(awk '/^[a-z]/ { print $2 }' "$SOURCE_DIR/dev.d/packages.txt" | xargs)"
    return 0
  }
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  say "installing with apt-get: ${missing[*]}"
  # A fresh image has no package lists; an old one has stale ones.
  if [[ -z $(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -print -quit 2>/dev/null) ]] ||
    ! apt_get install -y --no-install-recommends "${missing[@]}"; then
    apt_get update
    apt_get install -y --no-install-recommends "${missing[@]}"
  fi
}
