#!/bin/sh
# Installs the Debian packages that building and testing ox need and that this machine lacks, with sudo when not root.
# Debian 12 is what this is tested on. With nothing to install it says so and changes nothing.
set -eu

build='gcc libc6-dev make pkg-config protobuf-c-compiler libprotobuf-c-dev libpng-dev zlib1g-dev'
check='check binutils g++ libjansson-dev libonnx-testdata libopenblas-dev python3 python3-venv'
lint='clang libclang-rt-14-dev clang-format cppcheck valgrind'

missing=
for package in $build $check $lint; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
    [ "$state" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo 'setup: every package is installed'
    exit 0
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: not root and no sudo; run as root: apt-get install$missing" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "setup: installing$missing${sudo:+ (with sudo)}"
$sudo apt-get update -q
# shellcheck disable=SC2086 # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
