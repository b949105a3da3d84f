#!/bin/sh
# select.sh OPS...: leaves in the library, in whose folder extras this file is, the operators that models need: lists as `ox embed`
# writes them, ops.txt. Without a list it has all operators again.
set -eu
extras=$(cd "$(dirname "$0")" && pwd)
src=${extras%/*}/src
new=$(mktemp -d)
awk -v dir="$new" -f "$extras/select.awk" "$src/ox.h" "$@" "$src/ox/ops/table.inc"
cp "$new/selected.inc" "$src/ox/"
# The operator table includes the list from its own folder.
sed 's,"selected.inc","../selected.inc",' "$new/selection.h" >"$src/ox/selection.h"
rm -r "$new"
