#!/bin/sh
# run.sh: runs `ox test` on the cases of ONNX's releases ($BUILD/releases/cases/VERSION/KIND/CASE). Those of broken.txt,
# whose model or data are wrong, must fail, but for random numbers that happen to agree; all others must pass, but for what ox says it has no operator for.
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

# broken.txt: VERSION/CASE and the reason.
sed '/^#/d;/^$/d' "$here/broken.txt" | awk -v results="$out" '
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
        print passed + 0 " passed, " failed + 0 " failed, " wrong + lacking " skipped"
        exit failed > 0
    }'
