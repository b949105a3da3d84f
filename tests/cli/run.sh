#!/bin/sh
# run.sh: the command line of $OX: usage, exit statuses, messages, files, pipes. Models are made by $PYTHON with the
# packages onnx and numpy; without them only what needs no model is tested.
here=$(dirname "$0")
OX=${OX:-build/ox}
case $OX in /*) ;; *) OX=$PWD/$OX ;; esac
case $here in /*) ;; *) here=$PWD/$here ;; esac
PYTHON=${PYTHON:-python3}
passed=0 failed=0 skipped=0
umask 022
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
out=$work/out err=$work/err

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "failed: $1"
}

# ox STATUS PATTERN ARGUMENT...: runs ox; the exit status and a fixed string of both outputs must be right.
ox() {
    wanted=$1 pattern=$2
    shift 2
    "$OX" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    if [ $status -ne "$wanted" ]; then
        fail "ox $*: status $status, not $wanted: $(head -n 3 "$err")"
    elif ! cat "$out" "$err" | grep -Fq -e "$pattern"; then
        fail "ox $*: no '$pattern' in: $(head -n 5 "$out" "$err")"
    elif [ "$wanted" -ne 0 ] && [ "$(wc -l <"$err")" -gt 2 ]; then
        fail "ox $*: an error of more than two lines"
    else
        pass
    fi
}

# expect WHAT COMMAND...: the command must succeed.
expect() {
    what=$1
    shift
    if "$@"; then pass; else fail "$what"; fi
}

# ---- Without a model ---------------------------------------------------------------------------------------------

ox 0 'ox 0.' --version
ox 0 'ox 0.' version
ox 0 'usage: ox SUBCOMMAND' --help
ox 0 'usage: ox SUBCOMMAND' help
expect 'ox alone' sh -c "! '$OX' 2>'$err' && grep -q '^usage: ox SUBCOMMAND' '$err'"
for sub in run bench info test ops; do
    ox 0 "usage: ox $sub" help $sub
    ox 0 "usage: ox $sub" $sub --help
    ox 2 "unknown option '--frob'" $sub --frob
done
ox 2 "no subcommand 'frob'" frob
ox 2 "no subcommand 'frob'" help frob
ox 2 'which model?' run
ox 2 'which model?' info
ox 2 'which cases?' test
ox 2 'option -i needs a value' run m.onnx -i
ox 2 "-d wants DIM=N" run m.onnx -d batch
ox 2 "-d wants DIM=N" run m.onnx -d batch=4x
ox 2 "-d wants DIM=N" run m.onnx -d =4
ox 2 "-d wants DIM=N" info m.onnx -d batch=99999999999999999999
ox 2 '--repeat wants' run m.onnx --repeat 0
ox 2 '--top wants' run m.onnx --top five
ox 2 'one model at a time' run a.onnx b.onnx
ox 2 'which model?' bench
ox 2 'one model at a time' bench a.onnx b.onnx
for sub in run bench test; do
    ox 2 '--threads wants a number from 1' $sub --threads 0 m.onnx
    ox 2 '--threads wants a number from 1' $sub --threads 2x m.onnx
done
for sub in run bench test info embed; do
    ox 2 '--max-memory wants bytes' $sub --max-memory 1X m.onnx
    ox 2 '--max-memory wants bytes' $sub --max-memory 99999999999G m.onnx
    for seconds in 0 -1 1s nan 1e99 ''; do
        ox 2 '--timeout wants seconds' $sub --timeout "$seconds" m.onnx
    done
done
ox 1 'No such file' run "$work/none.onnx"
ox 1 'No such file' info "$work/none.onnx"
ox 1 'No such file' bench "$work/none.onnx"
ox 1 'no case' test "$work"
ox 1 "ox has no operator 'Ad'; did you mean 'Add'" ops Ad
ox 0 'Add ' ops
ox 0 '| Add | ' ops --markdown
echo 'not a model' >"$work/text.onnx"
ox 1 'ox: ' run "$work/text.onnx"
: >"$work/empty.onnx"
ox 1 'ox: ' run "$work/empty.onnx"
ox 1 'ox: ' run "$work"
if [ -e /dev/full ]; then
    "$OX" ops >/dev/full 2>"$err"
    expect 'ox ops on a full disk' test $? -eq 1
    expect 'ox ops on a full disk says so' grep -q 'cannot write to standard output' "$err"
fi

# ---- With models -------------------------------------------------------------------------------------------------

# Debian's package libonnx-testdata makes a package onnx that has nothing in it.
"$PYTHON" -c 'import numpy, onnx.helper' 2>/dev/null || PYTHON=
if [ -z "$PYTHON" ] || ! "$PYTHON" "$here/models.py" "$work" 2>"$err"; then
    [ -z "$PYTHON" ] || fail "models.py: $(tail -n 1 "$err")"
    skipped=2190
    echo "skipped: $skipped tests of ox with models: no Python with the packages onnx and numpy"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
fi
cd "$work" || exit 1

ox 0 'y: float [1,3]' run add.onnx -i '[[1,2,3]]' -i '[1,2,3]'
ox 0 '[[2. 4. 6.]]' run add.onnx -i '[[1,2,3]]' -i '[1,2,3]'
ox 0 '[[ 2. 12. 23.]]' run add.onnx -i b='[1,10,20]' -i '[[1,2,3]]'
ox 0 '[[2. 2. 2.]' run add.onnx -i @ones -i @ones -d n=2
ox 0 '[[2. 2. 2.]' run -d n=2 --input=@ones --input b=@ones -- add.onnx
ox 0 'y: float [0,3]' run add.onnx -i @ones -i @ones -d n=0
ox 0 'y: float [4,3]' run add.onnx -i @random:9 -i @random -d n=4
ox 0 '[[2. 3. 4.]]' run default.onnx -i '[[1,2,3]]'
ox 0 '[[2. 4. 6.]]' run default.onnx -i '[[1,2,3]]' -i '[1,2,3]'
ox 0 "['x' 'y=z']" run two.onnx -i '[1,2]' -i '["x","y=z"]'
ox 1 "unknown input 'imge': the model has 'a' (float [n,3]), 'b' (float [3])" run add.onnx -i imge=@ones
ox 1 "missing inputs 'a' (float [n,3]), 'b' (float [3])" run add.onnx
ox 1 "missing input 'b' (float [3])" run add.onnx -i @ones
ox 1 "no input is left for '3'" run add.onnx -i 1 -i 2 -i 3
ox 1 "input 'a' is given twice" run add.onnx -i a=1 -i a=2
ox 0 'took n=1: give -d n=N for other sizes' run add.onnx -i @ones -i @ones
ox 1 "unknown dimension 'm': the model has 'n'" run add.onnx -i @ones -i @ones -d m=2
ox 1 'the shape is [1,3] but the model wants float [2,3]' run add.onnx -d n=2 -i '[[1,2,3]]' -i @ones
ox 1 'the shape is [2] but the model wants float [3]' run add.onnx -i '[[1,2,3]]' -i '[1,2]'
ox 1 "expected ',' or ']' at character 5" run add.onnx -i '[1,2' -i @ones
ox 1 'No such file' run add.onnx -i none.npy -i @ones
ox 1 'neither a file nor a literal' run add.onnx -i what -i @ones
ox 1 'a number is out of range' run add.onnx -i '[[1e99,2,3]]' -i @ones
ox 1 'does not fit the type int64' run two.onnx -i '[1.5,2]' -i '["x","y"]'
ox 1 'expected a string' run two.onnx -i '[1,2]' -i '[1,2]'
ox 1 'is not one of @zeros' run add.onnx -i @zero -i @ones -d n=2
ox 1 "unknown output 'z': the model has 'y' (float [n,3])" run add.onnx -i @ones -i @ones -d n=2 -o z=z.npy
ox 1 'only one output' run two.onnx -i @ones -i @zeros -o p=- -o q=-
ox 1 'NoSuchOp' run missing.onnx -i 1
ox 1 'Div' run divide.onnx -i '[1,2]' -i '[1,0]'
ox 0 'y: int64 [2]' run divide.onnx -i '[-9223372036854775808,7]' -i '[-1,2]'
ox 0 '2 runs: ' run add.onnx -i @ones -i @ones -d n=2 --repeat 2
ox 0 'y: float [2]' run stated.onnx -i '[1,2]' --repeat 3
said="ox: warning: stated.onnx: output 'y' has shape [2], the model states [9]"
expect 'a shape that is not as stated is reported once' test "$(grep warning "$err")" = "$said"
ox 1 'ox reads those whose names end in .csv' run add.onnx -i text.onnx -i @ones
ox 0 '[[2. 2. 2.]' run add.onnx -i @ones -i @ones -d n=2 --threads 2 --no-fuse --no-integer --check --max-memory 1M
ox 0 '[[2. 2. 2.]' run add.onnx -i @ones -i @ones -d n=2 --float16-sums
ox 2 'ox run --check does that' bench add.onnx --check
ox 1 'beyond the limit of 1024 bytes' run add.onnx -i @ones -i @ones -d n=1000 --max-memory 1K
ox 1 'beyond the limit of 65536 bytes of memory: ' run add.onnx -i @ones -i @ones -d n=10000 --max-memory 64K
ox 0 'y: float [1000,3]' run add.onnx -i @ones -i @ones -d n=1000 --max-memory 64K --timeout 60
ox 1 "(Add-14): cancelled: the time of --timeout is over" run add.onnx -i @ones -i @ones -d n=9 --timeout 1e-9
expect 'an error prints no result' test ! -s "$out"
ox 1 'cancelled: the time of --timeout is over' bench add.onnx -d n=9 --timeout 0.2
ox 0 'took n=1: give -d n=N for other sizes' bench add.onnx
ox 1 'unknown input' bench add.onnx -i c=@ones

ox 0 'a  float [n,3]' info add.onnx
ox 0 'give -d n=N' info add.onnx
ox 0 'for the plan, and' info add.onnx -d n=5
ox 0 '(unsupported)' info missing.onnx
ox 0 'a\x1b[31mb' info add.onnx
expect 'info prints no control characters' sh -c "! LC_ALL=C grep -q '[[:cntrl:]]' '$out'"
ox 1 "unknown dimension 'm'" info add.onnx -d m=5
for arguments in 'add.onnx' 'add.onnx -d n=3' 'missing.onnx' 'two.onnx'; do
    expect "info --json $arguments" sh -c "'$OX' info --json $arguments | '$PYTHON' -m json.tool >'$out'"
done

# Files appear whole or not at all, and nothing stays beside them.
ox 0 'p: int64 [2]' run two.onnx -i '[1,2]' -i '["a","b"]' -o p=p.npy --save saved
expect 'output files' test -s p.npy -a -s saved/output_0.npy -a -s saved/output_1.npy
expect 'equal files' cmp -s p.npy saved/output_0.npy
expect 'an ordinary mode' test -z "$(find p.npy -perm 600)"
expect 'no temporary files' test -z "$(ls | grep 'npy\.')"
"$OX" run two.onnx -i p.npy -i '["a","b"]' --quiet >"$out" 2>&1
expect 'quiet' test ! -s "$out"
"$OX" run two.onnx -i p.npy -i '["a","b"]' -o p=- >"$out" 2>"$err"
expect 'nothing but a .npy on standard output' cmp -s "$out" p.npy
"$OX" run two.onnx -i - -i '["a","b"]' -o p=- <p.npy >"$out" 2>"$err"
expect 'standard input' cmp -s "$out" p.npy
ox 1 'cannot create' run add.onnx -i @ones -i @ones -d n=2 -o y=none/y.npy
ox 1 'cannot create' run add.onnx -i @ones -i @ones -d n=2 --save none/dir
ox 1 'cannot create' run add.onnx -i @ones -i @ones -d n=2 --trace none/trace.json
ox 1 'but the model wants float' run add.onnx -i @ones -i b=p.npy -d n=2
if [ -e /dev/full ]; then
    ox 1 'No space left' run add.onnx -i @ones -i @ones -d n=2 -o y=/dev/full
    ox 1 'No space left' run add.onnx -i @ones -i @ones -d n=2 --trace /dev/full
    for arguments in '-o y=-' ''; do
        # shellcheck disable=SC2086 # a list of words
        "$OX" run add.onnx -i @ones -i @ones -d n=2 $arguments >/dev/full 2>"$err"
        expect "a full disk $arguments" test $? -eq 1
        expect "a full disk $arguments: message" grep -q 'No space left' "$err"
    done
fi
{
    "$OX" run add.onnx -i @ones -i @ones -d n=100000 -o y=- 2>"$err"
    echo $? >status
} | true
expect 'a closed pipe ends as the signal does' grep -q '^141$' status
expect 'a closed pipe: no message' test ! -s "$err"

# ox test: passed, failed by value and by type, unsupported and pending.
ox 1 '1 passed, 3 failed, 0 skipped' test cases
ox 1 "FAILED test_value: output 'y' at [0,1]: 2., expected 3. (1 of 3 differ)" test cases
ox 1 "FAILED test_wrong: output 'y' type float, expected double" test cases --quiet
ox 0 '1 passed, 0 failed, 0 skipped' test cases/test_good/
ox 0 '1 passed, 0 failed, 0 skipped' test cases/test_good/ --threads 2 --no-fuse --check --max-memory 1M
printf '# a comment\ntest_missing\tno operator\n' >pending
ox 0 '1 passed, 0 failed, 1 skipped' test cases/test_good cases/test_missing --pending pending --tsv tsv
expect 'the tsv' test "$(cut -f1,2 tsv | tr '\t\n' ' ;')" = 'test_good passed;test_missing unsupported;'
printf 'test_good x\ntest_value it is wrong\n' >>pending
ox 1 'test_good: is listed as pending in pending but passes' test cases --pending pending
ox 1 '0 passed, 3 failed, 1 skipped' test cases --pending pending
ox 1 'No such file' test cases --pending none

for script in arrays.py profiles.py endings.py results.py progress.py sources.py pictures.py values.py hour.py; do
    summary=$("$PYTHON" "$here/$script" "$OX" "$work" 2>&1)
    # shellcheck disable=SC2046 # three numbers
    set -- $(echo "$summary" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
    if [ $# -eq 3 ]; then
        passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
        echo "$summary" | grep '^skipped: '
        [ "$2" -eq 0 ] || echo "$summary"
    else
        fail "$script: $summary"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
