#!/bin/sh
# check.sh PART... [-- PART...]: runs the parts of the tests (targets of the Makefile), each to its end whatever the
# others do, and adds up. A part ends with "N passed, N failed, N skipped", says with lines "skipped: ..." what it left
# out, and leaves its output in $BUILD/logs. As many run at a time as make was given jobs, but of those before "--" one.
# check.sh --parts PART...: some of them, one after the other.
logs=$BUILD/logs

run_part() {
    part=$1
    log=$logs/$part.log
    begin=$(date +%s)
    # With assertions, where there is such a build, but for parts that are about the library as it is.
    case " $PLAIN " in
    *" $part "*) build=$BUILD assertions= ;;
    *) build=${CHECKED:-$BUILD} assertions=${CHECKED:+1} ;;
    esac
    $MAKE --no-print-directory BUILD="$build" ASSERTIONS="$assertions" "$part" >"$log" 2>&1
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
    echo "$passed $failed $skipped" >>"$logs/counts"
}

if [ "$1" = --parts ]; then
    shift
    for one in "$@"; do
        # In one piece, as others print at the same time.
        report=$(run_part "$one")
        echo "$report"
    done
    exit 0
fi

mkdir -p "$logs"
for file in left-out failed counts; do
    : >"$logs/$file"
done
all=0 alone=
for part in "$@"; do
    [ "$part" = -- ] && break
    alone="$alone $part"
done
jobs=$(echo "$MAKEFLAGS" | sed -n 's/.*-j\([0-9][0-9]*\).*/\1/p')
for part in "$@"; do [ "$part" = -- ] || all=$((all + 1)); done
# A line for each process, of which the first takes all that run one after the other.
for part in "$@"; do
    case " $alone -- " in *" $part "*) ;; *) echo "$part" ;; esac
done | { echo "$alone"; cat; } | sed '/^ *$/d' | xargs -r -L 1 -P "${jobs:-1}" sh "$0" --parts

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
awk -v all="$all" '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        if (NR != all) {
            printf "%d of %d parts ran to their end\n", NR, all
            failed++
        }
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed != 0
    }' "$logs/counts"
