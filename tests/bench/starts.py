"""starts.py: what it takes to start with each of the networks of whole.py, in time and in memory, beside ONNX Runtime.

Every measurement is a process of its own, and the two libraries take turns. Both load the model from its file, which is
in the system's cache by then. Memory of ox is the most that a whole process of `ox bench` holds; that of ONNX Runtime is
what a session and its run add to a process that has imported it and holds the inputs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import machine
import numpy as np
import report
import texts

PROCESSES, RUNS = 5, 5
TOUCHED_BYTES = 2 << 30  # more than any of the processes takes
LOOK_S = 0.005


def timed(function):
    start = time.perf_counter_ns()
    result = function()
    return time.perf_counter_ns() - start, result


def memory(key, process="self"):
    """A line of a process's status in bytes: VmRSS now, VmHWM at most."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(key + ":"))


def probe_ox(path, inputs):
    import arrays
    import oxlib
    names = {dtype: name for name, (_, dtype) in arrays.DTYPES.items()}
    load, model = timed(lambda: oxlib.ModelFile(path))
    session = oxlib.Session(model)
    for i, array in enumerate(inputs.values()):
        session.set_input(i, arrays.to_tensor(array, names[array.dtype]))
    prepare, _ = timed(session.prepare)
    first, _ = timed(session.run)
    return {"load": load, "prepare": prepare, "first": first, "run": min(timed(session.run)[0] for _ in range(RUNS))}


def probe_ort(path, inputs):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    before = memory("VmRSS")
    session, made = timed(lambda: ort.InferenceSession(path, options, ["CPUExecutionProvider"]))
    first, _ = timed(lambda: made.run(None, inputs))
    added = memory("VmHWM") - before
    return {"session": session, "first": first, "run": min(timed(lambda: made.run(None, inputs))[0] for _ in range(RUNS)),
            "bytes": added}


def probe(engine, path, inputs):
    """What one process measures; this script calls itself for that."""
    with np.load(inputs) as file:
        given = dict(file)
    print(json.dumps({"ox": probe_ox, "ort": probe_ort}[engine](path, given)))


def touch_pages():
    """The host of a virtual machine takes pages back that have been free for some time, and needs a while to give them
    again: the next process finds them there."""
    np.empty(TOUCHED_BYTES, np.uint8)[::4096] = 1


def run_probe(engine, path, inputs):
    touch_pages()
    done = subprocess.run([sys.executable, __file__, "--probe", engine, path, inputs], check=True, capture_output=True,
                          text=True)
    return json.loads(done.stdout)


def bench_bytes(arguments, path, inputs):
    """The most that `ox bench` holds, as far as can be seen while it runs; what it starts is not counted."""
    words = [word for name, file in inputs.items() for word in ("-i", f"{name}={file}")]
    peak = 0
    with subprocess.Popen([arguments.ox, "bench", path, *words], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                peak = max(peak, memory("VmHWM", process.pid))
            except (OSError, StopIteration):  # it is about to end
                pass
            time.sleep(LOOK_S)
    if process.returncode:
        raise SystemExit(f"ox bench {path} failed")
    return peak


def middle(probes):
    """The median of each number of some probes."""
    return {key: statistics.median(p[key] for p in probes) for key in probes[0]}


def measure(arguments, network):
    folder = arguments.folder
    path, packed = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.npz")
    with open(path, "wb") as file:
        file.write(network.model())
    arrays = network.sizes[0]()
    np.savez(packed, **arrays)
    files = {name: os.path.join(folder, f"input{i}.npy") for i, name in enumerate(arrays)}
    for name, file in files.items():
        np.save(file, arrays[name])
    turns = [{engine: run_probe(engine, path, packed) for engine in ("ox", "ort")} for _ in range(arguments.processes)]
    result = {"name": network.name} | {engine: middle([turn[engine] for turn in turns]) for engine in ("ox", "ort")}
    result["ox"]["bytes"] = bench_bytes(arguments, path, files)
    for file in (path, packed, *files.values()):
        os.remove(file)
    return result


def times_faster(case):
    """How many times longer ONNX Runtime takes to create a session than ox to load and prepare."""
    return case["ort"]["session"] / (case["ox"]["load"] + case["ox"]["prepare"])


def runs_to_prepare(case):
    return case["ox"]["prepare"] / case["ox"]["run"]


def share_of_bytes(case):
    return case["ox"]["bytes"] / case["ort"]["bytes"]


TITLES = ["network", "load ms", "prepare ms", "first run ms", "run ms", "ORT session ms", "session/ox", "MB", "ORT MB", "ox/ORT"]


def cells(case):
    ox, ort = case["ox"], case["ort"]
    return [case["name"], *(report.number(ns / 1e6) for ns in (ox["load"], ox["prepare"], ox["first"], ox["run"],
                                                              ort["session"])),
            report.number(times_faster(case)), report.number(ox["bytes"] / 1e6, 1), report.number(ort["bytes"] / 1e6, 1),
            report.number(share_of_bytes(case))]


def judge(record):
    """[(met, text)]"""
    found = []
    for title, value, kept in (
            ("loading and preparing at least 3 times faster than ONNX Runtime's session", times_faster, lambda v: v >= 3),
            ("preparing no longer than three runs", runs_to_prepare, lambda v: v <= 3),
            ("memory of `ox bench` at most 0.7 of what ONNX Runtime adds", share_of_bytes, lambda v: v <= 0.7)):
        missed = [f"{case['name']} ({value(case):.2f})" for case in record["cases"] if not kept(value(case))]
        found.append((not missed, title + (f": {'; '.join(missed)}" if missed else "")))
    return found


def section(record, command):
    goals = "\n".join(f"- {'met' if met else '**not met**'}: {text}" for met, text in judge(record))
    return "\n\n".join([texts.facts(record, command, f"medians of {record['processes']} processes"),
                        report.markdown_table(TITLES, map(cells, record["cases"])), f"Goals:\n\n{goals}"]) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description="starting with networks, beside ONNX Runtime")
    parser.add_argument("--probe", nargs=3, metavar=("ENGINE", "MODEL", "INPUTS"), help="measure one process: this one")
    parser.add_argument("--filter", default="", metavar="WORD", help="only networks whose name has that in it")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="how many of each library, for each network")
    parser.add_argument("--folder", default="build/bench/starts", help="where models are written")
    parser.add_argument("--ox", default="build/ox", help="the command")
    parser.add_argument("--page", help="the page whose section is replaced")
    parser.add_argument("--command", default="make bench", help="how the page says it was made")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.probe:
        probe(*arguments.probe)
        return
    import networks
    os.makedirs(arguments.folder, exist_ok=True)
    record = {"table": "starts", "machine": machine.describe(), "versions": machine.versions(None),
              "processes": arguments.processes, "cases": []}
    print("".join(title.rjust(15) for title in TITLES))
    for network in networks.NETWORKS:
        if network.path() and arguments.filter in network.name:
            record["cases"].append(measure(arguments, network))
            print("".join(cell.rjust(15) for cell in cells(record["cases"][-1])), flush=True)
    print("\n".join(f"{'met' if met else 'NOT MET':8}{text}" for met, text in judge(record)))
    if arguments.page:
        page = report.read(arguments.page) if os.path.exists(arguments.page) else texts.HEAD
        with open(arguments.page, "w") as file:
            file.write(report.replace_section(page, section(record, arguments.command)))


if __name__ == "__main__":
    main()
