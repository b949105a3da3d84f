#!/bin/sh
# run.sh: installs into a directory of its own and uses what is there as a stranger would: headers and libraries found
# by pkg-config, a program in C and in C++, shared and static; the manual page; nothing exported but ox.h; how the loader
# finds the library; make uninstall; and the source archive of a release.
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

for file in bin/ox lib/libox.a lib/libox.so lib/libox.so.0 include/ox.h include/ox.hpp share/man/man1/ox.1 \
    share/bash-completion/completions/ox share/zsh/site-functions/_ox share/fish/vendor_completions.d/ox.fish; do
    expect "$file is not installed" test -s "$tree/$file"
done
expect 'the installed command' "$tree/bin/ox" --version
# What says name, version and licence.
version=$(sed -n 's/^#define OX_VERSION_[A-Z]* //p' "$tree/include/ox.h" | paste -sd.)
expect 'ox version' test "$("$tree/bin/ox" version)" = "ox $version, Apache-2.0"
expect 'ox.pc has the version' test "$(pkg-config --modversion ox)" = "$version"
expect 'ox.pc has an address that is empty' sh -c "! grep -q '^URL' '$tree/lib/pkgconfig/ox.pc'"
expect 'the manual page has the version' grep -qx "\.Os ox $version" "$tree/share/man/man1/ox.1"
expect 'placeholders are left' sh -c "! grep -n '@[A-Z]*@' '$tree/lib/pkgconfig/ox.pc' '$tree/share/man/man1/ox.1'"
expect 'make with an address' $MAKE --no-print-directory -s BUILD="$root/addressed" ADDRESS=https://ox.example/a "$root/addressed/ox.pc" \
    "$root/addressed/ox.1"
expect 'ox.pc has the address' grep -qx 'URL: https://ox.example/a' "$root/addressed/ox.pc"
expect 'the manual page has the address' grep -qx '\.Lk https://ox.example/a' "$root/addressed/ox.1"
# What it finds in the folder of its own, and nowhere else.
for plugin in "$BUILD"/plugins/*.so; do
    [ -e "$plugin" ] && expect "the plug-in $plugin is not installed" cmp "$plugin" "$tree/lib/ox/$(basename "$plugin")"
done
regex=$BUILD/node/test_regex_full_match_basic
if [ -e "$BUILD/plugins/regex.so" ] && [ -d "$regex" ]; then
    expect 'the installed command finds its plug-ins' "$tree/bin/ox" test "$regex"
    mv "$tree/lib/ox" "$tree/bin/plugins"
    expect 'the installed command says which package it lacks' sh -c "'$tree/bin/ox' run '$regex/model.onnx' 2>&1 | grep libre2-dev"
    mv "$tree/bin/plugins" "$tree/lib/ox"
fi
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
    build_and_run 'C++17, shared' $CXX -std=c++17 "$here/program.cpp" $flags
    build_and_run 'C, static' $CC -std=c11 -I"$tree/include" "$here/program.c" "$tree/lib/libox.a" $private
}

# The sanitizers add symbols of their own.
nm -D --defined-only "$tree/lib/libox.so" | awk '{print $NF}' | sed '/^__/d' | sort -u >"$root/exported"
sed -n 's/^OX_API .*[ *]\(ox_[a-z0-9_]*\)(.*/\1/p' "$tree/include/ox.h" | sort -u >"$root/declared"
expect 'exported, but not an ox_ symbol' sh -c "! grep -v '^ox_' '$root/exported'"
expect 'exported and declared symbols differ' diff "$root/exported" "$root/declared"
# A program's own names never meet the library's, and so not those of another copy of ONNX's protobuf code.
nm -g --defined-only "$tree/lib/libox.a" | awk 'NF == 3 {print $NF}' | sed '/^__/d' | sort -u >"$root/global"
expect 'global in libox.a, but not declared' diff "$root/global" "$root/declared"

# shellcheck source=tests/install/release.sh
. "$here/release.sh"

# ---- What make install says and does for the loader, and make uninstall ------------------------------------------

unset PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR LD_LIBRARY_PATH
own=$root/own
awk '/^```c$/ { n = 1; next } /^```$/ && n { exit } n' docs/c.md >"$root/program.c"
install() { $MAKE --no-print-directory -s BUILD="$BUILD" "$@"; }

# The first program of docs/c.md, by each of the two lines that make install says for a folder of the user's own.
install install PREFIX="$own" >"$root/said" 2>&1
build=$(sed -n 's/^    cc program.c \(.*\)/\1/p' "$root/said")
start=$(sed -n 's/^    \(export .*\)/\1/p' "$root/said")
expect 'a program with the rpath that make install says' sh -c "$CC '$root/program.c' -o '$root/rpath' $build && '$root/rpath' | grep '^7: 1'"
expect 'a program with the variable that make install says' sh -c "
    PKG_CONFIG_PATH='$own/lib/pkgconfig'; export PKG_CONFIG_PATH
    $CC '$root/program.c' -o '$root/plain' \$(pkg-config --cflags --libs ox) && $start && '$root/plain' | grep '^7: 1'"
expect 'ox.pc has the prefix of this call' grep -q "^prefix=$own\$" "$own/lib/pkgconfig/ox.pc"

# make uninstall takes what make install put there, and nothing else.
touch "$own/bin/other" "$own/lib/libox.so.1" "$own/lib/pkgconfig/other.pc"
expect 'make uninstall' install uninstall PREFIX="$own"
expect 'what make uninstall leaves' test "$(cd "$own" && find . ! -type d | sort | tr '\n' ' ')" = \
    './bin/other ./lib/libox.so.1 ./lib/pkgconfig/other.pc '
expect 'make uninstall without an installation' install uninstall PREFIX="$own"

# In a folder of the system, root runs ldconfig and others are asked to.
mkdir -p "$root/fake"
printf '#!/bin/sh\n[ $# -gt 0 ] || touch "%s"\n[ $# -eq 0 ] || echo "%s: (from nowhere)"\n' "$root/ran" "$own/lib" >"$root/fake/ldconfig"
printf '#!/bin/sh\necho "$FAKE_ID"\n' >"$root/fake/id"
chmod +x "$root/fake/ldconfig" "$root/fake/id"
# installed ID ARGUMENT...: what the installation says.
installed() {
    rm -f "$root/ran"
    FAKE_ID=$1
    shift
    PATH=$root/fake:$PATH FAKE_ID=$FAKE_ID sh tools/installed.sh "$@" >"$root/said"
}
installed 1000 '' "$own"
expect 'others are asked to run ldconfig' grep -q 'sudo ldconfig' "$root/said"
expect 'only root runs ldconfig' test ! -e "$root/ran"
for gone in '' --gone; do
    installed 0 '' "$own" $gone
    expect "root runs ldconfig $gone" test -e "$root/ran" -a ! -s "$root/said"
    installed 0 "$root" "$own" $gone
    expect "nothing is run or said for DESTDIR $gone" test ! -e "$root/ran" -a ! -s "$root/said"
done
installed 0 '' "$own/elsewhere"
expect 'no ldconfig for other folders' test ! -e "$root/ran" -a -s "$root/said"
$MAKE --no-print-directory -s BUILD="$BUILD" "$BUILD/ox.pc" # with the prefix that it has by default

[ "$skipped" -eq 0 ] || echo 'skipped: running the installed library: the package libonnx-testdata is not installed'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
