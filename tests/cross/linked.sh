#!/bin/sh
# linked.sh DIR FORMAT: the library and the command in DIR, which nothing runs here, are files of that system, the library shows the functions
# of ox.h and no others, and needs the system's own libraries alone. Needs nm and objdump of llvm.
dir=$1 format=$2
passed=0 failed=0
for tool in llvm-nm llvm-objdump; do
    if ! command -v $tool >/dev/null; then
        echo "skipped: $dir: $tool is not installed"
        echo '0 passed, 0 failed, 1 skipped'
        exit 0
    fi
done

# expect WHAT COMMAND...
expect() {
    what=$1
    shift
    if "$@" >"$dir/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $dir: $what: $(head -n 5 "$dir/log")"
    fi
}
is_of() { llvm-objdump -h "$1" | grep -q "file format $format\$"; }
# needs FILE: the libraries that the system has to have, but the file's own name.
needs() {
    case $format in
    mach-o*) llvm-objdump --macho --dylibs-used "$1" | sed -n 's/^\t\([^ ]*\) .*/\1/p' | grep -v '^@rpath/libox' ;;
    *) llvm-objdump -p "$1" | sed -n 's/^  NEEDED *//p' ;;
    esac
}
only() { # FILE PATTERN
    needs "$1" | grep -Ev "^($2)\$" >"$dir/others"
    cat "$dir/others"
    [ ! -s "$dir/others" ] && needs "$1" | grep -q .
}
case $format in
mach-o*) library=$dir/libox.dylib own=/usr/lib/libSystem.B.dylib ;;
*) library=$dir/libox.so own='lib(c|m|thr|pthread)\.so\.[0-9]+' ;;
esac
for file in "$dir/ox" "$library"; do
    expect "$(basename "$file") is of the system" is_of "$file"
    expect "$(basename "$file") needs the system alone" only "$file" "$own"
done
sed -n 's/^OX_API .*[ *]\(ox_[a-z0-9_]*\)(.*/\1/p' src/ox.h | grep -v ox_plugin_entry | sort -u >"$dir/declared"
dynamic=$(case $format in mach-o*) ;; *) echo -D ;; esac)
llvm-nm -g $dynamic --defined-only "$library" | sed -n 's/.* T _\{0,1\}//p' | sort -u >"$dir/shown"
expect 'the library shows what ox.h declares' diff "$dir/declared" "$dir/shown"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
