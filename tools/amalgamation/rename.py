"""rename.py: other names for what two files call alike: by macros, or word by word where members of structs are called so, too."""
import functools
import re

from amalgamation.lists import ROOT
from amalgamation.text import SPLIT, TOKENS, directive, lines_of, macros_of


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


@functools.cache
def raw_of_headers():
    """The same of all headers."""
    return raw_parameters([line for path in sorted((ROOT / "src").rglob("*.h")) for line in lines_of(path)])


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
    raw = raw_of_headers() | raw_parameters(lines)
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
