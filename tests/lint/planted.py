"""planted.py: rooms.py, sizes.py, hosts.py, circles.py, about.py, texts.py and abi.py find what they are there to find: each fault is
planted in a small tree of its own."""
import pathlib
import subprocess
import sys
import tempfile

import tally

HERE = pathlib.Path(__file__).parent
ROOMS = "loops\nops\nops/a ops/b\n"
TABLE = "| `src/ops/*/` | a | 3 files, 100 lines |\n| `src/ops/`, `src/loops/` | b | 2 files, 100 lines |\n"
SOUND = {"src/loops/x.h": "", "src/ops/op.h": '#include "loops/x.h"\n', "src/ops/a/a.h": '#include "ops/op.h"\n#include <stdio.h>\n', "src/ops/b/b.c": '#include "b.h"\n', "src/ops/b/b.h": "", "design.md": TABLE}
FAULTS = {
    "goes up": ({"src/loops/y.c": '#include "ops/op.h"\n'}, "loops includes ops/op.h"),
    "goes up by the folder above": ({"src/loops/y.c": '# include "../ops/op.h"\n'}, "loops includes ../ops/op.h"),
    "goes to a sister": ({"src/ops/b/c.c": '#include "ops/a/a.h"\n'}, "ops/b includes ops/a/a.h"),
    "contract includes a family": ({"src/ops/op.c": '#include "ops/a/a.h"\n'}, "ops includes ops/a/a.h"),
    "leads nowhere": ({"src/ops/op.c": '#include "ops/none.h"\n'}, "there is no ops/none.h"),
    "a room without a row": ({"design.md": TABLE.replace(", `src/loops/`", "")}, "what src/loops is for"),
    "a row without a room": ({"design.md": TABLE + "| `src/attic/` | c |\n"}, "src/attic/ is not in the list"),
    "another number of files": ({"design.md": TABLE.replace("3 files", "9 files")}, "in place of '3 files, 100 lines'"),
    "unknown room": ({"src/attic/x.c": ""}, "attic is not in the list"),
    "conflict marker": ({"NOTES.md": "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"}, "NOTES.md:2: a conflict marker"),
}


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**SOUND, **files, "rooms.txt": ROOMS}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return subprocess.run([sys.executable, HERE / "rooms.py", root / "rooms.txt", root / "src", root / "design.md"], capture_output=True, text=True, check=False)


failed = [] if check({}).returncode == 0 else ["a sound tree is refused"]
for name, (files, text) in FAULTS.items():
    result = check(files)
    if result.returncode == 0 or text not in result.stdout:
        failed.append(f"{name}: not found; {result.stdout or result.stderr}")
CALLS = {"x": "void y(void);\nvoid x(void);\nvoid x(void) {\n    y();\n}\n", "y": "void y(void);\nvoid y(void) {}\n",
         "z": "void x(void);\nvoid y(void);\nvoid y(void) {\n    x();\n}\n"}


def circles(files):
    """What circles.py says of files that are compiled here."""
    with tempfile.TemporaryDirectory() as folder:
        objects = pathlib.Path(folder) / "src"
        objects.mkdir()
        for file in files:
            subprocess.run(["cc", "-x", "c", "-c", "-o", objects / f"{file}.o", "-"], input=CALLS[file], text=True, check=True)
        return subprocess.run([sys.executable, HERE / "circles.py", folder], capture_output=True, text=True, check=False)


if circles("xy").returncode:
    failed.append("files that call in one direction are refused")
if "these files call each other: x z" not in circles("xz").stdout:
    failed.append("two files that call each other: not found")

# A file in C, reasons, and what sizes.py says.
LONG = "static int f(int a) {\n" + "    a++;\n" * 60 + "    return a;\n}\n"
SIZES = {
    "short": ("static int f(int a, int (*b)(int, int)) {\n    return b(a, 1);\n}\n", "", ""),
    "a long function": (LONG, "", "f has 63 lines, more than 60"),
    "a long function with a reason": (LONG, "lines 63 f: a test\n", ""),
    "a longer function than its reason says": (LONG, "lines 62 f: a test\n", "f has 63 lines, more than 62"),
    "many parameters": ("typedef void ox_fn(int a, int b, int c, int d,\n                   int e, int f, int g[2]);\n", "", "ox_fn has 7 parameters"),
    "many members": ("typedef struct big {\n    struct {\n        int " + ", ".join("a%d" % i for i in range(20)) + ";\n    } s;\n    int b, c, *d, (*e)(int, int), f;\n} big;\n", "", "big has 25 members"),
    "a reason for nothing": ("", "lines 63 f: a test\n", "nothing needs a reason for lines of f"),
    "no reason": (LONG, "lines 63 f:\n", "is not KIND NUMBER NAME"),
}
for name, (code, reasons, wanted) in SIZES.items():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "x.c").write_text(code)
        (pathlib.Path(folder) / "sizes.txt").write_text(reasons)
        result = subprocess.run([sys.executable, HERE / "sizes.py", pathlib.Path(folder) / "sizes.txt", folder], capture_output=True, text=True, check=False)
    if bool(result.returncode) != bool(wanted) or wanted not in result.stdout:
        failed.append(f"sizes.py: {name}: not as it should be; {result.stdout or result.stderr}")

# Files with headers of a system, and what hosts.py says of them; nothing where they belong.
HOSTS = {
    "src/host/posix_x.c": ("#include <unistd.h>\n#define _GNU_SOURCE\n", ""),
    "src/x.c": ("#include <stdio.h>\n#include <unistd.h>\n", "src/x.c:2: <unistd.h>"),
    "src/loops/x.c": ("#include <immintrin.h>\n", ""),
    "src/ops/x.c": ("#include <immintrin.h>\n", "src/ops/x.c:1: <immintrin.h>"),
    "tools/x.c": ("# include <time.h>\n", "tools/x.c:1: <time.h>"),
    "tools/host/windows_x.c": ("#include <windows.h>\n", ""),
    "tools/y.c": ("#define _DEFAULT_SOURCE\n", "tools/y.c:1: what a system's headers show"),
    "python/src/x.c": ("#include <pthread.h>\n", "python/src/x.c:1: <pthread.h>"),
    "Makefile": ("CFLAGS += -D_POSIX_C_SOURCE=200809L\n", "Makefile:1: all code would see"),
}


def hosts(name):
    """What hosts.py says of one of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in {"Makefile": "", "python/python.mk": "", name: HOSTS[name][0]}.items():
            path = pathlib.Path(folder) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, HERE / "hosts.py", folder], capture_output=True, text=True, check=False)


for name, (_, wanted) in HOSTS.items():
    result = hosts(name)
    if bool(result.returncode) != bool(wanted) or wanted not in result.stdout:
        failed.append(f"hosts.py: {name}: not as it should be; {result.stdout or result.stderr}")

# File -> a text in it, and a fault in its place.
ABOUT = {
    "CHANGELOG.md": ("## 0.1.0,", "## 0.0.9,"),
    "src/ox.h": ("#define OX_VERSION_MINOR 1", "#define OX_VERSION_MINOR 2"),
    "tools/about.h": ('#define OX_LICENCE "Apache-2.0"', '#define OX_LICENCE "MIT"'),
    "tools/ox.1": ("@VERSION@", "0.1.0"),
    "tools/ox.pc.in": ("Version: @VERSION@", "Version: 0.1.0"),
    "pyproject.toml": ('name = "oxrt"', 'name = "ox"'),
    "LICENSE": ("Version 2.0", "Version 1.1"),
    "packaging/vcpkg/ox/vcpkg.json": ('"version": "0.1.0"', '"version": "0.0.9"'),
}


def about(fault=None):
    """What about.py says of this repository's files, with a fault in one of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (sound, broken) in ABOUT.items():
            text = (HERE.parents[1] / name).read_text()
            assert sound in text, name
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(sound, broken, 1) if name == fault else text)
        return subprocess.run([sys.executable, HERE / "about.py", folder], capture_output=True, text=True, check=False)


def texts(text):
    """What texts.py says of a file in C."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / ".editorconfig").write_text((HERE.parents[1] / ".editorconfig").read_text())
        (pathlib.Path(folder) / "x.c").write_bytes(text)
        subprocess.run(f"git -C {folder} init -q && git -C {folder} add -A", shell=True, check=True)
        return subprocess.run([sys.executable, HERE / "texts.py", folder], capture_output=True, text=True, check=False)


HEADER = "typedef enum e { OX_A, OX_B = 4 } e;\ntypedef struct s { int a, b; void *(*f)(int); long reserved[2]; } s;\nOX_API int ox_f(s *x);\n"
# A change, the number in the soname, and whether lint-abi and `make abi` allow it.
ABI = {
    "nothing": (("", ""), 3, True, True),
    "a word of the reserved": (("reserved[2]", "c, reserved[1]"), 3, False, True),
    "a new function": (("OX_API", "OX_API void ox_g(void);\nOX_API"), 3, False, True),
    "a struct that grows": (("reserved[2]", "reserved[3]"), 3, False, False),
    "a member in front": (("int a,", "int z, a,"), 3, False, False),
    "another value": (("OX_B = 4", "OX_B"), 3, False, False),
    "a function that is gone": (("ox_f", "ox_h"), 3, False, False),
    "a function that is gone, and a new soname": (("ox_f", "ox_h"), 4, False, True),
}


def abi(folder, number, header, *options):
    """Whether abi.py is content with a header and a soname."""
    (folder / "x.h").write_text("#include <stddef.h>\n#define OX_API\n" + header)
    (folder / "Makefile").write_text(f"SONAME := libx.so.{number}\n")
    command = [sys.executable, HERE.parent / "install/abi.py", folder / "x.h", folder / "Makefile", folder / "abi.txt", *options]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


for what, (change, number, *wanted) in ABI.items():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        abi(folder, 3, HEADER, "--write")
        if [abi(folder, number, HEADER.replace(*change), *options) for options in ((), ("--write",))] != wanted:
            failed.append(f"abi.py: {what}: not as it should be")
TEXTS = (b"int x; \n", b"int x;\r\n", b"\tint x;\n", b"int x;", b"/* \xff */\n")
if about().returncode or texts(b"int x;\n").returncode:
    failed.append(f"sound files are refused: {about().stdout}{texts(b'int x;').stdout}")
failed += [f"about.py: a fault in {name} is not found" for name in ABOUT if about(name).returncode == 0]
failed += [f"texts.py: {text} is not found" for text in TEXTS if texts(text).returncode == 0]
print("\n".join(failed), end="\n" if failed else "")
sys.exit(tally.finish(len(FAULTS) + len(HOSTS) + len(ABOUT) + len(ABI) + len(TEXTS) + 4 - len(failed), len(failed)))
