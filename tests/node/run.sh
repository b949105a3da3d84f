#!/bin/sh
# run.sh: runs `ox test` on ONNX's node cases, the newest ($BUILD/node) and those of Debian's libonnx-testdata. A case
# that is not supported yet must be in pending.txt; one that is there and passes, or that exists nowhere, is an error.
# Cases of broken.txt, whose data are at fault, are not run.
here=$(dirname "$0")
ox=$BUILD/ox
out=$BUILD/conformance
mkdir -p "$out"
passed=0 failed=0 skipped=0

# Lines of pending.txt hold for both sets unless they say which: "newest:test_x ..." or "debian:test_x ...".
pending_of() { sed -n "/^#/d;/^\$/d;s/^$1://;/^[a-z]*:/!p" "$here/pending.txt" >"$out/$1.pending"; }

# run_set NAME DIR...
run_set() {
    set_name=$1
    shift
    pending_of "$set_name"
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

missing=
if [ -e "$BUILD/node/.stamp" ]; then
    run_set newest "$BUILD/node"
else
    missing=1
    skipped=$((skipped + 1884))
    echo "skipped: the 1884 newest node cases: $(cat "$BUILD/venv.note")"
fi
if [ -d "$ONNX_DATA/node" ]; then
    sed '/^#/d;s/[[:space:]].*//' "$here/broken.txt" >"$out/broken"
    # shellcheck disable=SC2046 # a list of folders without spaces
    run_set debian $(ls -d "$ONNX_DATA"/node/*/ "$ONNX_DATA"/simple/*/ "$ONNX_DATA"/pytorch-*/*/ |
        sed 's,/$,,' | awk -F/ 'NR == FNR { broken[$1]; next } !($NF in broken)' "$out/broken" -)
    broken=$(grep -c . "$out/broken")
    skipped=$((skipped + broken))
    echo "skipped: $broken of Debian's node cases whose data are broken (tests/node/broken.txt)"
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
