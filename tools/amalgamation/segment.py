"""segment.py: a file of C in the one file: its text, with macros and names that end with it."""
import re

from amalgamation.lists import ROOT
from amalgamation.rename import rename
from amalgamation.text import TOKENS, lines_of, macros_of
from amalgamation.tree import reached

# Macros and types of windows.h whose names are others here.
WINDOWS_WORDS = {"ABSOLUTE", "FAR", "INFINITE", "NEAR", "TEXT", "far", "max", "min", "near"}


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
