# libraries.sh: what libraries for devices have, refuse and need, built from lists of operators for the host. Read by run.sh.
# Nothing here is built with sanitizers.

# Nothing but this may be missing from the archive.
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

# A model, from the file to a program that runs it in a fixed buffer.
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

# A model that needs more gets one error.
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
echo 'Flatten 13 float' >"$dir/strided.txt"
expect 'a library without loops that move elements' device OPS="$dir/strided.txt" DEVICE="$dir/strided"
lacks_moves() { grep -qx '#define OX_WITH_MOVES 0' "$dir/strided/gen/selection.h"; }
expect 'it has none' lacks_moves
expect 'its program' $CC -std=c11 -Wall -Werror -Isrc -o "$dir/strided/run" tests/device/strided.c "$dir/strided/libox.a" -lm
expect 'it packs inputs with strides' "$dir/strided/run" "$dir/strided.onnx"
printf 'Nonsense 3 float\n' >"$dir/wrong.txt"
if device OPS="$dir/wrong.txt" DEVICE="$dir/wrong" >"$dir/out" 2>&1 || ! grep -q 'ox has no operator Nonsense-3' "$dir/out"; then
    bad 'an operator that ox lacks is an error of the build'
else
    ok 'an operator that ox lacks is an error of the build'
fi

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
