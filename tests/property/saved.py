"""saved.py [--seed N] [--cases N]: random networks as ONNX Runtime's optimiser saves them, at its levels BASIC, EXTENDED and
ALL: convolutional ones of floats and of bytes, and encoders of text. ox loads each file, and gives what ONNX Runtime gives
for the network as it was. ALL lays images out in blocks of channels (com.microsoft.nchwc), or with their channels last.

This machine has one size of blocks. Networks of blocks of 8 and of 16 are written here, too, against the same in plain."""

import os
import sys
import tempfile

import nodes
import numpy as np
import onnx
import onnxruntime
import oxlib
import tally
import trials
from onnx import helper, numpy_helper

LEVELS = onnxruntime.GraphOptimizationLevel
SAVED = {"BASIC": LEVELS.ORT_ENABLE_BASIC, "EXTENDED": LEVELS.ORT_ENABLE_EXTENDED, "ALL": LEVELS.ORT_ENABLE_ALL}
# As shares of the largest: sums in another order; bytes that come out beside a boundary of rounding, layer by layer.
FLOATS, BYTES, STEPS = 1e-4, 0.1, 2
SCALE = 0.05
BLOCKS = "com.microsoft.nchwc"


class Network:
    """A graph being drawn, whose images have shape [batch, channels, height, width]. In `form` (None, QDQ) it says how it
    is quantized."""

    def __init__(self, rng, form=None):
        self.rng, self.form = rng, form
        self.nodes, self.kept, self.inputs = [], [], {}

    def name(self):
        return f"v{len(self.nodes) + len(self.kept) + len(self.inputs)}"

    def number(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def chance(self, often):
        return self.rng.random() < often

    def keep(self, array):
        name = self.name()
        self.kept.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], name + "_node", domain=domain, **attributes))
        return name

    def feed(self, *dims):
        name = self.name()
        self.inputs[name] = self.rng.normal(size=dims).astype(np.float32)
        return name

    def weights(self, *dims):
        return (self.rng.normal(size=dims) / np.sqrt(np.prod(dims[1:]))).astype(np.float32)

    def around(self, x, kind="uint8", scale=SCALE):
        """A tensor of floats, brought to bytes and back."""
        if not self.form:
            return x
        ends = [self.keep(np.float32(scale)), self.keep(np.array(128 if kind == "uint8" else 0, kind))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, *ends]), *ends])

    def constant(self, array, bias=False):
        """Weights, which lie in bytes in a quantized network."""
        if not self.form or bias:
            return self.keep(array)
        kind, scale = np.int8, np.float32(max(np.abs(array).max(), 1e-3) / 127)
        return self.node("DequantizeLinear", [self.keep(np.rint(array / scale).astype(kind)), self.keep(scale),
                                              self.keep(np.array(0, kind))])

    def model(self, outputs, domains=()):
        return nodes.model_around(self.nodes, {name: "float" for name in self.inputs}, {name: "float" for name in outputs},
                                  17, self.kept, domains)


# ---- Images ----------------------------------------------------------------------------------------------------------

def activate(g, x):
    op = str(g.rng.choice(["", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Clip"]))
    if not op or g.form:
        return g.around(g.node("Relu", [x]) if op == "Relu" else x)
    if op == "Clip":
        return g.node(op, [x, g.keep(np.float32(0)), g.keep(np.float32(1.5))])
    return g.node(op, [x], **({"alpha": 0.3} if op in ("LeakyRelu", "HardSigmoid") else {}))


def some_dead(g, w, bias):
    """Now and then some outputs are always 0, which look like those that fill a block."""
    if g.chance(0.3):
        dead = g.rng.random(len(w)) < g.rng.choice([0.1, 0.5])
        w[dead], bias[dead] = 0, 0
    return w, bias.astype(np.float32)


def convolve(g, x, shape, count, kernel, stride=1, groups=1):
    w, bias = some_dead(g, g.weights(count, shape[1] // groups, kernel, kernel), g.rng.normal(size=count))
    bias = [g.keep(bias)] if g.chance(0.7) and not g.form else []
    y = g.node("Conv", [x, g.constant(w), *bias], kernel_shape=[kernel, kernel], strides=[stride, stride],
               pads=[kernel // 2] * 4, group=groups)
    size = [(d + 2 * (kernel // 2) - kernel) // stride + 1 for d in shape[2:]]
    if g.chance(0.2) and not g.form:
        ones = [g.keep(g.rng.uniform(0.5, 1.5, count).astype(np.float32)) for _ in range(4)]
        y = g.node("BatchNormalization", [y, *ones])
    return activate(g, y), [shape[0], count, *size]


def convolutional(g):
    """A network of a few layers of the kinds that such networks have."""
    channels = [3, 8, 16, 12, 24, 32, 40]
    shape = [g.number(1, 2), int(g.rng.choice([1, 3, 3, 8, 16])), g.number(9, 20), g.number(9, 20)]
    x = g.around(g.feed(*shape))
    for _ in range(g.number(3, 7)):
        way = str(g.rng.choice(["conv", "conv", "conv", "depth", "group", "pool", "add", "scale", "concat", "grow"]))
        count = int(g.rng.choice(channels))
        if way == "depth":
            x, shape = convolve(g, x, shape, shape[1], 3, g.number(1, 2), shape[1])
        elif way == "group" and shape[1] % 2 == 0:
            x, shape = convolve(g, x, shape, count * 2, 3, 1, 2)
        elif way == "pool" and min(shape[2:]) > 3:
            op = str(g.rng.choice(["MaxPool", "AveragePool"]))
            x = g.around(g.node(op, [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
            shape = shape[:2] + [(d - 1) // 2 + 1 for d in shape[2:]]
        elif way == "add":
            a, other = convolve(g, x, shape, shape[1], 3)
            b = x if g.chance(0.6) else convolve(g, x, shape, shape[1], 1)[0]
            x = activate(g, g.node("Add", [a, b]))
        elif way == "scale" and not g.form:
            a, _ = convolve(g, g.node("GlobalAveragePool", [x]), [*shape[:2], 1, 1], shape[1], 1)
            x = g.node("Mul", [x, g.node("Sigmoid", [a])])
        elif way == "concat":
            parts = [convolve(g, x, shape, int(g.rng.choice(channels)), int(g.rng.choice([1, 3]))) for _ in range(2)]
            x = g.around(g.node("Concat", [part[0] for part in parts], axis=1))
            shape = [shape[0], sum(part[1][1] for part in parts), *shape[2:]]
        elif way == "grow" and max(shape[2:]) < 20 and not g.form:
            linear = g.chance(0.4)
            x = g.node("Resize", [x, "", g.keep(np.array([1, 1, 2, 2], np.float32))],
                       mode="linear" if linear else "nearest", nearest_mode="floor",
                       coordinate_transformation_mode=str(g.rng.choice(["half_pixel", "asymmetric", "align_corners"])) if linear
                       else "asymmetric")
            shape = shape[:2] + [2 * d for d in shape[2:]]
        else:
            x, shape = convolve(g, x, shape, count, int(g.rng.choice([1, 3, 5])), g.number(1, 2))
    if g.chance(0.3):
        return x
    pooled = g.node(str(g.rng.choice(["GlobalAveragePool", "GlobalMaxPool"] if not g.form else ["GlobalAveragePool"])), [x])
    flat = g.node("Flatten", [g.around(pooled)])
    return g.node("MatMul", [flat, g.constant(g.weights(shape[1], 10))])


# ---- Texts -----------------------------------------------------------------------------------------------------------

def normalised(g, x, size):
    ones, zeros = (g.keep(g.rng.uniform(*ends, size).astype(np.float32)) for ends in ((0.5, 1.5), (-0.5, 0.5)))
    if g.chance(0.5):
        return g.node("LayerNormalization", [x, ones, zeros], epsilon=1e-5)
    away = g.node("Sub", [x, g.node("ReduceMean", [x], axes=[-1])])
    mean = g.node("ReduceMean", [g.node("Pow", [away, g.keep(np.float32(2))])], axes=[-1])
    root = g.node("Sqrt", [g.node("Add", [mean, g.keep(np.float32(1e-5))])])
    return g.node("Add", [g.node("Mul", [g.node("Div", [away, root]), ones]), zeros])


def dense(g, x, rows, columns):
    y = g.node("MatMul", [x, g.constant(g.weights(columns, rows).T.copy())])
    return g.around(g.node("Add", [y, g.keep(g.rng.normal(size=columns).astype(np.float32))]))


def gelu(g, x):
    whole = g.node("Erf", [g.node("Div", [x, g.keep(np.float32(np.sqrt(2)))])])
    return g.node("Mul", [g.node("Mul", [x, g.node("Add", [whole, g.keep(np.float32(1))])]), g.keep(np.float32(0.5))])


def encoder(g):
    heads, size, rows = g.number(1, 3), 8, g.number(2, 9)
    width = heads * size
    x = g.around(g.feed(1, rows, width))
    for _ in range(g.number(1, 2)):
        parts = [g.node("Reshape", [dense(g, x, width, width), g.keep(np.array([0, 0, heads, size]))]) for _ in range(3)]
        q, k, v = (g.node("Transpose", [t], perm=perm) for t, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = g.node("Mul", [g.node("MatMul", [q, k]), g.keep(np.float32(1 / np.sqrt(size)))])
        y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
        y = g.node("Reshape", [g.node("Transpose", [y], perm=[0, 2, 1, 3]), g.keep(np.array([0, 0, width]))])
        x = normalised(g, g.node("Add", [dense(g, g.around(y), width, width), x]), width)
        inner = gelu(g, dense(g, g.around(x), width, 2 * width))
        x = normalised(g, g.node("Add", [dense(g, g.around(inner), 2 * width, width), x]), width)
    return x


def attention(g):
    """QAttention behind the nodes that give its mask, whose dimensions follow from shapes that the model states."""
    batch, rows, heads, size = (g.number(1, most) for most in (3, 6, 3, 8))
    width = heads * size
    x = g.feed(batch, rows, width)
    g.inputs["seen"] = g.rng.integers(0, 2, [batch, rows]).astype(np.float32)
    g.inputs["seen"][:, 0] = 1
    ends = [g.keep(np.float32(0.05)), g.keep(np.uint8(128))]
    mask = g.node("Cast", ["seen"], to=onnx.TensorProto.INT32)
    if g.chance(0.5):
        mask = g.node("ReduceSum", [mask, g.keep(np.array([1]))], keepdims=0)
    w = g.keep(g.rng.integers(-127, 128, [width, 3 * width]).astype(np.int8))
    bias, scale = g.keep(g.rng.normal(size=3 * width).astype(np.float32)), g.keep(np.float32(0.01))
    y = g.node("QAttention", [g.node("QuantizeLinear", [x, *ends]), w, bias, ends[0], scale, mask, ends[1]], "com.microsoft",
               num_heads=heads)
    model = onnx.ModelProto.FromString(g.model([y], ["com.microsoft"]))
    for value in model.graph.input:
        value.CopyFrom(helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, g.inputs[value.name].shape))
    data = model.SerializeToString()
    return problem(data, g.inputs, by_runtime(data, g.inputs), FLOATS)


# ---- Files -----------------------------------------------------------------------------------------------------------

def options(level=LEVELS.ORT_DISABLE_ALL):
    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads, made.log_severity_level, made.graph_optimization_level = 1, 4, level
    return made


def by_runtime(data, inputs):
    session = onnxruntime.InferenceSession(data, options(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def saved(data, level):
    """The bytes of the file that ONNX Runtime saves."""
    with tempfile.TemporaryDirectory() as folder:
        asked = options(SAVED[level])
        asked.optimized_model_filepath = os.path.join(folder, "saved.onnx")
        onnxruntime.InferenceSession(data, asked, providers=["CPUExecutionProvider"])
        with open(asked.optimized_model_filepath, "rb") as file:
            return file.read()


def by_ox(data, inputs):
    given = [(array, "float") for array in inputs.values()]
    first, again = nodes.runs(data, given, 2, threads=1)
    other = nodes.run(data, given, threads=3)
    if not all(a.tobytes() == b.tobytes() == c.tobytes() for a, b, c in zip(first, again, other)):
        raise ValueError("another run or three threads give other bits")
    return first


def problem(data, inputs, right, limit):
    try:
        found = by_ox(data, inputs)
    except (oxlib.OxError, ValueError) as error:
        return str(error)
    for got, wanted in zip(found, right):
        if got.shape != wanted.shape:
            return f"shape {got.shape} instead of {wanted.shape}"
        away = np.abs(got.astype(np.float64) - wanted).max(initial=0)
        if not away <= limit * np.abs(wanted).max(initial=0) + (STEPS * SCALE if limit == BYTES else 1e-6):
            return f"off by {away:.3g} of {np.abs(wanted).max():.3g}"
    return None


def operators(data):
    return sorted({f"{n.domain}.{n.op_type}".lstrip(".") for n in onnx.ModelProto.FromString(data).graph.node})


def levels(g, draw):
    data = g.model([draw(g)])
    right = by_runtime(data, g.inputs)
    for level in SAVED:
        file = saved(data, level)
        wrong = problem(file, g.inputs, right, BYTES if g.form else FLOATS)
        if wrong:
            return f"{draw.__name__} {g.form or 'float'} at level {level}: {wrong}; {operators(file)}"
    return None


# ---- Blocks ----------------------------------------------------------------------------------------------------------

def in_blocks(w, block, depthwise, direct):
    """Weights as they lie in blocks, with zeros in the channels that fill the last ones."""
    out, inner = -len(w) % block, 0 if depthwise or direct else -w.shape[1] % block
    w = np.pad(w, [(0, out), (0, inner), (0, 0), (0, 0)])
    o, i, h, v = w.shape
    if depthwise or direct:
        return w.reshape(o // block, block, i, h, v).transpose(0, 2, 3, 4, 1).reshape(w.shape)
    return w.reshape(o // block, block, i // block, block, h, v).transpose(0, 2, 4, 5, 3, 1).reshape(w.shape)


def blocks(g):
    """The same network in plain operators and in those of blocks."""
    block = int(g.rng.choice([8, 16]))
    # Some number of channels tells the size of blocks.
    counts = [24, 40] + ([20, 28] if block == 16 else [12, 28]) + [16, 32, 48]
    other = Network(g.rng)
    shape = [g.number(1, 2), int(g.rng.choice([1, 3, 4, 24, 32])), g.number(5, 12), g.number(5, 12)]
    x = g.feed(*shape)
    other.inputs = g.inputs
    direct, y = shape[1] < block, x
    if not direct:
        y = other.node("ReorderInput", [x], BLOCKS)
    for turn in range(g.number(2, 4)):
        way = str(g.rng.choice(["conv", "depth", "pool", "add", "each"])) if turn else "conv"
        count = counts[g.number(0, 1) if not turn else g.number(0, len(counts) - 1)]
        if way in ("conv", "depth", "add"):
            depthwise = way == "depth"
            count = count if way == "conv" else shape[1]
            kernel = int(g.rng.choice([1, 3]))
            w, bias = some_dead(g, g.weights(count, 1 if depthwise else shape[1], kernel, kernel), g.rng.normal(size=count))
            attributes = {"kernel_shape": [kernel] * 2, "pads": [kernel // 2] * 4, "group": count if depthwise else 1}
            plain = g.node("Conv", [x, g.keep(w), g.keep(bias.astype(np.float32))], **attributes)
            added = np.pad(bias.astype(np.float32), (0, -count % block))
            attributes["group"] = len(added) if depthwise else 1
            relu = g.chance(0.5)
            inputs = [y, other.keep(in_blocks(w, block, depthwise, direct)), other.keep(added)] + ([y] if way == "add" else [])
            y = other.node("Conv", inputs, BLOCKS, **attributes, **({"activation": "Relu"} if relu else {}))
            plain = g.node("Add", [plain, x]) if way == "add" else plain
            x = g.node("Relu", [plain]) if relu else plain
            shape, direct = [shape[0], count, *shape[2:]], False
        elif way == "pool":
            op = str(g.rng.choice(["MaxPool", "AveragePool"]))
            x, y = (net.node(op, [value], domain, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
                    for net, value, domain in ((g, x, ""), (other, y, BLOCKS)))
        else:
            x, y = (net.node("Tanh", [value]) for net, value in ((g, x), (other, y)))
    last = g.chance(0.3)
    x = g.node("Transpose", [x], perm=[0, 2, 3, 1]) if last else x
    y = other.node("ReorderOutput", [y], BLOCKS, channels=shape[1], **({"channels_last": 1} if last else {}))
    right = by_runtime(g.model([x]), g.inputs)
    wrong = problem(other.model([y], [BLOCKS]), g.inputs, right, FLOATS)
    return wrong and f"blocks of {block}, {[n.op_type for n in other.nodes]}: {wrong}"


def case(rng, turn):
    way = turn % 6
    if way < 2:
        return levels(Network(rng), convolutional)
    if way == 2:
        return levels(Network(rng, "QDQ"), convolutional)
    if way == 3:
        return levels(Network(rng, "QDQ" if turn % 12 == 3 else None), encoder)
    return attention(Network(rng)) if turn % 12 == 5 else blocks(Network(rng))


def main():
    asked = trials.parse(120) # weights that lie in blocks are read while a model is loaded: they can only be constants
    rng = np.random.default_rng(asked.seed)
    failures = [text for text in (case(rng, turn) for turn in range(asked.cases)) if text]
    for text in failures[:25]:
        print(text)
    return tally.finish(asked.cases - len(failures), len(failures))


if __name__ == "__main__":
    sys.exit(main())
