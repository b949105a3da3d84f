#!/bin/sh
# setup.sh [cross] [device]: installs the Debian packages that building and testing ox need and that this machine lacks,
# with sudo when not root. `cross` adds what `make cross-test` needs, `device` what firmware and `make device-test` need.
# Debian 12 is what this is tested on. With nothing to install it says so and changes nothing.
set -eu

build='gcc libc6-dev make pkg-config protobuf-c-compiler libprotobuf-c-dev libpng-dev zlib1g-dev'
plugins='g++ libre2-dev libpng-dev libturbojpeg0-dev libtiff-dev libwebp-dev libopenjp2-7-dev'
check='check binutils espeak-ng g++ libjansson-dev libonnx-testdata libopenblas-dev openjdk-17-jre-headless
    python3 python3-dev python3-venv'
lint='clang libclang-rt-14-dev clang-format cppcheck valgrind'
cross='gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross qemu-user'
device='gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-arm
    qemu-system-misc'

packages="$build $plugins $check $lint"
for part in "$@"; do
    case $part in
    cross) packages="$packages $cross" ;;
    device) packages="$packages $device" ;;
    *)
        echo "setup: there is no part '$part', only cross and device" >&2
        exit 2
        ;;
    esac
done

missing=
for package in $packages; do
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
