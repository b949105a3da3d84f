#!/bin/sh
# which.sh: of which release of ONNX the names of node cases on standard input are: the newest one whose first case is
# among them (first.txt).
awk '
    function rank(release, parts) {
        split(release, parts, ".")
        return parts[1] * 1000 + parts[2]
    }
    NR == FNR {
        if ($1 !~ /^#/)
            first[$2] = $1
        next
    }
    $1 in first && rank(first[$1]) > rank(found) { found = first[$1] }
    END { print found }' "$(dirname "$0")/first.txt" -
