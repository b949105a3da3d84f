#!/bin/sh
# run.sh: runs `ox test` on ONNX's node cases, the newest ($BUILD/node) and those of Debian's libonnx-testdata. A case
# that is not supported yet must be in pending.txt; one that is there and passes, or that exists nowhere, is an error.
# Cases that no right result passes are not run: those of broken.txt, and of the release of ONNX that Debian's are from
# (tests/releases). The newest cases run once more with a check of each step.
here=$(dirname "$0")
ox=$BUILD/ox
out=$BUILD/conformance
mkdir -p "$out"
passed=0 failed=0 skipped=0

# Lines of pending.txt hold for both sets unless they say which: "newest:test_x ..." or "debian:test_x ...".
lines_of() { sed -n "/^#/d;/^\$/d;s/^$1://;/^[a-z]*:/!p" "$here/$2.txt" >"$out/$1.$2"; }

# without PLUGIN PATTERN: the cases that need a plug-in which could not be built here.
without() {
    [ -e "$BUILD/plugins/$1.so" ] || for case in "$BUILD"/node/$2/ "$ONNX_DATA"/node/$2/; do echo "$(basename "$case") the plug-in $1.so"; done
}

# broken_of NAME FOLDER: the cases in the folder that no right result passes, each with the reason.
broken_of() {
    list=tests/node/broken.txt
    lines_of "$1" broken
    [ "$1" = debian ] || return 0
    release=$(ls "$2" | sh "$here/../releases/which.sh")
    list="of ONNX $release, tests/releases/broken.txt"
    sh "$here/../releases/broken.sh" "$release" >"$out/$1.broken"
}

# cases_of NAME DIR...: the folders of the cases that a right result can pass.
cases_of() {
    broken=$out/$1.broken
    shift
    for case in "$@"; do echo "${case%/}"; done |
        awk -F/ 'NR == FNR { sub(/[[:space:]].*/, ""); broken[$0]; next } !($NF in broken)' "$broken" -
}

# run_set NAME DIR...
run_set() {
    set_name=$1
    shift
    lines_of "$set_name" pending
    {
        without image 'test_image_decoder_*'
        without regex 'test_regex_full_match_*'
    } >>"$out/$set_name.pending"
    count=$(grep -c . "$out/$set_name.broken")
    skipped=$((skipped + count))
    [ "$count" -eq 0 ] || echo "skipped: $count $set_name node cases that no right result passes ($list)"
    ${EMULATOR:-} "$ox" test --quiet --pending "$out/$set_name.pending" --tsv "$out/$set_name.tsv" "$@" >"$out/$set_name.log" 2>&1
    status=$?
    cat "$out/$set_name.log"
    # shellcheck disable=SC2046 # three numbers
    set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$out/$set_name.log")
    [ $# -eq 3 ] || set -- 0 1 0
    [ $status -eq 0 ] || [ "$2" -gt 0 ] || set -- "$1" 1 "$3"
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    [ "$3" -eq 0 ] || echo "skipped: $3 $set_name node cases that tests/node/pending.txt lists with the missing operators"
}

# check_set DIR...: the cases once more, with a check of every step (ox_options.check), where they pass without.
check_set() {
    "$ox" test --quiet --check "$@" >"$out/checked.log" 2>&1
    grep -q '^[0-9]* passed, ' "$out/checked.log" || failed=$((failed + 1))
    found=$(grep -c 'check failed: ' "$out/checked.log")
    grep 'check failed: ' "$out/checked.log"
    failed=$((failed + found))
}

missing=
if [ -e "$BUILD/node/.stamp" ]; then
    broken_of newest "$BUILD/node"
    # shellcheck disable=SC2046 # a list of folders without spaces
    run_set newest $(cases_of newest "$BUILD"/node/*/)
    # shellcheck disable=SC2046
    [ -n "${EMULATOR:-}" ] || check_set $(cases_of newest "$BUILD"/node/*/)
else
    missing=1
    skipped=$((skipped + 1884))
    echo "skipped: the 1884 newest node cases: $(cat "$BUILD/venv.note")"
fi
if [ -d "$ONNX_DATA/node" ]; then
    broken_of debian "$ONNX_DATA/node"
    # shellcheck disable=SC2046 # a list of folders without spaces
    run_set debian $(cases_of debian "$ONNX_DATA"/node/*/ "$ONNX_DATA"/simple/*/ "$ONNX_DATA"/pytorch-*/*/)
else
    missing=1
    skipped=$((skipped + 1072))
    echo "skipped: Debian's 1072 cases: the package libonnx-testdata is not installed"
fi

if [ -z "$missing" ]; then
    sed -n '/^#/d;/^$/d;s/^[a-z]*://;s/[[:space:]].*//p' "$here/pending.txt" | sort -u >"$out/listed"
    cut -f1 "$out/newest.tsv" "$out/debian.tsv" | sed 's,.*/,,' | sort -u >"$out/present"
    for case in $(comm -23 "$out/listed" "$out/present"); do
        echo "$case: is listed as pending but there is no such case"
        failed=$((failed + 1))
    done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
