"""dynamic.py: lists that come as inputs change from run to run of one session, while the shapes often stay.

A plan that was made with one list must not serve another one.
"""

import arrays
import numpy as np
import oxlib
from onnx import TensorProto, helper

SIZE = 4


def build(rng):
    """Two slices and two sums of x, in any order, each with lists of its own; their inputs as (name, kind)."""
    nodes, lists = [], []
    for i, op in enumerate(rng.permutation(["Slice", "Slice", "ReduceSum", "ReduceSum"])):
        names = [f"start{i}", f"end{i}"] if op == "Slice" else [f"axes{i}"]
        lists += names
        nodes.append(helper.make_node(op, ["x", *names], [f"t{i}"], **({} if op == "Slice" else {"keepdims": 0})))
        nodes.append(helper.make_node("Neg", [f"t{i}"], [f"y{i}"]))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [SIZE, SIZE])]
    inputs += [helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in lists]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(4)]
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    return model.SerializeToString(), lists


def draw(rng, lists):
    values = {}
    for name in lists:
        if name.startswith("end"):
            start = values[name.replace("end", "start")]
            values[name] = start + (2 if rng.random() < 0.8 else 1)
        else:
            values[name] = int(rng.integers(0, 2))
    return values


def expected(x, values, i):
    if f"axes{i}" in values:
        return -x.sum(axis=values[f"axes{i}"])
    return -x[values[f"start{i}"]:values[f"end{i}"]]


def problem(session, lists, x, values):
    session.set_input(0, arrays.to_input(x, "float"))
    given = [np.array([values[name]], np.int64) for name in lists]
    for place, array in enumerate(given):
        session.set_input(place + 1, arrays.to_input(array, "int64"))
    session.run()
    for i in range(4):
        got = arrays.from_tensor(session.output(i))[1]
        if not np.array_equal(got, expected(x, values, i)):
            return f"output {i} is {got.tolist()}"
    return None


def run(rng, cases, harness):
    """Adds the cases to harness.passed and harness.failures."""
    x = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    for _ in range(cases):
        data, lists = build(rng)
        model = oxlib.Model(data)
        session = oxlib.Session(model)
        wrong = None
        for _ in range(4):
            values = draw(rng, lists)
            wrong = wrong or problem(session, lists, x, values)
        session.close()
        model.close()
        if wrong:
            harness.failures.append(("dynamic", f"{values}: {wrong}"))
        else:
            harness.passed += 1
