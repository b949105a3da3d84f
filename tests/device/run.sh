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

# 1. Nothing but this may be missing from the archive.
allowed='^(mem(chr|cpy|move|set|cmp)|str(chr|cmp|len|ncmp)|__[a-z0-9_]+|_GLOBAL_OFFSET_TABLE_|(acos|acosh|asin|asinh|atan|atanh|cbrt|ceil|copysign|cos|cosh|erf|erfc|exp|exp2|expm1|fabs|floor|fmax|fmod|frexp|ldexp|log|log10|log1p|log2|nearbyint|nextafter|pow|rint|round|sin|sincos|sinh|sqrt|tan|tanh|trunc)f?)$'
closure() {
    ld -r -o "$dir/closure.o" --whole-archive "$1" &&
        nm -u "$dir/closure.o" | awk '{ print $2 }' | grep -Ev "$allowed" >"$dir/missing"
    [ ! -s "$dir/missing" ] || { cat "$dir/missing"; return 1; }
}
expect 'the library for devices can be built' device
rows() { [ "$(grep -c '^[A-Z_]*(' "$1")" -eq "$(grep -c '^[A-Z_]*(' src/ops/table.inc)" ]; }
expect 'it has every row of the table' rows "$BUILD/device/host/gen/selected.inc"
expect 'it needs no system' closure "$BUILD/device/host/libox.a"

soft_doubles() {
    $CC $SANITIZE -std=c11 -O2 -Wall -Wextra -Werror -Isrc -Isrc/bare -o "$dir/soft" tests/device/soft.c src/bare/soft.c -lm && "$dir/soft"
}
expect 'doubles in integers have the bits of doubles' soft_doubles

# 2. A model, from the file to a program that runs it in a fixed buffer.
embed=$dir/digits
mkdir -p "$embed"
expect 'ox embed writes what a firmware needs' "$BUILD/ox" embed examples/digits/model.onnx -d batch=1 -o "$embed"
expect 'a library with what the model needs' device OPS="$embed/ops.txt" DEVICE="$embed/lib"
expect 'the program' $CC -std=c11 -Wall -Werror -Isrc -I"$embed" -o "$embed/main" "$embed/main.c" "$embed/model.c" \
    "$embed/lib/libox.a" -lm
expect 'the program runs' "$embed/main"
says() { "$embed/main" | grep -Eq "$1"; }
expect 'it says what it computed' says '^probability: ([0-9.e-]+ ){9}[0-9.e-]+$'
expect 'it says how much of the buffer it takes' says '^[0-9]+ bytes of the buffer of [0-9]+ are enough$'
expect 'it needs no printf' $CC -std=c11 -Wall -Wextra -Werror -DNO_PRINTF -Isrc -I"$embed" -c -o "$embed/quiet.o" "$embed/main.c"
expect 'exactly as much memory as it takes' $CC -std=c11 -Wall -Werror -Isrc -o "$embed/exact" tests/device/exact.c \
    "$embed/lib/libox.a" -lm
expect 'the bytes with aligned weights' $CC -std=c11 -I"$embed" -c -o "$embed/model.o" "$embed/model.c"
expect 'the bytes as a file' objcopy -O binary -j .rodata "$embed/model.o" "$embed/model.aligned"
for model in examples/digits/model.onnx "$embed/model.aligned"; do
    expect "one byte less is not enough: $model" "$embed/exact" "$model"
done

# 3. A model that needs more gets one error.
grep -v '^PRelu' "$embed/ops.txt" >"$dir/less.txt"
expect 'a library with less' device OPS="$dir/less.txt" DEVICE="$dir/less"
$CC -std=c11 -Isrc -o "$dir/exact_less" tests/device/exact.c "$dir/less/libox.a" -lm
"$dir/exact_less" examples/digits/model.onnx >"$dir/out" 2>&1
if grep -q 'this build of the library has no PRelu-' "$dir/out"; then ok 'a missing operator is named'; else
    bad 'a missing operator is named'
    cat "$dir/out"
fi
sed 's/ float/ double/' "$embed/ops.txt" >"$dir/double.txt"
expect 'a library with another type' device OPS="$dir/double.txt" DEVICE="$dir/double"
$CC -std=c11 -Isrc -o "$dir/exact_double" tests/device/exact.c "$dir/double/libox.a" -lm
"$dir/exact_double" examples/digits/model.onnx >"$dir/out" 2>&1
if grep -q '(Expand): input 0 of Expand-13 is of type float, which this build of the library leaves out' "$dir/out"; then
    ok 'a missing type is named'
else
    bad 'a missing type is named'
    cat "$dir/out"
fi
# refused MODEL TEXT: the library for the digits says that of a model.
refused() {
    "$embed/exact" "$dir/$1.onnx" >"$dir/out" 2>&1
    if grep -q "$2" "$dir/out"; then ok "refused: $1"; else
        bad "refused: $1"
        cat "$dir/out"
    fi
}
expect 'models for these libraries' "$PYTHON" tests/device/models.py "$dir"
refused unsorted '(Add) reads what a later node gives'
refused external "tensor 'w': this build of the library has no external data"
refused integers 'node 0 (Add): input 0 of Add-14 is of type int32, which this build of the library leaves out'
echo 'Expand 13 float int64' >"$dir/views.txt"
expect 'a library that only has views' device OPS="$dir/views.txt" DEVICE="$dir/views"
expect 'its program' $CC -std=c11 -Wall -Werror -Isrc -o "$dir/views/run" tests/device/views.c "$dir/views/libox.a" -lm
expect 'it repeats and shows what it is given' "$dir/views/run" "$dir/views.onnx"
printf 'Nonsense 3 float\n' >"$dir/wrong.txt"
if device OPS="$dir/wrong.txt" DEVICE="$dir/wrong" >"$dir/out" 2>&1 || ! grep -q 'ox has no operator Nonsense-3' "$dir/out"; then
    bad 'an operator that ox lacks is an error of the build'
else
    ok 'an operator that ox lacks is an error of the build'
fi

# Models without what only people read.
expect 'models as ox embed writes them compute what they did' \
    env PYTHONPATH=tests/lib sh tests/venv_run.sh "$BUILD/venv" 0 tests/device/slim.py "$BUILD/ox" "$BUILD/node" "$dir/slim"

# A quantized network: types in which a constant is computed are in the list, though the model has no value of them.
quantized=$dir/quantized
expect 'ox embed of a quantized network' "$BUILD/ox" embed "$dir/quantized.onnx" -o "$quantized"
echo 'ReduceMean 13 float' >>"$quantized/ops.txt"
expect 'its library' device OPS="$quantized/ops.txt" DEVICE="$quantized/lib"
expect 'its program' $CC -std=c11 -Wall -Wextra -Werror -Isrc -I"$quantized" -Wl,--gc-sections -o "$quantized/main" \
    "$quantized/main.c" "$quantized/quantized.c" "$quantized/lib/libox.a" -lm
computes() { "$quantized/main" | grep -qx 'y: 0 2 -8 6'; }
expect 'its program computes what it should' computes
# Of int8, int32 and double there are values, but no reductions.
reduces() {
    nm "$quantized/main" | sed -n 's/.* \(rows_[a-z]*_[a-z0-9_]*\)$/\1/p' | sort | tr '\n' ' ' >"$quantized/loops"
    cat "$quantized/loops"
    [ "$(cat "$quantized/loops")" = 'rows_sum_f32 rows_sum_f64 ' ] # elements, and their accumulators
}
expect 'its program has the loops of the reductions that it names, for their types' reduces

# Scales of float alone: what they lack is the type that they are to compute in.
printf 'with texts\nQuantizeLinear 23 float int8\nDequantizeLinear 23 float int8\n' >"$dir/precise.txt"
expect 'a library with scales of floats' device OPS="$dir/precise.txt" DEVICE="$dir/precise"
$CC -std=c11 -Isrc -o "$dir/exact_precise" tests/device/exact.c "$dir/precise/libox.a" -lm
lacks_doubles() { "$dir/exact_precise" "$dir/precise.onnx" | grep -q 'it needs loops for double, which this build'; }
expect 'the type that a quantization lacks is named' lacks_doubles

# One whose product becomes one of integers: when it is embedded, or else when it is loaded. Then MatMul is listed without a
# type, and no loop is built for it.
expect 'ox embed of a network that becomes one of integers' "$BUILD/ox" embed "$dir/rewritten.onnx" -o "$dir/early"
without() { ! grep -Eq '^MatMul|^with quantized' "$dir/early/ops.txt"; }
expect 'it lists what the network has become, and no rewriter' without
expect 'a library without a rewriter' device OPS="$dir/early/ops.txt" DEVICE="$dir/early/lib"
expect 'its program' $CC -std=c11 -Wall -Wextra -Werror -Isrc -I"$dir/early" -o "$dir/early/main" "$dir/early/main.c" \
    "$dir/early/rewritten.c" "$dir/early/lib/libox.a" -lm
computes() { "$dir/early/main" | grep -qx 'y: 0.75 1.75 -1 -1.5'; }
expect 'its program computes what it should' computes
rewritten=$dir/rewritten
expect 'ox embed of a network that becomes one of integers on the device' "$BUILD/ox" embed --keep-quantized "$dir/rewritten.onnx" -o "$rewritten"
expect 'a program with the quantized network and without a rewriter' $CC -std=c11 -Wall -Wextra -Werror -Isrc -I"$rewritten" -o "$dir/early/late" \
    "$rewritten/main.c" "$rewritten/rewritten.c" "$dir/early/lib/libox.a" -lm
lacks() { "$dir/early/late" | grep -q 'this build of the library has no MatMul-'; }
expect 'it says which operator it lacks' lacks
expect 'it lists the operators that the network has then' grep -qx 'QLinearMatMul 10 float int8' "$rewritten/ops.txt"
expect 'it lists those that it had' grep -qx 'MatMul 13 early' "$rewritten/ops.txt"
expect 'its library' device OPS="$rewritten/ops.txt" DEVICE="$rewritten/lib"
expect 'its program' $CC -std=c11 -Wall -Wextra -Werror -Isrc -I"$rewritten" -o "$rewritten/main" "$rewritten/main.c" \
    "$rewritten/rewritten.c" "$rewritten/lib/libox.a" -lm
computes() { "$rewritten/main" | grep -qx 'y: 0.75 1.75 -1 -1.5'; }
expect 'its program computes what it should' computes

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

    # The same by plans as constants, in one library of what all of them need, whose code the sanitizers watch, too.
    plans='windows products kws_qdq resnet'
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
for case in 'test_loop11/no such operators' 'test_nonzero_example/a shape depends on data' 'test_string_concat/of numbers'; do
    expect "no plan: ${case%/*}" refuses "$BUILD/node/${case%/*}/model.onnx" "${case#*/}"
done

mkdir -p "$dir/none"
printf '\010\010B\002\020\021:\003\022\001g' >"$dir/none/none.onnx"
expect 'ox embed takes a model without operators' "$BUILD/ox" embed "$dir/none/none.onnx" -o "$dir/none"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
