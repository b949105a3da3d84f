#!/bin/sh
# run.sh: runs `ox test` on the cases of ONNX's releases ($BUILD/releases/cases/VERSION/KIND/CASE). Those of broken.txt,
# whose model or data are wrong, must fail, but for random numbers that happen to agree; all others must pass, but for what
# ox says it has no operator for. Then that the names of a release's cases tell which release it is, and that broken.sh
# gives those of its cases that are the same as one that must fail.
here=$(dirname "$0")
cases=$BUILD/releases/cases
out=$BUILD/releases/results.tsv
: >"$out"
for version in "$cases"/*/; do
    # shellcheck disable=SC2046 # a list of folders without spaces
    "$BUILD/ox" test --quiet --tsv "$BUILD/releases/one.tsv" $(find "$version" -mindepth 2 -maxdepth 2 -type d | sort) \
        >"$BUILD/releases/log" 2>&1
    grep -q ' passed, .* failed, .* skipped$' "$BUILD/releases/log" || {
        cat "$BUILD/releases/log"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
    }
    sed "s,^,$(basename "$version")/," "$BUILD/releases/one.tsv" >>"$out"
done

# told: releases that are taken for others, or get other cases of broken.txt.
sed -n 's,^\([0-9.]*\)[^/]*\(/[^ ]*\).*,\1\2,p' "$here/broken.txt" >"$BUILD/releases/listed"
told=0
for version in $(cut -f1 "$BUILD/releases/cases.tsv" | uniq); do
    awk -F'\t' -v version="$version" '$1 == version' "$BUILD/releases/cases.tsv" >"$BUILD/releases/of"
    found=$(awk -F'\t' '$2 == "node" { print $3 }' "$BUILD/releases/of" | sh "$here/which.sh")
    [ "$found" = "$version" ] || { told=$((told + 1)) && echo "the cases of $version are taken for those of $found"; }
    sh "$here/broken.sh" "$version" | sed 's/ .*//' | sort -u >"$BUILD/releases/given"
    awk -F'\t' 'NR == FNR { listed[$0]; next } $4 "/" $3 in listed { print $3 }' "$BUILD/releases/listed" \
        "$BUILD/releases/of" | sort -u | diff "$BUILD/releases/given" - >"$BUILD/releases/log" || {
        told=$((told + 1))
        echo "broken.sh $version gives (<) and lacks (>):"
        cat "$BUILD/releases/log"
    }
done

# broken.txt: RELEASES/CASE and the reason; the first release has the case.
sed '/^#/d;/^$/d;s,^\([0-9.]*\)[^/]*,\1,' "$here/broken.txt" | awk -v told="$told" -v results="$out" '
    { broken[$1] = 1 }
    /without a seed$/ { drawn[$1] = 1 }
    END {
        while ((getline line <results) > 0) {
            split(line, field, "\t")
            name = field[1]
            seen[name] = 1
            if (name in broken && !(name in drawn) && field[2] == "passed") {
                print name ": is listed as broken but passes"
                failed++
            } else if (name in broken)
                wrong++
            else if (field[2] == "passed")
                passed++
            else if (field[2] == "unsupported")
                lacking++
            else {
                print name ": " field[3]
                failed++
            }
        }
        for (name in broken)
            if (!(name in seen)) {
                print name ": is listed as broken but there is no such case"
                failed++
            }
        if (wrong)
            print "skipped: " wrong " cases whose model or data are wrong (tests/releases/broken.txt)"
        if (lacking)
            print "skipped: " lacking " cases of operators that ox lacks"
        failed += told
        print passed + 0 " passed, " failed + 0 " failed, " wrong + lacking " skipped"
        exit failed > 0
    }'
