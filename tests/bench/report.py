"""report.py: the numbers of bench.py as lines for a terminal and, run by itself on its JSON files, as sections of
a page and as plots beside it."""

import argparse
import json
import math
import os
import re

import bars
import plot
import texts

LABELS = {"ort": "ORT", "numpy": "numpy", "openblas": "OpenBLAS", "openvino": "OpenVINO", "mnn": "MNN", "rten": "rten",
          "tract": "tract", "ggml": "ggml", "one": "one thread"}
WIDE = ("openblas", "one", *bars.OTHERS)
TOLD = ("models", "quantized")  # tables that say what peers lack
COPY_BYTES = 2 * (64 << 20)  # read and written
PEAK_WORK = 1 << 25  # multiply-adds of each thread


def ratio(case, name):
    """How many times longer a contender takes than ox; None where one of them is missing."""
    times = case["median_ns"]
    return times[name] / times["ox"] if name in times and "ox" in times else None


class Elementwise:
    """What is said of elementwise cases."""

    peers = ["ort", "numpy", "rten", "tract"]
    titles = ["GB/s", "of memcpy"]
    every, left_out = "all elementwise", bars.NOT_ELEMENTWISE

    @staticmethod
    def speeds(case, threads):
        """Bytes per nanosecond, which is GB/s, and their share of a copy's."""
        speed = case["bytes"] / case["median_ns"]["ox"]
        return number(speed, 1), number(speed / (COPY_BYTES / case["median_ns"]["memcpy"]))

    @staticmethod
    def yardsticks(record):
        copies = sorted(COPY_BYTES / case["median_ns"]["memcpy"] for case in record["cases"])
        return f"memcpy of 64 MiB: {spread(copies, 1)} GB/s read and written"


class Products:
    """What is said of matrix products."""

    peers = ["ort", "openblas", "rten", "tract"]
    titles = ["GFLOP/s", "of peak"]
    every, left_out = "all float32", bars.NOT_FLOAT

    @staticmethod
    def speeds(case, threads):
        """Operations per nanosecond, two for each multiplication, and their share of the peak of all threads."""
        speed, peak = (work / case["median_ns"][name] for name, work in
                       (("ox", case["work"]), ("peak", PEAK_WORK * threads)))
        return number(2 * speed, 1), number(speed / peak)

    @staticmethod
    def yardsticks(record):
        work = 2 * PEAK_WORK * record["threads"]
        peaks = sorted(work / c["median_ns"]["peak"] for c in record["cases"] if c["group"] != "double")
        reads = sorted(COPY_BYTES / 2 / c["median_ns"]["read"] for c in record["cases"] if "read" in c["median_ns"])
        return f"Peak of float32: {spread(peaks, 0)} GFLOP/s" + (
            f"; one thread reads 64 MiB at {spread(reads, 1)} GB/s" if reads else "")


class Layers:
    """What is said of single layers of networks."""

    peers = ["ort"]
    titles = ["GFLOP/s", "GB/s"]
    every, left_out = "all layers", ()

    @staticmethod
    def speeds(case, threads):
        """Operations per nanosecond, where there are multiplications, and bytes per nanosecond."""
        ns = case["median_ns"]["ox"]
        return number(2 * case["work"] / ns if case["work"] else None, 1), number(case["bytes"] / ns, 1)

    @staticmethod
    def yardsticks(record):
        peaks = sorted(2 * PEAK_WORK * record["threads"] / c["median_ns"]["peak"] for c in record["cases"]
                       if "peak" in c["median_ns"])
        return f"Peak of float32: {spread(peaks, 0)} GFLOP/s" if peaks else ""


class Quantized(Layers):
    """What is said of layers and networks of bytes."""

    peers = ["ort", "openvino"]
    titles = ["GOP/s", "GB/s"]
    every = "all of bytes"


class Blocks(Layers):
    """What is said of products with weights in blocks."""

    peers = ["ort", "ggml"]
    titles = ["GOP/s"]
    every = "all with weights in blocks"

    @staticmethod
    def speeds(case, threads):
        return (number(2 * case["work"] / case["median_ns"]["ox"], 1),)


class Loops:
    """What is said of loops."""

    peers = ["ort"]
    titles = []
    every, left_out = "all loops", ()

    @staticmethod
    def speeds(case, threads):
        return ()

    @staticmethod
    def yardsticks(record):
        return Elementwise.yardsticks(record)


class Trees(Loops):
    """What is said of trees."""

    every = "all trees"


class Whole(Loops):
    """What is said of whole networks."""

    peers = ["ort", "openvino", "mnn", "rten", "tract"]
    every = "all networks"


TABLES = {"elementwise": Elementwise, "products": Products, "layers": Layers, "quantized": Quantized,
          "nbits": Blocks, "loops": Loops, "trees": Trees, "models": Whole}


def table_of(record):
    return TABLES[record["table"]]


def spread(values, digits):
    """The middle one of sorted values, then the first and the last."""
    middle, low, high = (number(v, digits) for v in (values[len(values) // 2], values[0], values[-1]))
    return f"{middle} ({low} to {high})"


def peers_of(record):
    """The peers of the table, without those that only PEERS=1 brings where it did not."""
    return [p for p in table_of(record).peers if bars.OTHERS.get(p, "ox") in record["versions"]]


def compared(record):
    """All whose times are given as a ratio: the peers and, of networks on many threads, ox on one."""
    return peers_of(record) + (["one"] if record["table"] == "models" and record["threads"] > 1 else [])


def best(case, peers):
    """(name, ratio) of the fastest peer whose outputs are right."""
    known = [(ratio(case, name), name) for name in peers if ratio(case, name) and name not in case.get("wrong", {})]
    if not known:
        return None, None
    value, name = min(known)
    return name, value


def number(value, digits=2):
    return "-" if value is None else f"{value:,.{digits}f}"


def microseconds(case, name):
    ns = case["median_ns"].get(name)
    return "-" if ns is None else number(ns / 1e3, 2 if ns < 1e5 else 0)


def columns(record, case):
    table = table_of(record)
    name, value = best(case, table.peers)
    slower = " slower" if value is not None and value < bars.TIE else ""
    speeds = table.speeds(case, record["threads"]) if "ox" in case["median_ns"] else ["-"] * len(table.titles)
    return [case["name"], microseconds(case, "ox"), microseconds(case, "ort"),
            *(number(ratio(case, p)) + (" wrong" if p in case.get("wrong", {}) else "") for p in compared(record)),
            f"{number(value)} {LABELS.get(name, '')}{slower}".strip(), *speeds]


def titles(record):
    table = table_of(record)
    return ["case", "ox us", "ORT us", *(f"{LABELS[p]}/ox" for p in compared(record)), "best/ox", *table.titles]


def line(record, cells):
    """The cells of a row in columns that are wide enough."""
    first, *rest = cells
    widths = [10, 10, *[14 if peer in WIDE else 9 for peer in compared(record)], 22, 9, 10]
    return first.ljust(44) + "".join(cell.rjust(width) for cell, width in zip(rest, widths))


def heading(record):
    threads = record["threads"]
    return f"{threads} thread{'s' if threads > 1 else ''}; x/ox: above 1, ox is faster\n" + line(
        record, titles(record))


def row(record, case):
    told = ("ox", *peers_of(record)) if record["table"] in TOLD else ("ox",)
    reasons = [(name, why) for kind in ("missing", "wrong") for name, why in case.get(kind, {}).items() if name in told]
    return line(record, columns(record, case)) + "".join(f"\n    {name}: {why}" for name, why in reasons)


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def group_rows(record):
    """[(group, number of cases, mean of ORT/ox, mean of best/ox)], the mean of nearly all last."""
    table, groups = table_of(record), {}
    for case in record["cases"]:
        groups.setdefault(case["group"], []).append(case)
    counted = [c for c in record["cases"] if c["group"] not in table.left_out]
    return [(name, len(cases), geometric_mean(ratio(c, "ort") for c in cases),
             geometric_mean(best(c, table.peers)[1] for c in cases))
            for name, cases in [*groups.items(), (table.every, counted)]]


def start_text(record):
    start = record.get("start")
    if not start:
        return ""
    ox, true = (f"{start[name]['median_ns'] / 1e6:.2f} ms and {start[name]['peak_bytes'] / 1e6:.1f} MB"
                for name in ("ox run", "true"))
    return f"A whole process, `ox run` on [1]+[1]: {ox}; `/bin/true`: {true}"


def summary(record):
    heads = "geometric means, times faster than".ljust(36) + "cases".rjust(8) + "ORT".rjust(8) + "best".rjust(8)
    far = far_text(record) if record["threads"] > 1 else ""
    lines = ["", far, table_of(record).yardsticks(record), start_text(record), "", heads]
    for name, count, ort_mean, best_mean in group_rows(record):
        lines.append(name.ljust(36) + f"{count}".rjust(8) + number(ort_mean).rjust(8) + number(best_mean).rjust(8))
    if record["threads"] == 1:
        lines += ["", "goals"] + [f"{'met' if met else 'NOT MET':8}{text}" for met, text in bars.judge(record)]
    return "\n".join(lines)


def markdown_table(titles, rows):
    align = ["---"] + ["---:"] * (len(titles) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [titles, align, *rows])


def far_text(record):
    """The turns of two threads that count."""
    far = record["turns_far"]
    return (f"A turn counts if, before and after it, a cache line went to the other processor and back in less than "
            f"{bars.NEAR_NS} ns, as where both share a cache" +
            (f"; {far} of {record['turns_taken']} turns could not wait for that." if far else "."))


def markdown_record(record, one):
    """A record as a subsection; `one` is that of one thread."""
    threads = record["threads"]
    parts = [f"### {'One thread' if threads == 1 else f'{threads} threads'}"]
    if threads > 1 and "tract" in record["versions"] and record["table"] == "elementwise":
        parts.append("tract computes these operators on one thread whatever it is given.")
    if threads > 1:
        parts.append(far_text(record))
    if table_of(record).yardsticks(record):
        parts.append(table_of(record).yardsticks(record) + ".")
    parts.append(markdown_table([t.replace(" us", " µs") for t in titles(record)],
                                [columns(record, c) for c in record["cases"]]))
    told = peers_of(record) if record["table"] in TOLD else ("ort",)
    for title, kind in (("Missing", "missing"), ("Wrong, and so never the fastest", "wrong")):
        lacking = [f"- {c['name']}, {LABELS.get(n, n)}: {why}" for c in record["cases"]
                   for n, why in c.get(kind, {}).items() if n in ("ox", *told)]
        if lacking:
            parts.append(f"{title}:\n\n" + "\n".join(lacking))
    parts.append(markdown_table(["geometric means", "cases", "ORT/ox", "best/ox"],
                                [[n, str(k), number(a), number(b)] for n, k, a, b in group_rows(record)]))
    goals = bars.judge(record) if threads == 1 else bars.judge_threads(one, record)
    if goals:
        parts.append("Goals:\n\n" + "\n".join(f"- {'met' if met else '**not met**'}: {t}" for met, t in goals))
    return "\n\n".join(parts)


def markdown_section(records, command, plot_name):
    """All records of one table."""
    first = records[0]
    start = start_text(first)
    top = texts.section(first, command, plot_name)
    return "\n\n".join([top, *([start + "."] if start else []), *(markdown_record(r, first) for r in records)]) + "\n"


def replace_section(page, section):
    """The page with a section in place of the one of the same title, or behind all others."""
    title = section.split("\n", 1)[0]
    parts = re.split(r"(?m)^(?=## )", page)
    places = [i for i, part in enumerate(parts) if part.startswith(title + "\n")]
    if places:
        parts[places[0]] = section
    else:
        parts.append(section)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def read(path):
    with open(path) as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description="a section of a page from JSON files of bench.py")
    parser.add_argument("records", nargs="+", help="JSON files of one table; the plot shows the first")
    parser.add_argument("--command", default="make bench", help="how the page says it was made")
    parser.add_argument("--page", required=True, help="the page, whose other sections stay; a plot lies beside it")
    arguments = parser.parse_args()
    records = [json.loads(read(path)) for path in arguments.records]
    table = records[0]["table"]
    picture = f"{os.path.splitext(arguments.page)[0]}-{table}.svg"
    page = read(arguments.page) if os.path.exists(arguments.page) else texts.HEAD
    with open(arguments.page, "w") as file:
        file.write(replace_section(page, markdown_section(records, arguments.command, os.path.basename(picture))))
    peers = TABLES[table].peers
    with open(picture, "w") as file:
        file.write(plot.draw([(c["name"], c["group"], ratio(c, "ort"), ratio_to_ort(c, peers))
                              for c in records[0]["cases"]]))


def ratio_to_ort(case, peers):
    """How many times faster than ONNX Runtime the fastest peer is."""
    ort_ratio, (name, best_ratio) = ratio(case, "ort"), best(case, peers)
    return ort_ratio / best_ratio if ort_ratio and name != "ort" else None


if __name__ == "__main__":
    main()
