#!/bin/sh
# header.sh HEADER TEST: fails for each function that HEADER declares and TEST does not call. Of ox_plugin_entry there is
# none in the library. Then clang reads HEADER as compilers of Windows do, as C and as C++, without a warning, and without
# headers of a system: with its own.
header=$1 test=$2
passed=0 failed=0
for function in $(sed -n 's/.*OX_API.*[ *]\(ox_[a-z0-9_]*\)(.*/\1/p' "$header" | sort -u); do
    if [ "$function" = ox_plugin_entry ] || grep -q "[^a-z_]$function(" "$test"; then
        passed=$((passed + 1))
    else
        echo "$function is in $header, but $test does not call it"
        failed=$((failed + 1))
    fi
done
[ $passed -gt 50 ] || { echo "$header has hardly any functions: is it read?" && failed=$((failed + 1)); }
skipped=0
for standard in 'c -std=c11' 'c -std=c17' 'c++ -std=c++11' 'c++ -std=c++17'; do
    if ! command -v clang >/dev/null; then
        skipped=$((skipped + 1))
    # shellcheck disable=SC2086 # words
    elif printf '#include "%s"\n#include "%s"\nsize_t words(void);\nsize_t words(void) { return sizeof(ox_options) + (size_t)OX_OK; }\n' "$header" "$header" |
        clang --target=x86_64-pc-windows-msvc -fms-compatibility -fms-extensions -ffreestanding -fsyntax-only -I. -Wall -Wextra -Wpedantic \
            -Wshadow -Wconversion -Wno-missing-prototypes -Werror -x $standard -; then
        passed=$((passed + 1))
    else
        echo "clang, as on Windows, complains of $header as $standard"
        failed=$((failed + 1))
    fi
done
[ $skipped -eq 0 ] || echo 'skipped: the header as compilers of Windows read it: clang is not installed'
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
