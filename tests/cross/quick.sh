#!/bin/sh
# quick.sh: a quick share of every target, for each change: all of them are built without optimization and with one build of the loops; unit
# tests but for long ones run under musl and wine, those of loops under qemu (arm64), and the command elsewhere as far as something runs it. A
# target whose compiler is not here is skipped. All of it is parts of make nightly. Needs BUILD, MAKE, CROSS (sysroots), SYSTEMS, ARCHS.
out=$BUILD/quick
passed=0 failed=0 skipped=0
mkdir -p "$out"
plain='OPT=-O0 VARIANTS= DOTS='
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

# has WHAT PROGRAM...
has() {
    what=$1
    shift
    for program in "$@"; do
        if ! command -v "$program" >/dev/null; then
            echo "skipped: $what: there is no $program (sh tools/setup.sh cross)"
            skipped=$((skipped + 1))
            return 1
        fi
    done
}

for system in $SYSTEMS; do
    case $system in
    windows) programs='x86_64-w64-mingw32-gcc wine' ;;
    musl) programs=musl-gcc ;;
    wasm) programs='clang wasm-ld llvm-ar node' ;;
    *) programs=python3 ;; # the compiler is a package, which make installs
    esac
    # shellcheck disable=SC2086 # lists of words
    has "$system" $programs || continue
    # zig adds sanitizers where nothing is optimized.
    # shellcheck disable=SC2086
    expect "$system is not built" $MAKE --no-print-directory BUILD="$out" SOURCES="$BUILD/sources" ZIG_VENV="$BUILD/zig-venv" \
        OPT_macos=-O1 OPT_freebsd=-O1 OPT_wasm=-O1 $plain "$system" || continue
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
    expect "libraries of $arch" $MAKE --no-print-directory "$CROSS/$arch/sysroot/.stamp" || continue
    root=$CROSS/$arch/sysroot/usr to=$out/$arch
    # Unit tests where loops are written for the processor; elsewhere the command.
    goal=$to/ox
    [ $arch != arm64 ] || goal="$goal $to/unit"
    # shellcheck disable=SC2086
    expect "$arch is not built" env CC="$triple-gcc -isystem $root/include -isystem $root/include/$triple -L$root/lib/$triple" AR=$triple-ar \
        $MAKE --no-print-directory BUILD="$to" $plain $goal || continue
    expect "the command of $arch" $qemu -L /usr/$triple "$to/ox" run examples/digits/model.onnx -i examples/digits/images/7_0577.pgm --top 1
    [ $arch = arm64 ] || continue
    for suite in blend cell_loops chain conv_ways gemm_finish gemm_vector isa lookup matmul_integer moves winograd; do
        expect "unit tests of $suite, $arch" env CK_RUN_SUITE=$suite $qemu -L /usr/$triple "$to/unit"
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
