#!/bin/sh
# release.sh [--archive]: makes a release of the commit that is checked out, in dist/: the source archive, the source
# distribution and the wheel of the Python package, and SHA256SUMS. Everything is built from the source archive, twice, in
# two folders, and must have the same bytes. The library of the archive is installed and used, the wheel in an environment
# of its own. With --archive: the source archive and its checksum alone. Needs MAKE, PYTHON and PY_VENV, which has setuptools
# and auditwheel; `make release` gives them.
set -eu

say() { echo "release: $*"; }
give_up() {
    echo "release: $*" >&2
    exit 1
}

# ---- What is released ------------------------------------------------------------------------------------------------

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || give_up 'this is not a git repository'
changed=$(git status --porcelain)
[ -z "$changed" ] || give_up "the tree is not clean; commit or remove:
$changed"
version=$(sed -n 's/^#define OX_VERSION_[A-Z]* //p' src/ox.h | paste -sd.)
name=ox-$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
LC_ALL=C TZ=UTC
export LC_ALL TZ
umask 022
$PYTHON tests/lint/about.py . >/dev/null || give_up "$($PYTHON tests/lint/about.py .)"
grep -q "^## $version, [0-9]" CHANGELOG.md || say "a rehearsal: CHANGELOG.md has no date for $version yet"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p dist

# archive FILE: the files that git knows, with the date of the commit.
archive() {
    git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$1"
}

# sums NAME...: SHA256SUMS of files in dist/, and that they are right.
sums() {
    (cd dist && sha256sum "$@" >SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
    sed 's/^/  /' dist/SHA256SUMS
}

archive "dist/$name.tar.gz"
archive "$work/again.tar.gz"
cmp "dist/$name.tar.gz" "$work/again.tar.gz" || give_up 'two source archives differ'
if [ "${1:-}" = --archive ]; then
    sums "$name.tar.gz"
    exit 0
fi

# ---- What is made of the archive -------------------------------------------------------------------------------------

# The package manager's flags and this make's jobs are not those of a release.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS CPPFLAGS 2>/dev/null || true
case $PY_VENV in /*) ;; *) PY_VENV=$PWD/$PY_VENV ;; esac
source=$PWD/dist/$name.tar.gz

# build FOLDER: unpacks the archive there, and makes wheel and source distribution, which land in FOLDER/$name/dist.
build() {
    mkdir -p "$1"
    tar -xzf "$source" -C "$1"
    (
        cd "$1/$name"
        $MAKE --no-print-directory -s PYTHON="$PYTHON" PY_VENV="$PY_VENV" all wheel sdist
        "$PY_VENV/bin/python" tools/release_sdist.py dist/*.tar.gz
    ) >"$1/log" 2>&1 || give_up "$1: $(tail -n 20 "$1/log")"
}

say "building $name from its archive"
build "$work/one"
grep -h ' passed, ' "$work/one/log" || give_up 'the wheel was not tested'
grep -q '^skipped: ' "$work/one/log" && give_up "$(grep '^skipped: ' "$work/one/log")"
say 'using the library as it is installed'
(cd "$work/one/$name" && $MAKE --no-print-directory -s check-install) >"$work/install.log" 2>&1 ||
    give_up "$(tail -n 20 "$work/install.log")"
tail -n 1 "$work/install.log"
say 'building it again, in another folder'
build "$work/the-other"
for file in "$work/one/$name"/dist/*; do
    cmp "$file" "$work/the-other/$name/dist/$(basename "$file")" || give_up "$(basename "$file"): two builds differ"
done
cp "$work/one/$name"/dist/* dist/
# shellcheck disable=SC2046 # names without spaces
sums "$name.tar.gz" $(cd "$work/one/$name/dist" && ls)
say "dist/ has $name, the same twice; docs/releases.md says what is next"
