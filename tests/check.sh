#!/bin/sh
# check.sh PART...: runs the parts of the tests (targets of the Makefile), each to its end whatever the others do, and
# adds up. A part ends with "N passed, N failed, N skipped", says with lines "skipped: ..." what it left out, and
# leaves its output in $BUILD/logs.
logs=$BUILD/logs
mkdir -p "$logs"
: >"$logs/left-out"
: >"$logs/failed"
total_passed=0 total_failed=0 total_skipped=0

parts=$*
for part in $parts; do
    log=$logs/$part.log
    begin=$(date +%s)
    $MAKE --no-print-directory BUILD="$BUILD" "$part" >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begin))
    # shellcheck disable=SC2046 # three numbers
    set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
    passed=${1:-0} failed=${2:-0} skipped=${3:-0}
    if [ $status -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
    elif [ $# -eq 0 ]; then
        echo "$part printed no summary" >>"$log"
        failed=1
    fi
    printf '%-15s %6d passed, %4d failed, %5d skipped  (%d s)\n' "$part" "$passed" "$failed" "$skipped" "$seconds"
    if [ "$failed" -ne 0 ]; then
        sed 's/^/    /' "$log" | tail -n 40
        echo "    all of it: $log"
        tail -n 8 "$log" | sed "s/^/    $part: /" >>"$logs/failed"
    elif [ "$skipped" -ne 0 ] && ! grep '^skipped: ' "$log" >>"$logs/left-out"; then
        echo "skipped: $part: $skipped, see $log" >>"$logs/left-out"
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
done

# Once more at the end, where somebody who sees only the last lines finds it.
if [ -s "$logs/failed" ]; then
    echo
    echo 'Failed:'
    cat "$logs/failed"
fi
if [ -s "$logs/left-out" ]; then
    echo
    echo 'Left out:'
    sed 's/^skipped: /    /' "$logs/left-out"
fi
echo
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ]
