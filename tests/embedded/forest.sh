#!/bin/sh
# forest.sh HOST COMMAND...: runs the forest on this machine by the program HOST, and on a board by COMMAND, an emulator;
# counts the rows that have the same bits.
rows=36
host=$1
shift
wanted=$("$host" | grep '^row: ')
out=$("$@" 2>&1) # the emulator prints there
status=$?
echo "$out"
same=$(echo "$out" | grep '^row: ' | { i=0 same=0
    while read -r line; do
        i=$((i + 1))
        [ "$line" != "$(echo "$wanted" | sed -n "${i}p")" ] || same=$((same + 1))
    done
    echo $same; })
[ $status -eq 0 ] || same=0
echo "$same passed, $((rows - same)) failed, 0 skipped"
[ "$same" -eq $rows ]
