#!/bin/sh
# vcpkg.sh: the port of packaging/vcpkg, and a project that uses what it installs. vcpkg runs it where it is installed; elsewhere functions of
# the same names do (vcpkg.cmake), and protobuf-c is the system's. A part of make nightly. Needs BUILD.
root=$BUILD/vcpkg-test
case $root in /*) ;; *) root=$PWD/$root ;; esac
if ! command -v cmake >/dev/null; then
    echo 'skipped: the port for vcpkg: cmake is not installed'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS
rm -rf "$root"
mkdir -p "$root"
version=$(sed -n 's/^#define OX_VERSION_[A-Z]* //p' src/ox.h | paste -sd.)
passed=0 failed=0 skipped=0

# use LINKAGE INSTALLED [ARGUMENT]...: a project finds the package and says what it refuses.
use() {
    to=$root/$1/project
    shift
    installed=$1
    shift
    cmake -S packaging/conan/test_package -B "$to" -DCMAKE_PREFIX_PATH="$installed" "$@" && cmake --build "$to" &&
        "$to/program" | grep "^ox $version: invalid model: "
}

# install LINKAGE: the port, then the project.
install() {
    if command -v vcpkg >/dev/null; then
        vcpkg install ox --overlay-ports=packaging/vcpkg --x-install-root="$root/$1/installed" || return 1
        use "$1" "$(ls -d "$root/$1"/installed/*/share | sed 's,/share$,,;/vcpkg$/d' | head -n 1)"
    else
        cmake -DPORT=ox -DTREE="$PWD" -DLINKAGE="$1" -DROOT="$root/$1" -DMORE="${VCPKG_MORE:-}" -P tests/build/vcpkg.cmake &&
            [ -e "$root/$1/package/share/ox/copyright" ] && [ ! -e "$root/$1/package/lib/cmake" ] && use "$1" "$root/$1/package"
    fi
}

command -v vcpkg >/dev/null || {
    echo 'skipped: vcpkg is not installed: its functions are stand-ins'
    skipped=1
}
for linkage in static dynamic; do
    if install $linkage >"$root/log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        tail -n 20 "$root/log"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
