#!/bin/sh
# venv.sh PYTHON DIR REQUIREMENTS: a virtual environment with pinned packages in DIR. If they cannot be had, DIR.note
# says why and what needs them is skipped: tests must run where there is no package index.
set -eu
python=$1 dir=$2 requirements=$3

if cmp -s "$requirements" "$dir/.stamp"; then
    rm -f "$dir.note"
    exit 0
fi
# Within one run of all tests, once is enough to learn that there is no package index.
if [ -n "${OX_VENV_TRIED:-}" ] && [ -e "$dir.note" ]; then
    exit 0
fi
rm -rf "$dir"
mkdir -p "$(dirname "$dir")"
if ! "$python" -m venv "$dir" >"$dir.log" 2>&1; then
    echo 'no Python virtual environment (is python3-venv installed?)' >"$dir.note"
elif ! "$dir/bin/python" -m pip install --disable-pip-version-check --no-input --retries 2 --timeout 30 \
    --require-hashes --only-binary=:all: -r "$requirements" >>"$dir.log" 2>&1; then
    echo "no pinned Python packages: pip failed ($(grep -v '^ *$' "$dir.log" | tail -n 1))" >"$dir.note"
else
    cp "$requirements" "$dir/.stamp"
    rm -f "$dir.note"
    exit 0
fi
rm -rf "$dir"
echo "venv: $(cat "$dir.note")"
