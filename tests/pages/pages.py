"""pages.py BUILD PYTHON [PAGE...]: runs every command and program that a page for readers shows (tests/pages/README.md
says how pages are written), each page in its order, in a folder of links to this tree that stands for a clone in ~/ox.
PYTHON is one with the packages that the pages import; without it, pages that need it are skipped."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
MARK = re.compile(r"<!-- (not run: (?P<reason>[^>]+?)|needs (?P<needed>\S+)|numbers within (?P<within>\d+) %) -->\n *\Z")
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
INDENTED = re.compile(r"\n\n {4}\S.*")
NAME = re.compile(r"(?:#|/\*|//) ([\w.-]+\.\w+)")
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?!\w)", re.I)
RUN, FILES, SHOWN = {"sh", "console"}, {"python", "c", "cpp"}, {"text", "json", "diff", "make", "cmake", "fish", "mermaid", "xml"}
TOLERANCE = 2e-3  # of numbers that a page shows, unless it says more: they are those of another processor


def pages():
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), ROOT / "python/README.md", ROOT / "examples/spark/README.md",
            ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]


class Block:
    def __init__(self, kind, text, line, marks):
        self.kind, self.text, self.line, self.needed = kind, text, line, marks["needed"]
        self.reason = marks["reason"]
        self.tolerance = int(marks["within"]) / 100 if marks["within"] else TOLERANCE

    def name(self):
        found = NAME.match(self.text)
        return found and found.group(1)


def dead_links(page, text):
    return [f"a link to {to}, which is not there" for to in LINK.findall(FENCE.sub("", text)) if not (page.parent / to).exists()]


def marks_before(text, end):
    marks = {"reason": None, "needed": None, "within": None}
    while found := MARK.search(text, max(0, end - 300), end):
        marks |= {name: value for name, value in found.groupdict().items() if value}
        end = found.start()
    return marks


def blocks_of(text):
    """The blocks of a page, and what is wrong with how it is written."""
    blocks, wrong = [], []
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        marks = marks_before(text, found.start())
        body = re.sub(f"^{found.group(1)}", "", found.group(3), flags=re.M)
        blocks.append(Block(found.group(2), body, line, marks))
        if found.group(2) not in RUN | FILES | SHOWN:
            wrong.append(f"line {line}: a block of the kind '{found.group(2)}'; the kinds are {sorted(RUN | FILES | SHOWN)}")
        if marks["reason"] and len(marks["reason"].split()) < 3:
            wrong.append(f"line {line}: 'not run' needs a reason")
    for found in INDENTED.finditer(FENCE.sub("", text)):
        wrong.append(f"an indented block is not run; write it between fences: {found.group().strip()[:60]}")
    return blocks, wrong


# ---- What commands print ------------------------------------------------------------------------------------------------


def same_line(wanted, got, tolerance):
    numbers = [NUMBER.findall(line) for line in (wanted, got)]
    return NUMBER.sub("#", wanted) == NUMBER.sub("#", got) and all(
        abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), 1e-3) for a, b in zip(*numbers))


def same_output(wanted, got, tolerance):
    """Line by line; `...` stands for any number of lines, and numbers may differ a little."""
    wanted, got = ([line.rstrip() for line in text.strip("\n").split("\n")] for text in (wanted, got))

    def match(i, j):
        if i == len(wanted):
            return j == len(got)
        if wanted[i] == "...":
            return any(match(i + 1, k) for k in range(j, len(got) + 1))
        return j < len(got) and same_line(wanted[i], got[j], tolerance) and match(i + 1, j + 1)
    return match(0, 0)


def steps_of(block):
    """(commands, what they print, or None) of a block."""
    if block.kind == "sh":
        return [(block.text, None)]
    return [(command.replace("\n> ", "\n"), shown) for command, shown in
            re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n?)*)", block.text, re.M)]


# ---- Running a page -------------------------------------------------------------------------------------------------------


class Reader:
    """Somebody who follows a page, in a home of its own."""

    def __init__(self, home, build, python):
        self.home, self.state, self.programs, self.python, self.lacking = home, home / "state", [], python, []
        tree = home / "ox"
        tree.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in ("build", ".git", "dist"):
                (tree / entry.name).symlink_to(entry)
        (tree / "build").symlink_to(build)
        tools = home / "bin"
        tools.mkdir()
        words = {"cc": os.environ.get("CC", "cc"), "c++": os.environ.get("CXX", "c++"), "python": python, "python3": python}
        for name, command in words.items():
            if command and str(command) != name:
                (tools / name).write_text(f'#!/bin/sh\nPATH={shlex.quote(os.environ["PATH"])}\nexec {command} "$@"\n')
                (tools / name).chmod(0o755)
        self.environment = {**os.environ, "HOME": str(home), "PATH": f"{tools}:{build}:{os.environ['PATH']}",
                            "PYTHONPATH": str(build / "python"), "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD", "OX_SEED"):
            self.environment.pop(name, None)
        self.state.write_text(f"cd {shlex.quote(str(tree))}\n")

    def folder(self):
        return pathlib.Path(shlex.split(self.state.read_text().splitlines()[-1])[1])

    def python_with(self, module):
        """A Python that has the module: the page's own, or the system's, which may have packages too large for the tests."""
        for python in filter(None, (self.python, shutil.which("python3", path="/usr/bin:/bin"))):
            find = f"import importlib.util as u, sys; sys.exit(not u.find_spec({module!r}))"
            if subprocess.run([python, "-c", find], capture_output=True, cwd=self.home).returncode == 0:
                return python
        return None

    def run(self, commands, python=None):
        """Status and what was printed. Exported variables and the folder stay for the next commands."""
        chosen = f'python() {{ {shlex.quote(python)} "$@"; }}\n' if python else ""
        script = f". {self.state}\n{chosen}{commands}\n{{ export -p; echo cd \"'$PWD'\"; }} >{self.state}"
        done = subprocess.run(["bash", "-e", "-c", script], env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def do(self, block, after):
        """Runs a block, or saves it; the error, None if all went well."""
        module, python = (block.needed or "").partition("module:")[2], None
        if module:
            python = self.python_with(module)
        if block.needed and not (python or shutil.which(block.needed) or (self.folder() / block.needed).exists()):
            self.lacking.append(f"line {block.line}: no {'Python with ' + module if module else block.needed} here")
            return None
        if block.kind in RUN:
            return self.follow(block, after, python)
        if block.kind in FILES and block.name():
            (self.folder() / block.name()).write_text(block.text)
        elif block.kind == "python":
            self.programs.append(block.text)
        elif block.kind in FILES:
            return "a program without a name in its first line"
        return None

    def follow(self, block, after, python=None):
        for commands, shown in steps_of(block):
            status, printed = self.run(commands, python)
            tolerance = block.tolerance
            if shown is None and after and after.kind == "text":
                shown, tolerance = after.text, after.tolerance
            if status and not (shown and re.search(r"^ox: ", shown, re.M)):
                return f"{commands}status {status}: {printed}"
            if shown and not same_output(shown, printed, tolerance):
                return f"{commands}prints\n{printed}in place of\n{shown}"
        return None

    def finish(self):
        """Programs in Python without a name are parts of one."""
        if not self.programs:
            return None
        (self.home / "page.py").write_text("\n".join(self.programs))
        status, printed = self.run(f"python {self.home}/page.py")
        return f"the page's Python: {printed}" if status else None


def check(page, build, python, counts):
    blocks, wrong = blocks_of(page.read_text())
    wrong += dead_links(page, page.read_text())
    name = os.path.relpath(page, ROOT)
    for block in blocks:
        if block.reason and block.kind == "python":
            compile(block.text, f"{name}:{block.line}", "exec")
    todo = [block for block in blocks if not block.reason]
    active = [block for block in todo if block.kind in RUN | FILES]
    if active and not python and any(block.kind == "python" or re.search(r"\bpython3?\b", block.text) for block in active):
        print(f"skipped: {name}: no Python with the packages that it needs")
        counts[2] += len(active)
        return
    with tempfile.TemporaryDirectory() as home:
        reader = Reader(pathlib.Path(home), build, python)
        for i, block in enumerate(todo):
            error = reader.do(block, todo[i + 1] if i + 1 < len(todo) else None)
            if error:
                wrong.append(f"line {block.line}: {error}")
        wrong.extend(filter(None, [reader.finish()]))
    for text in reader.lacking:
        print(f"skipped: {name}: {text}")
    for text in wrong:
        print(f"{name}: {text}")
    counts[0] += max(0, len(active) - len(wrong) - len(reader.lacking))
    counts[1] += len(wrong)
    counts[2] += len(reader.lacking)


def main():
    build, python = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    python = os.path.abspath(python) if os.access(python, os.X_OK) else ""
    counts = [0, 0, 0]
    for page in [ROOT / name for name in sys.argv[3:]] or pages():
        check(page, build, python, counts)
    print("{} passed, {} failed, {} skipped".format(*counts))
    return counts[1] != 0


if __name__ == "__main__":
    sys.exit(main())
