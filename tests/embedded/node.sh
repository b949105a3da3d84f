#!/bin/sh
# node.sh OUT DIR COMMAND...: runs every case below the folder DIR by COMMAND, an emulated node.c, which may be ended by a
# fault or by time: then the case that it was at has failed, and the next run goes on after it. Cases without support
# must be those of pending.txt. OUT is a folder for what is noted.
here=$(dirname "$0")
out=$1
dir=$2
shift 2
mkdir -p "$out"
sed -n '/^#/d;/^$/d;s/^newest://;/^[a-z]*:/d;s/[[:space:]].*//p' "$here/../node/pending.txt" | sort >"$out/pending"
ls -d "$dir"/test_*/ | sed 's,/$,,' >"$out/left"
: >"$out/results"

while [ -s "$out/left" ]; do
    "$@" <"$out/left" >"$out/run" 2>"$out/errors"
    status=$?
    grep -a "$(printf '\t')" "$out/run" >"$out/lines"
    cat "$out/lines" >>"$out/results"
    at=$(($(wc -l <"$out/lines") + 1))
    if [ $status -ne 0 ]; then
        case=$(sed -n "${at}p" "$out/left")
        printf 'failed\t%s\tthe emulator ended with status %d: %s\n' "${case:-the end}" $status \
            "$(tail -n 1 "$out/errors" "$out/run" | tr '\n' ' ')" >>"$out/results"
        at=$((at + 1))
    fi
    sed "1,$((at - 1))d" "$out/left" >"$out/rest"
    mv "$out/rest" "$out/left"
done

awk -F '\t' '
    NR == FNR { pending[$1]; next }
    { name = $2; sub(/.*\//, "", name) }
    $1 == "unsupported" && !(name in pending) { $1 = "failed" }
    $1 == "passed" && name in pending { $1 = "failed"; $3 = "is listed as pending but passes" }
    $1 == "failed" { print "FAILED " name ": " $3; failed++ }
    $1 == "too large" { print "too large: " name ": " $3; skipped++ }
    $1 == "unsupported" { skipped++ }
    $1 == "passed" { passed++ }
    END {
        print "skipped: " skipped + 0 " node cases that tests/node/pending.txt lists or that are too large"
        print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
        exit failed > 0
    }' "$out/pending" "$out/results"
