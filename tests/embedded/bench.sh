#!/bin/sh
# bench.sh FILE NETWORK@TARGET...: runs networks on boards that QEMU emulates, and writes a table of what an inference
# takes once it is prepared into FILE. Needs BUILD, MAKE.
set -eu
file=$1
shift
{
    echo '| network | processor | instructions | flash | model in it | buffer | arena in it | stack |'
    echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
} >"$file"
for pair; do
    network=${pair%@*} target=${pair#*@}
    # Floats may come out with other bits than here.
    out=$($MAKE --no-print-directory -s "device-network@$network-$target" 2>&1) || case $network in
    *_float) ;;
    *) echo "$out" && exit 1 ;;
    esac
    number() { echo "$out" | sed -n "s/^$1: //p" | tail -n 1; }
    elf=$BUILD/device/$target-$network/network.elf
    size=arm-none-eabi-size
    [ "${target#rv}" = "$target" ] || size=riscv64-unknown-elf-size
    flash=$($size "$elf" | awk 'NR == 2 { print $1 + $2 }')
    model=$(sed -n 's/.*_model\[\([0-9]*\)\] = {/\1/p' "$BUILD/device/networks/$network/model.c")
    echo "| $network | $target | $(number instructions) | $flash | $model | $(number 'bytes of the buffer in use at most') |" \
        "$(number 'bytes of the arena') | $(number 'bytes of the stack in use at most') |" >>"$file"
done
cat "$file"
