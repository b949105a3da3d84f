"""body_draw.py: random graphs with Loop, Scan and If in each other. A value is known by its type and shape, which is LIST
for a list that grows and ANY for what is unknown."""

import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

KINDS = {"int64": TensorProto.INT64, "float": TensorProto.FLOAT, "bool": TensorProto.BOOL}
SHAPES = [(), (3,), (2, 3), (3, 2), (1,), (40, 50), (2, 0, 3)]
LIST, ANY = "list", "any"
MOST_DEPTH = 2


def fixed(shape):
    return isinstance(shape, tuple)


def data(rng, kind, shape):
    if kind == "bool":
        return np.asarray(rng.random(shape) < 0.6)
    return np.asarray(rng.integers(-9, 9, shape)).astype({"int64": np.int64, "float": np.float32}[kind])


class Body:
    """A graph being drawn: `seen` are the types of all values that it may read."""

    def __init__(self, rng, names, around, depth):
        self.rng, self.names, self.depth = rng, names, depth
        self.around, self.seen = set(around), dict(around)
        self.nodes, self.initializers = [], []

    def chance(self, share):
        return self.rng.random() < share

    def name(self):
        return f"v{next(self.names)}"

    def constant(self, array):
        name = self.name()
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, inputs, *types, **attributes):
        outputs = [self.name() for _ in types]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        self.seen.update(zip(outputs, types))
        return outputs

    def pick(self, wanted=None):
        """A value of a type that suits; those that came last come more often. "" if there is none."""
        found = [name for name, seen in self.seen.items() if wanted is None or wanted(*seen)]
        return found[-1 - min(int(self.rng.exponential(3)), len(found) - 1)] if found else ""

    def pick_like(self, kind, shape):
        return self.pick(lambda k, s: (k, s) == (kind, shape))

    def graph(self, inputs, outputs):
        """Without stated shapes some of the time."""
        port = lambda name, kind, shape, known: helper.make_tensor_value_info(
            name, KINDS[kind], shape if known and fixed(shape) else None)
        known = self.chance(0.5)
        return helper.make_graph(self.nodes, "g", [port(n, *t, known) for n, t in inputs],
                                 [port(n, *self.seen[n], True) for n in outputs], self.initializers)

    # ---- Nodes ----------------------------------------------------------------------------------------------

    def plain(self):
        a = self.pick(lambda k, s: k != "bool")
        kind, shape = self.seen[a]
        b = self.pick(lambda k, s: k == kind and s in (shape, ()))
        turn = int(self.rng.integers(0, 9))
        if not fixed(shape) or turn < 2:
            self.add(str(self.rng.choice(["Neg", "Identity", "Abs"])), [a], (kind, shape))
        elif turn == 2 and len(shape) == 2:
            self.add("Transpose", [a], (kind, shape[::-1]))
        elif turn == 3 and len(shape) == 2 and all(shape):
            self.add("Reshape", [a, self.constant(np.array(shape[::-1]))], (kind, shape[::-1]))
        elif turn == 4 and shape and shape[0] > 1:
            row = self.constant(np.array(int(self.rng.integers(0, shape[0]))))
            self.add("Gather", [a, row], (kind, shape[1:]))
        else:
            self.add(str(self.rng.choice(["Add", "Sub", "Mul", "Max", "Min"])), [a, b], (kind, shape))

    def sum(self):
        a = self.pick(lambda k, s: k == "int64" and s != ())
        if a:
            self.add("ReduceSum", [a], ("int64", ()), keepdims=0)

    def compare(self):
        a = self.pick_like("int64", ())
        if a:
            self.add(str(self.rng.choice(["Less", "Equal"])), [a, self.pick_like("int64", ())], ("bool", ()))

    def branches(self):
        condition = self.pick_like("bool", ())
        types = [self.seen[self.pick()] for _ in range(int(self.rng.integers(1, 3)))]
        if not condition:
            return
        made = {}
        for name in ("then_branch", "else_branch"):
            body = Body(self.rng, self.names, self.seen, self.depth + 1)
            body.fill(3)
            made[name] = body.graph([], [body.give(*t) for t in types])
        self.add("If", [condition], *types, **made)

    def give(self, kind, shape, fresh=False):
        """An output of that type; of a carried value it may be an input, or a value around the body."""
        found = self.pick_like(kind, shape)
        if fresh or found in self.around or self.chance(0.3):
            return self.add("Identity", [found], (kind, shape))[0]
        return found

    def grow(self, value):
        kind, _ = self.seen[value]
        more = self.pick(lambda k, s: k == kind and fixed(s) and len(s) == 1)
        parts = [value, more or self.constant(data(self.rng, kind, (1,)))]
        return self.add("Concat", parts, (kind, LIST), axis=0)[0]

    def initial(self):
        """A value, or a constant without other readers: (name, kind, shape)."""
        if self.chance(0.3):
            kind, shape = str(self.rng.choice(["int64", "float"])), SHAPES[int(self.rng.integers(0, len(SHAPES)))]
            return self.constant(data(self.rng, kind, shape)), kind, shape
        name = self.pick(lambda k, s: k != "bool")
        return name, *self.seen[name]

    def carried(self, most=4):
        """Values that a node carries: of fixed shapes, or lists that may grow."""
        return [self.initial() for _ in range(int(self.rng.integers(0, most + 1)))]

    def hand_on(self, inputs, own):
        """An input, or at times another one of its type, as it is or through Identity."""
        others = [name for name, kind in inputs if kind == self.seen[own]]
        name = own if self.chance(0.7) else others[int(self.rng.integers(0, len(others)))]
        for _ in range(int(self.rng.integers(0, 3))):
            name = self.add("Identity", [name], self.seen[name])[0]
        return name

    def results(self, body, inputs, kinds):
        outputs = []
        for (name, _), (kind, shape) in zip(inputs, kinds):
            if body.chance(0.4):
                outputs.append(body.hand_on(inputs, name))
            elif shape == LIST:
                outputs.append(body.grow(name) if body.chance(0.6) else name)
            else:
                outputs.append(body.give(kind, shape))
        return outputs

    def stacks(self, body):
        return [body.pick(lambda k, s: fixed(s) and k != "bool") for _ in range(int(self.rng.integers(0, 3)))]

    def loop(self):
        carried = self.carried()
        kinds = [(k, LIST if fixed(s) and len(s) == 1 and self.chance(0.3) else s) for _, k, s in carried]
        body = Body(self.rng, self.names, self.seen, self.depth + 1)
        first = [(self.name(), ("int64", ())), (self.name(), ("bool", ()))]
        inputs = [(self.name(), kind) for kind in kinds]
        body.seen.update(first + inputs)
        body.fill(4)
        limit = body.constant(np.array(int(self.rng.integers(0, 6))))
        going = body.add("Less", [first[0][0], limit], ("bool", ()))[0]
        endless = self.chance(0.3)
        if endless:
            going = first[1][0] if self.chance(0.5) else body.add("Identity", [first[1][0]], ("bool", ()))[0]
        outputs = self.results(body, inputs, kinds)
        stacks = [s for s in self.stacks(body) if s]
        outputs += [body.add("Identity", [s], body.seen[s])[0] if s in body.around or self.chance(0.5) else s
                    for s in stacks]
        count = self.constant(np.array(int(self.rng.integers(-1, 8)))) if self.chance(0.7) else self.trips()
        condition = self.pick_like("bool", ()) if self.chance(0.6) else ""
        if not condition or endless or self.chance(0.8):
            node = [count, condition]
        else:
            node = ["", condition]
        graph = body.graph(first + inputs, [going, *outputs])
        if not kinds and not stacks:
            return
        self.add("Loop", node + [name for name, _, _ in carried], *kinds, *((body.seen[s][0], ANY) for s in stacks),
                 body=graph)

    def scanned(self, length):
        """Inputs of that length along some axis: (name, type, axis, direction)."""
        found = [(name, axis) for name, (_, shape) in self.seen.items() if fixed(shape)
                 for axis, n in enumerate(shape) if n == length]
        chosen = [found[int(self.rng.integers(0, len(found)))] for _ in range(int(self.rng.integers(1, 4)))]
        return [(name, self.seen[name], axis, int(self.rng.integers(0, 2))) for name, axis in chosen]

    def axis(self, axis, rank):
        return axis - rank if self.chance(0.3) else axis

    def scan(self):
        lengths = sorted({n for _, shape in self.seen.values() if fixed(shape) for n in shape})
        if not lengths:
            return
        scanned = self.scanned(int(self.rng.choice(lengths)))
        states = [c for c in self.carried() if fixed(c[2])]
        body = Body(self.rng, self.names, self.seen, self.depth + 1)
        inputs = [(self.name(), (k, s)) for _, k, s in states]
        cut = [(self.name(), (k, s[:axis] + s[axis + 1:])) for _, (k, s), axis, _ in scanned]
        body.seen.update(inputs + cut)
        body.fill(4)
        outputs = self.results(body, inputs, [t for _, t in inputs])
        stacks = [body.add("Identity", [s], body.seen[s])[0] if s in body.around else s
                  for s in self.stacks(body) if s]
        if not states and not stacks:
            return
        ranks = [len(body.seen[s][1]) + 1 for s in stacks]
        axes = [int(self.rng.integers(0, rank)) for rank in ranks]
        rest = {"scan_input_axes": [self.axis(axis, len(t[1])) for _, t, axis, _ in scanned],
                "scan_input_directions": [back for *_, back in scanned],
                "scan_output_axes": [self.axis(axis, rank) for axis, rank in zip(axes, ranks)],
                "scan_output_directions": [int(self.rng.integers(0, 2)) for _ in stacks]}
        given = {name: list_ for name, list_ in rest.items() if list_ and (any(list_) or self.chance(0.5))}
        length = scanned[0][1][1][scanned[0][2]]
        types = [(body.seen[s][0], (*body.seen[s][1][:axis], length, *body.seen[s][1][axis:]))
                 for s, axis in zip(stacks, axes)]
        graph = body.graph(inputs + cut, [*outputs, *stacks])
        self.add("Scan", [name for name, *_ in [*states, *scanned]], *(t for _, t in inputs), *types, body=graph,
                 num_scan_inputs=len(scanned), **given)

    def trips(self):
        a = self.pick_like("int64", ())
        six = self.constant(np.array(6))
        return self.add("Min", [a, six], ("int64", ()))[0] if a else six

    def fill(self, most):
        makers = [(12, self.plain), (2, self.sum), (3, self.compare)]
        if self.depth < MOST_DEPTH:
            makers += [(2, self.branches), (3, self.loop), (3, self.scan)]
        weights = np.array([w for w, _ in makers], float)
        for _ in range(int(self.rng.integers(1, most + 1))):
            if any(k != "bool" for k, _ in self.seen.values()):
                makers[int(self.rng.choice(len(makers), p=weights / weights.sum()))][1]()


def main(rng):
    """(types of the inputs, graph)."""
    types = {f"x{i}": (str(rng.choice(["int64", "float"])), SHAPES[int(rng.integers(0, len(SHAPES)))])
             for i in range(int(rng.integers(1, 4)))}
    types["c"] = ("bool", ())
    body = Body(rng, itertools.count(), types, 0)
    body.fill(4)
    (body.loop if rng.random() < 0.5 else body.scan)()
    body.fill(3)
    made = [name for node in body.nodes for name in node.output]
    kept = [name for name in made if rng.random() < 0.4] or made[-1:]
    port = lambda name, kind, shape: helper.make_tensor_value_info(name, KINDS[kind], shape)
    graph = helper.make_graph(body.nodes, "g", [port(n, *t) for n, t in types.items()],
                              [port(n, body.seen[n][0], None) for n in kept], body.initializers)
    return types, graph


def batch(rng):
    """(types of the inputs, inputs, graph) of a Scan of version 8."""
    size, length = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    states = [(f"s{i}", ("float", SHAPES[int(rng.integers(0, 4))])) for i in range(int(rng.integers(1, 3)))]
    scanned = [(f"x{i}", ("float", SHAPES[int(rng.integers(0, 4))])) for i in range(int(rng.integers(1, 3)))]
    body = Body(rng, itertools.count(), {}, MOST_DEPTH)
    inputs = [(body.name(), t) for _, t in states + scanned]
    body.seen.update(inputs)
    body.fill(4)
    stacks = [s for s in body.stacks(body) if s]
    outputs = [body.add("Identity", [body.pick_like(*t)], t)[0] for _, t in states] + stacks
    types = {"l": ("int64", (size,))} if rng.random() < 0.6 else {}
    types.update({name: (kind, (size, *shape)) for name, (kind, shape) in states})
    types.update({name: (kind, (size, length, *shape)) for name, (kind, shape) in scanned})
    given = {name: data(rng, *t) for name, t in types.items()}
    if "l" in types:
        given["l"] = rng.integers(0, length + 1, size)
    ways = {"directions": [int(way) for way in rng.integers(0, 2, len(scanned))]} if rng.random() < 0.7 else {}
    made = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node("Scan", ["l" if "l" in types else "", *(name for name, _ in states + scanned)], made,
                            body=body.graph(inputs, outputs), num_scan_inputs=len(scanned), **ways)
    port = lambda name, kind, shape: helper.make_tensor_value_info(name, KINDS[kind], shape)
    return types, given, helper.make_graph([node], "g", [port(n, *t) for n, t in types.items()],
                                           [port(n, "float", None) for n in made])
