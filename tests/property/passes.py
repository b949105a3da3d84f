"""passes.py: a chain of elementwise nodes and reductions gives bit for bit what its nodes give one by one.

A random graph of such nodes runs three times: with its last value as the only output, so that nodes may be
computed together; so too, but with the option no_fuse; and with every value as an output, so that each is stored.
A share of the graphs runs on large operands, and once more with two threads.
"""

import arrays
import numpy as np
import oxlib
import values
from onnx import TensorProto, helper

BINARY = ["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"]
UNARY = ["Neg", "Abs", "Relu", "Identity"]
FLOAT_ONLY = ["Div", "Sigmoid", "Tanh", "Exp", "Sqrt", "Floor", "Reciprocal", "LeakyRelu", "PRelu"]
REDUCE = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin"]
TYPES = ["float", "double", "float16", "bfloat16", "int32"]
LIMITS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
MOST_ELEMENTS = 1 << 22


class Graph:
    """Nodes over the inputs in0 to in2, a condition and a slope, and the shape of every value."""

    def __init__(self, rng, type_name, shapes):
        self.rng, self.type_name, self.nodes, self.constants = rng, type_name, [], []
        self.known = ["in0", "in1", "in2"]
        self.shapes = {name: tuple(shape) for name, shape in zip([*self.known, "condition"], shapes)}
        self.shapes["slope"] = ()
        self.ops = BINARY + UNARY + ["Where", "Clip"] + REDUCE
        if type_name == "int32":
            self.ops = [op for op in self.ops if op not in ("Sum", "Mean")]
        else:
            self.ops = self.ops + FLOAT_ONLY + ["Softmax"] * 2 + ["gate"]

    def pick(self):
        """A value; recent ones are preferred, so that chains get long."""
        return self.known[-1 - min(int(self.rng.geometric(0.5)) - 1, len(self.known) - 1)]

    def number(self, value):
        """The name of a constant of the graph's type."""
        kind = TensorProto.DataType.Value(self.type_name.upper())
        self.constants.append(helper.make_tensor(f"number{len(self.constants)}", kind, [], [value]))
        return self.constants[-1].name

    def broadcast(self, *names):
        """The shape of values together; None if there is none, or too large a one: [N] against [N,1] gives N * N."""
        try:
            shape = np.broadcast_shapes(*(self.shapes[name] for name in names))
        except ValueError:
            return None
        return shape if np.prod(shape) <= MOST_ELEMENTS else None

    def add(self, op, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node{len(self.nodes)}", **attributes))
        self.known.append(name)
        self.shapes[name] = shape

    def reduce(self, op, name):
        """Over the last dimensions mostly, which passes take, or over any one."""
        shape, rng = self.shapes[name], self.rng
        if not shape or (0 in shape and self.type_name == "int32"):
            return
        first = len(shape) - int(rng.integers(1, min(3, len(shape)) + 1))
        axes = range(first, len(shape)) if rng.random() < 0.8 else [int(rng.integers(0, len(shape)))]
        if op == "Softmax":
            self.add(op, [name], shape, axis=axes[-1])
            return
        keep = int(rng.random() < 0.8)
        kept = tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)
        self.constants.append(helper.make_tensor(f"axes{len(self.nodes)}", TensorProto.INT64, [len(axes)], list(axes)))
        self.add(op, [name, self.constants[-1].name], kept, keepdims=keep)

    def grow(self):
        op, picked = self.ops[int(self.rng.integers(0, len(self.ops)))], [self.pick(), self.pick()]
        if op in REDUCE + ["Softmax"]:
            self.reduce(op, picked[0])
            return
        if op == "Clip":
            self.clip(picked[0])
            return
        if op == "gate":
            self.gate()
            return
        count = 2 if op in BINARY + ["Div", "PRelu"] else 1
        inputs = ["condition", *picked] if op == "Where" else picked[:count]
        if op == "PRelu":
            inputs[1] = "slope"
        shape = self.broadcast(*inputs)
        if shape is not None:
            self.add(op, inputs, shape)

    def clip(self, name):
        """Between two numbers, in the wrong order sometimes."""
        limits = [LIMITS[int(self.rng.integers(0, len(LIMITS)))] for _ in range(2)]
        if self.type_name == "int32":
            limits = [int(np.nan_to_num(limit, posinf=9, neginf=-9)) for limit in limits]
        self.add("Clip", [name, *map(self.number, limits)], self.shapes[name])

    def gate(self):
        """x times the sigmoid of x, or of something else."""
        x, y = self.pick(), self.pick()
        shape = self.broadcast(x, y)
        if shape is not None:
            self.add("Sigmoid", [x], self.shapes[x])
            self.add("Mul", [y, self.known[-1]] if self.rng.random() < 0.5 else [self.known[-1], y], shape)

    def normalize(self):
        """What models write instead of LayerNormalization, of the value made last."""
        x, shape, places = self.known[-1], self.shapes[self.known[-1]], [len(self.nodes) + i for i in range(6)]
        if not shape:
            return
        mean, centred, square, variance, deviation, _ = (f"v{i}" for i in places)
        self.constants.append(helper.make_tensor(f"axes{mean}", TensorProto.INT64, [1], [-1]))
        axes, row = self.constants[-1].name, (*shape[:-1], 1)
        self.add("ReduceMean", [x, axes], row)
        self.add("Sub", [x, mean], shape)
        squared = centred if self.rng.random() < 0.7 else x  # some use the mean of squares for the variance
        if self.rng.random() < 0.5:
            self.add("Mul", [squared, squared], shape)
        else:
            self.add("Pow", [squared, self.number(2)], shape)
        self.add("ReduceMean", [square, axes], row)
        self.add("Sqrt", [variance], row)
        self.add("Div", [centred, deviation], shape)


def random_graph(rng, type_name, shapes, normalized):
    """If it is to be normalized, that begins with the last input."""
    graph = Graph(rng, type_name, shapes)
    if normalized:
        graph.normalize()
    for _ in range(int(rng.integers(2, 9)) - 2 * normalized):
        if rng.random() < 0.15 and type_name != "int32":
            graph.normalize()
        else:
            graph.grow()
    while not graph.nodes:
        graph.grow()
    return graph


def build(graph, outputs):
    type_name = graph.type_name
    kind = TensorProto.DataType.Value(type_name.upper())
    inputs = [helper.make_tensor_value_info(f"in{i}", kind, None) for i in range(3)]
    inputs.append(helper.make_tensor_value_info("condition", TensorProto.BOOL, None))
    inputs.append(helper.make_tensor_value_info("slope", kind, None))
    wanted = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    proto = helper.make_graph(graph.nodes, "graph", inputs, wanted, graph.constants)
    model = helper.make_model(proto, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    return model.SerializeToString()


def run_model(data, type_name, operands, index, options=None):
    model = oxlib.Model(data, options)
    try:
        session = oxlib.Session(model, options)
        try:
            for i, array in enumerate(operands):
                name = "bool" if i == 3 else type_name
                session.set_input(i, arrays.to_input(array, name))
            session.run()
            return arrays.from_tensor(session.output(index))[1]
        finally:
            session.close()
    finally:
        model.close()


def row_dims(rng):
    """Rows of every length around those where a pass changes its ways."""
    length = int(rng.choice([2, 7, 8, 31, 40, 64, 100, 255, 256, 300, 768, 1000]))
    dims = [int(d) for d in rng.integers(1, 8, int(rng.integers(1, 4)))] + [length]
    if rng.random() < 0.3:
        dims.insert(int(rng.integers(1, len(dims) + 1)), int(rng.integers(1, 4)))
    return dims


def finite(rng, array):
    """Mostly without infinities and the like, so that sums are numbers whose order of adding shows."""
    if array.dtype.kind not in "fV" or rng.random() < 0.3:
        return array
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(array.astype(np.float64)) < 1000, array, np.array(1.25, array.dtype))


def draw_operands(rng, type_name, large, normalized):
    rows = normalized or rng.random() < 0.5
    dims = values.large_dims(rng) if large else row_dims(rng) if rows else values.output_dims(rng, 20000)
    shapes = [values.operand_dims(rng, dims) for _ in range(4)]
    if normalized and rng.random() < 0.7:
        shapes[2] = dims
    types = [type_name] * 3 + ["bool"]
    operands = [values.lay_out(rng, finite(rng, values.random_values(rng, t, s))) for t, s in zip(types, shapes)]
    return operands + [values.random_values(rng, type_name, [])]


def one_nan(array):
    """The array with every NaN the same: which of two NaN an operation passes on depends on the compiler's loops."""
    return np.where(array != array, np.array(np.nan, array.dtype), array) if array.dtype.kind in "fV" else array


def same_bits(a, b):
    return a.shape == b.shape and np.array_equal(np.ascontiguousarray(a).reshape(-1).view(np.uint8),
                                                 np.ascontiguousarray(b).reshape(-1).view(np.uint8))


def check_exponent(harness):
    """An exponent that is computed, beside a constant: passes multiply where the exponent is known to be 2."""
    nodes = [helper.make_node("Abs", ["e"], ["r"]), helper.make_node("Add", ["w", "w"], ["c"]),
             helper.make_node("Pow", ["x", "r"], ["p"]), helper.make_node("Add", ["p", "c"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xey"]
    graph = helper.make_graph(nodes, "graph", ends[:2], ends[2:], [helper.make_tensor("w", TensorProto.FLOAT, [], [1])])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    x = np.arange(5, dtype=np.float32)
    got = run_model(model.SerializeToString(), "float", [x, np.array(-3, np.float32)], 0)
    if np.array_equal(got, x ** 3 + 2):
        harness.passed += 1
    else:
        harness.failures.append(("Pow", f"by a computed exponent gives {got}"))


def check_graph(graph, operands, large, harness):
    made, type_name = graph.known[3:], graph.type_name
    text = " ".join(f"{n.output[0]}={n.op_type}({','.join(n.input)})" for n in graph.nodes)
    where = f"pass {type_name} {[list(x.shape) for x in operands]} {text}"
    try:
        alone = build(graph, made[-1:])
        fused = run_model(alone, type_name, operands, 0)
        unfused = run_model(alone, type_name, operands, 0, oxlib.Options(no_fuse=True))
        stored = run_model(build(graph, made), type_name, operands, len(made) - 1)
        split = run_model(alone, type_name, operands, 0, oxlib.Options(threads=2)) if large else fused
    except oxlib.OxError as error:
        harness.failures.append(("pass", f"{where}: status {error.status}: {error}"))
        return
    if not same_bits(one_nan(fused), one_nan(unfused)):
        harness.failures.append(("pass", f"{where}: differs from the nodes one by one"))
    elif not same_bits(one_nan(fused), one_nan(split)):
        harness.failures.append(("pass", f"{where}: differs with two threads"))
    elif not same_bits(one_nan(fused), one_nan(stored)):
        harness.failures.append(("pass", f"{where}: differs when every value is an output"))
    else:
        harness.passed += 1


def run(rng, cases, harness):
    """Adds the cases to harness.passed and harness.failures."""
    check_exponent(harness)
    for i in range(cases):
        normalized = i % 8 == 0
        type_name = "float" if normalized else TYPES[int(rng.integers(0, len(TYPES)))]
        large = bool(rng.random() < 0.1)
        operands = draw_operands(rng, type_name, large, normalized)
        graph = random_graph(rng, type_name, [x.shape for x in operands[:4]], normalized)
        check_graph(graph, operands, large, harness)
