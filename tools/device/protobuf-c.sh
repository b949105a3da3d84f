#!/bin/sh
# protobuf-c.sh DIR: puts the source of protobuf-c's runtime into DIR/protobuf-c, for targets that have no package of
# it. It is the upstream archive of Debian's source package, fetched by apt in a private state and checked.
set -eu
dir=$1
archive=protobuf-c_1.4.1.orig.tar.gz
sum=4cc4facd508172f3e0a4d3a8736225d472418aee35b4ad053384b137b220339f

mkdir -p "$dir/apt/lists/partial"
cd "$dir"
if [ ! -f "$archive" ]; then
    # shellcheck disable=SC1091 # it gives the release's name
    . /etc/os-release
    echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >apt/sources.list
    set -- -q -o Dir::Etc::sourcelist="$PWD/apt/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$PWD/apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User=
    apt-get "$@" update
    apt-get "$@" source --download-only --tar-only protobuf-c
fi
if ! echo "$sum  $archive" | sha256sum -c --quiet; then
    echo "protobuf-c.sh: $dir/$archive is not the archive that was expected" >&2
    rm "$archive"
    exit 1
fi
tar -xzf "$archive" --strip-components=1 --wildcards '*/protobuf-c/protobuf-c.[ch]' '*/LICENSE'
rm -rf apt
