"""tutorial.py OX PYTHON: runs what docs/tutorial.md shows, in its order, in an empty folder. A block of Python or C is a
file, whose name its first line tells; a block of commands is run. The export from PyTorch is compiled only: the package
is too large for a test."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|c|sh)\n(.*?)^```$", re.M | re.S)
NAME = re.compile(r"(?:#|/\*) (\w+\.(?:py|c))(, which needs the package torch)?")
BLOCKS = 9


def run(commands, folder, environment):
    """The error, None if all went well."""
    result = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, env=environment, capture_output=True, text=True)
    return None if result.returncode == 0 else f"{commands}{result.stdout}{result.stderr}"


def check(kind, text, folder, environment):
    if kind == "sh":
        return run(text, folder, environment)
    name, foreign = NAME.match(text).groups()
    (folder / name).write_text(text)
    if foreign:
        compile(text, name, "exec")
    return None


def main():
    build, python = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    environment = {**os.environ, "OX": str(ROOT), "PYTHONPATH": str(build / "python"), "PYTHONWARNINGS": "ignore",
                   "PATH": f"{build}:{python.parent}:{os.environ['PATH']}"}
    blocks = BLOCK.findall((ROOT / "docs/tutorial.md").read_text())
    assert len(blocks) == BLOCKS, f"{len(blocks)} blocks instead of {BLOCKS}"
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        environment.pop(name, None)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, text in blocks:
            error = check(kind, text.replace("$OX/build/", f"{build}/"), pathlib.Path(folder), environment)
            if error:
                failed += 1
                print(error)
    print(f"{BLOCKS - failed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
