#!/bin/sh
# sources.sh DIR: unpacks the sources of protobuf-c's runtime, zlib and libpng into DIR, as Debian has them, for systems that
# have no packages of them. Nothing is installed and no root is needed: apt gets lists of its own below DIR.
set -eu
rm -rf "$1"
mkdir -p "$1/apt/lists/partial"
root=$(realpath "$1")
# The archives that this machine has, for sources in place of packages.
for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    [ ! -e "$list" ] || case $list in
    *.list) sed -n 's/^deb /deb-src /p' "$list" >"$root/apt/all.list" ;;
    *) sed 's/^Types:.*/Types: deb-src/' "$list" >"$root/apt/all.sources" ;;
    esac
done
cat >"$root/apt/apt.conf" <<END
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$root/apt";
Dir::State "$root/apt";
Dir::Cache "$root/apt";
END
export APT_CONFIG="$root/apt/apt.conf"
apt-get update -q >"$root/apt/log" 2>&1 || true
if ! (cd "$root/apt" && apt-get source -q --download-only --tar-only protobuf-c zlib libpng1.6) >>"$root/apt/log" 2>&1; then
    cat "$root/apt/log"
    echo "sources: Debian's sources of protobuf-c, zlib and libpng cannot be downloaded"
    exit 1
fi
unpack() { # NAME FILE...
    name=$1
    shift
    mkdir "$root/apt/$name" "$root/$name"
    tar -xf "$(ls "$root/apt/$name"_*.orig.tar.*[a-z2])" -C "$root/apt/$name" --strip-components=1
    for file in "$@"; do
        # shellcheck disable=SC2086 # a pattern
        cp "$root/apt/$name"/$file "$root/$name/"
    done
}
unpack protobuf-c 'protobuf-c/protobuf-c.[ch]'
unpack zlib '*.[ch]'
unpack libpng1.6 'png*.[ch]' scripts/pnglibconf.h.prebuilt
rm -f "$root"/zlib/gz*.c "$root/libpng1.6/pngtest.c"
mv "$root/libpng1.6" "$root/png"
mv "$root/png/pnglibconf.h.prebuilt" "$root/png/pnglibconf.h"
rm -rf "$root/apt"
