# release.sh: part of run.sh. `make release` of a small clone: it refuses what is not committed, gives the same bytes twice, and
# its archive has what building needs. The whole of it, with wheels, is a part of `make nightly`.
# release_of OPTION...: makes a release of the clone.
release_of() { (cd "$clone" && MAKE=$MAKE PYTHON=${PYTHON:-python3} PY_VENV=none sh tools/release.sh "$@"); }

clone=$root/clone
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    rm -rf "$clone"
    expect 'a clone' git clone -q . "$clone"
    # What is tested is what is here, committed or not.
    git ls-files -z | xargs -0 sh -c 'for file; do [ ! -f "$file" ] || cp "$file" "$0/$file"; done' "$clone"
    git -C "$clone" add -A
    git -C "$clone" -c user.name=none -c user.email=none commit -q --allow-empty -m 'As it is here'
    touch "$clone/left.c"
    expect 'a tree that is not clean is refused, and what is not is named' sh -c "
        ! (cd '$clone' && PYTHON=python3 sh tools/release.sh --archive) 2>'$root/refused' && grep -q left.c '$root/refused'"
    rm "$clone/left.c"
    expect 'a source archive' release_of --archive
    mv "$clone/dist" "$root/first"
    find "$clone" -name '*.c' -exec touch {} +
    (umask 077 && release_of --archive) >/dev/null
    expect 'two source archives differ' diff -r "$root/first" "$clone/dist"
    archive=$(ls "$root/first" | grep 'tar.gz$')
    expect 'the name of the archive' test "$archive" = "ox-$version.tar.gz"
    expect 'the checksum' sh -c "cd '$root/first' && sha256sum -c SHA256SUMS"
    expect 'the archive can be unpacked' tar -xzf "$root/first/$archive" -C "$root"
    expect 'the archive can be built' $MAKE --no-print-directory -s -C "$root/ox-$version" -n all install
    expect 'the archive has no file that git does not know' test -z "$(cd "$root/ox-$version" && find . -type f | sed 's,^\./,,' |
        sort >"$root/unpacked" && git -C "$clone" ls-files | LC_ALL=C sort | LC_ALL=C comm -13 - "$root/unpacked")"
    rm -rf "$clone" "$root/ox-$version" "$root/first"
else
    echo 'skipped: make release: this is not a git repository'
    skipped=$((skipped + 1))
fi
