"""bars.py: what ox wants to reach, judged on records of bench.py."""

import math
import re

TIE = 0.95
NEARLY = 0.85
LONG_NS = 1e7  # of a network that two threads have to make faster
NEAR_NS = 150  # in which a cache line goes to another processor and back, where both share a cache
NOT_ELEMENTWISE = ("tiny", "LayerNorm", "transpose")
NOT_FLOAT = ("double", "float16", "bfloat16", "int32", "int8")
# What PEERS=1 brings, and the names of its versions.
OTHERS = {"openvino": "OpenVINO", "mnn": "MNN", "rten": "rten", "tract": "tract", "ggml": "ggml"}
YARDSTICKS = ("memcpy", "memset", "peak", "read", "one")  # not peers; the last is ox on one thread
COPY_BYTES = 2 * (64 << 20)
PEAK_WORK = 1 << 25

# (group, times faster than ONNX Runtime in the geometric mean)
GROUPS = [("chain", 4.5), ("inner 3", 8), ("middle", 2.5), ("float16", 4), ("where", 1.6), ("pow same", 6),
          ("LayerNorm", 1.8), ("tiny", 15)]
STREAMED = r"add (same 4096x4096|row|column|scalar)"
STREAMED_SHARE = 1.1


def over_ort(cases):
    return geometric_mean([c["median_ns"]["ort"] / c["median_ns"]["ox"] for c in cases
                           if {"ort", "ox"} <= c["median_ns"].keys()])


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios and min(ratios) > 0 else None


def slower_cases(record):
    result = []
    for case in record["cases"]:
        peers = [ns for name, ns in case["median_ns"].items() if name not in ("ox", *YARDSTICKS)]
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
    """[(met, text)] of a record of one thread; goals whose cases were not measured are left out."""
    judges = {"products": judge_products, "elementwise": judge_elementwise, "layers": judge_layers,
              "quantized": judge_quantized, "nbits": judge_blocks, "loops": judge_loops, "trees": judge_trees, "models": judge_networks}
    return judges[record["table"]](record)


def judge_elementwise(record):
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


def judge_slowest(record, wanted):
    """That no case reaches less than a share of ONNX Runtime's speed."""
    slower = [f"{c['name']} ({over_ort([c]):.2f})" for c in record["cases"] if over_ort([c]) and over_ort([c]) < wanted]
    slower += [f"{c['name']} (missing)" for c in record["cases"] if "ox" not in c["median_ns"]]
    return not slower, f"none below {wanted} of ONNX Runtime's speed" + (f": {'; '.join(slower)}" if slower else "")


def judge_loops(record):
    return [judge_slowest(record, 0.95)] + [at_least(f"{c['name']} over ONNX Runtime", over_ort([c]), 5)
                                           for c in record["cases"] if c["group"] == "rounds" and over_ort([c])]


def judge_blocks(record):
    rows = [c for c in record["cases"] if c["group"] == "1 row" and "ggml" in c["median_ns"] and over_fastest(c)]
    slower = [f"{c['name']} ({reached:.2f})" for c in rows if (reached := c["median_ns"]["ggml"] / c["median_ns"]["ox"]) < TIE]
    return [judge_slowest(record, TIE)] + ([(not slower, f"one row: none below {TIE} of ggml's speed" + (
        f": {'; '.join(slower)}" if slower else ""))] if rows else [])


def judge_trees(record):
    return [judge_slowest(record, TIE)]


def judge_layers(record):
    return [judge_slowest(record, 0.8), at_least("all layers over ONNX Runtime", over_ort(record["cases"]), 1.15)]


def judge_quantized(record):
    times = {c["name"]: c["median_ns"]["ox"] for c in record["cases"] if "ox" in c["median_ns"]}
    found = [judge_slowest(record, TIE), at_least("all over ONNX Runtime", over_ort(record["cases"]), 1.3)]
    for name in (n for n in times if n.endswith(", QDQ u8s8")):
        floats = name.replace("QDQ u8s8", "float")
        if floats in times:
            found.append(at_least(f"{name} over float", times[floats] / times[name], 1.8))
    if OTHERS["openvino"] in record["versions"]:
        reached = [ratio for c in record["cases"] if (ratio := over_fastest(c))]
        found.append(at_least("all over the fastest peer", geometric_mean(reached), 1.1))
    return found


def over_fastest(case):
    """How many times longer the fastest right peer takes than ox, None where one of them is missing."""
    times = case["median_ns"]
    peers = [ns for name, ns in times.items() if name not in ("ox", *YARDSTICKS) and name not in case.get("wrong", {})]
    return min(peers) / times["ox"] if peers and "ox" in times else None


def judge_networks(record):
    """Over ONNX Runtime always, over the fastest peer where there are others."""
    found = [at_least("all networks over ONNX Runtime", over_ort(record["cases"]), 1.4)]
    found += [at_least(f"{c['name']} over ONNX Runtime", over_ort([c]), 1.8) for c in record["cases"]
              if c["name"] == "vgg19"]
    if "rten" not in record["versions"]:
        return found
    reached = {c["name"]: over_fastest(c) or 0 for c in record["cases"]}
    behind = [f"{name} ({value:.2f})" for name, value in reached.items() if value < TIE]
    allowed = len(behind) <= 2 and min(reached.values()) >= NEARLY
    found.append((allowed, f"each as fast as the fastest peer, but for two down to {NEARLY}"
                  + (f": {'; '.join(behind)}" if behind else "")))
    found.append(at_least("all networks over the fastest peer", geometric_mean(list(reached.values())), 1.1))
    return found


def judge_products(record):
    floats = [c for c in record["cases"] if c["group"] not in NOT_FLOAT and over_ort([c])]
    slower = [c["name"] for c in floats if over_ort([c]) < TIE]
    found = [(not slower, f"no float32 case below {TIE} of ONNX Runtime's speed" + (
        f": {'; '.join(slower)}" if slower else ""))]
    if floats:
        found.append(at_least("float32 over ONNX Runtime", over_ort(floats), 1.05))
    for case in (c for c in floats if c["group"] == "small"):
        found.append(at_least(f"{case['name']} over ONNX Runtime", over_ort([case]), 1.3))
    for name, reached in shares(record, "1024x1024x1024", "peak", lambda case: (case["work"], PEAK_WORK)):
        found.append(at_least(f"{name}, share of the peak", reached, 0.85))
    for name, reached in shares(record, "1x4096x4096.*", "read", lambda case: (case["bytes"], COPY_BYTES / 2)):
        found.append(at_least(f"{name}, share of the bandwidth of reading", reached, 0.9))
    times = {c["name"]: c["median_ns"]["ox"] for c in record["cases"] if "ox" in c["median_ns"]}
    for name in (n for n in times if n.endswith("int8 1024x1024x1024") and "1024x1024x1024" in times):
        found.append(at_least(f"{name} over float32", times["1024x1024x1024"] / times[name], 2.5))
    return found


def judge_threads(one, two):
    """[(met, text)] of records of one thread and of two; networks were run on one in the turns of two."""
    if two["table"] == "models":
        times = [(c["name"], c["median_ns"]) for c in two["cases"] if {"ox", "one"} <= c["median_ns"].keys()]
        slow = [f"{name} ({ns['one'] / ns['ox']:.2f})" for name, ns in times
                if ns["one"] >= LONG_NS and ns["one"] / ns["ox"] < 1.7]
        return [(not slow, "networks above 10 ms at least 1.7 times one thread" + (f": {'; '.join(slow)}" if slow else ""))]
    times = {c["name"]: c["median_ns"]["ox"] for c in one["cases"] if "ox" in c["median_ns"]}
    return [at_least(f"{name}, times one thread", times[name] / c["median_ns"]["ox"], 1.8) for c in two["cases"]
            if (name := c["name"]) in times and "ox" in c["median_ns"] and name == "1024x1024x1024"]
