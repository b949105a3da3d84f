"""rooms.py [--write] ROOMS SRC DESIGN: checks the #include lines of a source tree against its list of rooms, and refuses conflict
markers.

The list names folders of SRC, the lowest line first; a file may include its own room and those of lines before. A folder
that the list does not name, a header that is nowhere, and an include that goes up or to the side are errors. So is a table of rooms in DESIGN that is not that of the list, or whose last cells are far from the files and lines that the rooms
have; --write writes these cells anew.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys


def read_rooms(path):
    """Folder -> number of its line."""
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {room: level for level, rooms in enumerate(lines) for room in rooms}


def target_of(source, root, include):
    """The file that an include names, None for one that is generated or belongs to a library."""
    for base in (source.parent, root):
        if (base / include).is_file():
            return (base / include).resolve()
    return None


def wrong_includes(root, levels):
    for source in sorted(p for p in root.rglob("*") if p.suffix in (".c", ".h", ".inc")):
        room = str(source.parent.relative_to(root))
        if room not in levels:
            yield f"{source}: the folder {room} is not in the list of rooms"
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            target = match and target_of(source, root, match.group(1))
            if match and "/" in match.group(1) and not target:
                yield f"{source}:{number}: there is no {match.group(1)} from here or from {root}"
            if target:
                other = str(target.parent.relative_to(root.resolve()))
                if other != room and levels.get(other, len(levels)) >= levels[room]:
                    yield f"{source}:{number}: {room} includes {match.group(1)}, but {other} is not below {room}"


def wrong_rows(design, root, levels):
    """DESIGN names folders of SRC in the first cells of a table: each is a room, and each room of SRC itself is there."""
    cells = [line.split("|")[1] for line in design.read_text().splitlines() if line.startswith(f"| `{root.name}/")]
    listed = set()
    for name in re.findall(rf"`{root.name}/([^`]*)`", "".join(cells)):
        rooms = fnmatch.filter(levels, name.rstrip("/") or ".")
        listed.update(rooms)
        if not rooms:
            yield f"{design}: {root.name}/{name} is not in the list of rooms"
    yield from (f"{design}: no row of a table says what {root.name}/{room} is for" for room in levels if "/" not in room and room not in listed)


def sizes_of_rows(lines, root, levels):
    """(number of a line, what its last cell has to say, files, lines) of each row of DESIGN about rooms."""
    named = {number: re.findall(rf"`{root.name}/([^`]*)`", line.split("|")[1]) for number, line in enumerate(lines) if line.startswith(f"| `{root.name}/")}
    exact = {name.rstrip("/") or "." for names in named.values() for name in names if "*" not in name}
    for number, names in named.items():
        rooms = {room for name in names for room in fnmatch.filter(levels, name.rstrip("/") or ".") if "*" not in name or room not in exact}
        files = [path for room in rooms for path in (root / room).iterdir() if path.suffix in (".c", ".h", ".inc")] if rooms else []
        count = sum(len(path.read_text().splitlines()) for path in files)
        yield number, f"{len(files)} files, {max(round(count, -2), 100):,} lines", len(files), count


def wrong_sizes(design, root, levels, write):
    """Numbers that are a tenth away from what is there; with `write`, they become that."""
    lines = design.read_text().splitlines()
    for number, wanted, files, count in list(sizes_of_rows(lines, root, levels)):
        head, cell = lines[number].rstrip(" |").rsplit("|", 1)
        found = re.fullmatch(r" *([\d,]+) files, ([\d,]+) lines *", cell)
        if write:
            lines[number] = f"{head if found else head + '|' + cell.rstrip() + ' '}| {wanted} |"
        elif not found or any(abs(int(have.replace(",", "")) - real) > max(real / 10, least)
                              for have, real, least in zip(found.groups(), (files, count), (0, 100))):
            yield f"{design}:{number + 1}: the row ends with '{cell.strip()}' in place of '{wanted}'; rooms.py --write writes it anew"
    if write:
        design.write_text("\n".join(lines) + "\n")


def conflict_markers(root):
    """Lines that a merge has left, in all files that git knows (all files, where there is no git)."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False).stdout.split(b"\0")
    files = [root / name.decode() for name in listed if name] or [p for p in root.rglob("*") if p.is_file()]
    for path in files:
        if path.is_file():
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                if re.match(rb"(<{7}|>{7}|\|{7}) |={7}$", line):
                    yield f"{path}:{number}: a conflict marker"


def main():
    write = sys.argv[1] == "--write"
    rooms, root, design = map(pathlib.Path, sys.argv[1 + write:])
    levels = read_rooms(rooms)
    wrong = [*wrong_includes(root, levels), *wrong_rows(design, root, levels), *wrong_sizes(design, root, levels, write), *conflict_markers(root.parent)]
    print("\n".join(wrong) if wrong else "rooms: every include goes down")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
