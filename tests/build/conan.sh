#!/bin/sh
# conan.sh: Conan makes the package of packaging/conan, and its test uses it. A part of make nightly, where conan is installed (pip install
# conan). Without its remotes: protobuf-c is the system's. Needs BUILD.
root=$BUILD/conan-test
case $root in /*) ;; *) root=$PWD/$root ;; esac
if ! command -v conan >/dev/null || ! command -v cmake >/dev/null; then
    echo 'skipped: the recipe for Conan: conan or cmake is not installed'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS
rm -rf "$root"
mkdir -p "$root"
export CONAN_HOME="$root/home"
version=$(sed -n 's/^#define OX_VERSION_[A-Z]* //p' src/ox.h | paste -sd.)
if conan profile detect >"$root/log" 2>&1 &&
    conan create packaging/conan --no-remote -c tools.cmake.cmake_layout:test_folder="$root/test" \
        -c tools.cmake.cmaketoolchain:user_presets= -o '&:system_protobuf_c=True' -s build_type="${CONAN_BUILD:-Release}" >"$root/log" 2>&1 &&
    grep -q "^ox $version: invalid model: " "$root/log"; then
    echo '1 passed, 0 failed, 0 skipped'
else
    tail -n 20 "$root/log"
    echo '0 passed, 1 failed, 0 skipped'
    exit 1
fi
