#!/bin/sh
# run.sh: runs $BUILD/replay_TARGET on each file of tests/regression/TARGET, in a process of its own. README.md says what
# each file was, in a line that begins with its name.
here=$(dirname "$0")
passed=0 failed=0
for file in "$here"/*/*; do
    [ -f "$file" ] || continue
    name=${file#"$here"/}
    if ! timeout 20 "$BUILD/replay_${name%%/*}" "$file" >"$BUILD/replay.log" 2>&1; then
        echo "$name: $(head -n 3 "$BUILD/replay.log")"
        failed=$((failed + 1))
    elif ! grep -q "^- \`$name\`: " "$here/README.md"; then
        echo "$name: README.md does not say what it was"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
