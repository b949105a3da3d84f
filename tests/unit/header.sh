#!/bin/sh
# header.sh HEADER TEST: fails for each function that HEADER declares and TEST does not call. Of ox_plugin_entry there is
# none in the library.
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
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
