"""loops.py [--seed N] [--cases N]: random models of Loop, Scan and If in each other against a small evaluator.

Bodies carry values, of shapes that stay or that grow, hand inputs on, read values around them, stack results, and end by
trip count or condition. Each model runs fused and not, by one thread and by several, and twice in a session with other
data. All arithmetic is exact or one operation at a time, so results are compared bit for bit."""

import sys

import body_draw
import body_eval
import arrays
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper, parser

KINDS = {"int64": TensorProto.INT64, "float": TensorProto.FLOAT, "bool": TensorProto.BOOL}


def draw_inputs(rng, types):
    return {name: body_draw.data(rng, kind, shape) for name, (kind, shape) in types.items()}


def differs(wanted, got):
    if wanted.dtype != got.dtype or wanted.shape != got.shape:
        return f"{got.dtype} {got.shape}, not {wanted.dtype} {wanted.shape}"
    same = np.array_equal(wanted, got, equal_nan=wanted.dtype.kind == "f")
    return None if same else f"\n{got}\nnot\n{wanted}"


def compare(session, model, inputs, types, names):
    kept = [arrays.to_input(inputs[name], kind) for name, (kind, _) in types.items()]
    for i, tensor in enumerate(kept):
        session.set_input(i, tensor)
    session.run()
    wanted = body_eval.run(model.graph, inputs)
    for i, name in enumerate(names):
        wrong = differs(np.asarray(wanted[name]), arrays.from_tensor(session.output(i))[1])
        if wrong:
            return f"{name}: {wrong}"
    return None


def check_batch(rng, number):
    """One Scan of version 8, which goes over a batch."""
    types, inputs, graph = body_draw.batch(rng)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)
    node, values = graph.node[0], [inputs.get(name) for name in graph.node[0].input]
    wanted = body_eval.scan_batch(body_eval.attributes_of(node), values, len(node.output))
    loaded = oxlib.Model(model.SerializeToString())
    session = oxlib.Session(loaded)
    kept = [arrays.to_input(inputs[name], kind) for name, (kind, _) in types.items()]
    for i, tensor in enumerate(kept):
        session.set_input(i, tensor)
    session.run()
    for i, name in enumerate(node.output):
        wrong = differs(wanted[i], arrays.from_tensor(session.output(i))[1])
        if wrong:
            return f"case {number}, {name}: {wrong}\n{helper.printable_graph(graph)}"
    session.close()
    loaded.close()
    return None


# The second Loop is planned when the first one has run; 'z' may lie where 'm' does, which is made in another stage.
REPLANNED = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float[3] x, float[2, 3] y) => (int64[] stack) {
    last, stack = Scan <num_scan_inputs = 1, body = step (float[3] row) => (int64 d, int64 z) <int64 six = {6}> {
        a, s = Loop (n, "", x) <body = first (int64 i, bool c, float[3] v) => (bool c1, float[3] v1, float[3] w) {
            c1 = Identity (c)
            v1 = Identity (v)
            w = Identity (row)
        }>
        m = Min (n, six)
        b = Loop (m, "", a) <body = second (int64 i, bool c, float[3] v) => (bool c1, float[3] v1) {
            c1 = Identity (c)
            v1 = Identity (v)
        }>
        z = Sub (m, m)
        d = Identity (n)
    }> (y)
}"""


def check_replanned():
    model = parser.parse_model(REPLANNED)
    types = {"n": ("int64", ()), "x": ("float", (3,)), "y": ("float", (2, 3))}
    loaded = oxlib.Model(model.SerializeToString())
    session = oxlib.Session(loaded)
    for n in (2, 3, 2, 1, 4):
        inputs = {"n": np.array(n), "x": np.arange(3, dtype=np.float32), "y": np.ones((2, 3), np.float32)}
        wrong = compare(session, model, inputs, types, ["stack"])
        if wrong:
            return f"planned anew for {n} rounds: {wrong}"
    session.close()
    loaded.close()
    return None


def check(rng, number):
    if number == 0:
        return check_replanned()
    if rng.random() < 0.1:
        return check_batch(rng, number)
    types, graph = body_draw.main(rng)
    opset = int(rng.choice([13, 16, 19, 21]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    data = model.SerializeToString()
    names = [output.name for output in graph.output]
    first, second = draw_inputs(rng, types), draw_inputs(rng, types)
    for no_fuse, threads in ((False, 1), (True, 1), (False, 2 + number % 2)):
        options = oxlib.Options(no_fuse=no_fuse, threads=threads)
        loaded = oxlib.Model(data, options)
        session = oxlib.Session(loaded, options)
        for inputs in (first, second, first):
            try:
                wrong = compare(session, model, inputs, types, names)
            except oxlib.OxError as error:
                wrong = str(error)
            if wrong:
                return f"case {number}, no_fuse {no_fuse}, threads {threads}: {wrong}\n{helper.printable_graph(graph)}"
        session.close()
        loaded.close()
    return None


sys.exit(trials.run(check, 300))
