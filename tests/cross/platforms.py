"""platforms.py --page FILE --build DIR --make MAKE SYSTEM...: builds ox for each of the systems, runs its tests, and writes what they said into
the table of the page, a row for each system. Rows of other systems stay as they are."""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

# What the table calls a system, how it is run, the targets that build it and those that test it, and the files that users take, below the
# folder of builds. The targets of tests print a line for each part, as tests/check.sh does.
NOTHING = "nothing"
SYSTEMS = {
    "linux": ("Linux, x86-64", "this machine", "all", "linux-test", "libox.so", "ox"),
    "arm64": ("Linux, arm64", "qemu", "cross-build-arm64", "cross-test-arm64", None, "cross/arm64/ox"),
    "armhf": ("Linux, armhf", "qemu", "cross-build-armhf", "cross-test-armhf", None, "cross/armhf/ox"),
    "s390x": ("Linux, s390x", "qemu", "cross-build-s390x", "cross-test-s390x", None, "cross/s390x/ox"),
    "musl": ("musl, x86-64", "this machine", "musl", "musl-test musl-models", "musl/port/libox.so", "musl/port/ox"),
    "windows": ("Windows, x86-64", "wine", "windows", "windows-test windows-models", "windows/port/ox.dll", "windows/port/ox.exe"),
    "wasm": ("WebAssembly (WASI)", "Node", "wasm wasm-library", "wasm-test wasm-models", "bench/wasm/runs.wasm", "wasm/port/ox.wasm"),
    "macos": ("macOS, arm64", NOTHING, "macos", "macos-test", "macos/port/libox.dylib", "macos/port/ox"),
    "macos-x86": ("macOS, x86-64", NOTHING, "macos-x86", "macos-x86-test", "macos-x86/port/libox.dylib", "macos-x86/port/ox"),
    "freebsd": ("FreeBSD, x86-64", NOTHING, "freebsd", "freebsd-test", "freebsd/port/libox.so", "freebsd/port/ox"),
}
PARTS = ("unit", "scopes", "conformance", "models-run")
SUMMARY = re.compile(r"^(?:([a-z-]+) +)?(\d+) passed, +(\d+) failed, +(\d+) skipped", re.MULTILINE)
BEGIN, END = "<!-- written by make platforms -->\n", "<!-- end of what make platforms writes -->\n"
HEAD = """| system | run by | builds | unit tests | node suite | networks | library, MB | command, MB | minutes |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def run(log, command):
    """Whether the command succeeds, what it prints, which goes into the file, too, and its minutes. It shares the jobs of this make."""
    begin = time.monotonic()
    with log.open("w") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False, close_fds=False).returncode
    return status == 0, log.read_text(errors="replace"), (time.monotonic() - begin) / 60


def parts_of(target, output):
    """(passed, failed, skipped) of each part that a target prints a line of; networks are a target of their own."""
    found = {}
    for name, *numbers in SUMMARY.findall(output):
        name = name or ("models-run" if target.endswith("-models") else "")
        if name in PARTS:
            found[name] = tuple(map(int, numbers))
    return found


def cell(counts, what=""):
    if not counts or not any(counts):
        return "not run"
    passed, failed, skipped = counts
    return f"{passed:,}{what}" + (f", **{failed:,} failed**" if failed else "") + (f", {skipped:,} left out" if skipped else "")


def megabytes(path, folder):
    """Of a file without its symbols, which programs for WebAssembly have not."""
    if not path.exists():
        return "–"
    if path.suffix != ".wasm":
        stripped = folder / path.name
        subprocess.run(["llvm-strip", "-o", stripped, path], check=True)
        path = stripped
    return f"{path.stat().st_size / 1e6:.2f}"


def row_of(system, build, make):
    """The row, and whether all is well."""
    title, runner, goals, tests, library, command = SYSTEMS[system]
    logs = build / "platforms" / system
    logs.mkdir(parents=True, exist_ok=True)
    if not run(logs / "build.log", [*make, *goals.split()])[0]:
        return f"| {title} | {runner} | **no** |{' not run |' * 3} – | – | – |", False
    counts, minutes, failed = {}, 0, []
    for target in tests.split():
        passed, output, taken = run(logs / f"{target}.log", [*make, target])
        found = parts_of(target, output)
        counts, minutes = counts | found, minutes + taken
        failed += [] if passed else [target]
    units = cell(counts["scopes"], " small graphs") if "scopes" in counts else cell(counts.get("unit"))
    cells = [title, runner, f"yes, **{' '.join(failed)} failed**" if failed else "yes", units,
             cell(counts.get("conformance")), cell(counts.get("models-run")),
             megabytes(build / library, logs) if library else "–", megabytes(build / command, logs), "–" if runner == NOTHING else f"{minutes:.0f}"]  # fmt: skip
    return f"| {' | '.join(cells)} |", not failed


def write_row(page, system, row):
    """Into its place. Systems that were never run have a row that says so."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    rows = {name: next((line for line in old.splitlines() if line.startswith(f"| {title} |")), f"| {title} | {runner} |{' not run |' * 7}")
            for name, (title, runner, *_) in SYSTEMS.items()}  # fmt: skip
    rows[system] = row
    page.write_text(before + BEGIN + "\n" + HEAD + "\n".join(rows.values()) + "\n\n" + END + after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--make", default="make")
    parser.add_argument("systems", nargs="+")
    args = parser.parse_args()
    unknown = [name for name in args.systems if name not in SYSTEMS]
    if unknown:
        sys.exit(f"platforms.py: there is no system {unknown[0]!r}; the systems are: {' '.join(SYSTEMS)}")
    make = [*shlex.split(args.make), "--no-print-directory", f"BUILD={args.build}"]
    wrong = []
    for system in args.systems:
        row, good = row_of(system, args.build, make)
        write_row(args.page, system, row)
        print(row, flush=True)
        if not good:
            wrong.append(system)
    if wrong:
        print(f"what they said is in {args.build}/platforms: {' '.join(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
