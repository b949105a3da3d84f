#!/bin/sh
# check_size.sh NEW OLD: fails if an image of the table in NEW takes over 3 % more flash than in OLD.
awk -F '|' '
    $2 !~ /^ [a-f] $/ { next }
    FNR == NR { now[$2 $4] = $5; next }
    { was[$2 $4] = 1 }
    !(($2 $4) in now) { print "no image for" $2 "on" $4; failed = 1; next }
    now[$2 $4] > $5 * 1.03 { printf "%s on %s: %d bytes, %d before\n", $2, $4, now[$2 $4], $5; failed = 1 }
    END { exit failed }' "$1" "$2"
