#!/bin/sh
# bench.sh FILE NETWORK@TARGET[@plan]...: runs networks on boards that QEMU emulates, by the loader or by a plan, and
# writes a table of what an inference takes once it is prepared into FILE. Needs BUILD, MAKE.
set -eu
file=$1
shift
{
    echo '| network | processor | instructions | flash | model in it | buffer | arena in it | stack |'
    echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
} >"$file"
for pair; do
    network=${pair%%@*} target=${pair#*@} part=device-network what=
    [ "${target%@plan}" = "$target" ] || part=device-plan what=', a plan' target=${target%@plan}
    # Floats may come out with other bits than here.
    out=$($MAKE --no-print-directory -s "$part@$network-$target" 2>&1) || case $network in
    *_float) ;;
    *) echo "$out" && exit 1 ;;
    esac
    number() { echo "$out" | sed -n "s/^$1: //p" | tail -n 1; }
    elf=$BUILD/device/$target-$network/network.elf
    [ -z "$what" ] || elf=$BUILD/device/$target-$network-plan/planned.elf
    size=arm-none-eabi-size
    [ "${target#rv}" = "$target" ] || size=riscv64-unknown-elf-size
    flash=$($size "$elf" | awk 'NR == 2 { print $1 + $2 }')
    model=$(sed -n 's/.*_model\[\([0-9]*\)\] = {/\1/p' "$BUILD/device/networks/$network/model.c")
    if [ -n "$what" ]; then # it has no buffer: the arena is all, and its constants are the model
        model=$(sed -n 's/.* constants\[\([0-9]*\)\] = {/\1/p' "$BUILD/device/networks/$network/plan/model.c")
        echo "| $network$what | $target | $(number instructions) | $flash | $model | |" \
            "$(number 'bytes of the arena') | $(number 'bytes of the stack in use at most') |" >>"$file"
        continue
    fi
    echo "| $network | $target | $(number instructions) | $flash | $model | $(number 'bytes of the buffer in use at most') |" \
        "$(number 'bytes of the arena') | $(number 'bytes of the stack in use at most') |" >>"$file"
done
cat "$file"
