"""parts.py TESTS.MK TESTING.MD: the table of the page has a row with every part of `make check`, and names no other."""

import pathlib
import re
import sys


def main():
    rules, page = (pathlib.Path(path).read_text() for path in sys.argv[1:])
    parts = {word for name in ("CHECK_PARTS", "CHECK_BESIDE")
             for word in re.sub(r"\$\(if [^,]*,,(\w+)\)", r"\1", re.search(rf"^{name} := ((?:.*\\\n)*.*)", rules, re.M).group(1)
                                .replace("\\\n", " ")).split()}
    rows = re.search(r"^\| part .*\n\|.*\n((?:\|.*\n)+)", page, re.M).group(1).splitlines()
    named = [name for row in rows for name in re.findall(r"`([^`]*)`", row.split(" | ")[0])]
    wrong = [f"no row for {part}" for part in sorted(parts - set(named))]
    wrong += [f"a row for {name}, which is no part" for name in sorted(set(named) - parts)]
    wrong += [f"two rows for {name}" for name in sorted(set(named)) if named.count(name) > 1]
    for text in wrong:
        print(f"{sys.argv[2]}: {text}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
