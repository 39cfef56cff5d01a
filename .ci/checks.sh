# Checks beside the tests. Sourced by .ci/run and .ci/full.
# shellcheck shell=bash

# A new folder for what is installed. Not below /tmp: a plugin in a folder that others may write to is
# refused, sticky bit or not.
scratch_folder() {
  local base=$HOME
  ((EUID == 0)) && base=/opt
  mktemp -d "$base/exechost-install-XXXXXX"
}

# An installed tree works from wherever it is, and other programs can be built against it.
check_install() {
  local scratch prefix
  scratch=$(scratch_folder) || return 1
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

# What `exechost plugin new` writes builds with both compilers, as its own README.md says, against what is
# installed, and runs a command.
check_template() {
  local scratch prefix kind compiler
  scratch=$(scratch_folder) || return 1
  (
    set -e
    trap 'rm -rf "$scratch"' EXIT
    umask 022
    prefix=$scratch/prefix
    cmake --install "$(build_root)/release" --prefix "$prefix" >/dev/null
    mkdir "$scratch/workspace"
    cd "$scratch/workspace"
    "$prefix/bin/exechost" plugin new box-c ../c --c
    "$prefix/bin/exechost" plugin new box-cpp ../cpp
    for kind in c cpp; do
      grep -qF -- "-DCMAKE_PREFIX_PATH=$prefix" "../$kind/README.md"
      for compiler in gcc clang; do
        echo "box-$kind with $compiler"
        CC=$compiler CXX=${compiler/gcc/g}++ CFLAGS="-Wpedantic -Wshadow -Wconversion -Werror" \
          CXXFLAGS="-Wpedantic -Wshadow -Wconversion -Werror" \
          cmake -S "../$kind" -B "../$kind/$compiler" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
        ninja -C "../$kind/$compiler" >/dev/null
        ctest --test-dir "../$kind/$compiler" -N | grep conformance >/dev/null
        try_plugin "$prefix" "$scratch/$kind/$compiler" "box-$kind" --best-effort=filesystem,network.mode -- echo hi >"$scratch/out"
        [[ $(<"$scratch/out") == hi ]]
      done
      proven "$prefix" "$scratch/$kind/gcc/box-$kind.so" --level 1
      # The README's own lines, as they stand there.
      (
        cd "../$kind"
        cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
        ninja -C build >/dev/null
        [[ $(PATH=$prefix/bin:$PATH bash -c "$(grep -m 1 '^    exechost run' README.md)" 2>/dev/null) == hi ]]
      )
    done
  )
}

# try_plugin PREFIX FOLDER ID OPTIONS...: a command in a backend of that folder.
try_plugin() {
  local prefix=$1 folder=$2 id=$3
  shift 3
  "$prefix/bin/exechost" run --quiet --set "plugins.directories=[\"$folder\"]" --backend "$id" "$@"
}

# proven PREFIX LIBRARY OPTIONS...: the conformance kit finds nothing wrong; its report is shown when it does.
proven() {
  local prefix=$1 report
  shift
  report=$("$prefix/bin/exechost" conformance "$@") || { echo "$report"; return 1; }
}

# A backend of somebody else, built from what is installed by another compiler and with another C++
# library: its commands run, and don't reach this machine's network.
check_third_party() {
  local scratch prefix
  scratch=$(scratch_folder) || return 1
  (
    set -e
    server=
    trap '[[ -z $server ]] || kill "$server"; rm -rf "$scratch"' EXIT
    umask 022
    prefix=$scratch/prefix
    cmake --install "$(build_root)/release" --prefix "$prefix" >/dev/null
    cp -r "$SOURCE_DIR/tests/third_party_plugin" "$scratch/source"
    cmake -S "$scratch/source" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    ninja -C "$scratch/build" >/dev/null
    mkdir "$scratch/workspace"
    cd "$scratch/workspace"
    unshared() { try_plugin "$prefix" "$scratch/build" unshare --best-effort=filesystem "$@"; }
    [[ $(unshared -- echo hi) == hi ]]
    # Somebody who answers on this machine's loopback, at a port of the kernel's choice.
    mkfifo "$scratch/port"
    python3 -c 'import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True: server.accept()[0].close()' >"$scratch/port" &
    server=$!
    read -r port <"$scratch/port"
    # 42: the command ran, and its connection failed.
    connect=": <>/dev/tcp/127.0.0.1/$port || exit 42"
    unshared --network full -- bash -c "$connect"
    status=0
    unshared -- bash -c "$connect" || status=$?
    ((status == 42))
    proven "$prefix" "$scratch/build/unshare.so"
  )
}

# docs/settings.md is generated; docs/cli.md names every option there is.
check_generated_docs() {
  local program option command failed=0
  program=$(build_root)/release/bin/exechost
  diff -u "$SOURCE_DIR/docs/settings.md" <("$program" schema settings --markdown) || failed=1
  for command in run explain cp changes apply backends doctor settings plugin schema conformance completion version; do
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
  local seconds=$1 build target name runs failed=0
  build=$(build_root)/fuzz
  cmake -S "$SOURCE_DIR" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DEXECHOST_BUILD_FUZZERS=ON -DEXECHOST_BUILD_CLI=OFF -DEXECHOST_SANITIZE=fuzzer-no-link,address,undefined >/dev/null || return 1
  ninja -C "$build" fuzz_json fuzz_manifest fuzz_guest_spec fuzz_packet fuzz_stream fuzz_guest_frames fuzz_keeper_frames || return 1
  for target in "$build"/tests/fuzz/fuzz_*; do
    name=$(basename "$target")
    [[ -x $target && -d $SOURCE_DIR/tests/fuzz/corpus/${name#fuzz_} ]] || continue
    mkdir -p "$build/corpus/$name"
    # The guest never unmaps the specification that it read: there the runs are bounded, too.
    runs=-1
    [[ $name != fuzz_guest_spec ]] || runs=200000
    # What is found new goes to the build tree.
    "$target" -max_total_time="$seconds" -runs="$runs" -rss_limit_mb=4096 -artifact_prefix="$build/" "$build/corpus/$name" \
      "$SOURCE_DIR/tests/fuzz/corpus/${name#fuzz_}" || failed=1
  done
  return $failed
}
