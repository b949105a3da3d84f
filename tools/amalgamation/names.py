"""names.py: the names that files have for themselves, as the preprocessor finds them."""
import functools
import re
import subprocess

from amalgamation import target
from amalgamation.lists import ROOT
from amalgamation.text import TOKENS, directive, lines_of


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
    elif "static" in flat or flat[:1] == ["OX_INLINED"]:
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
    """Functions, objects, types and enumerators of a file in all branches of its conditions, but for those that macros make."""
    plain = [re.sub(r"__attribute__\(\(.*?\)\) *", "", line) for line in lines_of(path)]
    found = [re.match(r"(?:static|OX_INLINED)\b[^;={(]*?\b(\w+)(?:\(|\[| =|;)", line) for line in plain]
    found += [re.match(r"(?:\}|typedef\b.*) (\w+)(?:\[\w+\])*;$", line) for line in lines_of(path)]
    lists = re.findall(r"\benum(?: \w+)? \{([^{}]*)\}", "\n".join(line for line in lines_of(path) if not directive(line)))
    given = {name for inner in lists for name in enumerators(TOKENS.findall(inner))}
    return given | {match[1] for match in found if match}


def find_names(text, folder):
    draft = folder / "draft" / "ox.c"
    draft.parent.mkdir(exist_ok=True)
    draft.write_text(text)
    command = [*target.COMPILER, "-std=gnu11", "-E", "-DOX_NAMES", f"-I{ROOT / 'src'}", str(draft)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    names = {"system.h": set()}
    for file, tokens in declarations(done.stdout, names["system.h"]):
        pairs = zip(tokens, tokens[1:])
        names.setdefault(f"members of {file}", set()).update(word for before, word in pairs if before in (".", "->"))
        names.setdefault(file, set()).update(names_of(tokens))
    return names
