"""models.py: the elementwise models that `make bench` measures, with their inputs and the same computation in numpy.

A case is written as inputs ("x: float 4096 4096"), nodes ("y = Add(x, b)"), and, where numpy can do it without extra
work, a function of the output array and the inputs. All inputs are given at run time, so that no runtime folds them away;
only the constants of written-out formulas are initializers. A value that is an output is named y.
"""

import re

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
IR_VERSION = 10

TYPES = {
    "float": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "double": np.dtype(np.float64),
    "uint8": np.dtype(np.uint8),
    "int8": np.dtype(np.int8),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}

CASES = []


class Case:
    """One model: its name, the group it is averaged in, the serialized model, and its seeded inputs and weights."""

    work = None  # the multiplications of a product
    type = None  # the element type of one that BLAS has
    options = {}  # with which ox loads it
    of_largest = None  # how far results may be from another's, as a share of the largest; None: element by element
    opset, ir_version = OPSET, IR_VERSION

    def __init__(self, name, group, inputs, nodes, out, numpy=None, constants=None, weights=()):
        self.name, self.group, self.nodes, self.numpy = name, group, nodes, numpy
        self.inputs = [parse_value(text) for text in inputs]
        self.weights = [parse_value(text) for text in weights]
        self.out = parse_value(out)
        self.constants = constants or {}

    def model(self, arrays):
        """The model, with those of the arrays that are weights in it."""
        weights = {name: array for (name, _, _), array in zip(self.weights, arrays[len(self.inputs):])}
        values = [helper.make_tensor_value_info(n, onnx_type(t), dims) for n, t, dims in self.inputs]
        out = [helper.make_tensor_value_info(self.out[0], onnx_type(self.out[1]), self.out[2])]
        fixed = [numpy_helper.from_array(np.asarray(v), n) for n, v in (self.constants | weights).items()]
        graph = helper.make_graph([parse_node(text) for text in self.nodes], "bench", values, out, fixed)
        model = helper.make_model(graph, ir_version=self.ir_version,
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        return model.SerializeToString()

    def arrays(self):
        """The inputs, then the weights."""
        rng = np.random.default_rng(sum(self.name.encode()))
        return [random_array(rng, type_name, dims) for _, type_name, dims in self.inputs + self.weights]

    def output_array(self):
        result = aligned(self.out[2], TYPES[self.out[1]])
        result.fill(0)
        return result


def case(*args, **options):
    CASES.append(Case(*args, **options))


def onnx_type(name):
    return TensorProto.DataType.Value(name.upper())


def parse_value(text):
    """("x", "float", [4096, 4096]) of "x: float 4096 4096"."""
    name, rest = text.split(":")
    type_name, *dims = rest.split()
    return name, type_name, [int(d) for d in dims]


def parse_node(text):
    """The node of "y = Op(a, b) attribute=1 other=[1, 2]"."""
    out, op, inputs, rest = re.fullmatch(r"(\w+) = (\w+)\(([^)]*)\) ?(.*)", text).groups()
    attributes = {}
    for key, value in re.findall(r"(\w+)=(\[[^]]*\]|\S+)", rest):
        attributes[key] = parse_attribute(value)
    return helper.make_node(op, inputs.split(", "), [out], **attributes)


def parse_attribute(value):
    if value.startswith("["):
        return [int(v) for v in value[1:-1].split(",")]
    if value in TYPES:
        return onnx_type(value)
    if value[0].isalpha():
        return value
    return float(value) if "." in value else int(value)


def aligned(dims, dtype):
    """An empty array that starts at a cache line, whatever the allocator does."""
    size = int(np.prod(dims, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + size].view(dtype).reshape(dims)


def random_array(rng, type_name, dims):
    """Values that no operator of the table finds hard: floats between 0.5 and 1.5, small integers without zero."""
    result = aligned(dims, TYPES[type_name])
    if type_name == "bool":
        result[...] = rng.integers(0, 2, dims, np.int8)
    elif "int" in type_name:
        result[...] = rng.integers(1, 50, dims, np.int8)
    else:
        result[...] = rng.random(dims, np.float32) + np.float32(0.5)
    return result


def into(function):
    """A numpy function of the inputs that writes into the output."""
    return lambda out, *inputs: function(*inputs, out=out)


def fold(function, scale=None):
    """A binary numpy function folded over all inputs."""
    def run(out, first, second, *rest):
        function(first, second, out=out)
        for operand in rest:
            function(out, operand, out=out)
        if scale is not None:
            np.multiply(out, scale, out=out)
    return run


def choose(out, condition, x, y):
    np.copyto(out, y)
    np.copyto(out, x, where=condition)


CHAIN = ["Add", "Mul", "Sub", "Max", "Mul", "Add", "Min", "Sub"]
CHAIN_NUMPY = [np.add, np.multiply, np.subtract, np.maximum, np.multiply, np.add, np.minimum, np.subtract]


def chain_numpy(out, x, *operands):
    for function, operand in zip(CHAIN_NUMPY, operands):
        x = function(x, operand, out=out)


def chain(name, group, shape, operand):
    inputs = [f"x: float {shape}"] + [f"b{i}: float {operand}" for i in range(8)]
    names = ["x"] + [f"t{i}" for i in range(7)] + ["y"]
    nodes = [f"{names[i + 1]} = {op}({names[i]}, b{i})" for i, op in enumerate(CHAIN)]
    case(name, group, inputs, nodes, f"y: float {shape}", chain_numpy)


def binary(name, group, op, a, b, out, function=None, inputs=("a", "b")):
    case(name, group, [f"a: {a}", f"b: {b}"], [f"y = {op}({', '.join(inputs)})"], f"y: {out}",
         into(function) if function else None)


def f32(value):
    return np.float32(value)


BIG = "float 4096 4096"
MEDIUM = "float 2048 2048"

binary("add same 4096x4096", "same", "Add", BIG, BIG, BIG, np.add)
binary("add same 256x256", "same", "Add", "float 256 256", "float 256 256", "float 256 256", np.add)
binary("add scalar", "scalar", "Add", BIG, "float 1", BIG, np.add)
binary("add row", "row", "Add", BIG, "float 4096", BIG, np.add)
binary("div row 2048x2048", "row", "Div", MEDIUM, "float 2048", MEDIUM, np.divide)
binary("add column", "column", "Add", BIG, "float 4096 1", BIG, np.add)
binary("mul outer", "outer", "Mul", "float 4096 1", "float 1 4096", BIG, np.multiply)
binary("add NCHW bias", "channel", "Add", "float 32 64 56 56", "float 1 64 1 1", "float 32 64 56 56", np.add)
binary("mul squeeze-excite 7x7", "channel", "Mul", "float 32 1024 7 7", "float 32 1024 1 1", "float 32 1024 7 7",
       np.multiply)
binary("mul channels 14x14", "channel", "Mul", "float 32 256 14 14", "float 256 1 1", "float 32 256 14 14", np.multiply)
binary("add middle", "middle", "Add", "float 64 1 128 64", "float 64 32 1 64", "float 64 32 128 64", np.add)
binary("mul inner 3 by [3]", "inner 3", "Mul", "float 1000000 3", "float 3", "float 1000000 3", np.multiply)
binary("mul inner 3 by [1M,1]", "inner 3", "Mul", "float 1000000 3", "float 1000000 1", "float 1000000 3", np.multiply)
binary("sub 5-D both sides", "5-D", "Sub", "float 8 1 32 1 64", "float 1 16 1 16 1", "float 8 16 32 16 64", np.subtract)
binary("pow scalar", "pow scalar", "Pow", "float 1024 1024", "float 1", "float 1024 1024", np.power)
binary("pow same", "pow same", "Pow", "float 1024 1024", "float 1024 1024", "float 1024 1024", np.power)

binary("greater row", "compare", "Greater", BIG, "float 4096", "bool 4096 4096", np.greater)
binary("equal int64 column", "compare", "Equal", "int64 2048 2048", "int64 2048 1", "bool 2048 2048", np.equal)
binary("and bool row", "compare", "And", "bool 4096 4096", "bool 4096", "bool 4096 4096", np.logical_and)

binary("add int8 row", "types", "Add", "int8 4096 4096", "int8 4096", "int8 4096 4096", np.add)
binary("add int64 row", "types", "Add", "int64 2048 2048", "int64 2048", "int64 2048 2048", np.add)
binary("div int32 row", "types", "Div", "int32 2048 2048", "int32 2048", "int32 2048 2048", np.floor_divide)
binary("add float16 row", "float16", "Add", "float16 4096 4096", "float16 4096", "float16 4096 4096", np.add)
binary("add bfloat16 row", "bfloat16", "Add", "bfloat16 4096 4096", "bfloat16 4096", "bfloat16 4096 4096", np.add)

case("where mask, scalar", "where", ["c: bool 2048 2048", "a: float 2048 2048", "b: float 1"], ["y = Where(c, a, b)"],
     f"y: {MEDIUM}", choose)
case("where one broadcast", "where", ["c: bool 2048 2048", "a: float 2048 2048", "b: float 2048"],
     ["y = Where(c, a, b)"], f"y: {MEDIUM}", choose)
case("where all three broadcast", "where", ["c: bool 2048 1", "a: float 2048", "b: float 1 1"], ["y = Where(c, a, b)"],
     f"y: {MEDIUM}", choose)


def expand(name, source, out):
    dims = [int(d) for d in out.split()]
    case(name, "expand", [f"a: float {source}"], ["y = Expand(a, shape)"], f"y: float {out}",
         lambda result, a: np.copyto(result, a), {"shape": np.array(dims, np.int64)})


expand("expand row", "4096", "4096 4096")
expand("expand column", "4096 1", "4096 4096")
expand("expand middle", "64 1 128 64", "64 16 128 64")

binary("PRelu NCHW", "PRelu", "PRelu", "float 32 64 56 56", "float 64 1 1", "float 32 64 56 56")

FOUR = ["a: float 2048 2048", "b: float 2048 2048", "c: float 2048 2048", "d: float 2048 2048"]
case("sum of 4 same", "variadic", FOUR, ["y = Sum(a, b, c, d)"], f"y: {MEDIUM}", fold(np.add))
case("sum of 4 mixed", "variadic", ["a: float 2048 2048", "b: float 2048", "c: float 2048 1", "d: float 1"],
     ["y = Sum(a, b, c, d)"], f"y: {MEDIUM}", fold(np.add))
case("max of 4 mixed", "variadic", ["a: float 2048 2048", "b: float 2048", "c: float 2048 1", "d: float 1"],
     ["y = Max(a, b, c, d)"], f"y: {MEDIUM}", fold(np.maximum))
case("mean of 3", "variadic", FOUR[:3], ["y = Mean(a, b, c)"], f"y: {MEDIUM}", fold(np.add, f32(1 / 3)))

for unary_op, unary_numpy in [("Relu", None), ("Sqrt", np.sqrt), ("Exp", np.exp), ("Log", np.log), ("Tanh", np.tanh),
                              ("Sigmoid", None), ("Erf", None)]:
    case(f"{unary_op.lower()} 2048x2048", "unary", [f"a: {MEDIUM}"], [f"y = {unary_op}(a)"], f"y: {MEDIUM}",
         into(unary_numpy) if unary_numpy else None)

chain("chain of 8, channels", "chain", "64 64 56 56", "1 64 1 1")
chain("chain of 8, channels 14x14", "chain", "64 256 14 14", "1 256 1 1")
chain("chain of 8, rows", "chain", "4096 2048", "2048")
chain("chain of 8, small", "small chain", "64 256", "256")

case("LayerNorm in primitives", "LayerNorm",
     ["x: float 64 256 768", "scale: float 768", "bias: float 768"],
     ["m = ReduceMean(x, axes)", "d = Sub(x, m)", "q = Pow(d, two)", "v = ReduceMean(q, axes)", "e = Add(v, epsilon)",
      "s = Sqrt(e)", "n = Div(d, s)", "t = Mul(n, scale)", "y = Add(t, bias)"],
     "y: float 64 256 768",
     constants={"axes": np.array([-1], np.int64), "two": f32(2), "epsilon": f32(1e-5)})

ACTIVATION = "float 8 512 3072"
case("GELU in primitives, erf", "activation", [f"x: {ACTIVATION}"],
     ["a = Div(x, root)", "b = Erf(a)", "c = Add(b, one)", "d = Mul(x, c)", "y = Mul(d, half)"], f"y: {ACTIVATION}",
     constants={"root": f32(2 ** 0.5), "one": f32(1), "half": f32(0.5)})
case("GELU in primitives, tanh", "activation", [f"x: {ACTIVATION}"],
     ["a = Pow(x, three)", "b = Mul(a, weight)", "c = Add(x, b)", "d = Mul(c, root)", "e = Tanh(d)", "f = Add(e, one)",
      "g = Mul(x, f)", "y = Mul(g, half)"], f"y: {ACTIVATION}",
     constants={"three": f32(3), "weight": f32(0.044715), "root": f32(0.7978846), "one": f32(1), "half": f32(0.5)})
case("SiLU in primitives", "activation", [f"x: {ACTIVATION}"], ["s = Sigmoid(x)", "y = Mul(x, s)"], f"y: {ACTIVATION}")
case("hard swish in primitives", "activation", [f"x: {ACTIVATION}"],
     ["a = Add(x, three)", "b = Clip(a, zero, six)", "c = Mul(x, b)", "y = Div(c, six)"], f"y: {ACTIVATION}",
     constants={"three": f32(3), "zero": f32(0), "six": f32(6)})


def cast_float16(out, a):
    np.copyto(out, a, casting="unsafe")


case("cast float to float16", "cast", [f"a: {BIG}"], ["y = Cast(a) to=float16"], "y: float16 4096 4096", cast_float16)
case("cast float16 to float", "cast", ["a: float16 4096 4096"], ["y = Cast(a) to=float"], f"y: {BIG}", cast_float16)
case("cast chain int8, scale, int32", "cast", ["a: int8 4096 4096", "s: float 4096 1", "b: float 4096"],
     ["f = Cast(a) to=float", "g = Mul(f, s)", "h = Add(g, b)", "y = Cast(h) to=int32"], "y: int32 4096 4096")
case("cast chain float16, add, float16", "cast", ["a: float16 4096 4096", "b: float 4096"],
     ["f = Cast(a) to=float", "g = Add(f, b)", "h = Mul(g, b)", "y = Cast(h) to=float16"], "y: float16 4096 4096")
case("mask by compare and where", "activation", [f"x: {MEDIUM}", "limit: float 2048"],
     ["c = Greater(x, limit)", "d = Mul(x, limit)", "y = Where(c, x, d)"], f"y: {MEDIUM}")


def transpose(name, source, perm, out):
    case(name, "transpose", [f"a: {source}"], [f"y = Transpose(a) perm={str(perm).replace(' ', '')}"], f"y: {out}",
         lambda result, a: np.copyto(result, a.transpose(perm)))


transpose("transpose 4096x4096", BIG, [1, 0], BIG)
transpose("transpose 1000x1000", "float 1000 1000", [1, 0], "float 1000 1000")
transpose("transpose NCHW to NHWC", "float 8 256 28 28", [0, 2, 3, 1], "float 8 28 28 256")
transpose("transpose NHWC to NCHW, float16", "float16 8 56 56 64", [0, 3, 1, 2], "float16 8 64 56 56")
transpose("transpose image to planes, uint8", "uint8 1080 1920 3", [2, 0, 1], "uint8 3 1080 1920")
transpose("transpose attention heads", "float 8 512 12 64", [0, 2, 1, 3], "float 8 12 512 64")

binary("tiny [1]+[1]", "tiny", "Add", "float 1", "float 1", "float 1", np.add)
binary("tiny [3,4]*[4]", "tiny", "Mul", "float 3 4", "float 4", "float 3 4", np.multiply)
chain("tiny chain of 8", "tiny", "2 4", "4")
