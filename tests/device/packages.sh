#!/bin/sh
# packages.sh [--boards]: the package for Arduino, PlatformIO, ESP-IDF and Zephyr keeps their rules, needs no flags and runs the digits: on this
# machine, and with --boards on emulated ones, where stand-ins of those systems build the examples (boards/). Needs BUILD, MAKE, CC, PYTHON.
set -u
boards=${1:-}
passed=0 failed=0 skipped=0
dir=$BUILD/packages-test${boards:+-boards}
package=$dir/ox
rm -rf "$dir"
mkdir -p "$dir"

# expect WHAT COMMAND...: counts the command's success.
expect() {
    what=$1
    shift
    if "$@" >"$dir/log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL $what: $(tail -n 20 "$dir/log")"
    fi
}
skip() {
    echo "skipped: $1"
    skipped=$((skipped + 1))
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ]
    exit
}
rules() { "$PYTHON" tests/device/packages_rules.py "$1"; }

# compile COMPILER TO FLAG...: every source of the library, with what Arduino gives to all libraries, which is nothing of ours.
compile() {
    with=$1 to=$2
    shift 2
    case $with in *-gcc) archive=${with%gcc}ar ;; *) archive=ar ;; esac
    mkdir -p "$to"
    (cd "$package/src" && find ox -name '*.c') | while read -r file; do
        echo "-c $package/src/$file -o $to/$(echo "$file" | tr / _).o"
    done >"$to/list"
    flags=$*
    # shellcheck disable=SC2086 # words
    xargs -P 2 -n 4 $with -std=gnu11 -Werror=implicit-function-declaration -I"$package/src" $flags <"$to/list" &&
        $archive rcs "$to/libox.a" "$to"/*.o
}
# A program's lines say for each picture what it shows and what it was taken for.
right() { # COMMAND...
    timeout 200 "$@" >"$dir/said" 2>&1 || { cat "$dir/said" && return 1; }
    cat "$dir/said"
    [ "$(awk '/ was taken for / && $1 == $NF' "$dir/said" | wc -l)" -eq 12 ] && grep -q '^[0-9]* bytes of the buffer' "$dir/said"
}

expect 'the package is made' "$MAKE" --no-print-directory packages PACKAGE="$package"
expect 'it keeps the rules' rules "$package"

digits=$package/examples/digits
if [ -z "$boards" ]; then
    # Rules that can be broken.
    plant() { # FILE SCRIPT
        cp -r "$package" "$dir/wrong"
        sed -i "$2" "$dir/wrong/$1"
        ! rules "$dir/wrong" || failed=$((failed + 1))
        rm -r "$dir/wrong"
    }
    plant library.properties '/^sentence/d' >/dev/null
    plant library.json 's/"ox.h"/"onnx.h"/' >/dev/null
    plant idf_component.yml 's/^version.*/version: 1/' >/dev/null
    plant zephyr/module.yml 's/cmake: zephyr/cmake: none/' >/dev/null
    plant src/ox/store.h 's/#include "\(.*\)"/#include "ox\/\1"/' >/dev/null
    ops=$BUILD/device/digits/ops.txt
    expect 'operators are chosen' sh "$package/extras/select.sh" "$ops"
    expect 'few are left' [ "$(grep -c '^[A-Z_]*(' "$package/src/ox/selected.inc")" -lt 20 ]
    bare_flags() {
        find "$package/src" "$digits" -name '*.c' |
            xargs -P 2 -n 40 $CC -std=gnu11 -O1 -fsyntax-only -Wall -Wextra -Werror -Wno-unused-parameter -I"$package/src"
    }
    expect 'it compiles without flags of ours' bare_flags
    finish
fi

# What those systems publish as programs, where they are installed.
venv=$BUILD/packages-venv
sh tests/venv.sh "$PYTHON" "$venv" tests/device/requirements.txt
if [ -x "$venv/bin/python" ]; then
    expect 'PlatformIO, the component manager and Kconfig take it' env PLATFORMIO_CORE_DIR="$PWD/$dir/core" \
        "$venv/bin/python" tests/device/packages_tools.py "$package" "$dir"
else
    skip 'PlatformIO, the component manager and Kconfig: no Python packages'
fi

# board TARGET: what the makefile knows of a board, as words of the shell.
board() {
    eval "$("$MAKE" --no-print-directory -s TARGET="$1" STACK_BYTES=8192 board-words)"
}
# emulated FILE
emulated() {
    # shellcheck disable=SC2086 # words
    right $emulate -kernel "$1"
}
# has COMMAND...: whether all are installed.
has() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { skip "$tool is not installed"; return 1; }
    done
}

# Arduino's way: each file by itself, no flags but the board's, the sketch as C++ behind Arduino.h. All operators.
if has arm-none-eabi-g++ qemu-system-arm; then
    board cortex-m4
    objects=
    # shellcheck disable=SC2086 # words
    expect 'the library compiles for Arduino' compile "${tools}gcc" "$dir/arduino" -Os -w -ffunction-sections -fdata-sections $arch
    for file in $start; do
        # shellcheck disable=SC2086 # words
        expect "$file" "${tools}gcc" -std=gnu11 -Os $arch $start_flags -DBOARD_HZ=1 -c -o "$dir/arduino/$(basename "$file").start" "$file"
        objects="$objects $dir/arduino/$(basename "$file").start"
    done
    for file in digits model; do
        # shellcheck disable=SC2086 # words
        expect "$file.c" "${tools}gcc" -std=gnu11 -Os $arch -I"$package/src" -c -o "$dir/arduino/$file.start" "$digits/$file.c"
        objects="$objects $dir/arduino/$file.start"
    done
    for file in "$digits/digits.ino" tests/device/boards/arduino/main.cpp; do
        # shellcheck disable=SC2086 # words
        expect "$file" "${tools}g++" -std=gnu++11 -Os -fno-exceptions -fno-rtti $arch -I"$package/src" -I"$digits" -Itests/device/boards/arduino \
            -include Arduino.h -c -o "$dir/arduino/$(basename "$file").start" -x c++ "$file"
        objects="$objects $dir/arduino/$(basename "$file").start"
    done
    # shellcheck disable=SC2086 # words
    expect 'the sketch is built' "${tools}gcc" $arch -o "$dir/arduino.elf" $objects "$dir/arduino/libox.a" $link -lm
    expect 'the sketch runs' emulated "$dir/arduino.elf"
fi

# cmake_board NAME SOURCE ARGUMENT...: a project of one of the other systems.
cmake_board() {
    name=$1 source=$2
    shift 2
    cmake -S "$source" -B "$dir/$name" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER="${tools}gcc" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
        -DCMAKE_C_FLAGS="-std=gnu11 -Os -w -ffunction-sections -fdata-sections $arch" -DOX_BOARD="$PWD/examples/firmware/board" \
        -DOX_BOARD_START="$(basename "${start##* }")" -DOX_BOARD_LINK="$link" -DOX_BOARD_OPTIONS="$(echo $start_flags | tr ' ' ';');-DBOARD_HZ=1" "$@" &&
        cmake --build "$dir/$name" -j 2
}
if has arm-none-eabi-gcc qemu-system-arm cmake; then
    board cortex-m3
    export ZEPHYR_BASE="$PWD/tests/device/boards/zephyr"
    expect 'the sample is built for Zephyr' cmake_board zephyr "$package/examples/zephyr_digits" -DZephyr_DIR="$ZEPHYR_BASE"
    expect 'the sample runs' emulated "$dir/zephyr/app"
fi
# With the operators of the digits, by the option.
if has riscv64-unknown-elf-gcc qemu-system-riscv32 cmake; then
    board rv32
    mkdir -p "$dir/selection"
    awk -v dir="$dir/selection" -f "$package/extras/select.awk" "$package/src/ox.h" "$BUILD/device/digits/ops.txt" "$package/src/ox/ops/table.inc"
    export IDF_PATH="$PWD/tests/device/boards/idf"
    expect 'the project is built for ESP-IDF' cmake_board idf "$package/examples/esp_idf_digits" -DCONFIG_OX_SELECTION="$PWD/$dir/selection"
    expect 'the project runs' emulated "$dir/idf/app"
    expect 'it has few operators' [ "$(size "$dir/idf/app" 2>/dev/null | awk 'NR == 2 {print $1}')" -lt 250000 ]
fi
finish
