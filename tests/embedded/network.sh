#!/bin/sh
# network.sh HOST COMMAND...: runs a network on this machine by the program HOST, and on a board by COMMAND, an emulator;
# counts the results that have the same bits.
host=$1
shift
wanted=$("$host" | grep '^result: ')
out=$("$@" 2>&1) # the emulator prints there
status=$?
echo "$out" | grep -v '^result: '
results=$(echo "$wanted" | wc -l)
echo "$wanted" >"$host.wanted"
echo "$out" | grep '^result: ' >"$host.found"
same=$(paste "$host.wanted" "$host.found" | awk -F '\t' '$1 == $2' | wc -l)
[ $status -eq 0 ] || same=0
echo "$same passed, $((results - same)) failed, 0 skipped"
[ "$same" -eq "$results" ]
