#!/bin/sh
# quick.sh: a quick share of every target, for each change: all of them are built without optimization and, but for arm64, with one build of the
# loops, of macOS and FreeBSD the library alone, as zig takes long to link; unit tests but for long ones run under musl and wine, those of loops and
# a share of the tiny graphs of bytes under qemu (arm64), and the command elsewhere as far as something runs it. A target whose compiler is not here
# is skipped. All of it is parts of make nightly. Needs BUILD, MAKE, CROSS (sysroots), SYSTEMS, ARCHS.
out=$BUILD/quick
passed=0 failed=0 skipped=0
mkdir -p "$out"
plain='OPT=-O0 FOREIGN_OPT=-O0'
one='VARIANTS= DOTS='
export CK_EXCLUDE_TAGS=long CK_TIMEOUT_MULTIPLIER=10

# expect WHAT COMMAND...: counts the command's success, and shows the end of what a failure says.
expect() {
    what=$1
    shift
    if "$@" >"$out/log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL $what:"
        tail -n 20 "$out/log"
        return 1
    fi
}

# skip WHAT WHY
skip() {
    echo "skipped: $1: $2"
    skipped=$((skipped + 1))
    return 1
}

# What a command that failed says last, but for what make adds.
reason() {
    grep -v '^make' "$out/log" | tail -n 1
}

# has WHAT PROGRAM...
has() {
    what=$1
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "$what" "there is no $program (sh tools/setup.sh cross)" || return 1
    done
}

# Sources of Debian and the package ziglang come from an index.
has_sources() {
    $MAKE --no-print-directory SOURCES="$BUILD/sources" "$BUILD/sources/.stamp" >"$out/log" 2>&1 ||
        skip "$SYSTEMS" "there are no sources of protobuf-c, zlib and libpng: $(reason)"
}
has_zig() {
    $MAKE --no-print-directory ZIG_VENV="$BUILD/zig-venv" zig >"$out/log" 2>&1 || skip "$1" "there is no ziglang: $(head -n 1 "$out/log")"
}

# build SYSTEM: zig adds sanitizers where nothing is optimized.
build() {
    case $1 in
    macos | freebsd) goal=$out/$1/port/libox.a ;;
    wasm) goal=$out/$1/port/ox.wasm ;;
    *) goal= ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    expect "$1 is not built" $MAKE --no-print-directory BUILD="$out" SOURCES="$BUILD/sources" ZIG_VENV="$BUILD/zig-venv" SYSTEM_GOAL="$goal" \
        OPT_macos='-O0 -fno-sanitize=undefined' OPT_freebsd='-O0 -fno-sanitize=undefined' OPT_wasm=-O0 $plain $one "$1"
}

has_sources || SYSTEMS=
for system in $SYSTEMS; do
    case $system in
    windows) programs='x86_64-w64-mingw32-gcc wine' ;;
    musl) programs=musl-gcc ;;
    wasm) programs='clang wasm-ld llvm-ar node' ;;
    *) programs=python3 ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    has "$system" $programs || continue
    case $system in macos | freebsd) has_zig "$system" || continue ;; esac
    build "$system" || continue
    port=$out/$system/port
    case $system in
    windows) expect 'unit tests of windows' env WINEDEBUG=-all wine "$port/unit.exe" ;;
    musl) expect 'unit tests of musl' "$port/unit" ;;
    wasm) expect 'the command in Node' node --no-warnings tests/cross/wasi.mjs "$port/ox.wasm" run examples/digits/model.onnx \
        -i examples/digits/images/7_0577.pgm --top 1 ;;
    esac
done

for arch in $ARCHS; do
    case $arch in
    arm64) triple=aarch64-linux-gnu qemu=qemu-aarch64 ;;
    armhf) triple=arm-linux-gnueabihf qemu=qemu-arm ;;
    *) triple=$arch-linux-gnu qemu=qemu-$arch ;;
    esac
    has "$arch" $triple-gcc $qemu || continue
    # shellcheck disable=SC2086 # "make" and options
    $MAKE --no-print-directory "$CROSS/$arch/sysroot/.stamp" >"$out/log" 2>&1 ||
        skip "$arch" "there are no libraries for it: $(reason)" || continue
    root=$CROSS/$arch/sysroot/usr to=$out/$arch
    # Unit tests where loops are written for the processor; elsewhere the command.
    goal="$to/ox $one"
    [ $arch != arm64 ] || goal="$to/ox $to/unit $to/scopes ASSERTIONS=1"
    # shellcheck disable=SC2086
    expect "$arch is not built" env CC="$triple-gcc -isystem $root/include -isystem $root/include/$triple -L$root/lib/$triple" AR=$triple-ar \
        $MAKE --no-print-directory BUILD="$to" $plain $goal || continue
    expect "the command of $arch" $qemu -L /usr/$triple "$to/ox" run examples/digits/model.onnx -i examples/digits/images/7_0577.pgm --top 1
    [ $arch = arm64 ] || continue
    for suite in blend cell_loops chain conv_ways gemm_finish gemm_vector isa lookup matmul_integer moves winograd; do
        expect "unit tests of $suite, $arch" env CK_RUN_SUITE=$suite $qemu -L /usr/$triple "$to/unit"
    done
    expect "tiny graphs of bytes, $arch" $qemu -L /usr/$triple "$to/scopes" --family quantized --every 12
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
