"""tolerances.py OX: a case that generate.py writes is judged by its own tolerances."""

import pathlib
import subprocess
import sys
import tempfile

import generate
import numpy as np
import tally
from onnx import TensorProto, helper
from onnx.backend.test.case.test_case import TestCase

X = np.array([1, 2, 4], np.float32)
# What is expected of the negatives of X is off by a quarter; the tolerances, and whether they are enough.
CASES = [(1e-3, 1e-7, False), (0.3, 1e-7, True), (1e-3, 1.1, True), (0.19, 0.01, False)]


def make_case(number, rtol, atol):
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "graph", [value("x", TensorProto.FLOAT, [3])],
                              [value("y", TensorProto.FLOAT, [3])])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    name = f"test_tolerances_{number}"
    return TestCase(name=name, model_name=name, url=None, model_dir=None, model=model,
                    data_sets=[([X], [-X * np.float32(1.25)])], kind="node", rtol=rtol, atol=atol)


def passes(ox, case):
    with tempfile.TemporaryDirectory() as folder:
        generate.write_case(pathlib.Path(folder) / case.name, case)
        run = subprocess.run([ox, "test", str(pathlib.Path(folder) / case.name)], capture_output=True, text=True)
    return run.returncode == 0


def main():
    failed = 0
    for number, (rtol, atol, expected) in enumerate(CASES):
        if passes(sys.argv[1], make_case(number, rtol, atol)) != expected:
            failed += 1
            print(f"rtol {rtol}, atol {atol}: the case {'fails' if expected else 'passes'}")
    return tally.finish(len(CASES) - failed, failed)


if __name__ == "__main__":
    raise SystemExit(main())
