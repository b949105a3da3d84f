"""release_sdist.py ARCHIVE: packs a source distribution anew, so that the same files give the same bytes: in the order of
their names, of nobody, with the date SOURCE_DATE_EPOCH."""
import gzip
import io
import os
import pathlib
import sys
import tarfile


def main():
    path, date = pathlib.Path(sys.argv[1]), int(os.environ["SOURCE_DATE_EPOCH"])
    packed = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime, member.pax_headers = date, {}
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    main()
