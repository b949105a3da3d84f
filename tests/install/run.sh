#!/bin/sh
# run.sh: installs into a directory of its own and uses what is there as a stranger would: headers and libraries found
# by pkg-config, a program in C and in C++, shared and static; the manual page; and nothing exported but ox.h.
here=$(dirname "$0")
root=$BUILD/installed
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "$1"
}
# expect WHAT COMMAND...: counts the command's success.
expect() {
    what=$1
    shift
    if "$@" >"$root.log" 2>&1; then pass; else fail "$what: $(tail -n 5 "$root.log")"; fi
}

rm -rf "$root"
case $root in /*) ;; *) root=$PWD/$root ;; esac
expect 'make install' $MAKE --no-print-directory BUILD="$BUILD" install DESTDIR="$root" PREFIX=/usr/local
tree=$root/usr/local
export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$tree/lib/pkgconfig" LD_LIBRARY_PATH="$tree/lib"

for file in bin/ox lib/libox.a lib/libox.so lib/libox.so.0 include/ox.h share/man/man1/ox.1; do
    expect "$file is not installed" test -s "$tree/$file"
done
expect 'the installed command' "$tree/bin/ox" --version
if command -v man >/dev/null; then
    expect 'the manual page has warnings' sh -c "test -z \"\$(man --warnings -l '$tree/share/man/man1/ox.1' 2>&1 >/dev/null)\""
fi

model=/usr/share/libonnx-testdata/data/simple/test_single_relu_model/model.onnx
# build_and_run WHAT COMPILER ARGUMENTS...
build_and_run() {
    what=$1
    shift
    expect "$what: compile" "$@" -Wall -Wextra -Werror -o "$root/program"
    if [ -e "$model" ]; then
        expect "$what: run" sh -c "'$root/program' '$model' | grep -q '^ox [0-9.]*: 0 2\$'"
    else
        skipped=$((skipped + 1))
    fi
    rm -f "$root/program"
}
flags=$(pkg-config --cflags --libs ox) || fail 'pkg-config does not know ox'
private=$(sed -n 's/^Libs.private: //p' "$tree/lib/pkgconfig/ox.pc")
# shellcheck disable=SC2086 # lists of words
{
    build_and_run 'C, shared' $CC -std=c11 "$here/program.c" $flags
    build_and_run 'C++, shared' $CXX -std=c++11 -x c++ "$here/program.c" $flags
    build_and_run 'C, static' $CC -std=c11 -I"$tree/include" "$here/program.c" "$tree/lib/libox.a" $private
}

# The sanitizers add symbols of their own.
nm -D --defined-only "$tree/lib/libox.so" | awk '{print $NF}' | sed '/^__/d' | sort -u >"$root/exported"
sed -n 's/^OX_API .*[ *]\(ox_[a-z0-9_]*\)(.*/\1/p' "$tree/include/ox.h" | sort -u >"$root/declared"
expect 'exported, but not an ox_ symbol' sh -c "! grep -v '^ox_' '$root/exported'"
expect 'exported and declared symbols differ' diff "$root/exported" "$root/declared"

[ "$skipped" -eq 0 ] || echo 'skipped: running the installed library: the package libonnx-testdata is not installed'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
