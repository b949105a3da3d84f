"""filter.py HEADER: prints a public header as Doxygen reads one.

In the header, comments are prose that names parameters. Here each becomes Doxygen's, and what it says of a parameter
becomes the line of that: the sentences that name it, or, for parameters that mean the same in every function, what COMMON
says. A parameter that neither knows gets no line, and Doxygen complains of it.
"""
import pathlib
import re
import sys

COMMON = {
    "error": "Receives the status and, on failure, a text that says what disagrees. May be NULL.",
    "options": "NULL: the defaults.",
    "context": "Whatever was given with the function.",
    "model": "A loaded model.",
    "session": "A session, used by one thread at a time.",
    "index": "Counted from 0.",
    "call": "What infer, prepare or run was called with.",
    "tensor": "A tensor.",
    "value": "A value.",
    "dtype": "An element type.",
    "info": "Is filled.",
    "node": "A node that ox_model_visit gives.",
    "event": "The step.",
}
STATUS = "OX_OK, or what went wrong."
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FUNCTION = re.compile(r"\s*(?:(?:extern )?OX_API|typedef)\s+([^;{}=]*?)\b(ox_\w+)\(([^;{}]*)\)[^;{}]*;", re.S)


def plain(comment):
    """The text of a comment, without the stars at the left."""
    return re.sub(r"\n *\* ?", "\n", comment).strip()


def escape(text):
    return re.sub(r"(?<![\w*/ ])\*(?=\w)|(?<= )\*(?=\w)|%", lambda found: "\\" + found.group(), text)


def sentences_with(text, name):
    found = [s for s in re.split(r"(?<=[.])\s+", " ".join(text.split())) if re.search(rf"(?<![\w.]){name}\b", s)]
    return escape(" ".join(found))


def parameters(declared):
    """Names of the parameters of a declaration."""
    for part in re.sub(r"\[[^\]]*\]", "", declared).split(","):
        name = re.search(r"(\w+)\s*$", part)
        if part.strip() not in ("void", "...", "") and name and not re.fullmatch(r"[\w ]+\*?", part.strip()) or name and " " in part.strip():
            yield name.group(1)


def lines_of(text, result, declared):
    """What Doxygen wants behind the text of a function's comment."""
    for name in parameters(declared):
        said = sentences_with(text, name) or COMMON.get(name)
        if said:
            yield f"@param {name} {said}"
    if re.search(r"\bvoid\s*$", result):
        return
    said = re.split(r"(?<=[.])\s", " ".join(text.split()))
    said = next((s.removeprefix("Returns ") for s in said if s.startswith("Returns ")), said[0])
    yield f"@return {STATUS if 'ox_status' in result else escape(said)}"


def one_by_one(header):
    """The header with a line for each member that shares its line, and its comment, with others."""
    def split(found):
        names = re.split(r",\s*", found.group("names"))
        return "\n".join(f"{found.group('type')}{name}; {found.group('comment')}" for name in names)
    return re.sub(r"^(?P<type> {4}[\w ]+ )(?P<names>\*?\w+(?:, \*?\w+)+); *(?P<comment>/\*.*?\*/)$", split, header, flags=re.M)


def heads(header, at):
    """The comments of a part that stand for several of its declarations: another comment follows them."""
    part = re.split(r"/\* -{4} ", header[at:])[0]
    return escape("\n\n".join(plain(text) for text in re.findall(r"^/\*((?:(?!\*/).)*)\*/\s*(?=/\*)", part, re.M | re.S)))


def with_comments(header):
    """A macro right behind another one is meant by the comment in front of both."""
    return re.sub(r"(?<=\n)(#define (\w+) \S+\n)#define ", r"\1/* As \2. */\n#define ", re.sub(
        r"(?<=\n)(#define (\w+) \S+\n)#define ", r"\1/* As \2. */\n#define ", header))


def convert(header):
    at, groups, first = 0, 0, True
    for comment in COMMENT.finditer(header):
        yield header[at:comment.start()]
        at = comment.end()
        text = plain(comment.group(1))
        banner = re.match(r"-{4} (.*?) -+$", text)
        alone = re.match(r"\s*/\*", header[at:])
        line = header[header.rfind("\n", 0, comment.start()) + 1:comment.start()]
        if first:
            first = False
            body = escape(text).partition("\n")[2]
            yield f"/** @file\n{escape(text)} */\n/** @mainpage The C interface\n{body} */"
        elif banner:
            groups += 1
            yield ("/** @} */ " if groups > 1 else "") + f"/** @defgroup part{groups:02} {banner.group(1)}\n{heads(header, at)}\n @{{ */"
        elif alone and not line.strip():
            continue  # of several declarations: it stands at the head of its part
        elif line.strip():
            yield f"/**< {escape(text)} */"
        else:
            function = FUNCTION.match(header, comment.end())
            more = "".join(f"\n{line}" for line in lines_of(text, function.group(1), function.group(3))) if function else ""
            yield f"/** {escape(text)}{more} */"
    end = header.rfind("#ifdef __cplusplus")
    yield header[at:end] + "/** @} */\n" + header[end:]


if __name__ == "__main__":
    print("".join(convert(with_comments(one_by_one(pathlib.Path(sys.argv[1]).read_text())))), end="")
