#!/bin/sh
# amalgamation.sh: the library as one file. The compilers that are here look at it for their systems; $CC compiles it, the digits program and
# the command take it in place of the library, and what they say is compared; small graphs of products are computed by all ways and builds,
# for aarch64 under qemu, too. A part of make nightly. Needs BUILD, CC, TOOLS and SCOPES (objects of the command and of make scopes), FUSED and
# FUSED_FLAGS (files whose products and sums are rounded together, and how they are compiled), BUILDS (flags of each build, with ; behind).
file=$BUILD/amalgamation/ox.c
out=$BUILD/amalgamation/test
passed=0 failed=0 skipped=0
rm -rf "$out"
mkdir -p "$out"

# expect WHAT COMMAND...: counts the command's success.
expect() {
    what=$1
    shift
    if "$@" >"$out/log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL $what: $(grep -v '^ ' "$out/log" | head -n 5)"
    fi
}

# looks COMPILER ARGUMENT...: no warning there. Formats of Windows are those of its library, as in the makefile.
looks() {
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $1 is not installed"
        skipped=$((skipped + 1))
        return
    fi
    expect "$* warns" "$@" -std=c11 -O2 -fsyntax-only -Wall -Wextra -Wshadow -Wconversion -Werror "$file"
}
looks gcc
looks clang
looks gcc -DOX_SYSTEM_PROTOBUF_C -DOX_ONE_BUILD
looks musl-gcc
looks aarch64-linux-gnu-gcc
looks aarch64-linux-gnu-gcc -DOX_ONE_BUILD
looks aarch64-linux-gnu-gcc -DOX_ONE_BUILD -march=armv8.2-a+dotprod+i8mm
looks arm-linux-gnueabihf-gcc
looks s390x-linux-gnu-gcc -fexcess-precision=fast
looks x86_64-w64-mingw32-gcc -Wno-format -Wno-conversion -Wno-float-conversion
looks clang --target=wasm32-wasi -msimd128

expect 'it compiles' $CC -std=c11 -O2 -c -o "$out/ox.o" "$file"
# Programs may have other copies of what it is made of.
nm -g --defined-only "$out/ox.o" | awk '$3 !~ /^(ox|OX)_/ {print $3; bad = 1} END {exit bad}' >"$out/names" || failed=$((failed + 1))
cat "$out/names"
expect 'the digits compile' $CC -std=gnu11 -O2 -I"$BUILD/amalgamation" -I"$BUILD" -DDIGITS_IMAGES='"examples/digits/images"' \
    -o "$out/digits" examples/digits/digits.c "$out/ox.o" -lm -lpthread
expect 'the command is linked' $CC -rdynamic -o "$out/ox" $TOOLS "$out/ox.o" -lpng16 -lz -lm -lpthread -ldl

# same PROGRAM PROGRAM ARGUMENT...
same() {
    one=$1 two=$2
    shift 2
    "$one" "$@" >"$out/one" 2>&1
    status=$?
    "$two" "$@" >"$out/two" 2>&1
    [ $? = $status ] && cmp "$out/one" "$out/two"
}
for build in base v3 v4; do
    export OX_ISA=$build
    expect "the digits of $build" same "$out/digits" "$BUILD/digits" --tsv examples/digits/images/*.pgm
    for letter in a c l g q; do
        set -- "$BUILD"/node/test_${letter}*
        [ ! -d "$1" ] || expect "node cases that begin with $letter, $build" same "$out/ox" "$BUILD/ox" test --quiet "$@"
    done
done
# What gcc 13 and later may take apart, sources keep together (gemm_kernel.c): in the one file there are no flags of files for that.
same_fused() {
    # shellcheck disable=SC2086 # lists of words
    for flags in "" '--param=avoid-fma-max-bits=0'; do
        $CC $FUSED_FLAGS $1 $flags -S -o "$out/fused$flags.s" "$2" || return 1
    done
    cmp "$out/fused.s" "$out/fused$flags.s"
}
if $CC -Werror --param=avoid-fma-max-bits=0 -c -x c -o /dev/null /dev/null >"$out/log" 2>&1; then
    echo "$BUILDS" | tr ';' '\n' | grep DOX_ISA >"$out/builds"
    while read -r flags; do
        for loops in $FUSED; do
            expect "a sum of $loops is not fused, $flags" same_fused "$flags" "$loops"
        done
    done <"$out/builds"
else
    skipped=$((skipped + 1))
fi

# Sums of one vector have the bits of wider ones: threads cut products anywhere.
unset OX_ISA
# shellcheck disable=SC2086 # lists of words
expect 'the small graphs are linked' $CC -o "$out/scopes" $SCOPES "$out/ox.o" -lm -lpthread
expect 'small graphs of products' "$out/scopes" --family products --every 20
expect 'small graphs of convolutions' "$out/scopes" --family convs --every 200
arm=aarch64-linux-gnu-gcc
if command -v $arm >/dev/null && command -v qemu-aarch64 >/dev/null; then
    expect 'it compiles for aarch64' $arm -std=c11 -O2 -c -o "$out/arm.o" "$file"
    expect 'the small graphs of aarch64 are linked' $arm -std=c11 -D_DEFAULT_SOURCE -Isrc -static -o "$out/arm" tests/scopes/*.c "$out/arm.o" -lm
    for family in products convs givers; do
        expect "small graphs of $family, aarch64" qemu-aarch64 "$out/arm" --family $family --every 400
    done
else
    skipped=$((skipped + 1))
fi
echo "$(($(wc -c <"$file") / 1000)) kB of C, $(size "$out/ox.o" | awk 'NR == 2 {print int($1 / 1000)}') kB of code and constants"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
