#!/bin/sh
# hashes.sh: whether the hashes of pinned Python packages are those of wheels for each version of CPython that tests run
# on, and each processor. Nothing is installed, but pip fetches what it checks. Needs PYTHON, one that has pip.
passed=0 failed=0 skipped=0

# Whether pip takes FILE's packages for CPython VERSION on MACHINE.
takes() {
    set -- "$1" "$2" "$3" --platform "manylinux_2_28_$3" --platform "manylinux_2_27_$3" --platform "manylinux_2_17_$3" \
        --platform "manylinux2014_$3" --platform "manylinux_2_5_$3" --platform "manylinux1_$3"
    file=$1 version=$2
    shift 3
    "$PYTHON" -m pip install --dry-run --disable-pip-version-check --no-input --retries 2 --timeout 30 --quiet \
        --require-hashes --only-binary=:all: --no-deps --target "$BUILD/no-packages" --python-version "$version" "$@" \
        -r "$file" 2>&1
}

check() {
    file=$1
    shift
    for machine in "$@"; do
        for version in 3.11 3.12 3.13 3.14; do
            if text=$(takes "$file" "$version" "$machine"); then
                passed=$((passed + 1))
            elif printf '%s' "$text" | grep -q 'DO NOT MATCH\|No matching distribution found for .*==.*(from versions: [^n]'; then
                failed=$((failed + 1))
                printf 'failed: %s, CPython %s on %s\n%s\n' "$file" "$version" "$machine" "$text"
            else
                skipped=$((skipped + 1))
                echo "skipped: $file, CPython $version on $machine: $(printf '%s' "$text" | grep -v '^ *$' | tail -n 1)"
            fi
        done
    done
}

check tests/requirements.txt x86_64 aarch64
check tests/trained/requirements.txt x86_64 aarch64
check python/tests/requirements.txt x86_64 aarch64
check python/tests/requirements-clients.txt x86_64
check tests/device/requirements.txt x86_64
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
