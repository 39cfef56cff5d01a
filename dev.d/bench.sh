# "./dev bench". Sourced by ./dev.
# shellcheck shell=bash

# Other products to compare with, at the versions the figures in docs/performance.md are for.
readonly PEER_PACKAGES=("@openai/codex@0.171.0" "@anthropic-ai/sandbox-runtime@0.0.83")

# peers_folder BUILD_DIR: prints where they are installed; nothing when they can't be.
peers_folder() {
  local folder=$1/peers
  if [[ ! -e $folder/.complete ]] && command -v npm >/dev/null; then
    say "installing ${PEER_PACKAGES[*]} into $folder"
    mkdir -p "$folder"
    if (cd "$folder" && npm install --silent --no-save --prefix . "${PEER_PACKAGES[@]}") >&2; then
      touch "$folder/.complete"
    else
      say "they can't be installed here: the comparison is without them"
    fi
  fi
  [[ -e $folder/.complete ]] && echo "$folder"
  return 0
}

# show_figures FILE: puts the tables of a whole run into docs/performance.md.
show_figures() {
  local page=$SOURCE_DIR/docs/performance.md
  awk -v tables="$1" '
    /<!-- bench: begin -->/ { print; while ((getline line < tables) > 0) print line; skipping = 1; next }
    /<!-- bench: end -->/ { skipping = 0 }
    !skipping { print }' "$page" >"$page.new" && mv "$page.new" "$page"
}

dev_bench() {
  local build peers
  build=$(build_root)/release
  install_packages build test bench
  configure release "$build"
  compile "$build" all exechost_bench
  peers=$(peers_folder "$build")
  "$build/bench/exechost_bench" --peers "$peers" --json "$build/bench/figures.json" --markdown "$build/bench/figures.md" "$@"
  say "every single time is in $build/bench/figures.json, the tables in $build/bench/figures.md"
  [[ $# == 0 ]] && show_figures "$build/bench/figures.md"
  return 0
}
