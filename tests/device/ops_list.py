"""ops_list.py [--cases N] [--seed N]: lists of operators as tools/device/select.awk reads them, right ones and damaged
ones: either the selection is what a second reader here makes of the lists, and nothing else stands in what is generated,
or there is an error that names a file and a line. Needs no Python packages.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import tally

ROOT = pathlib.Path(__file__).parent.parent.parent
HEADER, TABLE = ROOT / "src" / "ox.h", ROOT / "src" / "ops" / "table.inc"
FEATURES = ["texts", "operators", "functions", "external", "quantized", "depth", "columns", "means", "gemms", "arithmetic", "tables", "rewritten", "trees", "typed", "constants", "attributes",
            "subgraphs", "values", "runs", "passes", "moves", "scales"]
# Operators that only models of `ox embed` name, and the part of the library that has them.
OWN = {"QLinearAdd": "arithmetic", "QLinearSub": "arithmetic", "QLinearMul": "arithmetic", "QLinearDiv": "arithmetic",
       "QLinearGemm": "gemms", "QLinearAveragePool": "means", "QLinearGlobalAveragePool": "means", "ByteTable": "tables"}
# Types that scales need no lane programs for.
PLAIN = {"float", "int8", "uint8", "int16", "uint16", "int32"}
# All that selection.h may have, line by line.
LINES = re.compile(r'/\* Written by tools/device/select\.awk\. \*/|#define OX_TABLE "selected\.inc"'
                   r"|#define OX_TYPES \(0(?: \| 1u << OX_[A-Z0-9]+)*\)"
                   r"|#define OX_MOVED_TYPES \(OX_TYPES(?: \| 1u << OX_[A-Z0-9]+)*\)|#define OX_WITH_[A-Z]+ [01]"
                   r"|#define OX_REDUCED_TYPES \(0(?: \| 1u << OX_[A-Z0-9]+)*\)"
                   r"|#define OX_ROW_FLAGS \(0(?: \| OX_OP_[A-Z_]+)*\)")
SPOILT = [b"", b"\0", b"\r", b"\t", b"#", b"with", b"with texts", b"with textz", b"with \xff", b"floatt", b"undefined",
          b"OX_FLOAT", b"dtype_count", b"-1", b"0", b"014", b"1e1", b"9" * 40, b"+14", b"14.0", b"Add", b"add 14 float", b"Add 15 float",
          b"Add 14 float)", b'")', b"*/", b"/*", b"\\", b"$(id)", b"`id`", b"; exit", b"float(", b"%s%n", b"\x1c", b"\x1b[31m", b"&", b"|",
          b"Add 14 \xc3\xa9", b"x" * 70000, b"ai.onnx.Add 14", b".Add 14", b"onnx.graph.StaticExpand 1 float",
          b"#define OX_X 1", b"OP(Add, (14))", b"\x0b", b"\x0c", b"Nonsense 3 float"]


def table_rows():
    """{(name, version): (line, takes every type)}"""
    rows = {}
    for line in TABLE.read_text().splitlines():
        match = re.match(r'(?:(?:OP|DENSE)_IN\("([^"]*)", *|[A-Z_]+\()(\w+), \(([0-9, ]+)\)', line)
        if match and line.split("(")[0] in ("OP", "OP_IN", "LANES", "MIXED", "MIXED_OUT", "SCALED", "ROWS", "ROWS_OUT", "DENSE", "DENSE_IN"):
            name = f"{match[1]}.{match[2]}" if match[1] else match[2]
            for version in match[3].split(", "):
                rows[name, version] = line
    return rows


ROWS = table_rows()
TYPES = [name.lower() for name, number in re.findall(r"^    OX_([A-Z0-9]+) = (\d+),", HEADER.read_text().split(
    "typedef enum ox_dtype")[1].split("OX_DTYPE_COUNT")[0], re.M) if number != "0"]


def read(lists):
    """What the lists ask for: (operators, features, types, types that are reduced, rows that are early, whether scales are lane
    programs, operators without rows), or None if one is wrong."""
    operators, features, types, reduced, late, scaled, own = set(), set(), set(), set(), set(), False, set()
    for text in lists:
        for line in text.split(b"\n"):
            line = line.split(b"#")[0]
            words = re.split(rb"[ \t]+", (line[:-1] if line.endswith(b"\r") else line).strip(b" \t"))
            words = [word.decode("latin1") for word in words if word]
            if not words:
                continue
            if words[0] == "with":
                features.update(words[1:])
                continue
            if words[0] in OWN and len(words) > 1 and re.fullmatch("[0-9]+", words[1]):
                own.add(words[0])
                features.update({OWN[words[0]], "rewritten", "runs"} | ({"attributes"} if re.search("Gemm|AveragePool|Table", words[0]) else set()))
                types.update(words[2:])
                continue
            if tuple(words[:2]) not in ROWS:
                return None
            operators.add(tuple(words[:2]))
            if words[2:] == ["early"]:
                continue
            late.add(tuple(words[:2]))
            types.update(words[2:])
            if ROWS[tuple(words[:2])].startswith("SCALED"):
                scaled |= bool(set(words[2:]) - PLAIN - ({"double"} if words[0] == "DequantizeLinear" else set()))
            if not re.search(r"^(LANES|MIXED|SCALED)|OX_SET_ALL[,)]|OX_OP_QUANTIZED", ROWS[tuple(words[:2])]):
                reduced.update(words[2:])
    right = features <= set(FEATURES) and types <= set(TYPES)
    rows = {ROWS[operator] for operator in late}
    early = {ROWS[operator] for operator in operators} - rows
    if "quantized" in features and ("gemms" in features or any(name == "Gemm" for name, _ in operators)):
        types.add("int32")  # of a bias
    return (operators, features, types, reduced, early, scaled or "scales" in features, own) if right else None


def draw_list(rng):
    """A list as `ox embed` writes it, in most cases with some damage."""
    lines = [b"# A comment."] if rng.random() < 0.5 else []
    for name, version in rng.sample(sorted(ROWS) + [(name, "1") for name in OWN] * 9, rng.randint(0, 6)):
        types = ["early"] if rng.random() < 0.2 else rng.sample(TYPES, rng.randint(0, 3))
        lines.append(" ".join([name, version, *types]).encode())
    if rng.random() < 0.3:
        lines.append(b"with " + " ".join(rng.sample(FEATURES, rng.randint(0, 3))).encode())
    rng.shuffle(lines)
    text = rng.choice([b"\n", b"\n", b"\r\n"]).join(lines) + rng.choice([b"\n", b"\n", b""])
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at = rng.randint(0, len(text))
        way = rng.randrange(5)
        if way == 0:
            text = text[:at] + rng.choice(SPOILT) + text[at:]
        elif way == 1:
            text += rng.choice(SPOILT) + b"\n"
        elif way == 2 and text:
            at = rng.randrange(len(text))
            text = text[:at] + bytes([text[at] ^ 1 << rng.randrange(8)]) + text[at + 1:]
        elif way == 3:
            text = text[:at]
        else:
            text = text[:at] + rng.randbytes(rng.randint(1, 30)) + text[at:]
    return text


def problem_of_result(asked, folder):
    """What is wrong with the generated files; None if nothing is."""
    operators, features, types, reduced, early, scales, own = asked
    defined = (folder / "selection.h").read_text()
    for line in defined.splitlines():
        if not LINES.fullmatch(line):
            return f"selection.h has {line!r}"
    if set(re.findall(r"1u << OX_(\w+)", defined)) != {name.upper() for name in types}:
        return f"selection.h has other types than {sorted(types)}"
    line = re.search(r"#define OX_REDUCED_TYPES \(0(.*)\)", defined)
    if operators | features and (not line or set(re.findall(r"OX_(\w+)", line[1])) != {name.upper() for name in reduced}):
        return f"selection.h has other types of reductions than {sorted(reduced)}"
    for name in features:
        if f"#define OX_WITH_{name.upper()} 1" not in defined:
            return f"selection.h lacks the feature {name}"
    derived = {"runs": lambda row: not re.fullmatch(r"OP(_IN)?\(.*, none, [^,]*", row),
               "attributes": lambda row: "OX_OP_NO_ATTRS" not in row, "values": lambda row: "OX_OP_VALUES" in row}
    rows = [ROWS[operator] for operator in operators if ROWS[operator] not in early]
    passes = scales or "passes" in features or not all(re.search(r"^(SCALED|DENSE)|OX_OP_QUANTIZED|, (none|reshape|pool|tree_ensemble), [^,]*\)$", row) for row in rows)
    moves = passes or features & {"moves", "operators"} or not all(re.search(r"^SCALED|OX_OP_QUANTIZED|, (flatten|reshape|squeeze|unsqueeze|identity), none, |, tree_ensemble, [^,]*\)$", row) for row in rows)
    for name, wanted in ("scales", scales), ("passes", passes), ("moves", bool(moves)):
        if operators | features and f"#define OX_WITH_{name.upper()} {int(wanted)}" not in defined:
            return f"selection.h is wrong about {name}"
    for name, needed in derived.items():
        asked_for = features & ({name} if name == "values" else {name, "operators"})
        wanted = any(needed(ROWS[operator]) for operator in operators) or asked_for
        if f"#define OX_WITH_{name.upper()} {int(bool(wanted))}" not in defined:
            return f"selection.h is wrong about {name}"
    rows = [re.sub(r"^PLANNED\(ox_row_\w+\) ", "", line) for line in (folder / "selected.inc").read_text().splitlines()
            if not line.startswith("#") and not re.fullmatch(r'GONE\("[\w.]*", \w+, \(\d+\)\)', line)]
    if set(rows) != {ROWS[operator] for operator in operators}:
        return f"selected.inc has {rows}"
    found = re.findall(r"#undef HOW\n#define HOW EARLY\nPLANNED\(ox_row_\w+\) (.*)\n#undef HOW\n#define HOW WHOLE\n",
                       (folder / "selected.inc").read_text())
    if set(found) != early:
        return f"selected.inc has the early rows {found}"
    if set(re.findall(r"OX_OP_\w+", defined)) != set(re.findall(r"OX_OP_\w+", " ".join(rows))) | ({"OX_OP_GAPS"} if own else set()):
        return f"selection.h has other flags than {rows}"
    return None


def problem(lists, names, folder):
    for name, text in zip(names, lists):
        (folder / name).write_bytes(text)
    command = ["awk", "-v", "dir=.", "-f", str(ROOT / "tools/device/select.awk"), str(HEADER), *names, str(TABLE)]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=10)
    asked, said = read(lists), done.stderr.decode("latin1")
    if done.returncode:
        if asked:
            return f"a right list is refused: {said!r}"
        lines = said.splitlines()
        named = [re.match(r"(?:\./)?([\w.=]+):(\d+): .", line) for line in lines]
        if not lines or not all(m and m[1] in names for m in named) or any(c < " " and c != "\n" for c in said):
            return f"the error is {said!r}"
        return "the error is too long" if max(map(len, lines)) > 200 else None
    return problem_of_result(asked, folder) if asked else "a wrong list is taken"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("OX_SEED", time.time_ns() % 1000000)))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    rng, taken, failed = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.cases):
            lists = [draw_list(rng) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
            names = ["a.txt", "b=c.txt", "table.inc"][:len(lists)]
            taken += read(lists) is not None
            text = problem(lists, names, pathlib.Path(name))
            if text:
                failed += 1
                print(f"case {number}: {text}\n  {[text[:300] for text in lists]}")
    print(f"{taken} lists were right")
    tally.finish(options.cases - failed, failed)
    return 1 if failed or not taken else 0


if __name__ == "__main__":
    sys.exit(main())
