#!/bin/sh
# setup.sh [--try] [PART]...: installs the packages that this machine lacks, with sudo when not root. Without a part:
# what building needs. The parts add what others need: `check` for make check, which calls for it by itself; `lint` for
# make lint and make fuzz; `cross` for make cross-test; `device` for firmware and make device-test.
# Debian 12 and 13 are what this is tested on. With nothing to install it says so and changes nothing. Where there is no
# apt it says what building needs, by the names of other package managers. With --try, what cannot be had is listed, and
# the status is 0.
set -u

# A name with | stands for the first one that is installed, or else that the package index knows.
build='gcc libc6-dev make pkg-config|pkgconf protobuf-c-compiler libprotobuf-c-dev libpng-dev zlib1g-dev'
check='g++ libre2-dev libturbojpeg0-dev|libturbojpeg-dev libtiff-dev libwebp-dev libopenjp2-7-dev
    check cmake binutils espeak-ng libjansson-dev libonnx-testdata libopenblas-dev
    openjdk-17-jre-headless|default-jre-headless python3 python3-dev python3-venv
    fish zsh'
lint='clang libclang-rt-14-dev|libclang-rt-dev clang-format cppcheck debhelper doxygen dpkg-dev lintian valgrind'
cross='gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross qemu-user
    gcc-mingw-w64-x86-64 wine musl-tools clang lld llvm wasi-libc libclang-rt-14-dev-wasm32|libclang-rt-dev-wasm32 nodejs npm'
device='cmake gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-arm
    qemu-system-misc'

# What building needs, by the names of others.
dnf='gcc make pkgconf-pkg-config protobuf-c-compiler protobuf-c-devel libpng-devel zlib-devel'
apk='gcc musl-dev make pkgconf protobuf-c-compiler protobuf-c-dev libpng-dev zlib-dev'
pacman='gcc make pkgconf protobuf-c libpng zlib'
brew='gcc make pkgconf protobuf-c libpng'

try= parts=
packages=$build
for argument in "$@"; do
    case $argument in
    --try) try=yes ;;
    check) packages="$packages $check" parts="$parts $argument" ;;
    lint) packages="$packages $lint" parts="$parts $argument" ;;
    cross) packages="$packages $cross" parts="$parts $argument" ;;
    device) packages="$packages $device" parts="$parts $argument" ;;
    *)
        echo "setup: there is no part '$argument', only check, lint, cross and device" >&2
        exit 2
        ;;
    esac
done

# give_up TEXT: the end of a set-up that cannot be done.
give_up() {
    echo "setup: $1" >&2
    [ -n "$try" ]
    exit
}

# ---- Without apt -----------------------------------------------------------------------------------------------------

can_build() {
    for tool in make protoc-c pkg-config; do
        command -v $tool >/dev/null || return 1
    done
    command -v cc >/dev/null || command -v gcc >/dev/null || return 1
    pkg-config --exists libprotobuf-c libpng zlib
}

other_system() {
    if can_build; then
        echo "setup: what building needs is here${parts:+; what$parts need, this script knows for Debian only}"
        exit 0
    fi
    for manager in 'dnf install' 'apk add' 'pacman -S' 'brew install'; do
        if command -v "${manager% *}" >/dev/null; then
            eval "names=\$${manager% *}"
            give_up "there is no apt-get here; building needs: $manager $names"
        fi
    done
    give_up "there is no apt-get here; building needs gcc, make, pkg-config, protobuf-c with protoc-c, libpng and zlib:
    dnf install $dnf
    apk add $apk
    pacman -S $pacman
    brew install $brew"
}

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || other_system

# ---- With apt --------------------------------------------------------------------------------------------------------

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

is_known() { # $known: the names that the package index knows, of what is missing
    case $known in *" $1 "*) ;; *) return 1 ;; esac
}

# first TEST NAME|NAME...: the first name that passes the test; fails without one.
first() {
    for name in $(echo "$2" | tr '|' ' '); do
        if $1 "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

missing=
for package in $packages; do
    # Node's own package has it inside, and does not go with Debian's.
    [ "$package" != npm ] || ! command -v npm >/dev/null || continue
    first is_installed "$package" >/dev/null || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo 'setup: every package is installed'
    exit 0
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || give_up "not root and no sudo; run as root: apt-get install$(echo "$missing" | sed 's/|[^ ]*//g')"
    sudo=sudo
    # Nobody answers the question for a password there.
    [ -t 0 ] || sudo='sudo -n'
fi
case $0 in */*) folder=${0%/*} ;; *) folder=. ;; esac
# A file that the caller names stays in force.
: "${APT_CONFIG:=$(cd "$folder" && pwd)/apt.conf}"
export APT_CONFIG
# What one call reads out of the index, the next ones find here; it is removed at the end.
caches=$(mktemp -d /tmp/ox-setup.XXXXXX) || give_up '/tmp cannot be written'
trap 'rm -rf "$caches"' EXIT
caching="-o Dir::Cache::pkgcache=$caches/packages -o Dir::Cache::srcpkgcache=$caches/sources"
# shellcheck disable=SC2086 # lists of words
$sudo env APT_CONFIG="$APT_CONFIG" apt-get update $caching -q || echo 'setup: the package index could not be updated' >&2

# shellcheck disable=SC2046,SC2086 # lists of words
known=" $(apt-cache policy $caching $(echo "$missing" | tr '|' ' ') 2>/dev/null |
    sed -n 's/^\([^ ].*\):$/\1/; t name; /Candidate: *[^( ]/ { x; p; }; d; :name; h; d' | tr '\n' ' ')"
chosen= unknown=
for package in $missing; do
    if name=$(first is_known "$package"); then
        chosen="$chosen $name"
    else
        unknown="$unknown ${package%%|*}"
    fi
done
[ -z "$unknown" ] || [ -n "$try" ] || give_up "the package index knows none of:$unknown"
if [ -n "$chosen" ]; then
    echo "setup: installing$chosen${sudo:+ (with sudo)}"
    # shellcheck disable=SC2086 # lists of words
    $sudo env APT_CONFIG="$APT_CONFIG" DEBIAN_FRONTEND=noninteractive \
        apt-get install $caching -q -y --no-install-recommends $chosen ||
        give_up "could not be installed:$chosen"
fi
[ -z "$unknown" ] || give_up "left out, as the package index does not know it:$unknown"
