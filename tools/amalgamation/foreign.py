"""foreign.py: code that is not of the tree: protobuf-c's runtime, what protoc-c writes; and long lines."""
import re

from amalgamation.text import COMMENTS, SPLIT, directive, lines_of, macros_of


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
