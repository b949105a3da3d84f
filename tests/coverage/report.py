"""report.py --build DIR [--lines PERCENT] [--branches PERCENT] [--missing FILE]: what the tests ran of src/.

Reads what a build with --coverage left in DIR, by way of gcov, and prints lines and branches by file. Exit status 1
if less than the given percentages of all of src/ ran. --missing prints the lines and branches of one file that did
not. A line or branch that is compiled into several objects counts once, and ran if it did in any of them; each type
that a template is expanded for counts by itself.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys


def reports(build):
    """gcov's JSON reports, one for each object with counts."""
    counts = sorted(pathlib.Path(build).glob("obj/src/**/*.gcda"))
    for start in range(0, len(counts), 20):
        command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", *map(str, counts[start:start + 20])]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        yield from map(json.loads, filter(None, text.splitlines()))


def merge(build):
    """{file: ({line: count}, {(line, function, number): count})}"""
    files = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for report in reports(build):
        for file in report["files"]:
            if not file["file"].startswith("src/"):
                continue
            lines, branches = files[file["file"]]
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] += line["count"]
                for index, branch in enumerate(line["branches"]):
                    branches[number, line.get("function_name"), index] += branch["count"]
    return files


def ratio(counts):
    ran = sum(1 for count in counts.values() if count)
    return ran, len(counts)


def percent(ran, total):
    return 100.0 * ran / total if total else 100.0


def show_missing(name, lines, branches):
    text = pathlib.Path(name).read_text().splitlines()
    for number in sorted(lines):
        never = [key for key, count in branches.items() if key[0] == number and not count]
        total = sum(1 for key in branches if key[0] == number)
        if not lines[number] or never:
            what = "never" if not lines[number] else f"{len(never)} of {total}"
            print(f"{name}:{number}: {what:>8}  {text[number - 1].strip()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--lines", type=float, default=0)
    parser.add_argument("--branches", type=float, default=0)
    parser.add_argument("--missing")
    options = parser.parse_args()
    files = merge(options.build)
    if options.missing:
        return show_missing(options.missing, *files[options.missing])
    sums = [0, 0, 0, 0]
    for name in sorted(files):
        figures = [*ratio(files[name][0]), *ratio(files[name][1])]
        sums = [a + b for a, b in zip(sums, figures)]
        print(f"{name:<34} lines {percent(*figures[:2]):6.1f} % of {figures[1]:5}   "
              f"branches {percent(*figures[2:]):6.1f} % of {figures[3]:5}")
    lines, branches = percent(*sums[:2]), percent(*sums[2:])
    print(f"{'src/':<34} lines {lines:6.1f} % of {sums[1]:5}   branches {branches:6.1f} % of {sums[3]:5}")
    return 1 if lines < options.lines or branches < options.branches else 0


if __name__ == "__main__":
    sys.exit(main())
