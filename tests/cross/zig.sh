#!/bin/sh
# zig.sh ZIG TARGET ARGUMENT...: clang as the package ziglang has it, for TARGET, with names of processors as clang itself has them. What is only
# tried, with /dev/null for its output, would leave null.o.
zig=$1 target=$2
shift 2
tried= before=
for word in "$@"; do
    shift
    case $word in
    -march=x86-64-v*) word=-march=x86_64_v${word##*v} ;;
    -march=armv8.2-a+*) word=-mcpu=generic+v8_2a+${word#*+} ;;
    /dev/null)
        if [ "$before" = -o ]; then
            tried=$(mktemp -d)
            word=$tried/null.o
        fi
        ;;
    esac
    before=$word
    set -- "$@" "$word"
done
[ -n "$tried" ] || exec "$zig" cc -target "$target" "$@"
"$zig" cc -target "$target" "$@"
status=$?
rm -r "$tried"
exit $status
