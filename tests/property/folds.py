"""folds.py [--seed N] [--cases N]: random graphs over constants and inputs, in which whole parts depend on constants, or on
shapes, and are computed when a plan is made: elementwise nodes, reductions, products, views, Split, branches that read
values around them, nodes whose shapes depend on data. The same graph gives the same bits with its constants as
initializers and as inputs; in two sessions of a model, one after the other, with other shapes between, and with some of
the values as extra outputs."""

import ctypes as C
import sys

import arrays
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper, numpy_helper

UNARY, BINARY = ["Neg", "Abs", "Identity", "Relu"], ["Add", "Sub", "Max", "Min"]


def info(name, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, None)


class Graph:
    """Nodes over values [rows, 6] of small whole numbers; `rows` is that of the inputs, or 4 for constants alone."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], {}
        self.square, self.wide = [], []  # values [4, 6], and values whose rows are those of the input
        self.count = 0
        for i in range(int(rng.integers(1, 4))):
            self.constants[f"c{i}"] = rng.integers(-3, 4, (4, 6)).astype(np.float32)
            self.square.append(f"c{i}")
        self.wide.append("x")
        self.fixed = {"back": np.array([4, 6], np.int64), "axes": np.array([0], np.int64),
                      "row": np.array([1, 6], np.int64), "parts": np.array([2, 4], np.int64),
                      "twice": np.array([2, 1], np.int64), "first": np.array([0], np.int64),
                      "half": np.array([4], np.int64), "zero": np.array(0, np.float32)}

    def node(self, op, inputs, **attributes):
        name = f"v{self.count}"
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def any(self, names):
        return names[int(self.rng.integers(max(0, len(names) - 4), len(names)))]

    def grow(self):
        kind, a, b = int(self.rng.integers(0, 13)), self.any(self.square), self.any(self.square)
        if kind < 2:
            made = self.node(UNARY[kind % 2 + 2 * int(self.rng.integers(0, 2))], [a])
        elif kind < 4:
            made = self.node(BINARY[int(self.rng.integers(0, 4))], [a, b])
        elif kind == 4:
            made = self.node("Transpose", [self.node("Reshape", [a, "turned"]), ], perm=[1, 0])
        elif kind == 5:
            made = self.node("Add", [a, self.node("ReduceMax", [b, "axes"], keepdims=1)])
        elif kind == 6:
            wide = self.node("Tile", [a, "twice"])
            made = self.node("Slice", [wide, "half2", "end2", "axes"])
        elif kind == 7:
            left, right = f"v{self.count}", f"v{self.count + 1}"
            self.count += 2
            self.nodes.append(helper.make_node("Split", [a, "parts"], [left, right], axis=1))
            made = self.node("Concat", [right, left], axis=1)
        elif kind == 8:
            square = self.node("MatMul", [a, self.node("Transpose", [b], perm=[1, 0])])
            made = self.node("Clip", [self.node("MatMul", [square, b]), "low", "high"])
        elif kind == 9:
            inner = [helper.make_node("Add", [a, b], ["t"])], [helper.make_node("Sub", [a, b], ["e"])]
            made = self.node("If", ["cond"], then_branch=helper.make_graph(inner[0], "t", [], [info("t")]),
                             else_branch=helper.make_graph(inner[1], "e", [], [info("e")]))
        elif kind == 10:  # a constant of the shape, which another input brings
            shape = self.node("Shape", [self.any(self.wide)])
            made = None
            self.wide.append(self.node("Add", [self.any(self.wide), self.node("Expand", [self.node(
                "ReduceSum", [a, "axes"], keepdims=1), shape])]))
        elif kind == 11:
            made = None
            self.wide.append(self.node(BINARY[int(self.rng.integers(0, 4))], [self.any(self.wide), self.node(
                "ReduceMin", [a, "axes"], keepdims=1)]))
        else:  # from here on shapes depend on data
            made = self.node("Reshape", [self.node("Compress", [self.node("Reshape", [a, "flat"]), "picked"]), "back"])
        if made:
            self.square.append(made)

    def model(self, rng, as_inputs):
        if "turned" not in self.fixed:
            self.fixed.update(turned=np.array([6, 4], np.int64), half2=np.array([2], np.int64), end2=np.array([6], np.int64),
                              low=np.array(-9, np.float32), high=np.array(9, np.float32), flat=np.array([-1], np.int64))
        fixed = [numpy_helper.from_array(a, n) for n, a in self.fixed.items()]
        given = [info("x"), info("cond", TensorProto.BOOL), info("picked", TensorProto.BOOL)]
        if as_inputs:
            given += [info(n) for n in self.constants]
        else:
            fixed += [numpy_helper.from_array(a, n) for n, a in self.constants.items()]
        graph = helper.make_graph(self.nodes, "graph", given, [info(n) for n in self.outputs], fixed)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def run(session, feeds, count):
    for i, (array, kind) in enumerate(feeds):
        session.set_input(i, arrays.to_input(array, kind))
    session.run()
    return [arrays.from_tensor(session.output(k))[1] for k in range(count)]


def same(a, b):
    return all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b))


def feeds_of(rng, graph, as_inputs, rows, cond):
    x = (np.arange(rows * 6) % 7 - 3).astype(np.float32).reshape(rows, 6)
    feeds = [(x, "float"), (np.array(cond), "bool"), (np.ones(24, bool), "bool")]
    return feeds + ([(a, "float") for a in graph.constants.values()] if as_inputs else [])


def check(rng, turn):
    graph = Graph(rng)
    for _ in range(int(rng.integers(2, 40))):
        graph.grow()
    names = graph.square + graph.wide
    named = [n for n in names if n.startswith("v")] or [graph.node("Neg", ["x"])]
    graph.outputs = list(dict.fromkeys([named[-1]] + [n for n in named if rng.random() < 0.1]))
    plain, folded = (oxlib.Model(graph.model(rng, as_inputs)) for as_inputs in (True, False))
    extra = [n for n in named if rng.random() < 0.1]
    array = (C.c_char_p * (len(extra) + 1))(*[n.encode() for n in extra])
    options = [oxlib.Options(threads=1), oxlib.Options(threads=int(rng.integers(1, 3)), no_fuse=bool(rng.random() < 0.3),
                                                       extra_outputs=C.cast(array, C.c_void_p), extra_output_count=len(extra))]
    count = len(graph.outputs) + len(extra)
    sessions = []
    try:
        oracle = oxlib.Session(plain, options[1])
        sessions.append(oracle)
        for which in (0, 1, 1, 0):
            session = oxlib.Session(folded, options[which])
            sessions.append(session)
            for rows, cond in ((1, True), (3, False), (1, False)):
                wanted = run(oracle, feeds_of(rng, graph, True, rows, cond), count)
                found = run(session, feeds_of(rng, graph, False, rows, cond), len(graph.outputs) if which == 0 else count)
                if not same(found, wanted):
                    return f"case {turn}: {len(graph.nodes)} nodes differ with {rows} rows, {cond}, session {which}"
    finally:
        for session in sessions:
            session.close()
        plain.close()
        folded.close()
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 400))
