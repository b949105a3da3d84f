"""views.py [--cases N] [--seed N]: random graphs of operators that give views (Transpose, Reshape, Slice, Expand, ...)
among operators that may work in place, compared with numpy. Each graph gives out values from its middle, and runs twice
in one session, on other data the second time: a view that outlives what it shows, or a buffer that is overwritten while
a view of it is still read, gives a wrong number in one of them. Inputs must come out unchanged."""

import sys

import arrays
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper

LARGEST = 20000


class Graph:
    """Nodes, and for each value a function from the two inputs' arrays to its array."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes = []
        self.constants = []
        self.shapes = {"a": self.draw_shape(), "b": self.draw_shape()}
        self.steps = []

    def draw_shape(self):
        """Small, or a square that is larger than a tile of a pass."""
        if self.rng.integers(0, 3) == 0:
            return (int(self.rng.integers(60, 90)),) * 2
        return tuple(int(d) for d in self.rng.integers(1, 6, int(self.rng.integers(1, 5))))

    def pick(self):
        names = list(self.shapes)
        return names[-1 - min(int(self.rng.geometric(0.4)) - 1, len(names) - 1)]

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], list(values)))
        return name

    def add(self, op, inputs, shape, compute, **attributes):
        if int(np.prod(shape, dtype=np.int64)) > LARGEST or len(shape) > 7:
            return
        name = f"v{len(self.nodes)}"
        sources = [i for i in inputs if i in self.shapes]
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node{len(self.nodes)}", **attributes))
        self.shapes[name] = tuple(shape)
        self.steps.append((name, sources, compute))

    def transpose(self, x):
        perm = [int(p) for p in self.rng.permutation(len(self.shapes[x]))]
        self.add("Transpose", [x], [self.shapes[x][p] for p in perm], lambda v: v.transpose(perm), perm=perm)

    def reshape(self, x):
        count = int(np.prod(self.shapes[x]))
        first = [d for d in range(1, count + 1) if count % d == 0]
        d = first[int(self.rng.integers(0, len(first)))]
        shape = (d, count // d)
        self.add("Reshape", [x, self.constant(shape)], shape, lambda v: v.reshape(shape))

    def slice(self, x):
        axis = int(self.rng.integers(0, len(self.shapes[x])))
        size = self.shapes[x][axis]
        step = int(self.rng.choice([-2, -1, 1, 2]))
        start, end = (int(self.rng.integers(0, size)), size) if step > 0 else (size - 1, -size - 1)
        cut = [slice(None)] * len(self.shapes[x])
        cut[axis] = slice(start, end if step > 0 else None, step)
        shape = np.empty(self.shapes[x], np.int8)[tuple(cut)].shape
        parts = [self.constant([v]) for v in (start, end, axis, step)]
        self.add("Slice", [x, *parts], shape, lambda v: v[tuple(cut)])

    def expand(self, x):
        shape = [int(self.rng.integers(1, 4)), *[int(self.rng.integers(1, 4)) if d == 1 else d for d in self.shapes[x]]]
        self.add("Expand", [x, self.constant(shape)], shape, lambda v: np.broadcast_to(v, shape))

    def unsqueeze(self, x):
        axis = int(self.rng.integers(0, len(self.shapes[x]) + 1))
        shape = [*self.shapes[x][:axis], 1, *self.shapes[x][axis:]]
        self.add("Unsqueeze", [x, self.constant([axis])], shape, lambda v: np.expand_dims(v, axis))

    def identity(self, x):
        self.add("Identity", [x], self.shapes[x], lambda v: v)

    def in_place(self, x):
        op, compute = [("Neg", np.negative), ("Relu", lambda v: np.maximum(v, 0)), ("Abs", np.abs)][
            int(self.rng.integers(0, 3))]
        self.add(op, [x], self.shapes[x], compute)

    def together(self, x):
        y = self.pick()
        try:
            shape = np.broadcast_shapes(self.shapes[x], self.shapes[y])
        except ValueError:
            return
        self.add("Add", [x, y], shape, lambda v, w: v + w)

    def swapped(self, x):
        """A square with its own transpose, where one buffer is read in two ways."""
        if len(self.shapes[x]) != 2 or self.shapes[x][0] != self.shapes[x][1]:
            return
        self.transpose(x)
        self.add("Sub", [x, list(self.shapes)[-1]], self.shapes[x], lambda v, w: v - w)

    def grow(self):
        kinds = [self.transpose, self.reshape, self.slice, self.expand, self.unsqueeze, self.identity, self.in_place,
                 self.in_place, self.together, self.together, self.swapped]
        for _ in range(int(self.rng.integers(3, 14))):
            kinds[int(self.rng.integers(0, len(kinds)))](self.pick())

    def evaluate(self, a, b):
        values = {"a": a, "b": b}
        for name, sources, compute in self.steps:
            values[name] = compute(*[values[s] for s in sources])
        return values


def check(rng):
    """None, or what is wrong with one random graph."""
    graph = Graph(rng)
    graph.grow()
    made = [n.output[0] for n in graph.nodes]
    if not made:
        return None
    wanted = sorted({made[-1], *rng.choice(made, int(rng.integers(1, 4)))})
    info = helper.make_tensor_value_info
    proto = helper.make_graph(graph.nodes, "graph", [info("a", 1, None), info("b", 1, None)],
                              [info(name, 1, None) for name in wanted], graph.constants)
    model = oxlib.Model(
        helper.make_model(proto, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString())
    options = oxlib.Options(no_fuse=bool(rng.integers(0, 2)), threads=int(rng.integers(1, 3)))
    session = oxlib.Session(model, options)
    text = " ".join(f"{n.output[0]}={n.op_type}({','.join(n.input)})" for n in graph.nodes)
    try:
        for turn in range(2):
            inputs = [rng.integers(-9, 10, graph.shapes[name]).astype(np.float32) for name in "ab"]
            kept = [x.copy() for x in inputs]
            for i, x in enumerate(inputs):
                session.set_input(i, arrays.to_input(x, "float"))
            session.run()
            values = graph.evaluate(*kept)
            for i, name in enumerate(wanted):
                if not np.array_equal(arrays.from_tensor(session.output(i))[1], values[name]):
                    return f"run {turn}: {name} is wrong: {graph.shapes} outputs {wanted}: {text}"
            if any(not np.array_equal(x, y) for x, y in zip(inputs, kept)):
                return f"run {turn}: an input was changed: {graph.shapes} outputs {wanted}: {text}"
    except oxlib.OxError as error:
        return f"status {error.status}: {error}: {text}"
    finally:
        session.close()
        model.close()
    return None


if __name__ == "__main__":
    sys.exit(trials.run(lambda rng, _: check(rng), 2000))
