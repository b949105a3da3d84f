#!/bin/sh
# run.sh: tests of the library for devices, built for the host: $BUILD/device/host has everything, others what a model
# needs. Needs BUILD, MAKE, CC, PYTHON, and SANITIZE, the flags of sanitizers.
set -u
passed=0 failed=0
dir=$BUILD/device/test
mkdir -p "$dir"

ok() {
    echo "ok: $1"
    passed=$((passed + 1))
}
bad() {
    echo "FAILED: $1"
    failed=$((failed + 1))
}
# expect WHAT COMMAND...: the command succeeds.
expect() {
    what=$1
    shift
    if "$@" >"$dir/out" 2>&1; then ok "$what"; else
        bad "$what"
        sed 's/^/    /' "$dir/out" | tail -n 20
    fi
}
device() { $MAKE --no-print-directory -s device TARGET=host "$@"; }

[ -n "$SANITIZE" ] || . tests/device/libraries.sh

soft_doubles() {
    $CC $SANITIZE -std=c11 -O2 -Wall -Wextra -Werror -Isrc -Isrc/bare -o "$dir/soft" tests/device/soft.c src/bare/soft.c -lm && "$dir/soft"
}
expect 'doubles in integers have the bits of doubles' soft_doubles

# Models without what only people read; fewer under the sanitizers.
# shellcheck disable=SC2086 # nothing or two words
expect 'models as ox embed writes them compute what they did' \
    env PYTHONPATH=tests/lib sh tests/venv_run.sh "$BUILD/venv" 0 tests/device/slim.py "$BUILD/ox" "$BUILD/node" "$dir/slim" ${SANITIZE:+--every 60}

# Operators of bytes, and products of floats, in many forms, by the loops that devices have: the bits that the whole
# library gives. OX_DSP takes those for two products in an instruction, which is computed in C here.
same_bits() {
    windows=$dir/networks/$1
    rm -rf "$windows/lib"
    "$BUILD/ox" embed "$windows/model.onnx" -o "$windows" || return 1
    device OPS="$windows/ops.txt" DEVICE="$windows/lib" DEVICE_DEFINES="$SANITIZE $3" || return 1
    for library in "$windows/lib/libox.a" "$BUILD/libox.a"; do
        $CC $SANITIZE -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I"$windows" -Iexamples/firmware/board -DNETWORK_BUFFER='(4 << 20)' \
            -o "$windows/main" tests/embedded/network.c tests/embedded/host_board.c "$windows/model.c" "$library" -lprotobuf-c -lm &&
            "$windows/main" | grep '^result: ' >"$windows/$(basename "$(dirname "$library")").txt" || return 1
    done
    [ "$(wc -l <"$windows/lib.txt")" -gt "$2" ] && cmp "$windows/lib.txt" "$windows/$(basename "$BUILD").txt"
}
# What the whole library gives.
whole_library() {
    windows=$dir/networks/$1
    "$BUILD/ox" embed "$windows/model.onnx" -o "$windows" &&
        $CC $SANITIZE -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I"$windows" -Iexamples/firmware/board -DNETWORK_BUFFER='(4 << 20)' \
            -o "$windows/main" tests/embedded/network.c tests/embedded/host_board.c "$windows/model.c" "$BUILD/libox.a" -lprotobuf-c -lm &&
        "$windows/main" | grep '^result: ' >"$windows/lib.txt"
}
# The same by a plan.
same_plan() {
    windows=$dir/networks/$1
    # shellcheck disable=SC2086
    $CC $SANITIZE -std=c11 -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -Isrc -I"$windows/plan" -Iexamples/firmware/board -Wl,--gc-sections \
        -o "$windows/planned" tests/embedded/planned.c tests/embedded/host_board.c "$windows/plan/model.c" "$dir/planned/libox.a" -lm &&
        "$windows/planned" >"$windows/planned.txt" || return 1
    [ -n "$(find "$windows/lib.txt" -newer "$windows/model.onnx" 2>/dev/null)" ] || whole_library "$1" || return 1
    grep '^result: ' "$windows/planned.txt" | cmp - "$windows/lib.txt"
}
damaged() {
    windows=$dir/networks/$1
    $CC $SANITIZE -std=c11 -Wall -Wextra -Werror -Isrc -I"$windows/plan" -Iexamples/firmware/board -o "$windows/damaged" \
        tests/embedded/damaged.c tests/embedded/host_board.c "$windows/plan/model.c" "$dir/planned/libox.a" -lm && "$windows/damaged"
}
no_loader() { [ -n "$SANITIZE" ] || ! nm "$1" | grep -Eq 'protobuf_c|ox_load_|ox_stage_|ox_model_load|ox_infer_(conv|gemm|qlinear_conv)$'; }
if [ -x "$BUILD/venv/bin/python" ]; then
    expect 'networks of many forms' sh tests/venv_run.sh "$BUILD/venv" 0 tests/embedded/networks.py "$dir/networks"
    expect 'networks are rewritten as on the host' env PYTHONPATH=tests/lib sh tests/venv_run.sh "$BUILD/venv" 0 \
        tests/device/rewritten.py "$BUILD/ox" "$dir/networks" "$dir/networks/made"
    expect 'operators of bytes give the same bits' same_bits windows 10000 -DOX_DSP=0
    expect 'operators of bytes give the same bits with instructions for two products' same_bits windows 10000 -DOX_DSP=1
    # Some of its convolutions are too large for the loops for bytes.
    too_large() {
        windows=$dir/networks/windows
        grep -v '^with columns' "$windows/ops.txt" >"$dir/columns.txt"
        device OPS="$dir/columns.txt" DEVICE="$windows/lib" DEVICE_DEFINES="$SANITIZE -DOX_DSP=0" || return 1
        $CC $SANITIZE -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I"$windows" -Iexamples/firmware/board -DNETWORK_BUFFER='(4 << 20)' \
            -o "$windows/main" tests/embedded/network.c tests/embedded/host_board.c "$windows/model.c" "$windows/lib/libox.a" -lm || return 1
        ! "$windows/main" && "$windows/main" | grep -q 'QLinearConv'
    }
    expect 'convolutions that need what the list lacks are refused' too_large
    expect 'products of floats give the same bits' same_bits products 10000 -DOX_DSP=0
    expect 'scales of every form give the same bits' same_bits scales 10000 -DOX_DSP=0
    expect 'functions of a byte give the same bits' same_bits functions 10000 -DOX_DSP=0

    # The same by plans as constants, in one library of what all of them need, whose code the sanitizers watch, too.
    plans='windows functions products kws_qdq resnet'
    for network in $plans; do
        expect "a plan of $network" "$BUILD/ox" embed --plan "$dir/networks/$network/model.onnx" -o "$dir/networks/$network/plan"
    done
    # shellcheck disable=SC2086 # a list of words
    lists=$(printf "$dir/networks/%s/plan/ops.txt " $plans)
    expect 'a library for plans' device OPS="$lists" DEVICE="$dir/planned" \
        DEVICE_DEFINES="-DOX_ASSERTIONS=1 $SANITIZE"
    for network in $plans; do
        expect "a plan gives the same bits: $network" same_plan "$network"
        expect "a plan needs no loader: $network" no_loader "$dir/networks/$network/planned"
        expect "a damaged plan is refused: $network" damaged "$network"
    done
    expect 'a plan with a transposed tensor' "$BUILD/ox" embed --plan "$BUILD/node/test_transpose_all_permutations_3/model.onnx" -o "$dir/networks/transposed"
    expect 'its list has the loops that pack it' grep -qx 'with moves' "$dir/networks/transposed/ops.txt"
    lists_no_moves() { ! grep -q moves "$dir/networks/kws_qdq/plan/ops.txt"; }
    expect 'a plan without strides needs none' lists_no_moves
    expect 'a plan of a random forest' "$BUILD/ox" embed --plan tests/embedded/forest.onnx -d rows=1 -o "$dir/networks/forest"
    expect 'a program that ox embed writes for a plan' $CC -std=c11 -Wall -Wextra -Werror $SANITIZE -Isrc -I"$dir/networks/kws_qdq/plan" \
        -o "$dir/networks/main" "$dir/networks/kws_qdq/plan/main.c" "$dir/networks/kws_qdq/plan/model.c" "$dir/planned/libox.a" -lm
    tells() { "$dir/networks/main" | grep -Eqx '[0-9]+ bytes of the arena of [0-9]+ are enough'; }
    expect 'it says how much memory it takes' tells
fi

# What a plan cannot be of.
refuses() {
    "$BUILD/ox" embed --plan "$1" -o "$dir/refused" >"$dir/out" 2>&1
    grep -q "$2" "$dir/out"
}
for case in 'test_loop11/cannot hold this operator' 'test_nonzero_example/a shape depends on data' 'test_string_concat/of numbers'; do
    expect "no plan: ${case%/*}" refuses "$BUILD/node/${case%/*}/model.onnx" "${case#*/}"
done

mkdir -p "$dir/none"
printf '\010\010B\002\020\021:\003\022\001g' >"$dir/none/none.onnx"
expect 'ox embed takes a model without operators' "$BUILD/ox" embed "$dir/none/none.onnx" -o "$dir/none"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
