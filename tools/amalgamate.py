"""amalgamate.py TO PROTO RUNTIME CC: writes TO/ox.c, the library as one file, and TO/ox.h.

PROTO is the folder with onnx.pb-c.h and onnx.pb-c.c, RUNTIME that of protobuf-c.h and protobuf-c.c, CC the compiler whose preprocessor helps
to find names. The files come one after the other, each header where it is included first. Three things differ from files that are
compiled by themselves:

- Names. Two files may have static functions, types and enumerators of the same name. The preprocessor finds all names of a file, those that
  macros make, too; where two files share one, the later has it with its own name behind.
- Macros of a file end with it.
- Flags. Loops are compiled again for newer processors, and sums of products are fused in some files alone. Each such section has what headers
  of src/loops say of the processor once more, under names of its own: functions, vectors, macros.
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMENTS = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.S)
TOKENS = re.compile(r"""[A-Za-z_]\w*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[0-9][\w.]*|->|[^\w\s]""")
SPLIT = re.compile(r"""([A-Za-z_]\w*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[0-9][\w.]*|->|[^\w\s])""")
C11 = re.compile(r"#\s*include\s*<(errno|float|limits|math|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|time|wchar)\.h>$")
# Macros and types of windows.h whose names are others here.
WINDOWS_WORDS = {"ABSOLUTE", "FAR", "INFINITE", "NEAR", "TEXT", "far", "max", "min", "near"}
WINDOWS_TYPES = {"LONG", "SHORT", "WORD"}
SYSTEMS = {
    "posix": "!defined(_WIN32) && !defined(__wasi__)",
    "windows": "defined(_WIN32)",
    "wasi": "defined(__wasi__)",
    "registers": "defined(__linux__) && defined(__x86_64__)",
}
INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')
HEAD = """/* ox.c: the library ox {version} as one file, made by `make amalgamation` of its sources; ox.h is its interface.
 *
 *     cc -O2 -c ox.c          and link with -lm, and with -lpthread where the C library needs that
 *
 * Macros that may be defined for it: OX_SYSTEM_PROTOBUF_C takes protobuf-c's runtime of the system (-lprotobuf-c) in place of that in
 * this file; OX_ONE_BUILD leaves out the loops for processors that are newer than the compiler's flags say.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: {licence} */
"""


# ---- What there is -------------------------------------------------------------------------------------------------------------------------


def read_lists():
    """The lines of src/sources.mk."""
    rows = re.findall(r"^([A-Z_]+) := (.*)$", (ROOT / "src/sources.mk").read_text(), re.M)
    return {name: words.split() for name, words in rows}


def read_builds():
    """(kind, name, machine, flags, flags of wide files) of each row of builds.h."""
    text = (ROOT / "src/loops/builds.h").read_text().replace("\\\n", " ")
    return re.findall(r'(BUILD|DOT)\((\w+), (?!any\b)(\w+), "([^"]*)"(?:, "([^"]*)")?', text)


def library_files(lists):
    files = {path for pattern in lists["LIB_PATTERNS"] for path in ROOT.glob(pattern)}
    return sorted(files - {ROOT / name for name in lists["BLAS_FILES"]})


@functools.cache
def lines_of(path):
    """The lines of a file without comments; those of a macro that go on are one."""
    text = COMMENTS.sub(lambda found: found.group(1) or " ", path.read_text())
    lines = re.sub(r"[ \t]*\\\n\s*", " ", text).split("\n")
    return with_marks(line.rstrip() for line in lines if line.strip() and not re.match(r"#define _\w+_SOURCE\b", line))


def with_marks(lines):
    """Lines in which a macro that says that a processor has a function, `#define f f`, has a name of its own."""
    changed = []
    for line in lines:
        if directive(line) == "define":
            line = re.sub(r"^#define (\w+) \1$", r"#define OX_HAS_\1 1", line)
        elif directive(line) in ("ifdef", "ifndef", "if", "elif"):
            line = re.sub(r"^(#ifn?def )(ox_\w+)$|(defined\()(ox_\w+)(?=\))", lambda m: f"{m[1] or m[3]}OX_HAS_{m[2] or m[4]}", line)
        changed.append(line)
    return changed


def directive(line):
    found = re.match(r"\s*#\s*(\w+)", line)
    return found.group(1) if found else ""


def macros_of(lines):
    found = (re.match(r"\s*#\s*define\s+(\w+)", line) for line in lines)
    return list(dict.fromkeys(match.group(1) for match in found if match))


def without_guard(lines):
    """A header without the lines that let it in once."""
    if len(lines) > 2 and re.match(r"#ifndef OX_\w*H$", lines[0]) and directive(lines[1]) == "define" and directive(lines[-1]) == "endif":
        return lines[2:-1]
    return lines


# ---- Files put together --------------------------------------------------------------------------------------------------------------------


def label(path):
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


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
        private = re.match(r"simd_|lane_(?!loops)|intrinsics|requantize|copy_run", path.name) # no other code uses its types

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


def chunks(lines):
    """Directives, and declarations with their bodies, as lists of lines."""
    chunk, depth = [], 0
    for line in lines:
        if not chunk and directive(line):
            yield [line]
            continue
        chunk.append(line)
        if not directive(line):
            depth += line.count("{") - line.count("}") + line.count("(") - line.count(")")
        if depth == 0 and line.endswith((";", "}", ")")) and not re.match(r"static .*\)$", line):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


# ---- Names ---------------------------------------------------------------------------------------------------------------------------------


def names_of(tokens):
    """Names that one declaration at file scope gives to the file alone: functions and objects that are static, types, enumerators."""
    names, depth = [], 0
    flat = []  # the declaration without what is in braces
    for at, token in enumerate(tokens):
        if token == "{":
            depth += 1
        if depth == 0:
            flat.append(token)
        if token == "}":
            depth -= 1
        if token == "{" and at >= 1 and tokens[at - 1] not in (")", "=") and re.match(r"\w", tokens[at - 1]):
            if tokens[at - 2:at - 1] and tokens[at - 2] in ("struct", "union", "enum"):
                names.append(tokens[at - 1])
        if token == "{" and "enum" in tokens[max(0, at - 2):at] and depth == 1:
            names += enumerators(tokens[at + 1:])
    flat = without_attributes(flat)
    if flat[:1] == ["typedef"]:
        names += typedef_names(flat)
    elif "static" in flat:
        names += declared(flat)
    return names


def enumerators(tokens):
    found, depth, expected = [], 0, True
    for token in tokens:
        if token == "}" and depth == 0:
            break
        depth += token in "([{"
        depth -= token in ")]}"
        if expected and re.match(r"[A-Za-z_]\w*$", token):
            found.append(token)
        expected = token == "," and depth == 0
    return found


def without_attributes(tokens):
    kept, skip, depth = [], False, 0
    for token in tokens:
        if token in ("__attribute__", "__asm__", "_Alignas", "__declspec"):
            skip, depth = True, 0
        elif skip:
            depth += token == "("
            depth -= token == ")"
            skip = depth > 0
        else:
            kept.append(token)
    return kept


def typedef_names(flat):
    """The names of one typedef, of functions and of pointers to them, too."""
    pointer = re.search(r"\( \* (?:const )?(\w+)", " ".join(flat))
    if pointer:
        return [pointer.group(1)]
    names, depth = [], 0
    for at, token in enumerate(flat):
        if depth == 0 and token in ("(", "[", ";", ",") and re.match(r"[A-Za-z_]", flat[at - 1]):
            names.append(flat[at - 1])
        depth += token in ("(", "[")
        depth -= token in (")", "]")
    return names


def declared(flat):
    """The names of one static declaration: of a function, of objects."""
    names, depth, value = [], 0, False
    for at, token in enumerate(flat):
        if depth == 0 and token in ("(", "[", ";", ",", "=") and not value and re.match(r"[A-Za-z_]", flat[at - 1]):
            names.append(flat[at - 1])
            if token == "(":
                return names
        if depth == 0 and token in ("=", ","):
            value = token == "="
        depth += token in ("(", "[")
        depth -= token in (")", "]")
    pointer = re.search(r"\( \* (?:const )?(\w+)", " ".join(flat))
    return names or ([pointer.group(1)] if pointer else [])


def declarations(text, system):
    """(file, tokens) of each declaration at file scope in what the preprocessor left. The words of system headers go into `system`."""
    stack, ours, tokens, depth = ["ox.c"], True, [], 0
    for line in text.split("\n"):
        if line.startswith("#"):
            marker = re.match(r'# \d+ "([^"]*)"', line)
            if marker:
                ours = marker.group(1).endswith("ox.c")
            elif line.startswith("#pragma ox_begin"):
                stack.append(line.split()[2])
            elif line.startswith("#pragma ox_end"):
                stack.pop()
            continue
        if not ours:
            system.update(TOKENS.findall(line))
            continue
        for token in TOKENS.findall(line):
            tokens.append(token)
            depth += token == "{"
            depth -= token == "}"
            if depth == 0 and (token == ";" or token == "}" and is_function(tokens)):
                yield next((name for name in reversed(stack) if name.endswith((".c", ".h"))), ""), tokens
                tokens = []


def is_function(tokens):
    """Whether the brace that ends is that of a function: no struct, no initializer."""
    brace = tokens.index("{")
    return "=" not in tokens[:brace] and tokens[0] != "typedef" and tokens[brace - 1] == ")"


@functools.cache
def names_of_text(path):
    """Functions and objects of a file in all branches of its conditions, but for those that macros make."""
    found = (re.match(r"(?:static|OX_INLINED)\b[^;={(]*?\b(\w+)(?:\(|\[| =|;)", line) for line in lines_of(path))
    return {match[1] for match in found if match and match[1] != "__attribute__"}


def find_names(text, folder):
    draft = folder / "draft" / "ox.c"
    draft.parent.mkdir(exist_ok=True)
    draft.write_text(text)
    command = [*COMPILER, "-std=gnu11", "-E", "-DOX_NAMES", f"-I{ROOT / 'src'}", str(draft)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    names = {"system.h": set()}
    for file, tokens in declarations(done.stdout, names["system.h"]):
        pairs = zip(tokens, tokens[1:])
        names.setdefault(f"members of {file}", set()).update(word for before, word in pairs if before in (".", "->"))
        names.setdefault(file, set()).update(names_of(tokens))
    return names


# ---- The file ------------------------------------------------------------------------------------------------------------------------------


def members_of(text):
    """What stands behind a point or an arrow, where it is no number."""
    return set(re.findall(r"(?:\.|->)\s*([A-Za-z_]\w*)", text))


def rename(lines, names, prefix, members=frozenset()):
    """Lines in which names have a prefix, and lines for before and behind them. Macros do that, but words where members of structs have such
    a name, `members` in what macros make."""
    words = {word for line in lines for word in TOKENS.findall(line)}
    by_macro = sorted(names - members - members_of("\n".join(lines)))
    by_text = (names - set(by_macro)) & words
    made = dict(aliases(names | set(macros_of(lines)), names & words, prefix, names))
    if by_text:
        lines = rename_words(lines, by_text, prefix)
    own = set(macros_of(lines)) & set(by_macro)
    lines = defining(lines, own)
    made |= {name: prefix + name for name in by_macro}
    return [f"#define {name} {to}" for name, to in made.items()], lines, [f"#undef {name}" for name in made]


def aliases(made, given, prefix, names):
    """Names that macros make of one that has its prefix already, each with the name that it stands for."""
    for name in sorted(made):
        parts = name.split("_")
        for first in range(1, len(parts)):
            for last in range(first + 1, len(parts) + 1):
                inner = "_".join(parts[first:last])
                if inner in given and inner != name:
                    to = prefix + name if name in names else name
                    yield "_".join([*parts[:first], prefix + inner, *parts[last:]]), to


def defining(lines, names):
    """Lines that may define macros of these names, which are others so far."""
    changed = []
    for line in lines:
        found = re.match(r"\s*#\s*define\s+(\w+)", line)
        changed += [f"#undef {found[1]}", line] if found and found[1] in names else [line]
    return changed


def raw_parameters(lines):
    """By the names of macros the places of parameters that they only make other names or texts of."""
    found = {}
    for line in lines:
        macro = re.match(r"#define (\w+)\(([^)]*)\)(.*)", line)
        if macro:
            for place, name in enumerate(word.strip() for word in macro[2].split(",")):
                rest = re.sub(rf"#+\s*{name}\b|\b{name}\s*##|(->|\.)\s*{name}\b", "", macro[3])
                if re.match(r"\w+$", name) and re.search(rf"\b{name}\b", macro[3]) and not re.search(rf"\b{name}\b", rest):
                    found.setdefault(macro[1], set()).add(place)
    return found


def raw_places(parts, raw):
    """Which tokens of a line are arguments of macros that only make other names of them."""
    found, calls = set(), []
    for at, token in enumerate(parts):
        if token == "(":
            before = next((word for word in reversed(parts[:at]) if word.strip()), "")
            calls.append([before, 0])
        elif token == ")" and calls:
            calls.pop()
        elif token == "," and calls:
            calls[-1][1] += 1
        elif token.strip() and calls and calls[-1][1] in raw.get(calls[-1][0], ()):
            found.add(at)
    return found


def rename_words(lines, names, prefix):
    """The same word by word, members left out: behind a point or an arrow, and where a struct says what it has."""
    changed, depth, structs, last = [], 0, [], ["", ""]
    raw = RAW | raw_parameters(lines)
    for line in lines:
        if directive(line) in ("include", "pragma"):
            changed.append(line)
            continue
        parts = SPLIT.split(line)
        kept = raw_places(parts, raw)
        for at, token in enumerate(parts):
            if not token.strip():
                continue
            following = "".join(parts[at + 1:]).lstrip()[:1]
            if token == "{":
                depth += 1
                if "struct" in last or "union" in last:
                    structs.append(depth)
            elif token == "}":
                structs = [inner for inner in structs if inner < depth]
                depth -= 1
            elif token in names and at not in kept and last[1] not in (".", "->") and not (structs and following in (";", ",", "[", ")", ":")):
                parts[at] = prefix + token
            last = [last[1], token]
        changed.append("".join(parts))
    return changed


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


def foreign_macros(tree, path, words):
    """Macros of headers that the file does not include, whose names are others in it."""
    macros = {}
    for header in (ROOT / "src").rglob("*.h"):
        for name in macros_of(lines_of(header)):
            macros.setdefault(name, set()).add(header)
    seen = reached(tree, path)
    return sorted(name for name in words & macros.keys() if not macros[name] & seen)


def stem(path):
    return "oxf_" + re.sub(r"\W", "_", str(path.relative_to(ROOT / "src").with_suffix("")))


def own_begin(lines):
    """Where a file's own text begins, behind the headers that it includes before."""
    depth, first = 0, 1
    for at, line in enumerate(lines[1:], 1):
        if line.startswith("#pragma ox_begin"):
            if depth == 0 and not line.endswith(".h"):
                break
            depth += 1
        elif line.startswith("#pragma ox_end"):
            depth -= 1
            first = at + 1 if depth == 0 else first
        elif depth == 0 and not re.match(r"#include <", line):
            break
    return first


def segment(tree, path, lines, names, prefix, members, shared=None):
    """A file of C: its names, its text, and the end of its macros, those of headers aside. `shared` has names that are macros, by headers."""
    first = own_begin(lines)
    head, lines = lines[:first], lines[first:] # its headers have names that others see
    words = {word for line in lines for word in TOKENS.findall(line)}
    foreign = foreign_macros(tree, path, words)
    if not path.is_relative_to(ROOT / "src/host"):
        foreign += sorted(words & WINDOWS_WORDS)
    if shared:
        seen = reached(tree, path)
        foreign += sorted(name for name in words & shared.keys() if not shared[name] & seen or name in names)
    before, lines, after = rename(lines, names, prefix, members)
    hidden = [line for name in foreign for line in (f'#pragma push_macro("{name}")', f"#undef {name}")]
    return [*head, *hidden, *before, *lines, *after, *(f"#undef {name}" for name in own_macros([*head, *lines])),
            *(f'#pragma pop_macro("{name}")' for name in foreign)]


def own_macros(lines):
    """Macros that are not a header's, but of the file or of what it includes as a part of itself."""
    own, stack = [], []
    for line in lines:
        if line.startswith("#pragma ox_begin"):
            stack.append(line.split()[2])
        elif line.startswith("#pragma ox_end"):
            stack.pop()
        elif stack and not any(name.endswith(".h") for name in stack):
            own.append(line)
    return macros_of(own)


@functools.cache
def target(flags):
    """gcc's and clang's words for a processor; the macros that clang's do not define, and gcc's do."""
    def predefined(*with_flags):
        command = [*COMPILER, *with_flags, "-dM", "-E", "-x", "c", "/dev/null"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return set(re.findall(r"^#define (__[A-Z0-9]+__) 1$", done.stdout, re.M))
    words = [flag[2:] for flag in flags.split()]
    clang = [word for word in words if not word.startswith("prefer-")]
    return ",".join(words), ",".join(clang), sorted(predefined(*flags.split()) - predefined())


def target_begin(flags):
    words, clang, macros = target(flags)
    yield "#if defined(__clang__) || defined(OX_NAMES)"
    for macro in macros:
        yield f'#pragma push_macro("{macro}")'
        yield f"#undef {macro}"
        yield f"#define {macro} 1"
    yield "#endif"
    yield "#ifdef __clang__"
    yield f'#pragma clang attribute push(__attribute__((target("{clang}"))), apply_to = function)'
    yield "#else"
    yield "#pragma GCC push_options"
    yield f'#pragma GCC target("{words}")'
    yield "#endif"


def outside(line, flags):
    """A line that declares functions for other processors."""
    again = next(line for line in target_begin(flags) if "attribute push" in line)
    return ["#ifdef __clang__", "#pragma clang attribute pop", "#endif", line, "#ifdef __clang__", again, "#endif"]


def target_end(flags):
    yield "#ifdef __clang__"
    yield "#pragma clang attribute pop"
    yield "#else"
    yield "#pragma GCC pop_options"
    yield "#endif"
    yield "#if defined(__clang__) || defined(OX_NAMES)"
    yield from (f'#pragma pop_macro("{macro}")' for macro in target(flags)[2])
    yield "#endif"


class Amalgamation:
    """The lines of ox.c, once the names of files are known; without them, those of a draft."""

    def __init__(self, proto, names):
        self.lists, self.names, self.tree, self.out = read_lists(), names, Tree(proto), []
        self.files = library_files(self.lists)
        self.fused, self.wide, once, dot = (
            {ROOT / f"src/loops/{name}.c" for name in self.lists[key]} for key in ("FUSED", "WIDE", "LOOPS_ONCE", "LOOPS_DOT"))
        loops = [path for path in self.files if path.is_relative_to(ROOT / "src/loops") and path not in once]
        self.headers = set().union(*(found for file, found in names.items() if file.endswith(".h")))
        self.claimed = self.headers | WINDOWS_TYPES
        self.main()
        self.section("base", "", "", [path for path in loops if path in self.fused], True, False)
        self.out.append("#if defined(OX_VARIANTS)")
        for kind, build, machine, flags, wide in read_builds():
            if machine == "x86_64":
                files = dot if kind == "DOT" else loops
                for fused in (False, True):
                    self.section(build, flags, wide, [path for path in sorted(files) if (path in self.fused) == fused], fused, kind == "DOT")
        self.out.append("#endif")

    def own_names(self, path):
        return self.names.get(label(path), set()) | names_of_text(path) if self.names else set()

    def members(self, path):
        return self.names.get(f"members of {label(path)}", set())

    def completes(self, name):
        """Whether a file only says what is in a struct of a header."""
        return name in self.headers and name.startswith("ox_")

    def main(self):
        """Everything but sections, each name for the file that has it first."""
        for path in (path for path in self.files if path not in self.fused):
            own = self.own_names(path)
            self.out += segment(self.tree, path, list(self.tree.expand(path)), {name for name in own & self.claimed if not self.completes(name)}, f"{stem(path)}_",
                                self.members(path))
            self.claimed |= own

    def section(self, build, flags, wide, files, fused, dot):
        """Files of loops for a build, with sums of products fused or not."""
        kind = f"{build}_fused" if fused else build
        again = Again(self.tree, kind, not fused)
        parts = [(path, list(again.expand(path))) for path in files]
        shared = again.names if self.names else {} # a draft has all names as they are
        for file, found in self.names.items():
            if file.startswith(f"{kind}:"):
                for name in found:
                    shared.setdefault(name, set()).add(ROOT / file.removeprefix(f"{kind}:"))
        text = "\n".join(line for _, lines in parts for line in lines)
        members = shared.keys() & members_of(text).union(*(self.members(path) for path, _ in parts))
        by_macro = sorted(shared.keys() - members)
        macros = sorted({macro for path in again.seen for macro in macros_of(without_guard(lines_of(path)))} - {"OX_ISA"})
        self.out += target_begin(flags) if flags else []
        self.out += ["#ifdef __clang__", "#pragma clang fp contract(fast)", "#else", "#pragma GCC push_options",
                     '#pragma GCC optimize("fp-contract=fast")', "#endif"] * fused
        self.out += [f"#undef {macro}" for macro in macros]
        self.out += ["#undef OX_ISA", f"#define OX_ISA {build}", *[f"#define OX_DOT_ISA {build}"] * dot]
        made = dict(aliases(by_macro, by_macro, f"{kind}_", shared)) | {name: f"{kind}_{name}" for name in by_macro}
        self.out += [f"#define {name} {to}" for name, to in made.items()]
        for path, lines in parts:
            lines = defining(lines, by_macro)
            lines = [part for line in lines for part in (outside(line, flags) if flags and line.startswith("OX_DOTS(") else [line])]
            wider = wide and path in self.wide
            self.out += ["#ifndef __clang__", "#pragma GCC push_options", f'#pragma GCC target("{target(wide)[0]}")', "#endif"] if wider else []
            self.out += segment(self.tree, path, rename(lines, members, f"{kind}_", members)[1], self.own_names(path), f"{kind}_{stem(path)}_",
                                self.members(path), {name: shared[name] for name in by_macro})
            self.out += ["#ifndef __clang__", "#pragma GCC pop_options", "#endif"] if wider else []
        self.out += [f"#undef {name}" for name in made]
        self.out += ["#undef OX_DOT_ISA"] * dot
        self.out += ["#ifdef __clang__", "#pragma clang fp contract(off)", "#else", "#pragma GCC pop_options", "#endif"] * fused
        self.out += target_end(flags) if flags else []

    def system_headers(self):
        """Lines that include headers of C, of systems, and of processors."""
        words = [line.strip() for line in self.out if re.match(r"\s*#\s*include\s*<", line)]
        common = sorted({line for line in words if C11.match(line)})
        host = ["#ifndef _WIN32_WINNT", "#define _WIN32_WINNT 0x0601", "#endif", "#ifndef WIN32_LEAN_AND_MEAN", "#define WIN32_LEAN_AND_MEAN",
                "#endif"]
        for prefix, condition in SYSTEMS.items():
            files = sorted((ROOT / "src/host").glob(f"{prefix}*.[ch]"))
            found = sorted({line.strip() for path in files for line in lines_of(path) if re.match(r"\s*#\s*include\s*<", line)})
            host += [f"#if {condition}", *(line for line in found if line not in common), "#endif"]
        return [*common, *host]

    def text(self, runtime, messages):
        common = self.system_headers()
        lines = [line for line in self.out if not (line.startswith("#include") and line.strip() in common) and "<protobuf-c/" not in line]
        guard_visibility = []
        for line in lines:
            inside = re.match(r"\s*#\s*include\s*<|HAS_VECTOR\(|__attribute__\(\(simd", line) # what others define
            guard_visibility += ["#pragma GCC visibility push(default)", line, "#pragma GCC visibility pop"] if inside else [line]
        facts = dict(re.findall(r'^#define OX_(\w+) "?([^"\n]*)"?$', (ROOT / "tools/about.h").read_text() + (ROOT / "src/ox.h").read_text(), re.M))
        version = ".".join(facts[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))
        foreign = ["#pragma GCC diagnostic push", *(f'#pragma GCC diagnostic ignored "-W{kind}"' for kind in ("conversion", "sign-conversion", "shadow")),
                   "#ifndef OX_SYSTEM_PROTOBUF_C", *runtime, "#endif", *messages,
                   "#pragma GCC diagnostic pop"]
        loop_flags = [flag for flag in self.lists["LOOP_FLAGS"] + self.lists["VECTOR_FLAGS"] if flag.startswith("-f")]
        return "\n".join([
            HEAD.format(version=version, licence=facts["LICENCE"]),
            "#ifndef _GNU_SOURCE", "#define _GNU_SOURCE 1", "#endif",
            "#if defined(__MINGW32__) && !defined(__USE_MINGW_ANSI_STDIO)", "#define __USE_MINGW_ANSI_STDIO 1", "#endif",
            "#ifndef _FILE_OFFSET_BITS", "#define _FILE_OFFSET_BITS 64", "#endif",
            "#if defined(__x86_64__) && !defined(OX_ONE_BUILD) && !defined(OX_VARIANTS)", "#define OX_VARIANTS 1", "#endif",
            '#include "ox.h"', *common,
            "#if defined(__x86_64__)", "#include <immintrin.h>", "#elif defined(__aarch64__)", "#include <arm_neon.h>", "#endif",
            "#include <assert.h>", "#ifdef OX_SYSTEM_PROTOBUF_C", "#include <protobuf-c/protobuf-c.h>", "#endif",
            '#pragma GCC diagnostic ignored "-Wshadow"', '#pragma GCC diagnostic ignored "-Wmisleading-indentation"',
            "#pragma GCC visibility push(hidden)",
            "#ifdef __clang__", "#pragma clang fp contract(off)", '#pragma clang diagnostic ignored "-Wpass-failed"',
            '#pragma clang diagnostic ignored "-Wunused-function"', "#else",
            "#pragma GCC push_options", "#pragma GCC optimize(%s)" % ", ".join(f'"{flag[2:]}"' for flag in loop_flags), "#endif",
            *foreign,
            *guard_visibility,
            "#ifdef __clang__", "#else", "#pragma GCC pop_options", "#endif", "#pragma GCC visibility pop", ""])


def wrapped(line):
    """A line as long as people read and compilers show."""
    if len(line) <= 140 or directive(line) != "define":
        return line
    lines, now = [], ""
    for token in SPLIT.split(line):
        if token.isspace() and len(now) > 110:
            lines.append(now + " \\")
            now = "    "
        else:
            now += token
    return "\n".join([*lines, now])


def protobuf_c(folder):
    """protobuf-c's runtime, whose functions have names of ox's own, and its licence."""
    header, code = ((folder / f"protobuf-c.{end}").read_text() for end in "hc")
    names = sorted(set(re.findall(r"\b(protobuf_c_\w+)\s*\(|extern const \w+ (protobuf_c_\w+)", header)))
    names = [function or variable for function, variable in names]
    lines = code[:code.index("*/") + 2].split("\n")
    lines += [f"#define {name} ox_{name}" for name in names]
    for text in (header, code):
        text = COMMENTS.sub(lambda found: found[1] or " ", text)
        lines += [line.rstrip() for line in text.split("\n") if line.strip() and not re.match(r'# *include "', line)]
    return [*lines, *(f"#undef {name}" for name in macros_of(code.split("\n")))]


def generated(folder):
    """The code that protoc-c generates, and its header."""
    return [line for name in ("onnx.pb-c.h", "onnx.pb-c.c") for line in lines_of(folder / name) if "include" != directive(line)]


RAW = raw_parameters([line for path in sorted((ROOT / "src").rglob("*.h")) for line in lines_of(path)])


def main():
    to, proto, runtime = map(pathlib.Path, sys.argv[1:4])

    def whole(names):
        made = Amalgamation(proto, names)
        text = made.text(protobuf_c(runtime), generated(proto))
        return re.sub(r"\b(onnx__|Onnx__|ONNX__)", r"ox_\1", text)

    to.mkdir(parents=True, exist_ok=True)
    names = find_names(whole({}), to)
    text = "\n".join(wrapped(line) for line in whole(names).split("\n") if not line.startswith("#pragma ox_"))
    (to / "ox.c").write_text(text)
    (to / "ox.h").write_text((ROOT / "src/ox.h").read_text())


COMPILER = sys.argv[4].split()
sys.exit(main())
