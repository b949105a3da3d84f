#!/bin/sh
# wheel.sh PYTHON WHEEL DIR: the wheel works in a fresh virtual environment in DIR, with every build of the loops that the
# processor runs. Without a package index there is no numpy, and it is skipped.
set -eu
python=$1 wheel=$2 dir=$3
size=$(wc -c <"$wheel")
if [ "$size" -gt $((3 << 20)) ]; then
    echo "$wheel has $size bytes, more than 3 MB"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
rm -rf "$dir"
"$python" -m venv "$dir"
if ! "$dir/bin/python" -m pip install -q --disable-pip-version-check "$wheel" >"$dir.log" 2>&1; then
    echo "skipped: the wheel: pip failed ($(tail -n 1 "$dir.log"))"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
model=$PWD/examples/digits/model.onnx
cd "$dir"
bin/python - "$model" <<'END'
import sys
import numpy as np, oxrt
x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)
expected = oxrt.Model(sys.argv[1])(x)
ran = []
for isa in ("base", "v3", "v4"):
    try:
        y = oxrt.Model(sys.argv[1], isa=isa)(x)
    except oxrt.ArgumentError as error:
        print(f"{isa}: {error}")
        continue
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-7)
    ran.append(isa)
assert ran, "no build of the loops runs"
print("ran:", *ran)
END
bin/python -m oxrt ops Add >/dev/null
bin/oxrt ops Add >/dev/null
echo "$(basename "$wheel"), $size bytes: 1 passed"
echo "1 passed, 0 failed, 0 skipped"
