#!/bin/sh
# sysroot.sh ARCH DIR [PACKAGE...]: unpacks Debian's packages for another architecture into DIR, by the package lists of
# this machine; without names, the libraries that ox and its tests are linked with. Nothing is installed and no root is
# needed: apt gets lists of its own below DIR.
set -eu
arch=$1
root=$2
shift 2
[ $# -gt 0 ] || set -- libprotobuf-c-dev libpng-dev zlib1g-dev check libsubunit-dev

rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
cat >"$root/apt/apt.conf" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Dir::State "$(realpath "$root")/apt";
Dir::State::status "/dev/null";
Dir::Cache "$(realpath "$root")/apt";
END
export APT_CONFIG="$root/apt/apt.conf"

# Lists of third parties may lack the architecture; what counts is whether the packages can be had.
apt-get update -q >"$root/apt/log" 2>&1 || true
if ! (cd "$root/apt" && APT_CONFIG=apt.conf apt-get download -q "$@") >>"$root/apt/log" 2>&1; then
    cat "$root/apt/log"
    echo "sysroot: Debian's packages for $arch cannot be downloaded: $*"
    exit 1
fi
for package in "$root"/apt/*.deb; do
    dpkg-deb -x "$package" "$root"
done
rm -rf "$root/apt"
