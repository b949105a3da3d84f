#!/bin/sh
# run.sh: src/ox.hpp as C++17 and C++20, by each compiler that is here, with warnings as errors, without exceptions, too. The tests of
# test.cpp run where CXX is the compiler. Needs BUILD, CXX with its flags for sanitizers, LIBS.
passed=0 failed=0 skipped=0
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
program=$BUILD/cpp-test
tests=tests/cpp/test.cpp

# try WHAT COMMAND...: counts the command's success.
try() {
    what=$1
    shift
    if "$@" >"$program.log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "$what: $(tail -n 20 "$program.log")"
    fi
}
# shellcheck disable=SC2086 # lists of words
{
    for standard in 17 20; do
        for compiler in g++ clang++; do
            if command -v $compiler >/dev/null; then
                try "$compiler, C++$standard" $compiler -std=c++$standard -Isrc $warnings -fsyntax-only $tests
            else
                skipped=$((skipped + 1))
                echo "skipped: ox.hpp as C++$standard by $compiler, which is not installed"
            fi
        done
    done
    for flags in '-std=c++17' '-std=c++20 -fno-exceptions'; do
        if try "$CXX $flags" $CXX $flags -g -Isrc $warnings -o "$program" $tests "$BUILD/libox.a" $LIBS && [ -x "$program" ]; then
            "$program" >"$program.out"
            status=$?
            sed '$d' "$program.out"
            counts=$(tail -n 1 "$program.out")
            passed=$((passed + ${counts%% passed*})) counts=${counts#* passed, }
            failed=$((failed + ${counts%% failed*}))
            [ $status -le 1 ] || failed=$((failed + 1))
        fi
        rm -f "$program"
    done
}
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
