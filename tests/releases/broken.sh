#!/bin/sh
# broken.sh RELEASE: the cases of broken.txt that no right result passes in the data of a release, each with the reason.
sed '/^#/d;/^$/d' "$(dirname "$0")/broken.txt" | awk -v release="$1" '
    function rank(release, parts) {
        split(release, parts, ".")
        return parts[1] * 1000 + parts[2]
    }
    {
        split($1, at, "/")
        count = split(at[1], ranges, ",")
        for (i = 1; i <= count; i++) {
            last = split(ranges[i], ends, "-")
            if (rank(ends[1]) <= rank(release) && rank(release) <= rank(ends[last])) {
                sub(/^[^\/]*\//, "")
                print
                break
            }
        }
    }'
