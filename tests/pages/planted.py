"""planted.py BUILD: pages with a fault each, which pages.py must find, and figures that figures.py must."""

import contextlib
import io
import pathlib
import sys
import tempfile

import figures
import pages

GOOD = "Text.\n\n```sh\nexport A=1 && mkdir in && cd in\n```\n\n```console\n$ echo $A $(basename $PWD)\n1 in\n```\n"
FAULTS = {
    "another error": ("```console\n$ echo 'ox: a'; false\nox: b\n```\n", "in place of"),
    "a command that fails": ("```sh\nfalse\n```\n", "status 1"),
    "a transcript of another number": ("```console\n$ echo 1.5 x\n1.6 x\n```\n", "in place of"),
    "a transcript of fewer lines": ("```console\n$ printf 'a\\nb\\n'\na\n```\n", "in place of"),
    "a transcript of another text": ("```console\n$ echo a\n...\nb\n```\n", "in place of"),
    "an output behind commands": ("```sh\necho a\n```\n\n```text\nb\n```\n", "in place of"),
    "a program in Python": ("```python\nassert 1 == 2\n```\n", "AssertionError"),
    "a program in C": ("```c\n/* a.c */\nint main(void) { return x; }\n```\n\n```sh\ncc -o a a.c\n```\n", "undeclared"),
    "a program without a name": ("```c\nint x;\n```\n", "without a name"),
    "an indented block": ("Text:\n\n    make all\n\nText.\n", "indented block"),
    "a block without a kind": ("```\nmake all\n```\n", "a block of the kind ''"),
    "no reason": ("<!-- not run: no -->\n```sh\nfalse\n```\n", "needs a reason"),
    "a link": ("[text](nowhere.md)\n", "nowhere.md"),
}


def found(text, build, python):
    counts = [0, 0, 0]
    with tempfile.TemporaryDirectory(dir=build) as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text)
        pages.check(page, build, python, counts)
    return counts, said.getvalue()


def main():
    build, python = pathlib.Path(sys.argv[1]).resolve(), sys.executable
    counts, said = found(GOOD + "<!-- numbers within 20 % -->\n```console\n$ echo x 1.1 y\n...\nx 1 y\n...\n```\n", build, python)
    assert counts == [3, 0, 0], (counts, said)
    for name, (text, wanted) in FAULTS.items():
        counts, said = found(text, build, python)
        assert counts[1] == 1 and wanted in said, f"{name} is not found: {counts} {said}"
    needs = "<!-- needs {} -->\n```sh\npython -c 'import {}' && echo a\n```\n\n```text\n{}\n```\n"
    assert found(needs.format("module:json", "json", "a"), build, python)[0] == [1, 0, 0]
    assert found(needs.format("module:json", "json", "b"), build, python)[0][1] == 1
    for lacking in ("module:nowhere", "a-command-that-is-not"):
        counts, said = found(needs.format(lacking, "nowhere", "a"), build, python)
        assert counts == [0, 0, 1] and "skipped: " in said and lacking[-7:] in said, (counts, said)
    known = {"a": 1.26, "b": [3, 40]}
    assert figures.compare("p", "x 1.3 y 40", "x {a} y {b:1}", known)[0] == []
    for text in ("x 1.2 y 40", "x 1.26 y 3", "x 1.27 y 40", "y 40"):
        assert len(figures.compare("p", text, "x {a} y {b:1}", known)[0]) == 1, text
    assert len(figures.unknown("ox 0.1 is 7 times as fast, 8 times", [(0, 12)])) == 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
