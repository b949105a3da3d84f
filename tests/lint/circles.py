"""circles.py OBJECTS: no file of the library calls another one that calls it, by itself or through others, but where they
recurse. The calls are those of the objects below OBJECTS/src, as `nm` lists them."""
import pathlib
import subprocess
import sys

# Graphs are attributes of nodes, and a node that calls a function is replaced by the nodes of that.
RECURSION = [{"loader/attr", "loader/call", "loader/graph", "loader/node"}]


def symbols(path):
    """The names that an object defines, and those that it takes from others."""
    lines = [line.split() for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()]
    return {line[2] for line in lines if len(line) == 3 and line[1] in "TDRBVW"}, {line[1] for line in lines if line[0] == "U"}


def calls_of(objects):
    """For each file, the files that it calls."""
    known = {str(path.relative_to(objects).with_suffix("")): symbols(path) for path in sorted(objects.rglob("*.o"))}
    home = {name: file for file, (defined, _) in known.items() for name in defined}
    return {file: {home[name] for name in wanted if name in home} - {file} for file, (_, wanted) in known.items()}


def reached(calls, file):
    found, open_files = set(), [file]
    while open_files:
        for other in calls[open_files.pop()] - found:
            found.add(other)
            open_files.append(other)
    return found


def circles_of(calls):
    below = {file: reached(calls, file) for file in calls}
    circles = []
    for file in sorted(calls):
        circle = {other for other in below[file] if file in below[other]}
        if circle and circle not in circles:
            circles.append(circle)
    return circles


def main():
    calls = calls_of(pathlib.Path(sys.argv[1]) / "src")
    found = [circle for circle in circles_of(calls) if circle not in RECURSION]
    for circle in found:
        print(f"circles: these files call each other: {' '.join(sorted(circle))}")
    if not calls or found:
        sys.exit("circles: there are no objects" if not calls else 1)
    print(f"circles: {len(calls)} files call each other in one direction")


if __name__ == "__main__":
    main()
