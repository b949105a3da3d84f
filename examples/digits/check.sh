#!/bin/sh
# Compares what the digits program says of its pictures with their labels and with expected.tsv, which was written when
# the model was trained; then runs the first program of docs/c.md. Usage: check.sh DIGITS PROGRAM, from the top folder.
set -u
here=$(dirname "$0")

${EMULATOR:-} "$1" --tsv "$here"/images/*.pgm | awk -F '\t' '
    function fail(text) { print "check-digits: " text; bad = 1 }
    NR == FNR { if (FNR > 1) { expected[$1] = $0; total++ } next }
    {
        name = $1
        sub(/.*\//, "", name)
        bad = 0
        best = 2
        if (split(expected[name], want, "\t") != NF) fail(name ": no line of " NF - 1 " probabilities in expected.tsv")
        for (i = 2; i <= NF; i++) {
            d = $i - want[i]
            if (!(d <= 1e-5 && d >= -1e-5)) fail(name ": probability of " i - 2 " is " $i ", expected " want[i])
            if ($i + 0 > $best + 0) best = i
        }
        if (best - 2 != substr(name, 1, 1)) fail(name ": classified as " best - 2)
        if (bad) failed++; else passed++
    }
    END {
        if (passed + failed != total) print "check-digits: " passed + failed " pictures, expected " total
        print passed + 0, total - passed
    }' "$here/expected.tsv" - >"$1.check"
counts=$(tail -n 1 "$1.check")
sed '$d' "$1.check"
rm -f "$1.check"
passed=${counts% *} failed=${counts#* }

if ${EMULATOR:-} "$2" | grep -q '^7: 1\.0'; then
    passed=$((passed + 1))
else
    echo "check-digits: the program of docs/c.md did not find the 7"
    failed=$((failed + 1))
fi
# From a folder without the model.
program=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
said=$(cd / && ${EMULATOR:-} "$program" 2>&1)
if [ $? -eq 1 ] && echo "$said" | grep -q 'No such file'; then
    passed=$((passed + 1))
else
    echo "check-digits: the program of docs/c.md does not fail without its model: $said"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
