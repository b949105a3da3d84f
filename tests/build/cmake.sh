#!/bin/sh
# cmake.sh [--all]: the build by CMake. What it compiles and how is compared with the Makefile, without compiling anything. With --all (a
# part of make nightly) it is built and installed, and a project outside uses it in each of the three ways. Needs BUILD, MAKE, CC, PYTHON.
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
root=$BUILD/cmake-test
case $root in /*) ;; *) root=$PWD/$root ;; esac
passed=0 failed=0 skipped=0
model=/usr/share/libonnx-testdata/data/simple/test_single_relu_model/model.onnx

# expect WHAT COMMAND...: counts the command's success.
expect() {
    what=$1
    shift
    if "$@" >"$root/log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "$what: $(tail -n 20 "$root/log")"
    fi
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
# configure FOLDER ARGUMENT...: the environment's flags are for make.
configure() {
    to=$1
    shift
    cmake -S "$top" -B "$root/$to" -DCMAKE_C_COMPILER="$CC" -DCMAKE_INSTALL_PREFIX="$root/installed" -DCMAKE_INSTALL_LIBDIR=lib "$@"
}

unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS # those of make are not CMake's
rm -rf "$root"
mkdir -p "$root"
if ! command -v cmake >/dev/null; then
    echo 'skipped: the build by CMake: cmake is not installed'
    skipped=1
    finish
fi
CC=$(command -v "${CC%% *}") # sanitizers are make's
# The same files with the same flags.
expect 'configure' configure all -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
(cd "$top" && $MAKE --no-print-directory -n -B V=1 BUILD="$root/make" \
    CC="$CC" OPT='-O2 -g' SANITIZE= all) >"$root/make.txt" 2>/dev/null
expect 'files and flags differ' $PYTHON "$here/flags.py" "$root/make.txt" "$root/all/compile_commands.json"
# Options that say what is wrong with them.
expect 'a build of the loops that there is not' sh -c "! cmake '$root/all' -DOX_VARIANTS=v9 2>&1 | grep -q 'Build files' &&
    cmake '$root/all' -DOX_VARIANTS=v9 2>&1 | grep -q \"no build 'v9'\""
expect 'no library at all' sh -c "cmake '$root/all' -DOX_VARIANTS= -DOX_SHARED=OFF -DOX_STATIC=OFF 2>&1 | grep -q 'both off'"
expect 'presets' sh -c "cd '$top' && cmake --list-presets | grep -q '\"default\"'"
[ "${1:-}" = --all ] || finish

# declared: the functions of ox.h.
sed -n 's/^OX_API .*[ *]\(ox_[a-z0-9_]*\)(.*/\1/p' "$top/src/ox.h" | sort -u >"$root/declared"
# symbols OPTION FILE: what it has for others.
symbols() { nm "$1" --defined-only "$2" | awk 'NF == 3 {print $NF}' | sed '/^__/d' | sort -u; }
# builds FILE: the builds of the loops in a library that is not stripped.
builds() { nm "$1" | sed -n 's/.* ox_loops_\([a-z0-9]*\)$/\1/p' | sort -u; }
# outside WAY WHERE ARGUMENT...: builds the project, and runs all of its programs.
outside() {
    way=$1 where=$2
    shift 2
    expect "$way: configure" cmake -S "$here/outside" -B "$root/outside-$way" -DCMAKE_C_COMPILER="$CC" -DWAY="$way" -DOX="$where" \
        -DPROGRAM="$top/tests/install/program.c" "$@"
    expect "$way: build" cmake --build "$root/outside-$way" -j2
    count=0
    for program in "$root/outside-$way"/program_*; do
        [ -x "$program" ] || continue
        count=$((count + 1))
        if [ -e "$model" ]; then
            expect "$way: $(basename "$program")" sh -c "'$program' '$model' | grep -q '^ox [0-9.]*: 0 2\$'"
        else
            skipped=$((skipped + 1))
        fi
    done
    expect "$way: programs of all targets" test $count -eq 3
}

expect 'configure for an installation' configure all -DOX_VARIANTS= -U OX_VARIANTS -DOX_SHARED=ON -DOX_STATIC=ON -DOX_WERROR=ON
expect 'build' cmake --build "$root/all" -j2
expect 'install' cmake --install "$root/all"
tree=$root/installed
symbols -D "$tree/lib/libox.so" >"$root/exported"
expect 'exported and declared symbols differ' diff "$root/exported" "$root/declared"
symbols -D "$BUILD/libox.so" >"$root/exported-by-make"
expect 'exported symbols are not those of make' diff "$root/exported" "$root/exported-by-make"
symbols -g "$tree/lib/libox.a" >"$root/global"
expect 'global in libox.a, but not declared' diff "$root/global" "$root/declared"
expect 'the soname is not that of make' test "$(readelf -d "$tree/lib/libox.so" | grep -o 'libox.so.[0-9]*\]')" = \
    "$(readelf -d "$BUILD/libox.so" | grep -o 'libox.so.[0-9]*\]')"
expect 'the builds of the loops are not those of make' test "$(builds "$tree/lib/libox.so")" = "$(builds "$BUILD/libox.so")"
digits="run $top/examples/digits/model.onnx -i image=@ones"
# shellcheck disable=SC2086 # several arguments
{
    expect 'the command' "$tree/bin/ox" $digits
    expect 'the command gives the same' test "$("$tree/bin/ox" $digits)" = "$("$BUILD/ox" $digits)"
}
for plugin in "$BUILD"/plugins/*.so; do
    [ ! -e "$plugin" ] || expect "$(basename "$plugin")" test -s "$tree/lib/ox/$(basename "$plugin")"
done
for file in bash-completion/completions/ox zsh/site-functions/_ox fish/vendor_completions.d/ox.fish; do
    expect "share/$file" test -s "$tree/share/$file"
done
expect 'pkg-config' test "$(PKG_CONFIG_LIBDIR=$tree/lib/pkgconfig pkg-config --variable=libdir ox)" = "$tree/lib"
expect 'placeholders are left' sh -c "! grep -n '@[A-Z]*@' '$tree/lib/pkgconfig/ox.pc' '$tree/share/man/man1/ox.1'"
outside package "$tree" -DCMAKE_PREFIX_PATH="$tree"
expect 'another version is refused' sh -c "sed 's/ox 0.1/ox 99/' '$here/outside/CMakeLists.txt' >'$root/CMakeLists.txt' &&
    ! cmake -S '$root' -B '$root/other' -DWAY=package -DCMAKE_PREFIX_PATH='$tree'"
# With the code that protoc-c writes given, and one build of the loops.
outside subdirectory "$top" -DOX_VARIANTS= -DOX_PROTO_DIR="$root/all/proto" -DOX_PROTOC_C=/none
outside fetch "$top" -DOX_VARIANTS=
finish
