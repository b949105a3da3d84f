"""bench.py: measures ox against ONNX Runtime, numpy or OpenBLAS and, where they were built, rten and tract, on the
table of elementwise models (models.py), of matrix products (products.py), of single layers of networks (layers.py), of
layers and networks of bytes (quantized.py), of products with weights in blocks (nbits.py),
of loops (loops.py), of trees (trees.py) or of whole networks (whole.py).

All of them run in this process and take turns, case by case: ox, ONNX Runtime, numpy, ox, ... Before each turn a copy
fills the caches, so that none finds there what another one read. A turn is one run that is not measured and then as
many as fill two milliseconds. The table is gone through in some rounds, each with models and memory of its own, and
what counts is the median of all turns. The outputs are compared, because a fast wrong answer is none.
"""

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import time

import bars
import contenders
import layers
import loops
import machine
import models
import nbits
import numpy as np
import products
import quantized
import report
import trees
import whole

TURN_NS = 2_000_000
MOST_RUNS = 1 << 20
ROUNDS, TURNS = 3, 7  # what disturbs a machine for some seconds is then seen by a third of a case's turns at most
SPIN_S = 0.04  # idle threads of some peers keep the processors busy for so long, which the next one would pay for
PATIENCE_S, MOVED_S = 300, 0.2  # for processors near each other, in all and at a time
TABLES = {"elementwise": models.CASES, "products": products.CASES, "layers": layers.CASES, "quantized": quantized.CASES,
          "nbits": nbits.CASES, "loops": loops.CASES, "trees": trees.CASES, "models": whole.CASES}


def calibrate(contender):
    """The number of runs that fill a turn, by batches that grow until one does: the first runs alone would tell more of
    the caches than of what follows."""
    count = 1
    while (ns := contender.batch(count)) < TURN_NS and count < MOST_RUNS:
        count = min(MOST_RUNS, 4 * count, max(count + 1, round(count * TURN_NS / max(ns, 1))))
    return count


class Patience:
    """How long a table may still wait for processors near each other, and the turns in which they were not."""

    def __init__(self, seconds):
        self.left_s, self.turns, self.far = seconds, 0, 0


def take_turn(contender, count, settings, patience):
    """Nanoseconds per run. Virtual processors are moved: a turn of two threads counts if they were near each other
    before and after it, and is taken once more if not, while the table has patience."""
    patience.turns += 1
    while True:
        since, near = time.monotonic(), settings.is_near()
        if near or patience.left_s <= 0:
            settings.copy()
            contender.batch(1)
            ns = contender.batch(count) / count
            if settings.threads > 1:
                time.sleep(SPIN_S)
            if near and settings.is_near():
                return ns
            if patience.left_s <= 0:
                patience.far += 1
                return ns
        else:
            time.sleep(MOVED_S)
        patience.left_s -= time.monotonic() - since


def take_turns(present, turns, settings, patience):
    """{name: nanoseconds per run, one for each turn}"""
    counts = {name: calibrate(contender) for name, contender in present.items()}
    times = {name: [] for name in present}
    for _ in range(turns):
        for name, contender in present.items():
            times[name].append(take_turn(contender, counts[name], settings, patience))
    return times


def disagreement(case, ours, theirs):
    """What differs between two outputs, None if they agree. Large ones are sampled."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{list(ours.shape)} is not {theirs.dtype}{list(theirs.shape)}"
    if case.of_largest:
        largest, apart = np.abs(theirs).max(), np.abs(ours - theirs).max()
        return None if apart <= case.of_largest * largest else f"by {apart:.2g}, where the largest is {largest:.2g}"
    step = 17 if ours.size > 1 << 20 else 1
    ours, theirs = (a.reshape(-1)[::step].astype(np.float64) for a in (ours, theirs))
    tolerance = 2e-2 if "16" in case.out[1] else 1e-4
    wrong = np.flatnonzero(~np.isclose(ours, theirs, rtol=tolerance, atol=1 if case.out[1] in ("uint8", "int8") else 1e-5))
    if wrong.size:
        i = wrong[0]
        return f"element {i * step}: {ours[i]} is not {theirs[i]}, and {wrong.size} of {ours.size} differ"
    return None


def disagreements(case, ours, theirs):
    """What differs between two lists of outputs, None if they agree."""
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs are not {len(theirs)}"
    found = [f"output {i}: {text}" for i, text in enumerate(map(disagreement, [case] * len(ours), ours, theirs)) if text]
    return found[0] if found else None


def check_outputs(case, present):
    """Ends the benchmark where ox gives something else than those that are as right as it is; returns {name: what is
    wrong} of the other peers on networks, compared with ONNX Runtime."""
    for name in ("ort", "numpy", "openblas"):
        if "ox" in present and hasattr(present.get(name), "outputs"):
            present[name].batch(1)
            theirs = present[name].outputs()
            problem = disagreements(case, present["ox"].outputs()[:len(theirs)], theirs)
            if problem:
                raise SystemExit(f"{case.name}: ox and {name} disagree: {problem}")
    others = [name for name in bars.OTHERS if name in present and (case.group == "networks" or hasattr(present[name], "outputs"))]
    if not others or "ort" not in present:
        return {}
    wanted = present["ort"].outputs()
    problems = {name: wrong_outputs(case, present[name], wanted) for name in others}
    return {name: problem for name, problem in problems.items() if problem}


def wrong_outputs(case, peer, wanted):
    """What is wrong with the outputs of a peer, None if nothing is. Some peers leave dims of 1 out."""
    if hasattr(peer, "floats"):
        given = [peer.floats(i, array.size) for i, array in enumerate(wanted)]
    else:
        given = [array if array.size == wish.size else None for array, wish in zip(peer.outputs(), wanted)]
    if any(array is None for array in given):
        return "an output of another size"
    return disagreements(case, [a.reshape(wish.shape) for a, wish in zip(given, wanted)], wanted)


def measure(settings, case, turns, patience):
    """The times of one round, and all else that is known of the case."""
    inputs = case.arrays()
    present, missing = contenders.make(settings, case, case.model(inputs), inputs)
    try:
        wrong = check_outputs(case, present)
        times = take_turns(present, turns, settings, patience)
    finally:
        for contender in present.values():
            contender.close()
    written = case.output_array().nbytes
    return times, {"name": case.name, "group": case.group, "bytes": sum(a.nbytes for a in inputs) + written,
                   "out_bytes": written, "work": case.work, "missing": missing, "wrong": wrong}


def summarize(rounds):
    """The record of a case: the turns of all its rounds, as if of one."""
    result = rounds[0][1]
    times = {name: sorted(ns for times, _ in rounds for ns in times[name]) for name in rounds[0][0]}
    for key, share in [("median_ns", 0.5), ("p10_ns", 0.1), ("p90_ns", 0.9)]:
        result[key] = {name: values[int(share * (len(values) - 1) + 0.5)] for name, values in times.items()}
    return result


def measure_start(arguments, model_dir):
    """Whole processes: the command on the smallest model, beside the smallest command there is."""
    if not (arguments.ox and arguments.start):
        return None
    case = next(c for c in models.CASES if c.group == "tiny")
    path = os.path.join(model_dir, "tiny.onnx")
    with open(path, "wb") as file:
        file.write(case.model([]))
    ox = [arguments.ox, "run", path, "--quiet"] + [w for name, _, _ in case.inputs for w in ("-i", f"{name}=[1]")]
    commands, result = {"ox run": ox, "true": ["/bin/true"]}, {}
    for name, command in commands.items():
        words = subprocess.run([arguments.start, "200", *command], check=True, capture_output=True, text=True).stdout
        ns, peak = words.split()
        result[name] = {"median_ns": int(ns), "peak_bytes": int(peak)}
    return result


def parse_arguments():
    parser = argparse.ArgumentParser(description="ox against its peers, case by case")
    parser.add_argument("--threads", type=int, default=1, choices=[1, 2], help="threads of every contender")
    parser.add_argument("--table", default="elementwise", choices=TABLES, help="which cases")
    parser.add_argument("--filter", default="", metavar="RE", help="only cases whose name or group matches")
    parser.add_argument("--quick", action="store_true",
                        help=f"one round of 5 turns instead of {ROUNDS} of {TURNS}: for a look, not for a record")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured")
    parser.add_argument("--timer", default="build/bench/timer.so", help="the library built from timer.c")
    parser.add_argument("--peers", help="the library built from tests/bench/peers")
    parser.add_argument("--packages", action="store_true", help="OpenVINO and MNN, too, where they are installed")
    parser.add_argument("--ggml", help="libggml.so, built by tests/bench/peers/ggml.sh")
    parser.add_argument("--start", help="the program built from start.c, to time whole processes")
    parser.add_argument("--ox", help="the command that --start runs")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    wanted = [c for c in TABLES[arguments.table] if re.search(arguments.filter, f"{c.group}: {c.name}")]
    if not wanted:
        sys.exit("no case matches" if TABLES[arguments.table] else "no network has been fetched: make models")
    if arguments.list:
        print("\n".join(f"{c.group}: {c.name}" for c in wanted))
        return
    settings = contenders.Settings(arguments)
    settings.model_dir = os.path.dirname(os.path.abspath(arguments.timer))
    rounds, turns = (1, 5) if arguments.quick else (ROUNDS, TURNS)
    record = {"table": arguments.table, "machine": machine.describe(), "versions": machine.versions(settings),
              "threads": arguments.threads, "rounds": rounds, "turns": turns, "cases": []}
    print(report.heading(record))
    measured, patience = {case.name: [] for case in wanted}, Patience(0 if arguments.quick else PATIENCE_S)
    for left in reversed(range(rounds)):
        for case in wanted:
            measured[case.name].append(measure(settings, case, turns, patience))
            gc.collect()
            if not left:
                record["cases"].append(summarize(measured[case.name]))
                print(report.row(record, record["cases"][-1]), flush=True)
    record["turns_taken"], record["turns_far"] = patience.turns, patience.far
    record["start"] = measure_start(arguments, settings.model_dir) if arguments.table == "elementwise" else None
    print(report.summary(record))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
