#!/bin/sh
# size.sh FILE: links programs for a Cortex-M4F and a shared library for x86-64, and writes docs/size.md's table into
# FILE. Needs BUILD, MAKE.
set -eu
file=$1
dir=$BUILD/device/size
mkdir -p "$dir"
arch='-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard'
seeds='Expand Add And Div Equal Greater Less Max Mean Min Mul Or Pow Sub Sum Where Xor Gemm PRelu'
all='float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string'

# list NAME... types: every row of these operators in the table, as a list for make device.
list() {
    types=$1
    shift
    for name; do
        sed -n "s/^[A-Z]*($name, (\([0-9]*\)[,)].*/$name \1 $types/p" src/ops/table.inc
    done
}
list 'float int64' Expand >"$dir/a.txt"
# shellcheck disable=SC2086 # a list of words
{ list 'float bool' $seeds && list int64 Expand; } >"$dir/b.txt"
# shellcheck disable=SC2086
list "$all" $seeds >"$dir/c.txt"
"$BUILD/ox" embed examples/digits/model.onnx -d batch=1 -o "$dir" && mv "$dir/ops.txt" "$dir/d.txt"
"$BUILD/ox" embed tests/embedded/forest.onnx -d rows=1 -o "$dir" && mv "$dir/ops.txt" "$dir/f.txt"
: >"$dir/e.txt"

link='arm-none-eabi-gcc $arch -Os -flto=auto -std=c11 -ffunction-sections -fdata-sections -Isrc -nostartfiles --specs=nano.specs
    -Wl,--gc-sections,-e,main,--defsym=image_model=0,--defsym=image_model_size=0 tools/device/image.c LIB -lm'
image() {
    ops=$dir/$1.txt
    [ -s "$ops" ] || ops=
    $MAKE --no-print-directory -s device TARGET=cortex-m4 OPS="$ops" DEVICE="$dir/$1" >/dev/null
    # shellcheck disable=SC2086
    eval "$(echo $link | sed "s,LIB,$dir/$1/libox.a,") -o $dir/$1.elf"
    arm-none-eabi-size "$dir/$1.elf" | awk -v name="$1" -v what="$2" \
        'NR == 2 { printf "| %s | %s | Cortex-M4F | %d | %d |\n", name, what, $1 + $2, $2 + $3 }'
}

{
    echo '| | image | machine | flash | RAM without the buffer |'
    echo '| --- | --- | --- | ---: | ---: |'
    image a 'Expand, float'
    image b 'the 19 operators of broadcasting, float'
    image c 'the same, all types'
    image d 'handwritten digits'
    image f 'a random forest'
    image e 'everything'
    if [ "$(uname -m)" = x86_64 ]; then
        $MAKE --no-print-directory -s BUILD="$dir/shared" VARIANTS= OPT=-O2 "$dir/shared/libox.so" >/dev/null
        strip -o "$dir/libox.so" "$dir/shared/libox.so"
        size=$(wc -c <"$dir/libox.so")
        echo "| e | everything, shared library, one build of the loops | x86-64 | $size | |"
    fi
} >"$file"
