"""letters.py: writes src/ops/text/letters.inc, the other case of every letter and what its rules ask about characters,
out of the Unicode data of Python. tests/property/texts.py compares the operator with Python, letter by letter.

usage: letters.py >src/ops/text/letters.inc
"""
import unicodedata

HEAD = """\
/* letters.inc: the case of letters, of Unicode {version}. Written by tests/proto/letters.py; nothing here is edited.
 *
 * RUN (first, count, step, distance)
 *     `count` letters, `step` from one to the next; the other case of each is `distance` behind it.
 * MANY (letter, a, b, c)
 *     one letter whose other case is two or three; c is 0 where it is two.
 * SET (first, count)
 *     characters that a rule asks about.
 * All are sorted. */
"""
MOST = {1: 1 << 10, 2: 1 << 10, "set": 1 << 11}  # what fits the words that the macros make
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xd800 <= c < 0xe000]
# The property Soft_Dotted, which Python does not tell.
SOFT_DOTTED = [
    0x69, 0x6a, 0x12f, 0x249, 0x268, 0x29d, 0x2b2, 0x3f3, 0x456, 0x458, 0x1d62, 0x1d96, 0x1da4, 0x1da8, 0x1e2d, 0x1ecb,
    0x2071, 0x2148, 0x2149, 0x2c7c, 0x1d422, 0x1d423, 0x1d456, 0x1d457, 0x1d48a, 0x1d48b, 0x1d4be, 0x1d4bf, 0x1d4f2,
    0x1d4f3, 0x1d526, 0x1d527, 0x1d55a, 0x1d55b, 0x1d58e, 0x1d58f, 0x1d5c2, 0x1d5c3, 0x1d5f6, 0x1d5f7, 0x1d62a, 0x1d62b,
    0x1d65e, 0x1d65f, 0x1d692, 0x1d693, 0x1df1a]


def runs_of(change):
    """(first, count, step, distance) of the letters that `change` makes another one."""
    other = {ord(c): ord(change(c)) - ord(c) for c in CHARACTERS if len(change(c)) == 1 and change(c) != c}
    left, runs = sorted(other), []
    while left:
        best = (1, 1)
        for step in (1, 2):
            count = 1
            while (count < min(len(left), MOST[step]) and left[count] == left[0] + count * step and
                   other[left[count]] == other[left[0]]):
                count += 1
            best = max(best, (count, step), key=lambda run: run[0])
        runs.append((left[0], *best, other[left[0]]))
        left = left[best[0]:]
    return runs


def many_of(change):
    letters = [c for c in CHARACTERS if len(change(c)) > 1]
    return [(ord(c), *[ord(d) for d in change(c)], *[0] * (3 - len(change(c)))) for c in letters]


def set_of(holds):
    """(first, count) of the characters of a property."""
    ranges = []
    for c in map(ord, filter(holds, CHARACTERS)):
        if ranges and sum(ranges[-1]) == c and ranges[-1][1] < MOST["set"]:
            ranges[-1][1] += 1
        else:
            ranges.append([c, 1])
    return ranges


def ends_word(before):
    """Whether a capital sigma behind this text becomes a final one."""
    return (before + "\u03a3").lower()[-1] == "\u03c2"


def is_ignorable(c):
    return ends_word("a" + c) and not ends_word(c)


def show(name, macro, rows):
    print(f"\n#ifdef {name}")
    text = [f"{macro}({', '.join(hex(n) if i == 0 or macro == 'MANY' else str(n) for i, n in enumerate(row))})"
            for row in rows]
    line = ""
    for item in text:
        if len(line) + len(item) > 118:
            print(line.rstrip())
            line = ""
        line += item + " "
    print(line.rstrip())
    print(f"#undef {name}\n#endif")


if __name__ == "__main__":
    print(HEAD.format(version=unicodedata.unidata_version), end="")
    show("LOWER", "RUN", runs_of(str.lower))
    show("UPPER", "RUN", runs_of(str.upper))
    assert [row[0] for row in many_of(str.lower)] == [0x130]  # letters.c knows that one
    show("UPPER_MANY", "MANY", many_of(str.upper))
    show("CASED", "SET", set_of(ends_word))
    show("IGNORABLE", "SET", set_of(is_ignorable))
    show("ABOVE", "SET", set_of(lambda c: unicodedata.combining(c) == 230))
    show("OTHER_MARKS", "SET", set_of(lambda c: unicodedata.combining(c) not in (0, 230)))
    show("SOFT_DOTTED", "SET", set_of(lambda c: ord(c) in SOFT_DOTTED))
