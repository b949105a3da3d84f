#!/bin/sh
# digits.sh COMMAND...: runs the digits firmware by COMMAND, an emulator, and counts the pictures that came out right. On
# the Cortex-M4 buffer and stack must take what docs/devices.md says, or up to 3 % less or more.
pictures=12
out=$("$@" 2>&1) # the emulator prints there
status=$?
echo "$out"
right=$(echo "$out" | grep -c ', right, ')
[ $status -eq 0 ] || [ "$right" -lt $pictures ] || right=0
failed=$((pictures - right))

# as_said WHAT NUMBER: the number that the page has is about that of the firmware's line "bytes of the WHAT ...".
as_said() {
    found=$(echo "$out" | sed -n "s/^bytes of the $1 in use at most: //p")
    if awk -v said="$(echo "$2" | tr -d ,)" -v found="$found" 'BEGIN { exit !(found > said * 0.97 && found < said * 1.03) }'; then
        right=$((right + 1))
    else
        echo "docs/devices.md says that the digits take $2 bytes of $1, and they take $found"
        failed=$((failed + 1))
    fi
}
case $* in
*mps2-an386*)
    as_said buffer "$(sed -n 's/.*The digits take \([0-9,]*\) bytes.*/\1/p' docs/devices.md)"
    as_said stack "$(sed -n 's/.*The stack takes \([0-9,]*\) bytes.*/\1/p' docs/devices.md)"
    ;;
esac
echo "$right passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
