"""text.py: sources as lines: directives, macros, tokens, declarations."""
import functools
import re

COMMENTS = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.S)
TOKENS = re.compile(r"""[A-Za-z_]\w*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[0-9][\w.]*|->|[^\w\s]""")
SPLIT = re.compile(r"""([A-Za-z_]\w*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[0-9][\w.]*|->|[^\w\s])""")
INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')


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
