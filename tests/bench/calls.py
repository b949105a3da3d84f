"""calls.py: what a call from Python costs, and importing the package with loading a model, in oxrt and ONNX Runtime. The
model is one Add over [1]. Then what calls with large outputs cost beside the C library: an Add that gives 10 MB. All take
turns, in one process for calls and in a new one each time for imports; the shortest turn counts, which other programs on
the machine disturb least. Says whether the bars of docs/python.md are met."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import arrays
import numpy as np
import onnx
import onnxruntime
import oxlib
import oxrt
from onnx import helper

LARGE = 2621440  # floats: 10 MB
LARGEST_LARGE = 1.1
LARGEST_SHARES = {"call": 1 / 2, "session": 1 / 2, "import and load": 1 / 5}
IMPORTS = {"oxrt": "import oxrt; oxrt.Model({path!r})",
           "onnxruntime": "import onnxruntime; onnxruntime.InferenceSession({path!r}, providers=['CPUExecutionProvider'])"}
TIMED = "import time; begin = time.perf_counter(); {work}; print(time.perf_counter() - begin)"


def write_model(path, count=1):
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [count]) for name in "aby"]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "add", infos[:2], infos[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def session_of(package, path):
    options = package.SessionOptions()
    options.intra_op_num_threads = 1
    return package.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def seconds_of_calls(path, turns, count):
    """{who: seconds of a call}."""
    feed = {"a": np.float32([1]), "b": np.float32([2])}
    model, ours, theirs = oxrt.Model(path), session_of(oxrt, path), session_of(onnxruntime, path)
    calls = {"call": lambda: model(feed["a"], feed["b"]), "session": lambda: ours.run(None, feed),
             "onnxruntime": lambda: theirs.run(None, feed)}
    return seconds_in_turns(calls, turns, count)


def seconds_of_large_calls(path, turns, count):
    """The same of calls that give LARGE elements each; "C" runs a session of libox.so."""
    a, b = (np.full(LARGE, value, np.float32) for value in (1, 2))
    model, ours, theirs = oxrt.Model(path), session_of(oxrt, path), session_of(onnxruntime, path)
    session, into = oxlib.Session(oxlib.Model(open(path, "rb").read())), oxrt.empty(LARGE)
    for i, array in enumerate((a, b)):
        session.set_input(i, arrays.to_tensor(array, "float"))
    calls = {"C": session.run, "a call that gives 10 MB": lambda: model(a, b),
             "run_into of 10 MB": lambda: model.run_into({"a": a, "b": b}, {"y": into}),
             "a run of a session that gives 10 MB": lambda: ours.run(None, {"a": a, "b": b}),
             "onnxruntime": lambda: theirs.run(None, {"a": a, "b": b})}
    return seconds_in_turns(calls, turns, count)


def seconds_in_turns(calls, turns, count):
    """{name: seconds}, the shortest of the turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            call()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            best[name] = min(best[name], (time.perf_counter() - begin) / count)
    return best


def seconds_of_imports(path, turns):
    """{package: seconds from the import to a model that is loaded}, the shortest of the turns."""
    best = dict.fromkeys(IMPORTS, float("inf"))
    for _ in range(turns):
        for name, work in IMPORTS.items():
            run = subprocess.run([sys.executable, "-c", TIMED.format(work=work.format(path=path))], capture_output=True,
                                 text=True, check=True)
            best[name] = min(best[name], float(run.stdout))
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--calls", type=int, default=5000, help="in a turn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "add.onnx")
        write_model(path)
        calls, imports = seconds_of_calls(path, arguments.turns, arguments.calls), seconds_of_imports(path, arguments.turns)
        write_model(path, LARGE)
        large = seconds_of_large_calls(path, arguments.turns, count=10)
    rows = [("call", calls["call"], calls["onnxruntime"]), ("session", calls["session"], calls["onnxruntime"]),
            ("import and load", imports["oxrt"], imports["onnxruntime"])]
    for name, ours, theirs in rows:
        wanted = LARGEST_SHARES[name]
        print(f"{'met   ' if ours <= wanted * theirs else 'missed'}  {name}: {ours * 1e6:.2f} us, ONNX Runtime "
              f"{theirs * 1e6:.2f} us, share {ours / theirs:.3f}, at most {wanted}")
    library, theirs = large.pop("C"), large.pop("onnxruntime")
    for name, ours in large.items():
        met = "met   " if ours <= LARGEST_LARGE * library else "missed"
        print(f"{met}  {name}: {ours * 1e6:.0f} us, the C library {library * 1e6:.0f} us, {ours / library:.3f} times that, "
              f"at most {LARGEST_LARGE}; ONNX Runtime {theirs * 1e6:.0f} us")


if __name__ == "__main__":
    main()
