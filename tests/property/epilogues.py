"""epilogues.py [--seed N] [--cases N]: products and convolutions with elementwise nodes behind them.

Two of three cases are the geometries of epilogue_shapes.py, one after the other. The others are random graphs of a few
such dense nodes, each with up to eight elementwise nodes that read its result, values made before, and further inputs
that broadcast in every way. Whatever runs on blocks of a product must give, bit for bit, what the nodes give one by one:
with one, two and three threads, in a second run, with every value as an output, and in each build of the loops.
"""

import arrays
import epilogue_shapes
import numpy as np
import oxlib
import passes
import product_cases
import trials
import values
from broadcast import element_type, make_constant, read_schemas
from onnx import helper
from values import pick

OPSET = 21
ISAS = [None, *oxlib.builds()]
HEADS = ["Gemm", "MatMul", "MatMulInteger", "Conv"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min", "PRelu", "Div"]
UNARY = ["Relu", "Abs", "Neg", "Identity", "Clip", "Cast"]
UNARY_OF_FLOATS = ["Sigmoid", "Tanh", "LeakyRelu", "Exp"]
FLOATS = ["float", "double", "float16", "bfloat16"]
ROWS = [row for row in read_schemas(HEADS) if row[1] <= OPSET <= row[2]]


class Graph:
    """Nodes, and the values that later ones may read: {name: (type, shape)}."""

    def __init__(self, rng):
        self.rng, self.nodes, self.inputs, self.constants, self.known = rng, [], [], [], {}

    def draw_input(self, type_name, array):
        """The name of an operand: an input, or a weight."""
        name = f"in{len(self.inputs) + len(self.constants)}"
        if self.rng.random() < 0.4:
            self.constants.append(make_constant(name, type_name, array))
        else:
            self.inputs.append((name, type_name, values.lay_out(self.rng, np.asarray(array))))
        self.known[name] = type_name, tuple(array.shape)
        return name

    def add(self, op, inputs, type_name, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node{len(self.nodes)}", **attributes))
        self.known[name] = type_name, tuple(shape)
        return name

    def head(self):
        row = pick(self.rng, ROWS)
        if row[0] == "Conv":
            return self.convolution(pick(self.rng, FLOATS))
        case = product_cases.draw(self.rng, (row[0], row[1], OPSET, *row[3:]))
        names = ["" if x is None else self.draw_input(t, x) for t, x in zip(case.types, case.operands)]
        return self.add(case.op, names, case.out_type, case.exact.shape, **case.attributes)

    def convolution(self, type_name):
        rng = self.rng
        group, kernel, pad = int(rng.choice([1, 1, 2])), int(rng.integers(1, 4)), int(rng.integers(0, 2))
        images, channels, filters = (int(n) for n in rng.integers(1, [4, 5, 9]))
        if rng.random() < 0.3:  # depthwise
            group, channels, filters = int(rng.integers(2, 30)), 1, int(rng.integers(1, 3))
        size = [int(n) for n in rng.integers(kernel, 40, int(rng.integers(1, 3)))]
        x = product_cases.draw_values(rng, type_name, [images, channels * group, *size])
        w = product_cases.draw_values(rng, type_name, [filters * group, channels, *[kernel] * len(size)])
        names = [self.draw_input(type_name, x), self.draw_input(type_name, w)]
        if rng.random() < 0.7:
            names.append(self.draw_input(type_name, product_cases.draw_values(rng, type_name, [filters * group])))
        shape = [images, filters * group, *(n + 2 * pad - kernel + 1 for n in size)]
        return self.add("Conv", names, type_name, shape, group=group, pads=[pad] * (2 * len(size)))

    def square(self, name):
        """A product that reads a value made before, and has its shape."""
        type_name, shape = self.known[name]
        if len(shape) < 2 or not 0 < shape[-1] <= 80:
            return name
        weight = product_cases.draw_values(self.rng, type_name, [shape[-1], shape[-1]])
        return self.add("MatMul", [name, self.draw_input(type_name, weight)], type_name, shape)

    def partner(self, type_name, shape):
        """An operand that broadcasts to the shape: a value of this type made before, or a new one."""
        fitting = [name for name, (kind, dims) in self.known.items() if kind == type_name and dims == shape]
        if fitting and self.rng.random() < 0.5:
            return pick(self.rng, fitting)
        dims = values.operand_dims(self.rng, list(shape))
        return self.draw_input(type_name, values.random_values(self.rng, type_name, dims))

    def follow(self, name):
        """One more node on a value; gives its result, of the same shape."""
        rng, (type_name, shape) = self.rng, self.known[name]
        is_float = product_cases.is_float(type_name)
        op = pick(rng, BINARY + UNARY + (UNARY_OF_FLOATS if is_float else []))
        if op == "Cast":
            to = pick(rng, [*FLOATS, "int32"]) if not is_float else pick(rng, FLOATS)
            return self.add(op, [name], to, shape, to=element_type(to))
        if op == "Clip":
            bounds = [self.draw_input(type_name, values.random_values(rng, type_name, [], True)) for _ in range(2)]
            return self.add(op, [name, *bounds], type_name, shape)
        if op not in BINARY:
            return name if op in ("Relu", "Neg") and type_name.startswith("uint") else self.add(op, [name], type_name,
                                                                                               shape)
        operands = [name, self.partner(type_name, shape)]
        if op != "PRelu" and rng.random() < 0.3:
            operands.reverse()
        return self.add(op, operands, type_name, shape)

    def repeating_dims(self, shape):
        """Those of an operand that has values along one dimension, or along some that follow each other: of rows, of
        columns, of channels, of images and channels, of matrices and rows."""
        first = int(self.rng.integers(0, len(shape)))
        last = first if self.rng.random() < 0.6 else int(self.rng.integers(first, len(shape)))
        return [n if first <= d <= last else 1 for d, n in enumerate(shape)][first:]

    def finish(self, name):
        """What products do with their sums themselves: factors and terms of rows or columns, a whole matrix that is
        added, limits; each where chance has it."""
        rng, (type_name, shape) = self.rng, self.known[name]
        dims = self.repeating_dims(shape)
        for op in ("Mul", "Add"):
            if rng.random() < 0.5:
                dims = dims if rng.random() < 0.8 else self.repeating_dims(shape)
                operand = self.draw_input(type_name, product_cases.draw_values(rng, type_name, dims))
                name = self.add(op, [name, operand], type_name, shape)
        if rng.random() < 0.5:
            fitting = [v for v, known in self.known.items() if known == (type_name, shape) and v != name]
            other = pick(rng, fitting) if fitting else self.draw_input(
                type_name, product_cases.draw_values(rng, type_name, shape))
            name = self.add("Add", [name, other], type_name, shape)
        if rng.random() < 0.3:
            name = self.add("Relu", [name], type_name, shape)
        for op in ("Max", "Min"):
            if rng.random() < 0.3:
                limit = values.random_values(rng, type_name, [], True)
                name = self.add(op, [name, self.draw_input(type_name, limit)], type_name, shape)
        return name

    def grow(self):
        for _ in range(int(self.rng.integers(1, 3))):
            name = self.head()
            if self.known[name][0] in FLOATS and self.known[name][1] and self.rng.random() < 0.4:
                name = self.finish(name)
                continue
            for _ in range(int(self.rng.integers(1, 9))):
                name = self.square(name) if self.rng.random() < 0.1 else self.follow(name)
        made = [n.output[0] for n in self.nodes]
        return [v for v in made[:-1] if self.rng.random() < 0.15] + made[-1:], made

    def serialize(self, outputs):
        inputs = [helper.make_tensor_value_info(name, element_type(t), None) for name, t, _ in self.inputs]
        outs = [helper.make_tensor_value_info(name, element_type(self.known[name][0]), None) for name in outputs]
        graph = helper.make_graph(self.nodes, "graph", inputs, outs, self.constants)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", OPSET)]
                                 ).SerializeToString()

    def describe(self):
        shapes = ", ".join(f"{name} {t}{list(x.shape)}" for name, t, x in self.inputs)
        weights = ", ".join(f"{c.name} {list(c.dims)}" for c in self.constants)
        text = " ".join(f"{n.output[0]}={n.op_type}({','.join(n.input)})" for n in self.nodes)
        return f"{text} on {shapes}; weights {weights}"


def run(graph, outputs, options, runs=1):
    """{output: elements} of the last run, or the status of the error."""
    model = oxlib.Model(graph.serialize(outputs))
    try:
        session = oxlib.Session(model, options)
        try:
            for _ in range(runs):
                for i, (_, type_name, array) in enumerate(graph.inputs):
                    session.set_input(i, arrays.to_input(array, type_name))
                session.run()
            return {name: arrays.from_tensor(session.output(i))[1] for i, name in enumerate(outputs)}
        except oxlib.OxError as error:
            return error.status
        finally:
            session.close()
    finally:
        model.close()


def differs(one, other):
    if isinstance(one, int) or isinstance(other, int):
        return one != other
    return any(not passes.same_bits(passes.one_nan(one[name]), passes.one_nan(other[name]))
               for name in one if name in other)


def check(rng, _turn):
    """What is wrong with a random graph, None if nothing is."""
    graph, isa = Graph(rng), pick(rng, ISAS)
    outputs, made = graph.grow()
    with np.errstate(all="ignore"):
        single = run(graph, outputs, oxlib.Options(isa=isa, no_fuse=True))
        if isinstance(single, int) and single != oxlib.VALUE:
            return f"{graph.describe()}: status {single}"
        for threads, runs, wanted in ((1, 1, outputs), (1, 2, outputs), (2, 2, outputs), (3, 1, outputs), (2, 1, made)):
            other = run(graph, wanted, oxlib.Options(isa=isa, threads=threads), runs)
            if differs(single, other):
                return (f"{graph.describe()}, outputs {wanted}: run {runs} with {threads} threads differs from the "
                        f"nodes one by one, isa {isa}: {other if isinstance(other, int) else ''}")
    return None


def read_after_block(threads):
    """A product whose left operand has its result's shape and dies behind it, in a sum: were the sum to take the
    operand's memory, the second block of columns would read results."""
    rng, graph = np.random.default_rng(1), Graph(np.random.default_rng(1))
    rows, columns = (180, 1500) if threads == 1 else (12, 1500)
    x = graph.add("Relu", [graph.draw_input("float", rng.normal(size=[rows, columns]).astype(np.float32))], "float",
                  [rows, columns])
    w = graph.draw_input("float", rng.normal(size=[columns, columns]).astype(np.float32))
    product = graph.add("MatMul", [x, w], "float", [rows, columns])
    y = graph.add("Add", [product, x], "float", [rows, columns])
    return differs(run(graph, [y], oxlib.Options(no_fuse=True)), run(graph, [y], oxlib.Options(threads=threads)))


def check_all(rng, turn):
    if turn < 2:
        return "a product reads what its epilogue wrote" if read_after_block(turn + 1) else None
    if turn % 3:
        number = (turn - turn // 3 - 1) % len(epilogue_shapes.GEOMETRIES)
        return epilogue_shapes.check(rng, number, pick(rng, ISAS))
    return check(rng, turn)


if __name__ == "__main__":
    raise SystemExit(trials.run(check_all, 1000))
