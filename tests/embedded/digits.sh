#!/bin/sh
# digits.sh COMMAND...: runs the digits firmware by COMMAND, an emulator, and counts the pictures that came out right.
pictures=12
out=$("$@" 2>&1) # the emulator prints there
status=$?
echo "$out"
right=$(echo "$out" | grep -c ', right, ')
[ $status -eq 0 ] || [ "$right" -lt $pictures ] || right=0
echo "$right passed, $((pictures - right)) failed, 0 skipped"
[ "$right" -eq $pictures ]
