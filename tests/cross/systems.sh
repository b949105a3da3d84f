#!/bin/sh
# systems.sh RUN OX UNIT: runs the unit tests and the command of a build for another system by RUN, which may be empty.
# What the command says is compared with what that of this machine says.
run=$1 ox=$2 unit=$3
passed=0 failed=0
out=$BUILD/systems
rm -rf "$out"
mkdir -p "$out/à b"

# expect WHAT COMMAND...
expect() {
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $ox: $what"
    fi
}

# same ARGUMENT...: both commands say the same, to the byte, and end with the same status.
same() {
    $run "$ox" "$@" >"$out/there" 2>"$out/there.errors"
    there=$?
    "$BUILD/ox" "$@" >"$out/here" 2>"$out/here.errors"
    here=$?
    # Pointers have other sizes there: so has what a plan takes.
    sed -i '/^arena/d' "$out/there" "$out/here"
    if [ $there = $here ] && cmp "$out/there" "$out/here" && cmp "$out/there.errors" "$out/here.errors"; then
        return 0
    fi
    cat "$out/there" "$out/there.errors" | head -n 5
    return 1
}

quietly() {
    "$@" >"$out/said" 2>&1 || { cat "$out/said" && return 1; }
}

digits=examples/digits/model.onnx
picture=$(ls examples/digits/images/*.pgm | head -n 1)
cp $digits "$out/à b/modèle 数.onnx"

# Wine makes its folder when it first runs, and says so.
$run "$ox" version >"$out/said" 2>&1
expect 'says its version' same version
expect 'says what a model is' same info $digits
expect 'opens paths of any letters' same info "$out/à b/modèle 数.onnx"
expect 'says which file is missing' same info "$out/à b/nichts.onnx"
expect 'says that a folder is one' same info "$out/à b"
expect 'lists operators' same ops
expect 'takes wrong usage as such' same run
"$BUILD/ox" run $digits -i "$picture" -o probability="$out/here.npy" >/dev/null
expect 'computes the digits' quietly $run "$ox" run $digits -i "$picture" --expect probability="$out/here.npy"
expect 'writes a file of any name' quietly $run "$ox" run $digits -i "$picture" -o probability="$out/à b/résult.npy"
expect 'writes what can be read here' quietly "$BUILD/ox" run $digits -i "$picture" --expect probability="$out/à b/résult.npy"
expect 'leaves no unfinished file' [ "$(ls "$out/à b" | wc -l)" = 2 ]
expect 'lists the folder' [ "$(ls "$out/à b" | grep -c npy)" = 1 ]

# count NAME FILE: a line with what the last line of the file says of the cases of a part, as tests/check.sh has it. Lines of Windows may end
# with a carriage return.
count() {
    # shellcheck disable=SC2046 # three numbers
    set -- "$1" $(tr -d '\r' <"$2" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' | tail -n 1)
    printf '%-15s %6d passed, %4d failed, %5d skipped\n' "$1" "${2:-0}" "${3:-1}" "${4:-0}"
}

# left_out CASE: plug-ins compute it, or no right result passes.
wrong=" $(sed '/^#/d;/^$/d;/^debian:/d;s/^newest://;s/[[:space:]].*//' tests/node/broken.txt | tr '\n' ' ')"
left_out() {
    case $1 in test_image_decoder_* | test_regex_full_match_*) return 0 ;; esac
    case $wrong in *" $1 "*) ;; *) return 1 ;; esac
}

# The node suite, with what this machine says of it, too.
left=0
: >"$out/cases"
for letter in a b c d e f g h i l m n o p q r s t u v w x; do
    set --
    for case in "$BUILD"/node/test_"$letter"*; do
        if left_out "${case##*/}"; then left=$((left + 1)); else [ ! -d "$case" ] || set -- "$@" "$case"; fi
    done
    [ $# != 0 ] || continue
    expect "passes the node cases that begin with $letter" same test --quiet "$@"
    tail -n 1 "$out/there" >>"$out/cases"
done
awk -v left=$left '{ passed += $1; failed += $3; left += $5 } END { printf "%d passed, %d failed, %d skipped\n", passed, failed, left }' "$out/cases" >"$out/sum"
count conformance "$out/sum"

# Without unit tests, the command alone.
units=0
if [ -n "$unit" ]; then
    $run "$unit" >"$out/unit" 2>&1
    status=$?
    grep -v passed "$out/unit"
    count unit "$out/unit"
    units=$(tail -n 1 "$out/unit" | sed -n 's/ passed, .*//p')
    expect 'its unit tests pass' [ $status = 0 ]
fi
scopes=${ox%/*}/scopes.wasm
if [ -e "$scopes" ]; then
    $run "$scopes" --threads 1 --every 20 >"$out/scopes" 2>&1
    status=$?
    grep -v ': [0-9]*$' "$out/scopes" | grep -v ' passed, '
    count scopes "$out/scopes"
    units=$((units + $(tail -n 1 "$out/scopes" | sed -n 's/ passed, .*//p')))
    expect 'computes small graphs by all ways alike' [ $status = 0 ]
fi
echo "$((passed + ${units:-0})) passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
