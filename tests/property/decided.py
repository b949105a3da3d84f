"""decided.py [--seed N] [--cases N]: random graphs whose shapes are decided by data: counts, positions and conditions that
are given, computed, or lie in sequences, optionals and the results of branches and loops. One session runs a graph again
and again while some of the data changes and all shapes of inputs stay; each run gives what a session of its own gives, the
same bits or the same error."""

import sys

import arrays
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper, numpy_helper

INT, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
TYPES = {"float32": (FLOAT, "float"), "int64": (INT, "int64"), "bool": (BOOL, "bool")}
RUNS = 7
END = np.array([1 << 40])


def info(name, kind, rank=None):
    return helper.make_tensor_value_info(name, kind, None if rank is None else [None] * rank)


def body(nodes, inputs, outputs, kept=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(kept))


class Network:
    """A graph being drawn: its floats, its counts, and how its inputs are drawn."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes, self.kept, self.inputs = [], [], {}
        self.made = 0
        self.values = [self.feed(lambda r: r.normal(size=[4, 6]).astype(np.float32)) for _ in range(2)]
        self.counts, self.sequences = [], []

    def name(self):
        self.made += 1
        return f"v{self.made}"

    def node(self, op, inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def keep(self, array):
        name = self.name()
        self.kept.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def feed(self, draw):
        name = self.name()
        self.inputs[name] = draw
        return name

    def number(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def value(self):
        """A list of floats."""
        return self.node("Reshape", [self.values[self.number(0, len(self.values) - 1)], self.keep(np.array([-1]))])

    def count(self, least, most):
        """A number between these: given, or made of a size, of how many floats are positive, or of another number."""
        way = self.number(0, 3) if self.counts else 0
        if way == 0:
            made = self.feed(lambda r: np.array(r.integers(least, most + 1)))
        else:
            positive = lambda: self.node("Cast", [self.node("Greater", [self.value(), self.keep(np.float32(0))])], to=INT)
            number = (lambda: self.node("Size", [self.value()]), lambda: self.node("ReduceSum", [positive()], keepdims=0),
                      lambda: self.counts[self.number(0, len(self.counts) - 1)])[way - 1]()
            made = self.node("Add", [self.node("Mod", [number, self.keep(np.array(most - least + 1))]),
                                     self.keep(np.array(least))])
        self.counts.append(made)
        return made

    def list_of(self, least, most):
        return self.node("Reshape", [self.count(least, most), self.keep(np.array([1]))])

    def condition(self):
        if self.number(0, 1):
            return self.feed(lambda r: np.array(r.random() < 0.5))
        return self.node("Greater", [self.count(0, 3), self.keep(np.array(1))])


# ---- Values out of others ---------------------------------------------------------------------------------------------

def choice(g, yes, no, kind, op="Identity"):
    name = g.name()
    return g.node("If", [g.condition()],
                  then_branch=body([helper.make_node(op, [yes], [name + "_yes"])], [], [info(name + "_yes", kind)]),
                  else_branch=body([helper.make_node("Identity", [no], [name + "_no"])], [], [info(name + "_no", kind)]))


def traded(g, one, other, kind):
    """Loop whose two states trade places in every round."""
    name = g.name()
    nodes = [helper.make_node("Identity", [source], [name + target]) for source, target in
             (("going", "_goes"), ("b", "_a"), ("a", "_b"))]
    ends = [info("i", INT, 0), info("going", BOOL, 0), info("a", kind), info("b", kind)]
    results = [info(name + "_goes", BOOL, 0), info(name + "_a", kind), info(name + "_b", kind)]
    g.nodes.append(helper.make_node("Loop", [g.count(0, 3), "", one, other], [name, name + "_other"],
                                    body=body(nodes, ends, results)))
    return name


def grown(g, x):
    """Loop whose state has other sizes in every round."""
    name = g.name()
    nodes = [helper.make_node("Concat", ["s", "s"], ["twice"], axis=0), helper.make_node("Reshape", ["i", "one"], ["from"]),
             helper.make_node("Slice", ["twice", "from", "end"], ["left"]), helper.make_node("Identity", ["going"], ["goes"]),
             helper.make_node("ReduceSum", ["left"], ["sum"], keepdims=0)]
    ends = [info("i", INT, 0), info("going", BOOL, 0), info("s", FLOAT, 1)]
    results = [info("goes", BOOL, 0), info("left", FLOAT, 1), info("sum", FLOAT, 0)]
    kept = [numpy_helper.from_array(END, "end"), numpy_helper.from_array(np.array([1]), "one")]
    g.nodes.append(helper.make_node("Loop", [g.count(0, 3), "", x], [name, name + "_sums"],
                                    body=body(nodes, ends, results, kept)))
    g.values.append(name + "_sums")
    return name


def item(g, draw, kind):
    """A value that a sequence, an optional, a branch or a loop hands on, now and then through views."""
    parts = [draw() for _ in range(3)]
    made = (lambda: g.node("SequenceAt", [g.node("SequenceConstruct", parts), g.count(0, 2)]),
            lambda: g.node("SequenceAt", [g.node("SequenceInsert", [g.node("SequenceConstruct", parts[:2]), parts[2],
                                                                    g.count(0, 2)]), g.count(0, 2)]),
            lambda: g.node("OptionalGetElement", [g.node("Optional", parts[:1])]),
            lambda: choice(g, parts[0], parts[1], kind), lambda: traded(g, parts[0], parts[1], kind))[g.number(0, 4)]()
    for _ in range(g.number(0, 2)):
        zero = g.keep(np.array([0]))
        made = g.node("Squeeze", [g.node("Unsqueeze", [made, zero]), zero]) if g.number(0, 1) else g.node("Identity", [made])
    return made


def top(g, x):
    name = g.name()
    many = g.node("Min", [g.count(0, 3), g.node("Size", [x])])
    g.nodes.append(helper.make_node("TopK", [x, g.node("Reshape", [many, g.keep(np.array([1]))])], [name, name + "_at"]))
    g.counts.append(g.node("ReduceSum", [name + "_at"], keepdims=0))
    return name


def one_hot(g, x):
    which = g.node("Cast", [g.node("Greater", [x, g.keep(np.float32(0))])], to=INT)
    return g.node("OneHot", [which, g.count(1, 4), g.keep(np.array([0, 1], np.float32))])


def from_sequence(g, x):
    if not g.sequences or g.number(0, 1):
        g.sequences.append(g.node("SequenceConstruct", [x] + [g.value() for _ in range(g.number(0, 2))]))
    if g.number(0, 1):
        g.sequences.append(g.node("SequenceInsert", [g.sequences[-1], x, g.count(0, 1)]))
    if g.number(0, 1):
        return g.node("ConcatFromSequence", g.sequences[-1:], axis=0)
    return g.node("SequenceAt", [g.sequences[g.number(0, len(g.sequences) - 1)], g.count(0, 1)])


STEPS = (
    lambda g, x: g.node("Slice", [x, g.list_of(0, 3), g.keep(END), g.keep(np.array([0])), g.list_of(1, 2)]),
    lambda g, x: g.node("Tile", [x, g.list_of(0, 3)]),
    lambda g, x: g.node("Tile", [x, item(g, lambda: g.list_of(0, 3), INT)]),
    lambda g, x: g.node("Tile", [x, item(g, lambda: g.list_of(0, 3), INT)]),
    lambda g, x: g.node("Pad", [x, g.node("Concat", [g.list_of(0, 2), g.list_of(0, 2)], axis=0)]),
    lambda g, x: g.node("Expand", [g.node("Unsqueeze", [x, g.keep(np.array([0]))]),
                                   g.node("Concat", [g.list_of(1, 3), g.keep(np.array([1]))], axis=0)]),
    lambda g, x: g.node("Cast", [g.node("NonZero", [g.node("Relu", [x])])], to=FLOAT),
    lambda g, x: g.node("Cast", [g.node("Range", [g.keep(np.array(0)), g.count(0, 7), g.keep(np.array(1))])], to=FLOAT),
    lambda g, x: g.node("Compress", [x, g.node("Greater", [x, g.keep(np.float32(0))])]),
    lambda g, x: choice(g, x, g.value(), FLOAT, "Neg"),
    lambda g, x: item(g, g.value, FLOAT),
    grown, top, one_hot, from_sequence)


def draw(rng):
    g = Network(rng)
    for _ in range(g.number(3, 9)):
        made = STEPS[g.number(0, len(STEPS) - 1)](g, g.value())
        g.values.append(g.node("Add", [made, g.keep(np.float32(1))]) if g.number(0, 2) == 0 else made)
    return g


def model_of(g, feeds, outputs):
    inputs = [info(name, TYPES[value.dtype.name][0]) for name, value in feeds.items()]
    graph = helper.make_graph(g.nodes, "graph", inputs, [info(name, FLOAT) for name in outputs], g.kept)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def run(session, feeds, count):
    """The outputs, or the text of the error."""
    given = [arrays.to_input(value, TYPES[value.dtype.name][1]) for value in feeds.values()]
    for i, tensor in enumerate(given):
        session.set_input(i, tensor)
    try:
        session.run()
    except oxlib.OxError as error:
        return str(error)
    found = [arrays.from_tensor(session.output(k))[1] for k in range(count)]
    return [(array.shape, array.tobytes()) for array in found]


def case(rng, turn):
    g = draw(rng)
    outputs = g.values[2:][-6:]
    feeds = {name: np.asarray(drawn(rng)) for name, drawn in g.inputs.items()}
    model = oxlib.Model(model_of(g, feeds, outputs))
    options = {"threads": 1 + turn % 2, "no_fuse": turn % 5 == 0}
    session = oxlib.Session(model, oxlib.Options(**options))
    try:
        for number in range(RUNS):
            for name, drawn in g.inputs.items():
                if number and rng.random() < 0.4:
                    feeds[name] = np.asarray(drawn(rng))
            found = run(session, feeds, len(outputs))
            alone = oxlib.Session(model, oxlib.Options(**options))
            wanted = run(alone, feeds, len(outputs))
            alone.close()
            if found != wanted:
                said = [text if isinstance(text, str) else [shape for shape, _ in text] for text in (found, wanted)]
                return f"graph {turn}, run {number}: {said[0]}, a session of its own: {said[1]}: {[n.op_type for n in g.nodes]}"
    finally:
        session.close()
        model.close()
    return None


def main():
    asked = trials.parse(700)
    failures = [text for text in (case(np.random.default_rng([asked.seed, turn]), turn) for turn in range(asked.cases))
                if text]
    for text in failures[:25]:
        print(text)
    return trials.tally.finish(asked.cases - len(failures), len(failures))


if __name__ == "__main__":
    sys.exit(main())
