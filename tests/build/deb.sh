#!/bin/sh
# deb.sh: the Debian package builds, lintian finds no error in it, and a program uses what it installs. A part of make nightly. Needs BUILD, CC.
here=$(cd "$(dirname "$0")" && pwd)
root=$BUILD/deb-test
case $root in /*) ;; *) root=$PWD/$root ;; esac
passed=0 failed=0 skipped=0

# expect WHAT COMMAND...: counts the command's success.
expect() {
    what=$1
    shift
    if "$@" >"$root.log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "$what: $(tail -n 20 "$root.log")"
    fi
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

# DEB_BUILD_OPTIONS=noopt makes it quick.
for tool in dpkg-buildpackage dh cmake lintian git; do
    if ! command -v $tool >/dev/null; then
        echo "skipped: the Debian package: $tool is not installed"
        skipped=1
        finish
    fi
done
expect 'the package does not build' sh tools/deb.sh "$root"
version=$(sed -n 's/^#define OX_VERSION_[A-Z]* //p' src/ox.h | paste -sd.)
for package in ox libox0 libox-dev; do
    expect "$package" dpkg-deb -x "$root/${package}_$version"-1_*.deb "$root/installed"
done
expect 'lintian finds errors' lintian --fail-on error --suppress-tags bad-distribution-in-changes-file "$root/ox_$version"-1_*.changes
# What it installs, away from the system.
tree=$root/installed/usr
lib=$(dirname "$(find "$tree/lib" -name libox.a)")
model=/usr/share/libonnx-testdata/data/simple/test_single_relu_model/model.onnx
export LD_LIBRARY_PATH="$lib"
expect 'the command' "$tree/bin/ox" run examples/digits/model.onnx -i image=@ones
expect 'plug-ins' test -e "$tree/lib/ox/image.so"
expect 'a program' "$CC" -std=c11 -I"$tree/include" -o "$root/program" "$here/../install/program.c" "$lib/libox.so"
if [ -e "$model" ]; then
    expect 'its result' sh -c "'$root/program' '$model' | grep -q '^ox [0-9.]*: 0 2\$'"
else
    skipped=1
fi
finish
