"""bars.py: what ox wants to reach on one thread, judged on a record of bench.py."""

import math
import re

TIE = 0.95
NOT_ELEMENTWISE = ("tiny", "LayerNorm")
COPY_BYTES = 2 * (64 << 20)

# (group, times faster than ONNX Runtime in the geometric mean)
GROUPS = [("chain", 4.5), ("inner 3", 8), ("middle", 2.5), ("float16", 4), ("where", 1.6), ("pow same", 6),
          ("LayerNorm", 1.8), ("tiny", 15)]
STREAMED = r"add (same 4096x4096|row|column|scalar)"
STREAMED_SHARE = 1.1


def over_ort(cases):
    ratios = [c["median_ns"]["ort"] / c["median_ns"]["ox"] for c in cases if {"ort", "ox"} <= c["median_ns"].keys()]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def slower_cases(record):
    result = []
    for case in record["cases"]:
        peers = [ns for name, ns in case["median_ns"].items() if name not in ("ox", "memcpy", "memset")]
        if "ox" not in case["median_ns"] or (peers and min(peers) / case["median_ns"]["ox"] < TIE):
            result.append(case["name"])
    return result


def at_least(name, reached, wanted):
    return reached is not None and reached >= wanted, f"{name}: at least {wanted}, reached " + (
        "nothing" if reached is None else f"{reached:.2f}")


def shares(record, pattern, yardstick, work):
    """(name, ox's bytes per second divided by the yardstick's) of the cases that match; work(case) is the bytes that
    each of the two moved."""
    for case in record["cases"]:
        times = case["median_ns"]
        if re.fullmatch(pattern, case["name"]) and {"ox", yardstick} <= times.keys():
            ours, theirs = work(case)
            yield case["name"], ours / times["ox"] / (theirs / times[yardstick])


def judge(record):
    """[(met, text)]; goals whose cases were not measured are left out."""
    slower = slower_cases(record)
    found = [(not slower, "no case slower than the fastest peer" + (f": {', '.join(slower)}" if slower else ""))]
    elementwise = [c for c in record["cases"] if c["group"] not in NOT_ELEMENTWISE]
    if elementwise:
        found.append(at_least("all elementwise over ONNX Runtime", over_ort(elementwise), 2.5))
    for group, wanted in GROUPS:
        cases = [c for c in record["cases"] if c["group"] == group]
        if cases:
            found.append(at_least(f"{group} over ONNX Runtime", over_ort(cases), wanted))
    for name, reached in shares(record, STREAMED, "memcpy", lambda case: (case["bytes"], COPY_BYTES)):
        found.append(at_least(f"{name}, share of memcpy", reached, STREAMED_SHARE))
    for name, reached in shares(record, "expand.*", "memset", lambda case: (case["out_bytes"],) * 2):
        found.append(at_least(f"{name}, share of memset", reached, 1.0))
    return found + judge_start(record.get("start"))


def judge_start(start):
    if not start:
        return []
    times = start["ox run"]["median_ns"] / start["true"]["median_ns"]
    peak = start["ox run"]["peak_bytes"] / 1e6
    return [(times <= 2, f"`ox run` on [1]+[1]: at most 2 times /bin/true, took {times:.2f}"),
            (peak <= 3, f"`ox run` on [1]+[1]: at most 3 MB, took {peak:.1f}")]
