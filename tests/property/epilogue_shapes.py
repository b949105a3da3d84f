"""epilogue_shapes.py: dense nodes of many geometries, each with elementwise nodes behind it whose operands broadcast in
every way there is: one value for each row, column, channel, image, matrix of a batch, and all that lies between.

A geometry is one test. It is a model with a copy of the dense node for each of its branches: every shape of one operand,
every pair of shapes of two, and chains. The nodes one by one give what numpy makes of the dense node's result, and the
nodes run together give that, bit for bit.
"""

import itertools

import arrays
import numpy as np
import oxlib
from broadcast import element_type, make_constant
from onnx import helper
from values import pick

OPSET = 23
MOST_PAIRS = 64  # of shapes of two operands; of more, so many are drawn
NUMPY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Relu": lambda x: np.maximum(x, 0),
         "Clip": lambda x, low, high: np.minimum(np.maximum(x, low), high)}


class Geometry:
    """A dense node: its inputs have these shapes, and those from number `weights` on are constants of the model (None:
    from 1 on, or none, as is drawn)."""

    def __init__(self, op, *shapes, domain="", types=("float",), weights=None, output=0, given=None, **attributes):
        self.op, self.shapes, self.domain, self.types, self.weights = op, shapes, domain, types, weights
        self.output, self.given, self.attributes = output, given or {}, attributes

    def describe(self):
        return f"{self.op} of {' '.join(str(list(s)) for s in self.shapes)} {self.attributes or ''}"

    def draw(self, rng, type_name):
        """[(name, type, array)] of the inputs: whole numbers, whose sums are exact."""
        drawn = []
        for i, shape in enumerate(self.shapes):
            kind = self.given.get(i, type_name)
            low = 0 if kind.startswith("uint") else -3
            drawn.append((f"x{i}", kind, np.asarray(rng.integers(low, 4, shape)).astype(arrays.DTYPES[kind][1])))
        return drawn

    def node(self, name):
        """The node, whose result has this name."""
        outputs = [""] * self.output + [name]
        return helper.make_node(self.op, [f"x{i}" for i in range(len(self.shapes))], outputs, domain=self.domain,
                                **self.attributes)


# ---- Geometries ------------------------------------------------------------------------------------------------------


def products():
    for a, b in itertools.product(([4], [3, 4], [1, 4], [2, 3, 4], [3, 1, 4], [2, 2, 3, 4], [1, 3, 4], [3, 3, 4]),
                                  ([4], [4, 5], [4, 1], [2, 4, 5], [3, 4, 3], [2, 1, 4, 3], [1, 4, 6])):
        try:
            np.broadcast_shapes(a[:-2], b[:-2])
        except ValueError:
            continue
        yield Geometry("MatMul", a, b, types=("float", "double", "float16"))
    yield Geometry("MatMul", [2, 3, 0], [0, 4])
    yield Geometry("MatMul", [2, 40, 70], [70, 50], weights=1)
    yield Geometry("MatMul", [2, 70, 300], [2, 300, 90])
    yield Geometry("MatMul", [3, 2, 33, 65], [65, 1])
    yield Geometry("MatMul", [2, 200], [200, 2100], weights=1)
    yield Geometry("MatMul", [1, 64], [64, 96], weights=1)
    for ta, tb in itertools.product((0, 1), (0, 1)):
        for c in ([], [1], [5], [1, 5], [7, 1], [7, 5], None):
            yield Geometry("Gemm", [6, 7] if ta else [7, 6], [5, 6] if tb else [6, 5], *([] if c is None else [c]),
                           transA=ta, transB=tb, alpha=2.0 if tb else 1.0, beta=0.5 if ta else 1.0)
    for ta, tb, ba, bb in itertools.product((0, 1), repeat=4):
        a, b = [4, 3] if ta else [3, 4], [5, 4] if tb else [4, 5]
        yield Geometry("FusedMatMul", [a[0], 2, a[1]] if ba else [2, *a], [b[0], 2, b[1]] if bb else [2, *b],
                       domain="com.microsoft", transA=ta, transB=tb, transBatchA=ba, transBatchB=bb, alpha=2.0)
        yield Geometry("FusedMatMul", [2, *a], b, domain="com.microsoft", weights=1, transA=ta, transB=tb)
    for a, b in (([2, 3, 4], [4, 5]), ([3, 4], [4, 3]), ([2, 3, 4], [4]), ([2, 3, 4], [2, 4, 5])):
        yield Geometry("MatMulInteger", a, b, given={0: "uint8", 1: "int8"}, types=("int32",))
    yield Geometry("Einsum", [2, 3, 4], [2, 4, 5], equation="bij,bjk->bik")


def convolutions():
    images = (1, 2, 3)
    # Channels, filters, groups.
    widths = ((16, 32, 1), (3, 8, 1), (1, 1, 1), (16, 16, 4), (12, 12, 12), (6, 12, 6), (20, 3, 1), (40, 40, 1))
    for (c, m, g), n, plane, k in itertools.product(widths, (2, 3), ((9, 9), (5, 3)), (1, 3)):
        yield Geometry("Conv", [n, c, *plane], [m, c // g, k, k], group=g, pads=[k // 2] * 4)
    for n, k, step, bias in itertools.product((1, 2), (1, 3, 5), (1, 2), (False, True)):
        for c, m, g in ((3, 16, 1), (32, 32, 1), (24, 24, 24), (8, 4, 2)):
            yield Geometry("Conv", [n, c, 11, 13], [m, c // g, k, k], *([[m]] if bias else []), weights=1, group=g,
                           pads=[k // 2] * 4, strides=[step, step], types=("float", "float16"))
    for n, g, k in itertools.product(images, (1, 4), (1, 3)):
        yield Geometry("Conv", [n, 8, 15], [8, 8 // g, k], group=g, weights=1, types=("float", "double"))
        yield Geometry("Conv", [n, 8, 3, 4, 5], [4, 8 // g, k, 1, 1], group=g, pads=[k // 2, 0, 0] * 2)
    for n, size in itertools.product((1, 2), (24, 33)):
        yield Geometry("Conv", [n, 32, size, size], [32, 32, 3, 3], [32], weights=1, pads=[1] * 4)
        yield Geometry("Conv", [n, 8, size, size], [16, 8, 3, 3], weights=1, pads=[1] * 4)
        yield Geometry("Conv", [n, 32, size, size], [32, 1, 3, 3], weights=1, pads=[1] * 4, group=32)
        yield Geometry("Conv", [n, 64, size, size], [64, 64, 1, 1], weights=1)
    for n, g in itertools.product((1, 2), (1, 2)):
        yield Geometry("ConvTranspose", [n, 4, 5, 5], [4, 6 // g, 3, 3], [6], group=g, weights=1)
        yield Geometry("ConvInteger", [n, 4, 5, 5], [6, 4 // g, 3, 3], group=g, weights=1, types=("int32",),
                       given={0: "uint8", 1: "int8"})


def others():
    """Nodes whose results have rows, which passes join or read."""
    for batch in (1, 3):
        yield Geometry("RNN", [2, batch, 3], [1, 4, 3], [1, 4, 4], hidden_size=4, weights=1)
        yield Geometry("GRU", [2, batch, 3], [1, 12, 3], [1, 12, 4], hidden_size=4, weights=1)
        yield Geometry("LSTM", [2, batch, 3], [1, 16, 3], [1, 16, 4], hidden_size=4, weights=1, output=1)
        yield Geometry("Attention", [batch, 2, 3, 4], [batch, 2, 5, 4], [batch, 2, 5, 4])
    for dims in ([2, 3, 4], [2, 3, 40], [3, 2, 1, 6], [2, 3, 1], [1, 3, 130], [2, 3, 4, 17]):
        for axis in range(len(dims)):
            yield Geometry("Softmax", dims, axis=axis, types=("float", "float16"))
        yield Geometry("LayerNormalization", dims, [dims[-1]])
        yield Geometry("LayerNormalization", dims, dims[-2:], axis=-2)
        yield Geometry("Identity", dims)
    for rows in ([4], [3, 2], [2, 1, 3]):
        for length in (2, 7, 15, 16, 17, 31, 33, 64, 100, 127, 250, 513, 1030):
            yield Geometry("Identity", [*rows, length])
    yield Geometry("Identity", [3, 1000, 40])
    yield Geometry("Identity", [2, 3, 20, 1000])
    yield Geometry("Identity", [600, 3, 33])


# ---- Branches --------------------------------------------------------------------------------------------------------


class Model:
    """A geometry with its branches: nodes, and what numpy says of their results."""

    def __init__(self, geometry, rng, type_name, isa):
        self.geometry, self.rng, self.type_name, self.isa = geometry, rng, type_name, isa
        drawn = geometry.draw(rng, type_name)
        weights = pick(rng, [1, len(drawn)]) if geometry.weights is None else geometry.weights
        self.inputs, self.constants = drawn[:weights], [make_constant(*x) for x in drawn[weights:]]
        self.nodes, self.outputs, self.values, self.operands = [geometry.node("p")], ["p"], {}, {}
        result = self.run(no_fuse=True)["p"]
        self.dims = result.shape
        self.values = {"p": result}

    def run(self, **options):
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        inputs = [helper.make_tensor_value_info(name, element_type(t), None) for name, t, _ in self.inputs]
        outputs = [helper.make_tensor_value_info(name, element_type(self.type_name), None) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "graph", inputs, outputs, self.constants)
        model = oxlib.Model(helper.make_model(graph, ir_version=10, opset_imports=domains).SerializeToString())
        try:
            session = oxlib.Session(model, oxlib.Options(isa=self.isa, **options))
            try:
                for i, (_, type_name, array) in enumerate(self.inputs):
                    session.set_input(i, arrays.to_input(array, type_name))
                session.run()
                return {name: arrays.from_tensor(session.output(i))[1] for i, name in enumerate(self.outputs)}
            finally:
                session.close()
        finally:
            model.close()

    def shapes(self):
        """One for each set of dimensions along which an operand may vary; leading 1s are left out now and then."""
        axes = [d for d, n in enumerate(self.dims) if n != 1]
        for kept in itertools.chain.from_iterable(itertools.combinations(axes, n) for n in range(len(axes) + 1)):
            shape = [n if d in kept else 1 for d, n in enumerate(self.dims)]
            while shape and shape[0] == 1 and self.rng.random() < 0.5:
                shape = shape[1:]
            yield tuple(shape)

    def operand(self, shape, number=0):
        """An input or a constant of this shape, without zeros; the same number gives the same one."""
        if (shape, number) not in self.operands:
            name, dtype = f"y{len(self.operands)}", arrays.DTYPES[self.type_name][1]
            array = np.asarray(self.rng.integers(1, 60, shape) * self.rng.choice([-1, 1], shape)).astype(dtype)
            if dtype.kind not in "iu":
                array = np.asarray(array / 8).astype(dtype)
            if self.rng.random() < 0.3:
                self.constants.append(make_constant(name, self.type_name, array))
            else:
                self.inputs.append((name, self.type_name, array))
            self.operands[shape, number] = name
            self.values[name] = array
        return self.operands[shape, number]

    def add(self, op, *names):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name]))
        self.values[name] = np.asarray(NUMPY[op](*(self.values[n] for n in names)))
        return name

    def head(self):
        name = f"p{len(self.nodes)}"
        self.nodes.append(self.geometry.node(name))
        self.values[name] = self.values["p"]
        return name

    def end(self, name):
        self.outputs.append(name)

    def one_operand(self, shape):
        y = self.operand(shape)
        self.end(self.add("Add", self.head(), y))
        self.end(self.add("Mul", y, self.head()))
        self.end(self.add("Sub", y, self.head()))
        if not self.type_name.startswith("int"):
            self.end(self.add("Div", self.head(), y))

    def two_operands(self, one, other):
        scaled = self.add("Mul", self.head(), self.operand(one))
        self.end(self.add("Relu", self.add("Add", scaled, self.operand(other, 1))))

    def chains(self, one, other):
        whole = self.operand(self.dims, 2)
        low, high = self.operand((), 3), self.operand((), 4)
        affine = self.add("Add", self.add("Mul", self.head(), self.operand(one)), self.operand(one, 1))
        self.end(self.add("Clip", self.add("Add", affine, whole), low, high))
        again = self.add("Add", self.add("Mul", self.head(), self.operand(one)), self.operand(one, 1))
        self.end(self.add("Add", self.add("Mul", again, self.operand(other)), self.operand(other, 1)))
        self.end(self.add("Mul", self.add("Add", self.head(), self.operand(one)), self.operand(other, 1)))
        self.end(self.add("Add", self.add("Add", self.head(), whole), self.operand(one)))
        kept = self.add("Mul", self.head(), self.operand(one))
        self.end(kept)
        self.end(self.add("Add", kept, self.operand(other, 1)))

    def rows(self, one, other, third):
        """Nodes that go over rows, with elementwise nodes in front and behind; numpy rounds them otherwise."""
        affine = self.add("Add", self.add("Mul", self.head(), self.operand(one)), self.operand(other, 1))
        named = [f"{affine}{c}" for c in "abcdef"]
        self.nodes += [helper.make_node("Softmax", [affine], [named[0]]),
                       helper.make_node("Mul", [named[0], self.operand(third, 5)], [named[1]]),
                       helper.make_node("ReduceMean", [affine, "last"], [named[2]], keepdims=1),
                       helper.make_node("Sub", [affine, named[2]], [named[3]]),
                       helper.make_node("Mul", [named[3], self.operand(third, 5)], [named[4]]),
                       helper.make_node("LayerNormalization", [named[4], self.operand(self.dims[-1:], 6)], [named[5]])]
        self.outputs += named[1:6:4]

    def grow(self):
        shapes = list(self.shapes())
        pairs = list(itertools.product(shapes, shapes))
        if len(pairs) > MOST_PAIRS:
            pairs = [pairs[i] for i in self.rng.choice(len(pairs), MOST_PAIRS, replace=False)]
        if self.geometry.op == "Identity":
            self.constants.append(make_constant("last", "int64", np.array([-1])))
            for one, other in pairs:
                self.rows(one, other, pick(self.rng, shapes))
        for shape in shapes:
            self.one_operand(shape)
            self.chains(shape, pick(self.rng, shapes))
            self.end(self.add("Add", self.head(), self.operand((1,) * (len(self.dims) - len(shape) + 1) + shape)))
        for one, other in pairs:
            self.two_operands(one, other)
        self.end(self.add("Mul", self.head(), self.operand((2, *self.dims))))

    def describe(self, name):
        """The branch that ends in a value."""
        given = {n.output[-1]: n for n in self.nodes}
        if name in self.values and (name not in given or given[name].op_type == self.geometry.op):
            return f"{name}{list(self.values[name].shape)}"
        if name not in given:
            return name
        return f"{given[name].op_type}({', '.join(self.describe(n) for n in given[name].input)})"


GEOMETRIES = [*products(), *convolutions(), *others()]


def wrong(model, results, wanted):
    """The branches whose results are not those that are wanted."""
    return [name for name in model.outputs if name in wanted and (
        results[name].shape != wanted[name].shape or not np.array_equal(results[name], wanted[name], equal_nan=True))]


def check(rng, number, isa):
    """What is wrong with a geometry in a build of the loops, None if nothing is."""
    geometry = GEOMETRIES[number]
    with np.errstate(all="ignore"):
        model = Model(geometry, rng, pick(rng, geometry.types), isa)
        model.grow()
    single = model.run(no_fuse=True)
    found, how = wrong(model, single, model.values), "the nodes one by one differ from numpy"
    for threads in (1, 2):
        if not found:
            found, how = wrong(model, model.run(threads=threads), single), f"{threads} threads differ from one by one"
    if not found:
        return None
    return (f"{geometry.describe()}, {model.type_name}, isa {isa}: {how} in {len(found)} of {len(model.outputs)} "
            f"branches: {model.describe(found[0])}")
