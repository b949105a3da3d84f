#!/bin/sh
# deb.sh TO: makes the Debian source package of the tree and builds it, in the folder TO. The files are those that git knows, as they are
# here. MAINTAINER names who signs for it ("Name <address>"); DEB_ARGUMENTS go to dpkg-buildpackage in place of -us -uc.
set -eu
to=$1
case $to in /*) ;; *) to=$PWD/$to ;; esac
version=$(sed -n 's/^#define OX_VERSION_[A-Z]* //p' src/ox.h | paste -sd.)
maintainer=${MAINTAINER:-$(sed -n 's/^Maintainer: //p' packaging/debian/control)}
tree=$to/ox-$version

rm -rf "$to"
mkdir -p "$tree"
git ls-files -z | xargs -0 sh -c 'for file; do [ ! -f "$file" ] || cp --parents -P "$file" "$0"; done' "$tree"
rm -rf "$tree/packaging/debian"
tar -C "$to" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -czf "$to/ox_$version.orig.tar.gz" "ox-$version"
cp -r packaging/debian "$tree/debian"
date=$(git log -1 --date=rfc2822 --format=%cd)
sed -i -e "s|@VERSION@|$version|" -e "s|@MAINTAINER@|$maintainer|" -e "s|@DATE@|$date|" "$tree/debian/changelog"
sed -i "s|^Maintainer: .*|Maintainer: $maintainer|" "$tree/debian/control"
cd "$tree"
# shellcheck disable=SC2086 # several arguments
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS -u LDFLAGS dpkg-buildpackage ${DEB_ARGUMENTS:--us -uc}
