#!/bin/sh
# node.sh OUT DIR COMMAND...: runs every case below the folder DIR by COMMAND, an emulated node.c, which may be ended by a
# fault or by time: then the case that it was at has failed, and the next run goes on after it. Cases that do not pass
# must be those of pending.txt, broken.txt (tests/node) and lacking.txt. OUT is a folder for what is noted.
here=$(dirname "$0")
out=$1
dir=$2
shift 2
mkdir -p "$out"
sed -n '/^#/d;/^$/d;s/^newest://;/^[a-z]*:/d;s/[[:space:]].*//p' "$here/../node/pending.txt" \
    "$here/../node/broken.txt" "$here/lacking.txt" >"$out/listed"
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
    FILENAME == ARGV[1] { listed[$1]; next }
    { name = $2; sub(/.*\//, "", name); outcome = $1; reason = $3 }
    name in listed && outcome == "passed" { outcome = "failed"; reason = "is listed but passes" }
    name in listed && outcome == "failed" && reason !~ /^is listed|^the emulator ended/ { outcome = "unsupported" }
    !(name in listed) && outcome == "unsupported" { outcome = "failed" }
    outcome == "failed" { print "FAILED " name ": " reason; failed++ }
    outcome == "too large" { print "too large: " name ": " reason; skipped++ }
    outcome == "unsupported" { skipped++ }
    outcome == "passed" { passed++ }
    END {
        print "skipped: " skipped + 0 " node cases that lists name (pending.txt, broken.txt, lacking.txt) or that are too large"
        print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
        exit failed > 0
    }' "$out/listed" "$out/results"
