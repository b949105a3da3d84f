"""package.py TO PROTO GEN EMBED OPTIONS FILE...: writes TO, the library for devices as a package that Arduino, PlatformIO, ESP-IDF and
Zephyr take: packaging/devices and, in TO/src, the sources FILE...

PROTO is the folder with onnx.pb-c.h and onnx.pb-c.c, GEN that with selection.h and selected.inc, EMBED that with what `ox embed` wrote for
the digits. OPTIONS are words `file:flag,flag`: flags that files have beside those of all.

Those systems neither give libraries flags of their own nor folders to look for headers in, and a header of another library may have the
name of one of ours. So each file begins by including package.h, which has what the makefile says on the command line, and includes
name other files from where the file itself is. ox.h alone is in src, the rest in src/ox.
"""
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = re.compile(r'^(\s*#\s*include\s*)["<]([^">]+)[">]', re.M)
PACKAGE_H = """/* package.h: what the makefile says on the command line: a library for devices, with selection.h's operators. */
#ifndef OX_PACKAGE_H
#define OX_PACKAGE_H

#include <limits.h>
#if INT_MAX < 0x7fffffff
#error "ox needs a processor of 32 or 64 bits"
#endif
#ifndef __OPTIMIZE__
#error "ox is compiled with -O1 or more (-Os, -Og): calls of what devices do without are left to the optimizer"
#endif

#ifndef OX_SMALL
#define OX_SMALL 1
#endif
#ifndef OX_SELECTION
#define OX_SELECTION "selection.h"
#endif
#ifndef NDEBUG
#define NDEBUG
#endif

/* Results are to be the same on all machines. */
#ifdef __clang__
#pragma clang fp contract(off)
#else
#pragma GCC optimize("no-math-errno", "no-trapping-math", "fp-contract=off")
#endif

#endif
"""


class Sources:
    """The files that are wanted, and where they go."""

    def __init__(self, proto):
        self.proto, self.folders, self.places = proto, [ROOT / "src", ROOT / "src/bare", proto], {}

    def place(self, path):
        """The name of a file in the package, below src."""
        if path == ROOT / "src/ox.h":
            return "ox.h"
        base, prefix = (self.proto, "ox/proto") if path.is_relative_to(self.proto) else (ROOT / "src", "ox")
        return f"{prefix}/{path.relative_to(base)}"

    def find(self, name, where):
        for folder in (where.parent, *self.folders):
            if (folder / name).is_file():
                return pathlib.Path(os.path.normpath(folder / name))
        return None

    def add(self, path):
        """A file and all that it includes, with names from where it will be."""
        if path in self.places:
            return
        self.places[path] = None
        here = pathlib.PurePath(self.place(path)).parent

        def named(match):
            found = self.find(match[2], path)
            if not found:
                if '"' in match[0]:
                    raise SystemExit(f"package: {path} includes {match[2]}, which is not found")
                return match[0]
            self.add(found)
            return f'{match[1]}"{os.path.relpath(self.place(found), here)}"'

        self.places[path] = INCLUDE.sub(named, path.read_text())


def head(place, flags):
    """The first lines of a file of C."""
    lines = [f'#include "{os.path.relpath("ox/package.h", pathlib.PurePath(place).parent)}"']
    if flags:
        words = ", ".join(f'"{flag.removeprefix("-").removeprefix("f")}"' for flag in flags)
        contract = "#pragma clang fp contract(fast)\n" if "-ffp-contract=fast" in flags else ""
        lines += ["#ifdef __clang__", *contract.splitlines(), "#else", f"#pragma GCC optimize({words})", "#endif"]
    return "\n".join(lines) + "\n"


def write_sources(to, sources, options):
    for path, text in sources.places.items():
        place = sources.place(path)
        flags = options.get(str(path.relative_to(ROOT)), []) if path.is_relative_to(ROOT) else []
        target = to / "src" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(head(place, flags) + text if path.suffix == ".c" else text)
    (to / "src/ox/package.h").write_text(PACKAGE_H)


def facts():
    text = (ROOT / "tools/about.h").read_text() + (ROOT / "src/ox.h").read_text()
    found = dict(re.findall(r'^#define OX_(\w+) "?([^"\n]*)"?$', text, re.M))
    found["VERSION"] = ".".join(found[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))
    return found


def fill(text, known):
    """A text with what is between @ and @; lines for an address are left out while there is none."""
    lines = [line for line in text.splitlines(True) if known["ADDRESS"] or "@ADDRESS@" not in line]
    return re.sub(r"@([A-Z]+)@", lambda match: known[match[1]], "".join(lines))


def pictures():
    """The pictures of the digits as C."""
    rows = []
    for path in sorted((ROOT / "examples/digits/images").glob("*.pgm")):
        pixels = path.read_text().split()[4:]
        rows.append(f"    {{{path.name.split('_')[0]}, {{{', '.join(pixels)}}}}},")
    return "\n".join(["/* pictures.h: handwritten digits of 8 by 8 pixels, with what they show. */", "static const struct picture {",
                      "    int label;", "    unsigned char pixels[64];", "} pictures[] = {", *rows, "};", ""])


def main():
    to, proto, gen, embed = (pathlib.Path(name).resolve() for name in sys.argv[1:5])
    options = {name: flags.split(",") for name, flags in (word.split(":") for word in sys.argv[5].split())}
    sources = Sources(proto)
    for name in (*sys.argv[6:], "src/ops/table.inc"):
        sources.add(ROOT / name)
    sources.add(proto / "onnx.pb-c.c")
    shutil.rmtree(to, ignore_errors=True)
    write_sources(to, sources, options)
    known = facts()
    for path in sorted((ROOT / "packaging/devices").rglob("*")):
        if path.is_file():
            target = to / path.relative_to(ROOT / "packaging/devices")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(fill(path.read_text(), known))
    shutil.copy(ROOT / "LICENSE", to)
    for name in ("select.awk", "select.sh"):
        (to / "extras").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tools/device" / name, to / "extras")
    for name in ("selection.h", "selected.inc"):
        text = (gen / name).read_text()
        (to / "src/ox" / name).write_text(text.replace('"selected.inc"', '"../selected.inc"'))
    for name in ("model.c", "model.h"):
        shutil.copy(embed / name, to / "examples/digits")
    (to / "examples/digits/pictures.h").write_text(pictures())


if __name__ == "__main__":
    main()
