"""texts.py ROOT: the text files that git knows are laid out as .editorconfig says. How long lines
may be is for editors, and for clang-format, which leaves long strings whole."""
import fnmatch
import pathlib
import re
import subprocess
import sys


def rules(path):
    """(patterns, settings) of each section, in their order."""
    found = []
    for line in path.read_text().splitlines():
        if line.startswith("["):
            pattern = line.strip()[1:-1]
            inner = re.search(r"\{(.*)\}", pattern)
            found.append(([pattern.replace(inner.group(), part) for part in inner.group(1).split(",")] if inner else [pattern], {}))
        elif "=" in line and found:
            key, value = line.split("=")
            found[-1][1][key.strip()] = value.strip()
    return found


def settings_of(name, sections):
    settings = {}
    for patterns, values in sections:
        if any(fnmatch.fnmatch(pathlib.PurePath(name).name, pattern) for pattern in patterns):
            settings |= values
    return settings


def faults(name, data, settings):
    if b"\0" in data:
        return
    try:
        lines = data.decode(settings["charset"]).split("\n")
    except UnicodeDecodeError:
        yield f"{name}: not in {settings['charset']}"
        return
    if data and not data.endswith(b"\n"):
        yield f"{name}: no newline at its end"
    for number, line in enumerate(lines, 1):
        if line.endswith((" ", "\t", "\r")):
            yield f"{name}:{number}: a space, a tab or a carriage return at the end of the line"
        if settings.get("indent_style") == "space" and re.match(r" *\t", line):
            yield f"{name}:{number}: a tab in front"


def main():
    root = pathlib.Path(sys.argv[1])
    sections = rules(root / ".editorconfig")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout.decode()
    wrong = []
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file() and not name.startswith("tests/regression/"):
            wrong += faults(name, (root / name).read_bytes(), settings_of(name, sections))
    print("\n".join(wrong) if wrong else "texts: all files are laid out as .editorconfig says")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
