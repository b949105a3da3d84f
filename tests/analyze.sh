#!/bin/sh
# analyze.sh FLAGS... -- FILE...: clang's analyzer on each file, two at a time. Fails for what tests/analyze.txt does not
# list. analyze.h says what the analyzer has to know.
here=$(dirname "$0")
flags=
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
found=$(printf '%s\n' "$@" |
    xargs -P2 -n1 clang --analyze --analyzer-output text $flags -Wno-unused-value -include "$here/analyze.h" \
        -o /dev/null 2>&1)
echo "$found" | grep -E ': (error|fatal error): ' && exit 1
new=$(echo "$found" | sed -n 's/^\([^: ]*\):.*: warning: .*\[\(.*\)\]$/\1 \2/p' | grep -vxF -f "$here/analyze.txt" | sort -u)
[ -z "$new" ] && exit 0
echo "$found"
echo "not in $here/analyze.txt:"
echo "$new"
exit 1
