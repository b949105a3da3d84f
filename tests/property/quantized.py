"""quantized.py [--seed N] [--cases N]: random networks of quantized tensors with DequantizeLinear and QuantizeLinear
around their operators: with integer operators, without them, and against ONNX Runtime, which computes the nodes one by
one; integer operators are made where everything is known that they need, and nowhere else."""

import ctypes as C
import sys

import arrays
import nodes
import numpy as np
import onnx
import onnxruntime
import oxlib
import trials
from onnx import helper, numpy_helper

BYTES = ("uint8", "int8")
MOVES = ("Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Pad", "Reshape", "Resize",
         "Slice", "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where")


def chance(rng, often):
    return rng.random() < often


def limits_of(kind):
    return np.iinfo(kind).min, np.iinfo(kind).max


class Network:
    """A graph being drawn. A node that has to become an integer operator is in `integer`, others of its kind are in
    `floats`, both by name."""

    def __init__(self, rng):
        self.rng = rng
        self.opset = int(rng.choice([13, 17, 21]))
        self.nodes, self.kept, self.inputs, self.outputs = [], [], {}, {}
        self.integer, self.floats, self.parts = {}, [], 0 # further QuantizeLinear that a node of several parts stands for
        self.same_bits, self.peer = False, True # whether integers change no bit, and others come within a step

    def name(self, stem):
        return f"{stem}{len(self.nodes) + len(self.kept) + len(self.inputs)}"

    def node(self, op, inputs, **attributes):
        name = self.name(op.lower())
        self.nodes.append(helper.make_node(op, inputs, [name + "_out"], name, **attributes))
        return name + "_out"

    def number(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def keep(self, array):
        """The name of a constant: an initializer, or what a Constant gives."""
        if chance(self.rng, 0.1):
            return self.node("Constant", [], value=numpy_helper.from_array(array))
        name = self.name("kept")
        self.kept.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def feed(self, array, kind):
        name = self.name("given")
        self.inputs[name] = (kind, np.asarray(array))
        return name

    def single(self, array):
        """One number, as a scalar or a list."""
        return np.asarray(array).reshape([1] if chance(self.rng, 0.2) else [])

    def scale(self, low=0.002, high=0.05):
        return self.single(np.float32(self.rng.uniform(low, high)))

    def zero(self, kind):
        low, high = limits_of(kind)
        return self.single(np.array(self.rng.choice([low, 0, self.number(low, high)]), kind))

    def dequantize(self, x, scale, zero, **attributes):
        return self.node("DequantizeLinear", [x, scale, zero], **attributes)

    def quantize(self, x, scale, zero):
        return self.node("QuantizeLinear", [x, scale, zero])


# ---- Products --------------------------------------------------------------------------------------------------------

def random_bytes(g, kind, dims):
    low, high = limits_of(kind)
    return g.rng.integers(low, high + 1, dims).astype(kind)


def bounded(g, product, y_scale, y_zero, kind):
    """(value, whether saturation does the same): with nothing, Relu or Clip behind the product."""
    low, high = limits_of(kind)
    scale, zero = float(y_scale.reshape(-1)[0]), int(y_zero.reshape(-1)[0])
    which = g.number(0, 3)
    if which == 0:
        return g.node("Relu", [product]), zero == low
    if which == 1:
        limits = [np.float32((b - zero) * scale * g.rng.choice([0.5, 1, 1.5]) + 0) for b in (low, high)]
        ends = [g.keep(np.array(b, np.float32)) if chance(g.rng, 0.8) else "" for b in limits]
        with np.errstate(over="ignore"):
            least = [np.rint(b / np.float32(scale)) + zero for b in limits]
        same = (not ends[0] or least[0] <= low) and (not ends[1] or least[1] >= high)
        return g.node("Clip", [product, *ends]), bool(same)
    return product, True


def share(g, value, rewritten):
    """Now and then somebody else reads a value, so that it has to stay."""
    if not chance(g.rng, 0.08):
        return rewritten
    g.outputs[g.node("Neg", [value])] = "float"
    return False


def expect(g, product, rewritten, op):
    name = product[:-len("_out")]
    if rewritten:
        g.integer[name] = op
    else:
        g.floats.append(name)


def finish(g, product, op, rewritten):
    """Behind a product: bounds, a QuantizeLinear and an output of the network."""
    kind = str(g.rng.choice(BYTES))
    y_scale, y_zero = g.scale(0.01, 0.6), g.zero(kind)
    rewritten = share(g, product, rewritten)
    value, same = bounded(g, product, y_scale, y_zero, kind)
    if value != product:
        rewritten = share(g, value, rewritten)
    known = chance(g.rng, 0.9)
    scale = g.keep(y_scale) if known else g.feed(y_scale, "float")
    y = g.quantize(value, scale, g.keep(y_zero))
    g.outputs[y] = kind
    expect(g, product, rewritten and same and known, op)


def source(g, dims, full=False):
    """A tensor of floats that were bytes (all of them as large as can be): (its name, scale, whether that is known)."""
    kind = "uint8" if full else str(g.rng.choice(BYTES))
    scale, known = g.scale(), chance(g.rng, 0.9)
    given = np.full(dims, 255, kind) if full else random_bytes(g, kind, dims)
    x = g.dequantize(g.feed(given, kind), g.keep(scale) if known else g.feed(scale, "float"),
                     g.keep(g.single(np.uint8(0)) if full else g.zero(kind)))
    if chance(g.rng, 0.2):
        g.outputs[g.node("Abs", [x])] = "float"
    return x, scale, known


def weights(g, dims, axis):
    """Constant weights of one scale, or one for each entry of that axis: (name, scales)."""
    kind = str(g.rng.choice(BYTES))
    count = dims[axis] if chance(g.rng, 0.6) else 0
    scale = g.rng.uniform(0.002, 0.05, [count]).astype(np.float32) if count else g.scale()
    low, high = limits_of(kind)
    zero = g.rng.integers(low, high + 1, scale.shape).astype(kind)
    zero = zero if chance(g.rng, 0.4) else np.zeros_like(zero)
    attributes = {"axis": axis - (len(dims) if chance(g.rng, 0.3) else 0)} if count else {}
    return g.dequantize(g.keep(random_bytes(g, kind, dims)), g.keep(scale), g.keep(zero), **attributes), scale


def bias_of(g, x_scale, w_scale, channels):
    """(name or None, whether its scale is that of the sums)."""
    if chance(g.rng, 0.3):
        return None, True
    scale = x_scale.reshape(-1)[0] * w_scale if w_scale.size > 1 else x_scale.reshape(-1)[0] * w_scale.reshape(())
    same = chance(g.rng, 0.85)
    if not same:
        scale = scale * np.float32(1.01)
    large = chance(g.rng, 0.05)
    bias = g.rng.integers(-5000, 5000, channels).astype(np.int32)
    if large: # the sums would wrap
        bias[g.number(0, channels - 1)] = g.rng.choice([2**31 - 1, -2**31])
    given = [g.keep(bias), g.keep(scale.astype(np.float32))]
    if chance(g.rng, 0.7):
        given.append(g.keep(np.zeros(scale.shape, np.int32)))
    attributes = {"axis": 0} if scale.size > 1 or scale.ndim else {}
    return g.node("DequantizeLinear", given, **attributes), same and not large


def conv(g):
    spatial, groups = g.number(1, 3), g.number(1, 3)
    ins, outs = g.number(1, 9), groups * g.number(1, 9)
    if chance(g.rng, 0.3):
        ins, groups = 1, outs
    kernel = [g.number(1, 3) for _ in range(spatial)]
    attributes = {"group": groups, "strides": [g.number(1, 2) for _ in kernel],
                  "dilations": [g.number(1, 2) for _ in kernel], "pads": [g.number(0, 1) for _ in range(2 * spatial)]}
    dims = [(k - 1) * d + g.number(1, 9) for k, d in zip(kernel, attributes["dilations"])]
    x, x_scale, known = source(g, [g.number(1, 2), groups * ins, *dims])
    for _ in range(1 if chance(g.rng, 0.8) else 2): # the second reads the same DequantizeLinear
        w, w_scale = weights(g, [outs, ins, *kernel], 0)
        bias, fits = bias_of(g, x_scale, w_scale, outs)
        y = g.node("Conv", [x, w, bias] if bias else [x, w], **attributes)
        finish(g, y, "QLinearConv", known and fits)


def transposed(g):
    """Its scales of weights are those of the channels of a group; zero points may be missing."""
    spatial, groups = g.number(1, 3), g.number(1, 3)
    ins, outs = g.number(1, 9), g.number(1, 9)
    kernel = [g.number(1, 3) for _ in range(spatial)]
    strides = list(kernel) if chance(g.rng, 0.3) else [g.number(1, 3) for _ in kernel]
    attributes = {"group": groups, "strides": strides, "dilations": [g.number(1, 2) for _ in kernel],
                  "pads": [g.number(0, 1) for _ in range(2 * spatial)],
                  "output_padding": [g.number(0, max(0, s - 1)) for s in strides]}
    x, x_scale, known = source(g, [g.number(1, 2), groups * ins, *[g.number(3, 9) for _ in kernel]])
    w, w_scale = weights(g, [groups * ins, outs, *kernel], 1)
    every = np.tile(w_scale, groups) if w_scale.size > 1 or w_scale.ndim else w_scale
    bias, fits = bias_of(g, x_scale, every if every.size == groups * outs else w_scale, groups * outs)
    y = g.node("ConvTranspose", [x, w, bias] if bias else [x, w], **attributes)
    finish(g, y, "QLinearConvTranspose", known and fits)


def matmul(g):
    k, n = g.number(1, 80), g.number(1, 40)
    x, _, known = source(g, [g.number(1, 5) for _ in range(g.number(0, 2))] + [g.number(1, 9), k])
    w, _ = weights(g, [k, n], 1)
    finish(g, g.node("MatMul", [x, w]), "QLinearMatMul", known)


def product_of_two(g):
    """Of activations, with batches that broadcast; now and then sums that 32 bits may not hold."""
    long = chance(g.rng, 0.04)
    m, n, k = (1, 2, 34000) if long else (g.number(1, 9), g.number(1, 20), g.number(1, 70))
    batch = [g.number(1, 3) for _ in range(g.number(0, 2))]
    a, _, known = source(g, [*batch, m, k], long)
    b, _, also = source(g, [*[d if chance(g.rng, 0.7) else 1 for d in batch][g.number(0, len(batch)):], k, n], long)
    g.peer = not long
    finish(g, g.node("MatMul", [a, b]), "QLinearMatMul", known and also)


def gemm(g):
    m, k, n = g.number(1, 9), g.number(1, 80), g.number(1, 40)
    turned, odd = g.number(0, 1), chance(g.rng, 0.2)
    x, x_scale, known = source(g, [m, k])
    w, w_scale = weights(g, [n, k] if turned else [k, n], 1 - turned)
    bias, fits = bias_of(g, x_scale, w_scale, n)
    attributes = {"transB": turned} if turned or chance(g.rng, 0.5) else {}
    if odd:
        attributes["alpha"] = 0.5
    y = g.node("Gemm", [x, w, bias] if bias else [x, w], **attributes)
    finish(g, y, "QLinearGemm", known and fits and not odd)


# ---- Moves -----------------------------------------------------------------------------------------------------------

def padded(g, x):
    mode, given = str(g.rng.choice(["constant", "constant", "edge", "reflect"])), [x, g.keep(np.array(
        [0, 1, 1, 0, 1, 0, 2, -1], np.int64))]
    if mode == "constant" and chance(g.rng, 0.5):
        given.append(g.keep(np.float32(0)))
    return g.node("Pad", given, mode=mode)


def moved(g, op, x):
    """A node of that operator on [2,4,6,6]."""
    def ints(*values):
        return g.keep(np.array(values, np.int64))
    made = {"DepthToSpace": lambda: g.node(op, [x], blocksize=2), "SpaceToDepth": lambda: g.node(op, [x], blocksize=3),
            "Flatten": lambda: g.node(op, [x], axis=g.number(0, 4)), "Gather": lambda: g.node(
                op, [x, ints(1, 0, 1)], axis=1),
            "Expand": lambda: g.node(op, [x, ints(3, 1, 1, 1, 1)]), "Pad": lambda: padded(g, x),
            "Resize": lambda: g.node(op, [x, "", g.keep(np.array([1, 1, 1.5, 2], np.float32))], mode="nearest"),
            "Tile": lambda: g.node(op, [x, ints(1, 2, 1, 1)]),
            "Identity": lambda: g.node(op, [x]), "Reshape": lambda: g.node(op, [x, ints(0, -1)]),
            "MaxPool": lambda: g.node(op, [x], kernel_shape=[3, 2], pads=[1, 1, 0, 0], strides=[2, 1]),
            "Slice": lambda: g.node(op, [x, ints(1, 5), ints(9, -9), ints(1, 3), ints(2, -1)]),
            "Squeeze": lambda: g.node(op, [x]), "Unsqueeze": lambda: g.node(op, [x, ints(1)]),
            "Transpose": lambda: g.node(op, [x], perm=[0, 2, 3, 1])}
    return made[op]()


def move(g):
    op, kind = str(g.rng.choice(MOVES)), str(g.rng.choice(BYTES))
    scale, zero = g.scale(), g.zero(kind)

    def read(own):
        pair = (scale, zero) if own else (np.asarray(scale * np.float32(1.25)), zero)
        kept = g.keep(pair[0]) if chance(g.rng, 0.9) else None
        x = g.feed(random_bytes(g, kind, [2, 4, 6, 6]), kind)
        return g.dequantize(x, kept or g.feed(pair[0], "float"), g.keep(pair[1])), kept is not None

    parts = [read(chance(g.rng, 0.6)) for _ in range(g.number(1, 3) if op == "Concat" else 2 if op == "Where" else 1)]
    names, known = [name for name, _ in parts], all(kept for _, kept in parts)
    if op == "Where":
        y = g.node(op, [g.feed(g.rng.random([4, 6, 1][g.number(0, 2):]) < 0.5, "bool"), *names])
    else:
        y = g.node(op, names, axis=g.number(0, 3)) if op == "Concat" else moved(g, op, names[0])
    rewritten = share(g, y, known)
    if op == "Pad" and zero.ndim: # no scalar that Pad could take
        rewritten = rewritten and g.nodes[-1].attribute[0].s != b"constant"
    q = g.quantize(y, g.keep(scale), g.keep(zero))
    g.outputs[q] = kind
    g.same_bits = True
    expect(g, y, rewritten, op)


def split(g):
    """Split, each of whose parts is quantized as the input is, in another way, read as floats, or left out."""
    kind, g.same_bits = str(g.rng.choice(BYTES)), True
    scale, zero, name, parts = g.scale(), g.zero(kind), g.name("split"), g.number(1, 4)
    x = g.dequantize(g.feed(random_bytes(g, kind, [2, 12, 3]), kind), g.keep(scale), g.keep(zero))
    ways = [str(g.rng.choice(["same", "same", "same", "other", "float", "none"])) for _ in range(parts)]
    ways = ways if set(ways) != {"none"} else ["same"] * parts
    g.peer = "none" not in ways # ONNX Runtime ends with a signal
    outputs = ["" if way == "none" else f"{name}_out{k or ''}" for k, way in enumerate(ways)]
    sizes = g.keep(np.array(np.diff([0, *sorted(g.rng.choice(13, parts - 1)), 12]), np.int64))
    g.nodes.append(helper.make_node("Split", [x, sizes], outputs, name, axis=1))
    for part, way in zip(outputs, ways):
        if way == "float":
            g.outputs[g.node("Neg", [part])] = "float"
        elif way != "none":
            q = g.quantize(part, g.keep(scale if way == "same" else np.asarray(scale * np.float32(1.25))), g.keep(zero))
            g.outputs[q] = kind
    same = ways.count("same")
    expect(g, f"{name}_out", same, "Split")
    g.parts = max(same - 1, 0)


# ---- Arithmetic and means --------------------------------------------------------------------------------------------

def operand(g, dims):
    """Floats that were bytes: given, or constant if they are more than one, which a table would take."""
    if chance(g.rng, 0.2) and max(dims) > 1:
        kind = str(g.rng.choice(BYTES))
        return g.dequantize(g.keep(random_bytes(g, kind, dims)), g.keep(g.scale()), g.keep(g.zero(kind))), True
    name, _, known = source(g, dims)
    return name, known


def arithmetic(g):
    """Of two tensors whose shapes broadcast: the same bits as of floats."""
    dims = [g.number(1, 4) for _ in range(g.number(0, 3))] + [int(g.rng.choice([1, 3, 16, 70, 300]))]
    op = str(g.rng.choice(["Add", "Add", "Sub", "Mul", "Div"]))
    reads = []
    for _ in range(2):
        cut = g.number(0, len(dims) - 1) if chance(g.rng, 0.4) else 0
        reads.append(operand(g, [d if chance(g.rng, 0.8) else 1 for d in dims[cut:]]))
    g.rng.shuffle(reads)
    (a, known), (b, also) = [(str(name), known) for name, known in reads]
    g.same_bits, g.peer = True, op != "Div" # by zero, others do as they like
    y = g.node(op, [a, b])
    finish(g, y, "QLinear" + op, known and also)


def pool(g):
    spatial = g.number(1, 3)
    kernel = [g.number(1, 4) for _ in range(spatial)]
    attributes = {"kernel_shape": kernel, "strides": [g.number(1, 3) for _ in kernel],
                  "count_include_pad": g.number(0, 1)}
    if chance(g.rng, 0.2):
        attributes["auto_pad"] = str(g.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    else:
        attributes["pads"] = [g.number(0, k - 1) for k in kernel * 2]
        attributes["ceil_mode"] = g.number(0, 1)
    if g.opset >= 19 and chance(g.rng, 0.5):
        attributes["dilations"] = [g.number(1, 2) for _ in kernel]
    g.peer = not {"auto_pad", "dilations"} & set(attributes) and not attributes.get("ceil_mode") # others differ there
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, attributes.get("dilations", [1] * spatial))]
    x, _, known = source(g, [g.number(1, 2), g.number(1, 5), *[k + g.number(0, 40 if spatial < 3 else 9) for k in reach]])
    finish(g, g.node("AveragePool", [x], **attributes), "QLinearAveragePool", known)


def mean(g):
    dims = [g.number(1, 9) if d else g.number(1, 2) for d in range(g.number(3, 5))]
    if chance(g.rng, 0.3):
        dims[-1] = g.number(60, 1100)
    x, _, known = source(g, dims)
    if chance(g.rng, 0.4):
        return finish(g, g.node("GlobalAveragePool", [x]), "QLinearGlobalAveragePool", known)
    axes = [int(d) for d in g.rng.permutation(len(dims))[:g.number(0, len(dims))]]
    axes = [d - (len(dims) if chance(g.rng, 0.3) else 0) for d in axes]
    attributes = {"keepdims": g.number(0, 1)}
    if g.opset < 18:
        y = g.node("ReduceMean", [x], **attributes, **({"axes": axes} if axes else {}))
    else:
        given = g.keep(np.array(axes, np.int64)) if axes or chance(g.rng, 0.5) else ""
        if chance(g.rng, 0.2):
            attributes["noop_with_empty_axes"] = 1
            known = known and bool(axes)
        y = g.node("ReduceMean", [x, given], **attributes)
    finish(g, y, "QLinearReduceMean", known)


# ---- Functions of one byte -------------------------------------------------------------------------------------------

SMOOTH = ("Abs", "Clip", "Elu", "Erf", "Exp", "HardSigmoid", "Identity", "LeakyRelu", "Neg", "Relu", "Selu", "Sigmoid",
          "Softplus", "Softsign", "Tanh", "ThresholdedRelu")
STEPS = ("Ceil", "Floor", "Round", "Sign")
LATER = {14: ("HardSwish",), 18: ("Mish",), 20: ("Gelu",)}


def one(g, value=None):
    """A constant of one element, as it is or quantized, of some rank."""
    number = g.rng.uniform(-3, 3) if value is None else value
    dims = [1] * int(g.rng.choice([0, 0, 0, 1, 3]))
    if chance(g.rng, 0.3):
        return g.dequantize(g.keep(random_bytes(g, "uint8", dims)), g.keep(g.scale()), g.keep(g.zero("uint8")))
    return g.keep(np.full(dims, number, np.float32))


def pair(g, op, a, b):
    return g.node(op, [a, b] if chance(g.rng, 0.7) else [b, a])


def swish(g, x):
    return pair(g, "Mul", x, g.node("Sigmoid", [x]))


def hard_swish(g, x):
    inside = g.node("Clip", [pair(g, "Add", x, one(g, 3.0)), g.keep(np.float32(0)), g.keep(np.float32(6))])
    return g.node("Div", [pair(g, "Mul", x, inside), one(g, 6.0)])


def chosen(g, x):
    g.peer = False # close to the bound, others may choose otherwise
    return g.node("Where", [pair(g, "Greater", x, one(g)), x, pair(g, "Mul", x, one(g))])


def with_slope(g, x):
    rank = min(1, next(iter(g.inputs.values()))[1].ndim)
    slope = np.full([1] * g.number(0, rank), 0.3, np.float32)
    return g.node("PRelu", [x, g.keep(slope)])


def single_node(g, x):
    later = [op for version, ops in LATER.items() if g.opset >= version for op in ops]
    op = str(g.rng.choice([*SMOOTH, *STEPS, *later]))
    if op in STEPS:
        g.peer = False
    if op == "Clip":
        return g.node(op, [x, g.keep(np.float32(-1)), g.keep(np.float32(1.5))])
    return g.node(op, [x])


def functions_of(g, x):
    """A few nodes that make a number of each of x's."""
    for _ in range(g.number(0, 3)):
        x = (single_node, single_node, swish, hard_swish, chosen, with_slope,
             lambda g, x: pair(g, str(g.rng.choice(["Add", "Sub", "Mul", "Max", "Min"])), x, one(g)))[g.number(0, 6)](g, x)
    return x


def function(g):
    """Functions of a tensor of bytes, one behind the other, each with a QuantizeLinear."""
    kind, g.same_bits = str(g.rng.choice(BYTES)), True
    dims = [g.number(1, 3), *[int(g.rng.choice([1, 3, 8, 40, 70])) for _ in range(g.number(0, 2))]]
    x = g.feed(random_bytes(g, kind, dims if chance(g.rng, 0.9) else []), kind)
    if chance(g.rng, 0.1):
        x = g.node("Transpose", [x])
    for turn in range(g.number(1, 3)):
        g.peer = g.peer and not turn # a step that others are off grows
        known = chance(g.rng, 0.9)
        scale = g.scale()
        read = [x, g.keep(scale) if known else g.feed(scale, "float"), g.keep(g.zero(kind))]
        floats = g.dequantize(*read)
        value = functions_of(g, floats)
        alone = g.nodes[-1].op_type == "Identity" and list(g.nodes[-1].input) == [floats] # it moves bytes, behind a table
        if chance(g.rng, 0.15): # of two tensors, or of what has more than one scale
            known = False
            value = g.node("Add", [value, g.feed(np.float32(g.rng.uniform(-1, 1)), "float")])
        kind = str(g.rng.choice(BYTES))
        rewritten = share(g, value, known)
        y = g.quantize(value, g.keep(g.scale(0.005, 0.1)), g.keep(g.zero(kind)))
        g.outputs[y] = kind
        expect(g, value, rewritten, "Identity" if alone else "ByteTable")
        x = y


# ---- Cases -----------------------------------------------------------------------------------------------------------

def in_branch(g):
    """The network as a branch of If, which reads constants and inputs of the graph around it."""
    def branch(name, made):
        infos = [helper.make_tensor_value_info(o, nodes.kind_of(kind), None) for o, kind in g.outputs.items()]
        return helper.make_graph(made, name, [], infos)
    other = [helper.make_node("Constant", [], [o], "else", value=helper.make_tensor("", nodes.kind_of(kind), [1], [0]))
             for o, kind in g.outputs.items()]
    chosen = numpy_helper.from_array(np.array(True), "chosen")
    return [helper.make_node("If", ["chosen"], [o + "_of_if" for o in g.outputs], "if",
                             then_branch=branch("then", g.nodes), else_branch=branch("else", other))], \
        {o + "_of_if": kind for o, kind in g.outputs.items()}, [*g.kept, chosen]


def model_of(g, inside, stated=True):
    kinds = {name: kind if stated else None for name, (kind, _) in g.inputs.items()}
    made, outputs, kept = in_branch(g) if inside else (g.nodes, g.outputs, g.kept)
    return nodes.model_around(made, kinds, outputs, g.opset, kept)


def run(g, data, extra=(), **options):
    """(outputs and extra ones, nodes) of one run of ox."""
    model = oxlib.Model(data)
    names = (C.c_char_p * len(extra))(*[name.encode() for name in extra])
    session = oxlib.Session(model, oxlib.Options(extra_outputs=C.cast(names, C.c_void_p) if extra else None,
                                                 extra_output_count=len(extra), **options))
    for i, (kind, array) in enumerate(g.inputs.values()):
        session.set_input(i, arrays.to_input(array, kind))
    session.run()
    outputs = [arrays.from_tensor(session.output(k))[1].copy() for k in range(len(g.outputs) + len(extra))]
    listed = [node for node in session.nodes() if node[1] not in ("if", "else")]
    session.close()
    model.close()
    return outputs, [node for node in listed if not node[1].endswith("/made")]


def by_runtime(g, data):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: array for name, (_, array) in g.inputs.items()})


def differs(g, got, wanted, what, same_bits=False):
    for name, one, other in zip(g.outputs, got, wanted):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{what}: {name} is {one.dtype}{one.shape}, not {other.dtype}{other.shape}"
        with np.errstate(invalid="ignore"): # of infinities
            same = (one == other) | ((one != one) & (other != other)) # 0 / 0 is no number
            away = np.where(same, 0, np.abs(one.astype(np.float64) - other.astype(np.float64)))
        limit = 0 if same_bits else 1 if one.dtype.kind in "iu" else 1e-4 * (1 + np.abs(other))
        if not (away <= limit).all():
            return f"{what}: {name} is off by {away.max():.3g}"
    return None


def check_nodes(g, listed):
    ops = {name: op for op, name in listed}
    for name, op in g.integer.items():
        if ops.get(name) != op:
            return f"{name} is {ops.get(name)}, not {op}"
    for name in g.floats:
        if ops.get(name, "gone").startswith(("gone", "QLinear", "ByteTable")):
            return f"{name} became {ops.get(name)}"
    left = [op for op, _ in listed].count("QuantizeLinear")
    wanted = [node.op_type for node in g.nodes].count("QuantizeLinear") - len(g.integer) - g.parts
    if left != wanted:
        return f"{left} QuantizeLinear are left, not {wanted}"
    if not wanted and len(g.outputs) == len(g.integer) and not g.same_bits and "DequantizeLinear" in dict(listed):
        return "a DequantizeLinear without readers is left"
    return None


def check_lost(g, data, floats, listed, **options):
    """A value that integer operators leave out, as an extra output: what there is without them."""
    names = {name for _, name in listed}
    kept = {n.output[0] for n in g.nodes if n.op_type == "QuantizeLinear" and n.input[0][:-len("_out")] in g.integer}
    lost = [n.output[0] for n in g.nodes if n.name not in names and n.op_type != "Constant" and n.output[0] not in kept]
    if not lost:
        return None
    extra = [str(g.rng.choice(lost))]
    got, _ = run(g, data, extra, **options)
    wanted, _ = run(g, data, extra, no_integer=True, **options)
    same = all(a.tobytes() == b.tobytes() for a, b in zip(got, wanted)) and \
        all(a.tobytes() == b.tobytes() for a, b in zip(got, floats))
    return None if same else f"{extra[0]} as an output changes bits"


def check_spoiled(g, inside):
    """A zero point of another type than the integers: the model is refused, with integer operators as without them."""
    kept = {tensor.name: numpy_helper.to_array(tensor) for tensor in g.kept}
    read = [n for n in g.nodes if n.op_type == "DequantizeLinear" and len(n.input) > 2 and n.input[2] in kept]
    if not read:
        return None
    node = read[g.number(0, len(read) - 1)]
    zeros = kept[node.input[2]]
    g.kept.append(numpy_helper.from_array(np.zeros(zeros.shape, np.int8 if zeros.dtype == np.uint8 else np.uint8), "spoiled"))
    node.input[2] = "spoiled"
    return not_refused(g, model_of(g, inside, chance(g.rng, 0.5)), f"{node.name} has a zero point of another type",
                       "must have the type of|must have the same type")


def check_stated(g, inside):
    """The same where the model states another type of a value in between, which integer operators may leave out."""
    read = {name for n in g.nodes for name in n.input} - set(g.outputs)
    made = [n for n in g.nodes if n.op_type not in ("Constant", "QuantizeLinear") and n.output[0] in read]
    if not made:
        return None
    node = made[g.number(0, len(made) - 1)]
    model = onnx.load_from_string(model_of(g, inside))
    branches = {attribute.name: attribute.g for attribute in model.graph.node[-1].attribute}
    graph = branches["then_branch"] if inside else model.graph
    graph.value_info.append(helper.make_tensor_value_info(node.output[0], onnx.TensorProto.DOUBLE, None))
    return not_refused(g, model.SerializeToString(), f"what {node.name} gives is stated to be double", "but the model states double")


def check_slope(rng):
    """The same for a slope of more dimensions than what it belongs to, whose function of a byte becomes a table."""
    g = Network(rng)
    x = g.feed(random_bytes(g, "uint8", []), "uint8")
    for _ in range(g.number(1, 2)): # the table of the second reads that of the first
        x = g.dequantize(x, g.keep(g.scale()), g.keep(g.zero("uint8")))
        x = g.node("Sigmoid", [x]) if chance(rng, 0.5) else x
        x = g.node("PRelu", [x, g.keep(np.full([1], 0.3, np.float32))])
        x = pair(g, "Mul", x, one(g)) if chance(rng, 0.5) else x
        x = g.quantize(x, g.keep(g.scale()), g.keep(g.zero("uint8")))
    g.outputs[x] = "uint8"
    return not_refused(g, model_of(g, chance(rng, 0.3), chance(rng, 0.5)), "a scalar has a slope of one dimension", "of a slope|the slope, ")


def not_refused(g, data, what, texts):
    """What is wrong with a model that is not."""
    for no_integer in False, True:
        try:
            run(g, data, no_integer=no_integer)
            return f"{what}, and the model runs{' without integer operators' if no_integer else ''}"
        except oxlib.OxError as error:
            if not any(text in str(error) for text in texts.split("|")):
                return f"{what}: {error}"
    return None


KINDS = (conv, function, matmul, move, gemm, arithmetic, conv, pool, function, mean, product_of_two, arithmetic, split,
         transposed)


def case(rng, turn):
    g = Network(rng)
    KINDS[turn % len(KINDS)](g)
    inside = chance(rng, 0.15)
    data = model_of(g, inside)
    what = f"opset {g.opset}{', in If' if inside else ''}: " + "; ".join(
        f"{n.name} = {n.op_type}({', '.join(n.input)})" for n in g.nodes if n.op_type != "Constant")
    try:
        threads = g.number(1, 3)
        integer, listed = run(g, data, threads=threads)
        floats, written = run(g, data, threads=threads, no_integer=True)
        wrong = None if inside else check_lost(g, data, floats, listed, threads=threads)
    except oxlib.OxError as error:
        return f"{what}: {error}"
    if [name for _, name in written] != [n.name for n in g.nodes]:
        return f"{what}: no_integer runs {written}"
    wrong = wrong or check_nodes(g, listed) or differs(g, integer, floats, "no_integer", g.same_bits) or \
        (g.peer and differs(g, integer, by_runtime(g, data), "ONNX Runtime")) or \
        (check_stated(g, inside) if chance(rng, 0.2) else None) or \
        (check_spoiled(g, inside) if chance(rng, 0.3) else None) or (check_slope(rng) if chance(rng, 0.05) else None)
    return wrong and f"{what}: {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 1200))
