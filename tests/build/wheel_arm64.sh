#!/bin/sh
# wheel_arm64.sh PYTHON WHEEL DIR: the wheel for Linux on arm64 under qemu, by Debian's Python for that machine, which is in DIR, with every build
# of the loops, and tests of the package that need neither other programs nor ONNX Runtime, which qemu does not run. PYTHON has pip. Without a package index the wheel is not run.
set -eu
python=$1 wheel=$2 dir=$3
skip() {
    echo "skipped: running $wheel: $1"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}
command -v qemu-aarch64 >/dev/null || skip 'there is no qemu-aarch64 (sh tools/setup.sh cross)'
site=$dir/site
rm -rf "$site"
"$python" -m pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --target "$site" --python-version 3.11 \
    --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
    -r python/tests/requirements.txt >"$dir/log" 2>&1 || skip "$(tail -n 1 "$dir/log")"
"$python" -m zipfile -e "$wheel" "$site"
PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1 OXRT_BACKEND_SHARE=100
export PYTHONPATH PYTHONDONTWRITEBYTECODE OXRT_BACKEND_SHARE
there="qemu-aarch64 -L $dir $(echo "$dir"/usr/bin/python3.*)"
passed=0 failed=0
for isa in base neon_dot neon_i8mm; do
    if OX_ISA=$isa $there -m oxrt run examples/digits/model.onnx -i examples/digits/images/7_0577.pgm --top 1 >"$dir/log" 2>&1 &&
        grep -q '%  7$' "$dir/log"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL the digits by $isa: $(cat "$dir/log")"
    fi
done
# shellcheck disable=SC2046 # a list of files
$there -m pytest -q -W ignore -p no:cacheprovider \
    $(grep -LE 'onnxruntime|subprocess|multiprocessing|OXRT_BUILD|pyspark' python/tests/test_*.py) >"$dir/log" 2>&1 || failed=$((failed + 1))
tail -n 5 "$dir/log"
more=$(sed -n 's/^\([0-9]*\) passed, .* skipped$/\1/p' "$dir/log")
passed=$((passed + ${more:-0}))
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
