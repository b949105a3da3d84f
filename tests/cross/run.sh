#!/bin/sh
# run.sh MAKE TRIPLE QEMU PART...: builds for another machine into $BUILD with the compiler TRIPLE-gcc and the libraries
# of $BUILD/sysroot, and runs parts of the tests under QEMU, if there are any.
make=$1
triple=$2
qemu=$3
shift 3
for tool in "$triple-gcc" "$qemu"; do
    if ! command -v "$tool" >/dev/null; then
        echo "there is no $tool: run sh tools/setup.sh cross"
        exit 1
    fi
done

include=$BUILD/sysroot/usr/include
CC="$triple-gcc -isystem $include -isystem $include/$triple -L$BUILD/sysroot/usr/lib/$triple"
AR=$triple-ar
EMULATOR="$qemu -L /usr/$triple"
CK_TIMEOUT_MULTIPLIER=10 # emulation is slow
export CC AR EMULATOR CK_TIMEOUT_MULTIPLIER
echo "$($triple-gcc -dumpmachine) under $($qemu --version | head -n 1)"
$make --no-print-directory BUILD="$BUILD" "$BUILD/ox" "$BUILD/unit" "$BUILD/digits" || exit 1
[ $# -gt 0 ] || exit 0
MAKE=$make sh tests/check.sh "$@"
