"""sizes.py REASONS FOLDER...: lists functions of more than 60 lines, structs of more than 24 members, and parameter lists of more
than 6 in the C files of some folders, but for those to which REASONS gives a reason.

A line of REASONS is KIND NUMBER NAME...: REASON, of a kind (lines, members, parameters) and the number that is allowed. A name that
needs no reason is an error, too. With --longest, the ten longest of each kind. The layout is that of clang-format: what starts a line belongs to a file.
"""
import pathlib
import re
import sys

MOST = {"lines": 60, "members": 24, "parameters": 6}


def without_comments(text):
    """The text with blanks in place of comments, strings and lines of the preprocessor, line by line the same."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def behind(text, start):
    """The place behind what closes the bracket at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += text[at] in "({["
        depth -= text[at] in ")}]"
        if not depth:
            return at + 1
    return len(text)


def count_parts(text):
    """What commas outside of brackets separate."""
    while re.search(r"[({\[][^(){}\[\]]*[)}\]]", text):
        text = re.sub(r"[({\[][^(){}\[\]]*[)}\]]", " ", text)
    return text.count(",") + 1


def count_members(body):
    """Of a struct or a union, those of nested ones without a name too."""
    count = 0
    while True:
        inner = re.search(r"\b(?:struct|union)\b[^;{}()]*\{", body)
        if not inner:
            break
        end = behind(body, inner.end() - 1)
        tail = body.index(";", end)
        count += count_members(body[inner.end():end - 1])
        body = body[:inner.start()] + body[tail + 1:]
    return count + sum(count_parts(part) for part in body.split(";") if part.strip())


def things_of(text):
    """(kind, name, number, line) of all that a file has."""
    for match in re.finditer(r"^(?:typedef )?(?:struct|union) *(\w*)[^\n;(]*\{", text, re.M):
        end = behind(text, match.end() - 1)
        name = match.group(1) or (re.match(r"\s*(\w*)", text[end:]).group(1))
        yield "members", name, count_members(text[match.end():end - 1]), text.count("\n", 0, match.start()) + 1
    for match in re.finditer(r"^[A-Za-z_](?:[^\n;{}=()]|\n(?=[ \w]))*?\b(\w+)\(", text, re.M):
        end = behind(text, match.end() - 1)
        parameters = text[match.end():end - 1].strip()
        line = text.count("\n", 0, match.start(1)) + 1
        rest = re.match(r"\s*(\{|;|,|__attribute__)?", text[end:])
        if not rest.group(1) or match.group(1).isupper():
            continue
        yield "parameters", match.group(1), count_parts(parameters) if parameters else 0, line
        if rest.group(1) == "{":
            yield "lines", match.group(1), text.count("\n", match.start(), behind(text, end + rest.end() - 1)) + 1, line


def read_reasons(path):
    """(kind, name) -> the number that is allowed; and what is wrong with the list."""
    reasons, wrong = {}, []
    for line in path.read_text().splitlines():
        match = re.match(r"(\w+) (\d+)((?: \w+)+): (?=\S)", line)
        if match and match.group(1) in MOST:
            reasons.update(((match.group(1), name), int(match.group(2))) for name in match.group(3).split())
        elif line and not line.startswith("#"):
            wrong.append(f"{path}: '{line}' is not KIND NUMBER NAME...: REASON")
    return reasons, wrong


def main():
    show = "--longest" in sys.argv
    path, *folders = (pathlib.Path(a) for a in sys.argv[1:] if a != "--longest")
    reasons, wrong = read_reasons(path)
    found, needed = [], set()
    for file in sorted(p for folder in folders for p in folder.rglob("*") if p.suffix in (".c", ".h", ".inc")):
        found += [(kind, number, name, file, line) for kind, name, number, line in things_of(without_comments(file.read_text()))]
    for kind, number, name, file, line in found:
        most = reasons.get((kind, name), MOST[kind])
        if number > MOST[kind]:
            needed.add((kind, name))
        if number > most:
            wrong.append(f"{file}:{line}: {name} has {number} {kind}, more than {most}")
    wrong += [f"{path}: nothing needs a reason for {kind} of {name}" for kind, name in reasons if (kind, name) not in needed]
    for kind in MOST if show else ():
        for _, number, name, file, line in sorted((f for f in found if f[0] == kind), key=lambda f: -f[1])[:10]:
            print(f"{number} {kind}: {name} ({file}:{line})")
    print("\n".join(wrong) if wrong else "sizes: no function, struct or parameter list is too long without a reason")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
