"""tree.py: files put together with what they include: each header once, and of those of src/loops what depends on the processor again."""
import functools
import pathlib
import re

from amalgamation.lists import ROOT, label
from amalgamation.names import names_of
from amalgamation.text import INCLUDE, TOKENS, chunks, directive, lines_of, without_guard


class Tree:
    """Files with all that they include. A header stands where it is included first, outside of conditions."""

    def __init__(self, proto):
        self.folders = [ROOT / "src", proto, ROOT]
        self.written = {ROOT / "src/ox.h"}

    def find(self, name, where):
        for folder in (where.parent, *self.folders):
            if (folder / name).is_file():
                return (folder / name).resolve()
        raise SystemExit(f"{where} includes {name}, which is not found")

    def expand(self, path, depth=0):
        """Lines, and marks of where a file begins and ends."""
        yield f"#pragma ox_begin {label(path)}"
        lines = lines_of(path)
        guarded = without_guard(lines) is not lines
        nested = depth - guarded
        for line in lines:
            word = directive(line)
            nested += word.startswith("if")
            nested -= word == "endif"
            if line.strip() == "#include OX_SELECTION":
                continue # of reduced builds
            include = INCLUDE.match(line.strip().replace("OX_TABLE", '"ops/table.inc"'))
            if not include:
                yield line
                continue
            if include.group(1) == "onnx.pb-c.h":
                continue
            inner = self.find(include.group(1), path)
            if inner in self.written:
                continue
            if inner.suffix == ".h" and nested == 0:
                self.written.add(inner)
            yield from self.expand(inner, nested)
        yield "#pragma ox_end"


@functools.cache
def includers():
    """The files that include a header, by its name."""
    found = {}
    for path in (ROOT / "src").rglob("*.[ch]"):
        for line in lines_of(path):
            include = INCLUDE.match(line.strip())
            if include:
                found.setdefault(pathlib.Path(include[1]).name, []).append(path)
    return found


def is_part(header):
    """Whether one file alone has it, as a part of itself."""
    return [path.suffix for path in includers().get(header.name, [])] == [".c"]


class Again:
    """Files of src/loops once more: headers as far as they say what depends on the processor."""

    def __init__(self, tree, kind, declares):
        self.declares = declares # functions and tables of this build
        self.tree, self.kind, self.vectors, self.done, self.seen, self.names = tree, kind, set(), set(), set(), {}

    def expand(self, path):
        yield f"#pragma ox_begin {path.relative_to(ROOT)}"
        yield from self.chosen(path, [[line] for line in lines_of(path)], 0, lambda chunk: directive(chunk[0]) != "include")
        yield "#pragma ox_end"

    def chosen(self, path, parts, depth, wanted):
        """What is wanted of a file, and what it includes of src/loops: once, or wherever conditions may leave it out."""
        for chunk in parts:
            word = directive(chunk[0])
            depth += word.startswith("if")
            depth -= word == "endif"
            include = INCLUDE.match(chunk[0].strip())
            if include:
                inner = self.tree.find(include[1], path)
                yield from self.header(inner, depth) if inner.suffix == ".h" else self.expand(inner)
            elif wanted(chunk):
                yield from chunk

    def header(self, path, depth):
        if path in self.done or not path.is_relative_to(ROOT / "src/loops") or path.name in ("builds.h", "x86.h"):
            return
        if depth == 0:
            self.done.add(path)
        self.seen.add(path)
        # No other code uses its types.
        private = is_part(path) or re.match(r"simd_|lane_(?!loops)|intrinsics|requantize|copy_run|gemm_int8_", path.name)

        def wanted(chunk):
            if directive(chunk[0]):
                return directive(chunk[0]) != "include"
            if not self.depends(" ".join(chunk), private):
                return False
            for name in names_of(TOKENS.findall("\n".join(line for line in chunk if not directive(line)))):
                self.names.setdefault(name, set()).add(path)
            return True

        guard = f"OX_{self.kind}_{path.stem}_H"
        yield f"#pragma ox_begin {self.kind}:{label(path)}"
        yield from (f"#ifndef {guard}", f"#define {guard}")
        yield from self.chosen(path, chunks(without_guard(lines_of(path))), depth, wanted)
        yield "#endif"
        yield "#pragma ox_end"

    def depends(self, text, private):
        """Whether a declaration of a header has to be made again."""
        words = set(TOKENS.findall(text))
        if text.startswith("typedef"):
            if not (re.search(r"vector_size\([A-Z(]", text) or words & self.vectors or private):
                return False
            self.vectors |= set(re.findall(r"(\w+)(?: __attribute__\(\(.*\)\))?;$", text))
            return True
        declares = bool(words & {"OX_VARIANT", "OX_LANES", "FOLD_FINDER"})
        return "static" in text.split("{")[0].split() or text.startswith("OX_INLINED") or (self.declares if declares else re.match(r"enum \{|[A-Z_0-9]+\(", text))


def reached(tree, path, found=None):
    """All files that a file includes, and the file itself."""
    found = {path} if found is None else found
    for line in lines_of(path):
        include = INCLUDE.match(line.strip().replace("OX_TABLE", '"ops/table.inc"'))
        if include and include[1] not in ("onnx.pb-c.h", "selected.inc"):
            inner = tree.find(include[1], path)
            if inner not in found:
                found.add(inner)
                reached(tree, inner, found)
    return found
