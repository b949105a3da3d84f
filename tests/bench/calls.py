"""calls.py: what a call from Python costs, and importing the package with loading a model, in oxrt and ONNX Runtime. The
model is one Add over [1]. Both take turns, in one process for calls and in a new one each time for imports; the shortest
turn counts, which other programs on the machine disturb least. Says whether the bars of docs/python.md are met."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import oxrt
from onnx import helper

LARGEST_SHARES = {"call": 1 / 2, "session": 1 / 2, "import and load": 1 / 5}
IMPORTS = {"oxrt": "import oxrt; oxrt.Model({path!r})",
           "onnxruntime": "import onnxruntime; onnxruntime.InferenceSession({path!r}, providers=['CPUExecutionProvider'])"}
TIMED = "import time; begin = time.perf_counter(); {work}; print(time.perf_counter() - begin)"


def write_model(path):
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "aby"]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "add", infos[:2], infos[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def session_of(package, path):
    options = package.SessionOptions()
    options.intra_op_num_threads = 1
    return package.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def seconds_of_calls(path, turns, count):
    """{who: seconds of a call}, the shortest of the turns."""
    feed = {"a": np.float32([1]), "b": np.float32([2])}
    model, ours, theirs = oxrt.Model(path), session_of(oxrt, path), session_of(onnxruntime, path)
    calls = {"call": lambda: model(feed["a"], feed["b"]), "session": lambda: ours.run(None, feed),
             "onnxruntime": lambda: theirs.run(None, feed)}
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
    rows = [("call", calls["call"], calls["onnxruntime"]), ("session", calls["session"], calls["onnxruntime"]),
            ("import and load", imports["oxrt"], imports["onnxruntime"])]
    for name, ours, theirs in rows:
        wanted = LARGEST_SHARES[name]
        print(f"{'met   ' if ours <= wanted * theirs else 'missed'}  {name}: {ours * 1e6:.2f} us, ONNX Runtime "
              f"{theirs * 1e6:.2f} us, share {ours / theirs:.3f}, at most {wanted}")


if __name__ == "__main__":
    main()
