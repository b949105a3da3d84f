#!/bin/sh
# run.sh: plug-ins for the command in $BUILD: those that must be refused, the one of the domain onednn.graph, and those
# that belong to ox. Models are made by $PYTHON with the package onnx.
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# ox STATUS PATTERN ARGUMENT...: runs ox; the exit status and a fixed string of both outputs must be right.
ox() {
    wanted=$1 pattern=$2
    shift 2
    "$BUILD/ox" "$@" >out 2>&1 </dev/null
    status=$?
    if [ $status -eq "$wanted" ] && grep -Fq -e "$pattern" out; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: ox $*: status $status, not $wanted, or no '$pattern' in: $(head -n 5 out)"
    fi
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

# ---- Without a model ---------------------------------------------------------------------------------------------

for broken in 0 1 2 3 4; do
    # shellcheck disable=SC2086 # CC may have arguments
    $CC -I"$top/src" -DBROKEN=$broken -shared -fPIC -o broken$broken.so "$here/broken.c" || exit 1
done
ox 1 "plug-in 'broken0.so': it has no function ox_plugin_entry" run --plugin broken0.so none.onnx
ox 1 'ox_frobnicate' run --plugin broken1.so none.onnx
ox 1 "plug-in 'broken2.so': the plug-in was built for plug-in ABI 2, this is 1" run --plugin broken2.so none.onnx
ox 1 "plug-in 'broken3.so': the plug-in's entry point gave NULL" info --plugin=broken3.so none.onnx
ox 1 "operator 'com.test.X' version 1" bench --plugin "$work/broken4.so" none.onnx
ox 1 'none.so: cannot open shared object file' run --plugin none.so none.onnx
ox 1 'libc.so.6: cannot open' run --plugin libc.so.6 none.onnx
ox 2 'option --plugin needs a value' run none.onnx --plugin
ox 1 'given twice' run --plugin "$BUILD/onednn.so" --plugin "$BUILD/onednn.so" none.onnx

# ---- With models -------------------------------------------------------------------------------------------------

# Debian's package libonnx-testdata makes a package onnx that has nothing in it.
if ! "$PYTHON" -c 'import numpy, onnx.helper' 2>/dev/null; then
    skipped=16
    echo "skipped: $skipped tests of plug-ins with models: no Python with the packages onnx and numpy"
    finish
fi
if ! "$PYTHON" "$here/models.py" 2>err; then
    failed=$((failed + 1))
    echo "failed: models.py: $(tail -n 1 err)"
    finish
fi

x='[[1,2,3,4],[5,6,7,8],[9,10,11,12]]'
for plugin in '' "--plugin $BUILD/onednn.so"; do
    # shellcheck disable=SC2086 # a list of words
    for model in mapped pair onnx; do
        ox 0 '12.' run $plugin $model.onnx -i "$x"
    done
    # shellcheck disable=SC2086
    ox 1 "attribute 'dim': axis 3 is out of range for rank 2 (-3 to 2)" run $plugin outside.onnx -i "$x"
    # shellcheck disable=SC2086
    ox 0 'onednn.graph.StaticUnsqueeze-1' info $plugin pair.onnx
done
ox 1 "opset 2 of domain 'onednn.graph' is newer than 1" run newer.onnx -i "$x"
ox 0 '12.' run --plugin "$BUILD/onednn.so" newer.onnx -i "$x"

# Of the expansion nothing is moved.
for view in 'mapped StaticExpand' 'pair StaticUnsqueeze' 'pair StaticExpand' 'onnx Expand'; do
    ox 0 "${view#* } ->" run --profile "${view% *}.onnx" -i "$x"
    if ! grep "${view#* } ->" out | grep -q ' 0 .* view '; then
        failed=$((failed + 1))
        echo "failed: ${view#* } in ${view% *}.onnx is no view: $(cat out)"
    fi
done

# ---- Those of ox ---------------------------------------------------------------------------------------------------

# part PROGRAM ARGUMENT...: what a program in Python tests.
part() {
    "$PYTHON" "$here/$1" "$BUILD/ox" "$2" >out 2>&1 || cat out
    # shellcheck disable=SC2046 # three numbers
    set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' out)
    [ $# -eq 3 ] || set -- 0 1 0
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    grep '^skipped' out
}
if [ -d "$BUILD/node/test_image_decoder_decode_bmp_rgb" ]; then
    part hostile.py "$BUILD/node"
fi
if [ -f "$BUILD/plugins/regex.so" ] && "$PYTHON" -c 'import onnxruntime' 2>/dev/null; then
    part tokens.py --cases=20
fi
finish
