"""ml.py [--cases N] [--seed N] [--op NAME]: random nodes of the domain ai.onnx.ml against onnxruntime.

Thresholds and features are drawn from a few numbers, so that they are often equal. Weights are multiples of 1/64, so
that sums are exact and no label hangs on rounding.
"""

import sys

import arrays
import ml_models
import ml_trees
import ml_values
import numpy as np
import onnxruntime
import oxlib
import tally
import trials
from onnx import TensorProto, helper
from results import as_texts, differs, output_array

DRAWERS = {**ml_trees.DRAWERS, **ml_models.DRAWERS, **ml_values.DRAWERS}
onnxruntime.set_default_logger_severity(4)


def build(case):
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.DataType.Value(name.upper()), None)
              for i, (name, _) in enumerate(case.inputs)]
    names = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, [i.name for i in inputs], names, domain="ai.onnx.ml", **case.attributes)
    outputs = [onnx_output(name) for name in names]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", case.version)]
    return helper.make_model(graph, ir_version=10, opset_imports=imports).SerializeToString()


def onnx_output(name):
    return helper.make_empty_tensor_value_info(name)


def run_ox(data, case, threads, **limits):
    model = oxlib.Model(data)
    try:
        session = oxlib.Session(model, oxlib.Options(threads=threads, limits=oxlib.Limits(**limits)))
        try:
            for i, (name, array) in enumerate(case.inputs):
                array = arrays.pairs_of(as_texts(array)) if name == "string" else array
                session.set_input(i, arrays.to_input(np.ascontiguousarray(array), name))
            session.run()
            return [output_array(session, i) for i in range(case.outputs)]
        finally:
            session.close()
    finally:
        model.close()


def run_rows(data, case):
    """The outputs for some rows, row by row: two sessions of a model, which lays trees out once, take more and fewer rows
    in turns."""
    (name, x), = case.inputs
    model, found = oxlib.Model(data), []
    sessions = [oxlib.Session(model, oxlib.Options(threads=threads)) for threads in (1, 2)]
    try:
        for turn, count in enumerate((len(x), 1, len(x) // 2, len(x), 2)):
            session = sessions[turn % 2]
            session.set_input(0, arrays.to_input(np.ascontiguousarray(x[:count]), name))
            session.run()
            found.append([output_array(session, i) for i in range(case.outputs)])
    finally:
        for session in sessions:
            session.close()
        model.close()
    return found


def run_peer(data, case):
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    results = session.run(None, {f"x{i}": array for i, (_, array) in enumerate(case.inputs)})
    return [as_texts(array) if array.dtype.kind in "OU" else array for array in results]


def check(rng, turn, op=None):
    names = [op] if op else list(DRAWERS)
    case = DRAWERS[names[turn % len(names)]](rng)
    data = build(case)
    where = f"{case.op}-{case.version} {[(n, list(a.shape)) for n, a in case.inputs]}"
    try:
        wanted = case.expected if case.expected is not None else run_peer(data, case)
    except Exception as error:  # every kind of refusal
        return f"{where}: onnxruntime: {error}"
    try:
        one, two = (run_ox(data, case, threads) for threads in (1, 2))
    except oxlib.OxError as error:
        return f"{where}: status {error.status}: {error}"
    for i, (a, b, w) in enumerate(zip(one, two, wanted)):
        text = differs(a, w, case.tolerance)
        if text or differs(a, b, 0):
            return f"{where}: output {i}: {text or 'differs with two threads'}: {case.said()}"
    for rows in run_rows(data, case) if case.op.startswith("TreeEnsemble") else []:
        for i, (a, b) in enumerate(zip(rows, one)):
            if differs(a, b[:len(a)], 0):
                return f"{where}: output {i} of {len(a)} rows is not that of all: {case.said()}"
    return None


def check_no_features():
    """Trees of leaves alone read no feature: rows of none may be no memory."""
    single = {"nodes_treeids": [0], "nodes_nodeids": [0], "nodes_featureids": [0], "nodes_values": [0.0],
              "nodes_modes": ["LEAF"], "nodes_truenodeids": [0], "nodes_falsenodeids": [0], "target_treeids": [0],
              "target_nodeids": [0], "target_ids": [0], "target_weights": [3.0], "n_targets": 1}
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **single)
    graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    model = oxlib.Model(helper.make_model(graph, ir_version=10, opset_imports=imports).SerializeToString())
    for rows in (1, 3, 40):
        session = oxlib.Session(model)
        session.set_input(0, oxlib.make_tensor(TensorProto.FLOAT, [rows, 0], None, None))
        session.run()
        tally.check(f"{rows} rows of no features", (output_array(session, 0) == 3).all())
        session.close()
    model.close()


def main():
    options, rng = trials.begin(500, "--op")
    failures = [text for text in (check(rng, turn, options.op) for turn in range(options.cases)) if text]
    for text in failures[:25]:
        print(text)
    before = tally.counts[True]
    check_no_features()
    return tally.finish(tally.counts[True] - before + options.cases - len(failures), len(failures))


if __name__ == "__main__":
    sys.exit(main())
