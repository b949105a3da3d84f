#!/bin/sh
# wheel.sh PYTHON WHEEL DIR: the wheel is for every Linux of an age (manylinux) and every CPython from 3.11 on (abi3), and
# works in a fresh virtual environment in DIR, with every build of the loops that the processor runs. PYTHON has
# auditwheel. Without a package index there is no numpy for DIR, and the wheel is not run.
set -eu
python=$1 wheel=$2 dir=$3
fail() {
    echo "$wheel: $1"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
size=$(wc -c <"$wheel")
[ "$size" -le $((3 << 20)) ] || fail "$size bytes, more than 3 MB"
case $(basename "$wheel") in
oxrt-*-cp311-abi3-manylinux_*) ;;
*) fail 'not for CPython 3.11 and later, or not for manylinux' ;;
esac
"$python" -m auditwheel show "$wheel" >"$dir.audit" 2>&1 || fail "$(cat "$dir.audit")"
grep -q 'platform tag: "manylinux_' "$dir.audit" || fail "$(cat "$dir.audit")"
rm -rf "$dir"
"$python" -m venv "$dir"
if ! "$dir/bin/python" -m pip install -q --disable-pip-version-check "$wheel" >"$dir.log" 2>&1; then
    echo "skipped: running the wheel: pip failed ($(tail -n 1 "$dir.log"))"
    echo "1 passed, 0 failed, 1 skipped"
    exit 0
fi
model=$PWD/examples/digits/model.onnx
cd "$dir"
for isa in base v3 v4; do
    OX_ISA=$isa bin/python - "$model" $isa <<'END'
import sys
import numpy as np, oxrt
x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)
expected = oxrt.Model(sys.argv[1], isa="base")(x)
for model in (oxrt.Model(sys.argv[1]), oxrt.Model(sys.argv[1], isa=sys.argv[2])):
    np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-7)
END
done
bin/python -m oxrt ops Add >/dev/null
bin/oxrt ops Add >/dev/null
if grep -q avx512bw /proc/cpuinfo; then builds='base v3 v4'; else builds='base v3 (v4 runs as v3: no AVX-512)'; fi
echo "$(basename "$wheel"), $size bytes, $builds"
echo "2 passed, 0 failed, 0 skipped"
