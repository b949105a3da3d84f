"""report.py: the numbers of bench.py as lines for a terminal and, run by itself on its JSON files, as
docs/benchmarks.md and docs/benchmarks.svg."""

import argparse
import json
import math

import bars
import plot

PEERS = ["ort", "numpy", "rten", "tract"]
LABELS = {"ort": "ORT", "numpy": "numpy", "rten": "rten", "tract": "tract"}
COPY_BYTES = 2 * (64 << 20)  # read and written


def ratio(case, name):
    """How many times longer a contender takes than ox; None where one of them is missing."""
    times = case["median_ns"]
    return times[name] / times["ox"] if name in times and "ox" in times else None


def best(case):
    """(name, ratio) of the fastest peer."""
    known = [(ratio(case, name), name) for name in PEERS if ratio(case, name)]
    if not known:
        return None, None
    value, name = min(known)
    return name, value


def speed(case):
    """Bytes per nanosecond, which is GB/s."""
    return case["bytes"] / case["median_ns"]["ox"] if "ox" in case["median_ns"] else None


def copy_share(case):
    return speed(case) / (COPY_BYTES / case["median_ns"]["memcpy"]) if speed(case) else None


def number(value, digits=2):
    return "-" if value is None else f"{value:,.{digits}f}"


def microseconds(case, name):
    ns = case["median_ns"].get(name)
    return "-" if ns is None else number(ns / 1e3, 2 if ns < 1e5 else 0)


def columns(case):
    name, value = best(case)
    slower = " slower" if value is not None and value < bars.TIE else ""
    return [case["name"], microseconds(case, "ox"), microseconds(case, "ort"), *(number(ratio(case, p)) for p in PEERS),
            f"{number(value)} {LABELS.get(name, '')}{slower}".strip(), number(speed(case), 1), number(copy_share(case))]


TITLES = ["case", "ox us", "ORT us", *(f"{LABELS[p]}/ox" for p in PEERS), "best/ox", "GB/s", "of memcpy"]
WIDTHS = [36, 10, 10, 8, 8, 8, 8, 20, 8, 10]


def line(cells):
    first, *rest = [cell.rjust(width) for cell, width in zip(cells, WIDTHS)]
    return first.strip().ljust(WIDTHS[0]) + "".join(rest)


def heading(record):
    threads = record["threads"]
    note = "" if record["ox_threads"] == threads else ", but ox runs on one"
    return f"{threads} thread{'s' if threads > 1 else ''}{note}; x/ox: above 1, ox is faster\n" + line(TITLES)


def row(case):
    reason = case["missing"].get("ox")
    return line(columns(case)) + (f"\n    ox: {reason}" if reason else "")


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def group_rows(record):
    """[(group, number of cases, mean of ORT/ox, mean of best/ox)], all elementwise cases last."""
    groups = {}
    for case in record["cases"]:
        groups.setdefault(case["group"], []).append(case)
    elementwise = [c for c in record["cases"] if c["group"] not in bars.NOT_ELEMENTWISE]
    return [(name, len(cases), geometric_mean(ratio(c, "ort") for c in cases),
             geometric_mean(best(c)[1] for c in cases))
            for name, cases in [*groups.items(), ("all elementwise", elementwise)]]


def yardsticks(record):
    copies = sorted(COPY_BYTES / case["median_ns"]["memcpy"] for case in record["cases"])
    middle = copies[len(copies) // 2]
    return f"memcpy of 64 MiB: {middle:.1f} GB/s read and written ({copies[0]:.1f} to {copies[-1]:.1f})"


def start_text(record):
    start = record.get("start")
    if not start:
        return ""
    ox, true = (f"{start[name]['median_ns'] / 1e6:.2f} ms and {start[name]['peak_bytes'] / 1e6:.1f} MB"
                for name in ("ox run", "true"))
    return f"A whole process, `ox run` on [1]+[1]: {ox}; `/bin/true`: {true}"


def summary(record):
    lines = ["", yardsticks(record), start_text(record), "", "geometric means, times faster than".ljust(36) +
             "cases".rjust(8) + "ORT".rjust(8) + "best".rjust(8)]
    for name, count, ort_mean, best_mean in group_rows(record):
        lines.append(name.ljust(36) + f"{count}".rjust(8) + number(ort_mean).rjust(8) + number(best_mean).rjust(8))
    if record["threads"] == 1:
        lines += ["", "goals"] + [f"{'met' if met else 'NOT MET':8}{text}" for met, text in bars.judge(record)]
    return "\n".join(lines)


def markdown_table(titles, rows):
    align = ["---"] + ["---:"] * (len(titles) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [titles, align, *rows])


def markdown_section(record):
    threads = record["threads"]
    parts = [f"## {'One thread' if threads == 1 else f'{threads} threads'}"]
    if record["ox_threads"] != threads:
        parts.append("ox itself ran on one thread here.")
    if threads > 1 and "tract" in record["versions"]:
        parts.append("tract computes these operators on one thread whatever it is given.")
    parts.append(yardsticks(record) + ".")
    parts.append(markdown_table([t.replace(" us", " µs") for t in TITLES], [columns(c) for c in record["cases"]]))
    lacking = [f"- {c['name']}, {LABELS.get(n, n)}: {why}" for c in record["cases"] for n, why in c["missing"].items()
               if n in ("ox", "ort")]
    if lacking:
        parts.append("Missing:\n\n" + "\n".join(lacking))
    parts.append(markdown_table(["geometric means", "cases", "ORT/ox", "best/ox"],
                                [[n, str(k), number(a), number(b)] for n, k, a, b in group_rows(record)]))
    if threads == 1:
        parts.append("Goals:\n\n" + "\n".join(f"- {'met' if met else '**not met**'}: {t}"
                                             for met, t in bars.judge(record)))
    return "\n\n".join(parts)


INTRODUCTION = """# Benchmarks

`{command}` on a quiet machine writes this page.

Every case is a small ONNX model (`tests/bench/models.py`). ox, {peers} run it in one
process and take turns, with the same inputs; each turn is one run to warm up and then two milliseconds of runs, and
what is shown is the median of {turns} turns. Memory for outputs is there before the first run: ONNX Runtime has inputs
and output bound in advance, numpy writes into an array that it is given, and freed blocks are kept for the peers that
return new tensors. ox is called in a loop in C, and so are rten and tract; the calls of ONNX Runtime and numpy come
from Python, which costs each of them some tenths of a microsecond and matters in the tiny cases only.

*x/ox* is the time of x divided by ox's: above 1, ox is faster. *best* is the fastest of the others; "slower" marks
cases in which it is more than 5 % faster than ox. *GB/s* counts every input once and the output once; *of memcpy*
relates that to a copy of 64 MiB measured between the same turns.

| | |
|---|---|
{facts}

![How many times faster than ONNX Runtime, case by case](benchmarks.svg)
"""


def markdown(records, command):
    first = records[0]
    facts = [("processor", "{processor}, {cores} cores".format(**first["machine"])),
             ("vectors", first["machine"]["vectors"]), ("caches", first["machine"]["caches"]),
             ("memory", f"{first['machine']['memory_gib']} GiB"), ("system", first["machine"]["system"]),
             ("versions", ", ".join(f"{n} {v}" for n, v in first["versions"].items()))]
    facts = "\n".join(f"| {name} | {value} |" for name, value in facts)
    peers = "ONNX Runtime, numpy, rten and tract" if "rten" in first["versions"] else "ONNX Runtime and numpy"
    top = INTRODUCTION.format(command=command, peers=peers, turns=5 if first["quick"] else 21, facts=facts)
    start = start_text(first)
    return "\n\n".join([top.rstrip(), *([start + "."] if start else []), *map(markdown_section, records)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description="docs/benchmarks.md and .svg from the JSON files of bench.py")
    parser.add_argument("records", nargs="+", help="JSON files; the plot shows the first")
    parser.add_argument("--command", default="make bench", help="how the page says it was made")
    parser.add_argument("--markdown", required=True)
    parser.add_argument("--svg", required=True)
    arguments = parser.parse_args()
    records = []
    for path in arguments.records:
        with open(path) as file:
            records.append(json.load(file))
    with open(arguments.markdown, "w") as file:
        file.write(markdown(records, arguments.command))
    with open(arguments.svg, "w") as file:
        file.write(plot.draw([(c["name"], c["group"], ratio(c, "ort"), ratio_to_ort(c)) for c in records[0]["cases"]]))


def ratio_to_ort(case):
    """How many times faster than ONNX Runtime the fastest peer is."""
    ort_ratio, (name, best_ratio) = ratio(case, "ort"), best(case)
    return ort_ratio / best_ratio if ort_ratio and name != "ort" else None


if __name__ == "__main__":
    main()
