#!/bin/sh
# nightly.sh LIST: runs make with each line of the list, to its end whatever the others do. A line for each: its name,
# how it ended, its time and the last line that it printed. Ends with 1 if one of them failed.
logs=$BUILD/logs
mkdir -p "$logs"
count=0 failed=''
while read -r name arguments; do
    case $name in '' | '#'*) continue ;; esac
    log=$logs/nightly-$name.log
    begin=$(date +%s)
    # shellcheck disable=SC2086 # several arguments
    $MAKE --no-print-directory BUILD="$BUILD" $arguments >"$log" 2>&1 </dev/null
    status=$?
    result=ok
    if [ $status -ne 0 ]; then
        result=FAILED
        failed="$failed $name"
    fi
    printf '%-12s %-6s %6d s  %s\n' "$name" "$result" $(($(date +%s) - begin)) \
        "$(grep -v '^make' "$log" | tail -n 1 | cut -c 1-100)"
    count=$((count + 1))
done <"$1"
for name in $failed; do
    echo
    echo "$name: the end of $logs/nightly-$name.log"
    tail -n 20 "$logs/nightly-$name.log" | sed 's/^/    /'
done
echo
# shellcheck disable=SC2086 # a word for each
set -- $failed
echo "$((count - $#)) passed, $# failed, 0 skipped"
[ "$count" -gt 0 ] && [ $# -eq 0 ]
