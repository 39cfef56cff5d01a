#include "core/keeper/shell/text.hpp"

namespace exechost::keeper::shell {

// The pipe's writing end moves to 187, closed for every program that is started: bash marks the descriptor in
// which it keeps a redirected one (10, the first that is free) close-on-exec, and a copy of such a one as well.
//
// The state is written by the trap for EXIT. `&&` keeps the script's status for a trap of its own that follows,
// also with errexit; the closed standard error swallows what xtrace says about all this. No command here starts a
// process, and each is the builtin whatever functions the script has.
//
// A trap of the script for EXIT would replace this one, so `trap` is a function that puts the two behind each
// other. bash undoes in a function what it does to the traps DEBUG, ERR and RETURN unless they are set, so there
// they are set to something that takes itself away; and a trap for RETURN is not yet meant for this function.
// Before bash 4.4 a function can't have options of its own, so there such a trap takes our place.
const std::string_view kBashSetUp = R"sh(unset -v BASH_ENV
exec 8<&-
{ exec 187>&10; } 9>&- 2>&-
exec 9>&-
__exechost_state() {
  builtin local -
  builtin set +ETx
  {
    builtin printf '\0exechost\0bash\0'
    builtin pwd
    builtin printf '\0'
    builtin umask -p
    builtin alias -p
    builtin export -p
    builtin printf '\0'
    builtin unset -f __exechost_state
    builtin declare -f
    builtin printf '\0'
    builtin declare -F
    builtin printf '\0%s\0%s\0end\0' "$BASHOPTS" "$2"
  } >&187
  builtin return "$1"
}
((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)) || trap() {
  { builtin local - __exechost_out __exechost_status=0 __exechost_action __exechost_name; builtin set +eETuvx; } 2>&-
  builtin local __exechost_own='{ __exechost_state "$?" "$SHELLOPTS" && :; } >&- 2>&-'
  builtin local __exechost_exit= __exechost_err= __exechost_return= __exechost_debug=
  builtin local -a __exechost_names
  if (($# == 0)) || [[ $1 == -[lpP]* || ( $1 == -- && $# == 1 ) ]]; then
    __exechost_out=$'\n'$(builtin trap "$@") || __exechost_status=$?
    __exechost_out=${__exechost_out/$'\n'"trap -- '$__exechost_own' EXIT"/}
    __exechost_out=${__exechost_out//"$__exechost_own; "/}
    [[ ! $__exechost_out ]] || builtin printf '%s\n' "${__exechost_out#$'\n'}"
    builtin return "$__exechost_status"
  fi
  [[ $1 != -- ]] || builtin shift
  __exechost_action=-
  if (($# > 1)); then
    __exechost_action=$1
    builtin shift
  fi
  for __exechost_name; do
    case ${__exechost_name^^} in
      EXIT | SIGEXIT | 0) __exechost_exit=1 ;;
      ERR | SIGERR) __exechost_err=1 ;;
      RETURN | SIGRETURN) __exechost_return=1 ;;
      DEBUG | SIGDEBUG) __exechost_debug=1 ;;
      *) __exechost_names+=("$__exechost_name") ;;
    esac
  done
  if [[ $__exechost_exit && $BASHPID != "$$" ]]; then
    builtin trap -- "$__exechost_action" EXIT
  elif [[ $__exechost_exit && ( ! $__exechost_action || $__exechost_action == - ) ]]; then
    builtin trap -- "$__exechost_own" EXIT
  elif [[ $__exechost_exit ]]; then
    builtin trap -- "$__exechost_own; $__exechost_action" EXIT
  fi
  if ((${#__exechost_names[@]})); then
    builtin trap -- "$__exechost_action" "${__exechost_names[@]}" || __exechost_status=$?
  fi
  if [[ $__exechost_err && $__exechost_action == - ]]; then
    builtin trap -- 'builtin trap - ERR' ERR
  elif [[ $__exechost_err ]]; then
    builtin trap -- "$__exechost_action" ERR
  fi
  if [[ $__exechost_return && $__exechost_action == - ]]; then
    builtin trap -- "builtin trap -- 'builtin trap - RETURN' RETURN" RETURN
  elif [[ $__exechost_return ]]; then
    builtin printf -v __exechost_out 'builtin trap -- %q RETURN' "$__exechost_action"
    builtin trap -- "$__exechost_out" RETURN
  fi
  if [[ ! $__exechost_debug ]]; then
    builtin return "$__exechost_status"
  elif [[ $__exechost_action == - ]]; then
    builtin trap -- 'builtin trap - DEBUG' DEBUG
  else
    builtin trap -- "$__exechost_action" DEBUG
  fi
}
builtin trap -- '{ __exechost_state "$?" "$SHELLOPTS" && :; } >&- 2>&-' EXIT
)sh";

// In the order in which they are called. Options come last: what is read with them on could become something else.
const std::string_view kBashReturn = R"sh(__exechost_enter() {
  builtin local folder="$1"
  builtin unset -f __exechost_enter
  builtin cd -- "$folder" && builtin return
  while [[ $folder == */?* ]]; do
    folder=${folder%/*}
    builtin cd -- "${folder:-/}" && break
  done
  builtin printf '\0folder\0' >&187
  builtin pwd >&187
  builtin printf '\0' >&187
}
__exechost_attributes() {
  builtin local IFS=$'\n' line
  builtin unset -f __exechost_attributes
  builtin set -f
  for line in $1; do
    line=${line#declare }
    [[ $line == '-f '* ]] || builtin declare "${line%% *}" "${line#* }"
  done
  builtin set +f
}
__exechost_options() {
  builtin unset -f __exechost_options
  builtin unset -v __exechost_posix
  builtin local IFS=: name
  builtin shopt -u $BASHOPTS
  for name in $1; do
    case $name in
      extdebug) ;; # here bash takes it for a call of its debugger
      *) builtin shopt -s "$name" ;;
    esac
  done
  builtin set +o braceexpand +o hashall +o interactive-comments
  for name in $2; do
    case $name in
      noexec | onecmd | privileged | emacs | vi) ;;
      *) builtin set -o "$name" ;;
    esac
  done
  [[ ! $3 ]] || builtin export POSIXLY_CORRECT="${POSIXLY_CORRECT-y}"
}
)sh";

// While the script runs the shell keeps the pipe in 10, close-on-exec. In the trap some have put it back to 9. A
// plain sh can't redirect to a descriptor of two digits, hence the paths.
const std::string_view kShSetUp = R"sh(__exechost_state() {
  __exechost_pipe=/proc/self/fd/9
  [ -p "$__exechost_pipe" ] || __exechost_pipe=/proc/self/fd/10
  {
    command printf '\0exechost\0sh\0'
    command pwd
    command printf '\0umask '
    command umask
    (
      IFS='
'
      set -f
      set -- $(command alias)
      IFS=' '
      [ "$#" = 0 ] || command printf 'alias %s\n' "$*"
    )
    export -p
    command printf '\0\0\0\0%s\0end\0' "$-"
  } > "$__exechost_pipe"
  __exechost_state() { return "$1"; }
  return "$1"
}
trap '{ __exechost_state "$?" && :; } 2>&-' 0
)sh";

const std::string_view kShReturn = R"sh(__exechost_enter() {
  command cd -- "$1" && return
  __exechost_pwd=$1
  while [ "${__exechost_pwd#*/?}" != "$__exechost_pwd" ]; do
    __exechost_pwd=${__exechost_pwd%/*}
    command cd -- "${__exechost_pwd:-/}" && break
  done
  command printf '\0folder\0' >&9
  command pwd >&9
  command printf '\0' >&9
}
)sh";

const std::string_view kShRun = R"sh({ eval "$__exechost_options$__exechost_script"; } 9>&-
{ __exechost_state "$?" && :; } 2>&-
)sh";

}  // namespace exechost::keeper::shell
