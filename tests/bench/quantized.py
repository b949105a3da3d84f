"""quantized.py: layers and networks of bytes, which `make bench` measures.

Layers are QLinearConv and QLinearMatMul, bytes in and bytes out. Networks are built here, with random weights, in the
forms in which people ship them: QDQ (DequantizeLinear in front of each operator and QuantizeLinear behind it), with a
scale for all weights or one for each channel, with activations of either sign; QOperator (QLinear operators); dynamic
(DynamicQuantizeLinear in front of ConvInteger and MatMulInteger, floats between them); floats of 16 bits, rounded after
each node as specified or kept as floats; and in floats, for comparison. "u8s8" are unsigned activations and signed
weights.
"""

import math

import numpy as np
from models import Case, aligned
from onnx import TensorProto, helper, numpy_helper

CASES = []
STEPS = 0.1  # networks may be so far apart, as a share of the largest: results at boundaries of rounding move the next
SCALE, LARGEST = np.float32(0.04), 127
FORMS = {"float": ("float", "float", 0, None), "QDQ u8s8": ("uint8", "int8", 0, "QDQ"),
         "QDQ u8s8 by channel": ("uint8", "int8", 1, "QDQ"), "QDQ s8s8": ("int8", "int8", 0, "QDQ"),
         "QOperator u8s8": ("uint8", "int8", 0, "QOperator"), "dynamic": ("float", "uint8", 0, "dynamic"),
         "float16": ("float16", "float16", 0, None), "float16, sums kept": ("float16", "float16", 0, None)}
KEPT = {"float16, sums kept": {"float16_sums": True}}  # floats between nodes, which ONNX Runtime always keeps


class Value:
    """A tensor of a network: its name, its dims, the names of its scale and zero point, None where it is float, and
    whether no element is negative."""

    def __init__(self, name, dims, scale=None, zero=None, positive=False):
        self.name, self.dims, self.scale, self.zero, self.positive = name, list(dims), scale, zero, positive


class Network:
    """A graph in one of the forms, written operator by operator as if of floats."""

    def __init__(self, activations, weights, by_channel, form, seed):
        self.activations, self.weight_type, self.by_channel, self.form = activations, weights, by_channel, form
        self.has_bytes = form in ("QDQ", "QOperator")  # between its operators
        self.rng, self.nodes, self.fixed, self.work, self.count = np.random.default_rng(seed), [], [], 0, 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, array):
        name, array = self.name(), np.asarray(array)
        if self.activations == "float16" and array.dtype == np.float32:
            array = array.astype(np.float16)
        self.fixed.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op, inputs, out=None, **attributes):
        out = out or self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out

    def quantization(self, positive, scale=SCALE):
        """Names of a scale and a zero point, where all values are positive or not."""
        zero = 0 if positive else 128
        kind = np.uint8 if self.activations == "uint8" else np.int8
        return self.constant(np.float32(scale)), self.constant(kind(zero - (0 if kind is np.uint8 else 128)))

    def quantize(self, name, dims, positive=False, scale=SCALE):
        """Bytes of floats, or the floats themselves in a network of those."""
        if not self.has_bytes:
            return Value(name, dims, positive=positive)
        of = self.quantization(positive, scale)
        return Value(self.node("QuantizeLinear", [name, *of]), dims, *of, positive)

    def floats(self, value):
        return value.name if not value.scale else self.node("DequantizeLinear", [value.name, value.scale, value.zero])

    def weights(self, x, dims, axis, inputs):
        """(name, scales, zero points) of random weights, which keep results as large as x; axis is that of their
        channels, `inputs` what a sum has."""
        wide = np.float32(3 * (1.4 if x.positive else 1) / math.sqrt(inputs) / LARGEST)
        scales = wide * (1 + self.rng.random(dims[axis], np.float32)) / 2 if self.by_channel else np.float32(wide)
        low, high = (0, 256) if self.weight_type == "uint8" else (-LARGEST, LARGEST + 1)
        middle = 128 if self.weight_type == "uint8" else 0
        numbers = np.clip(np.rint(self.rng.standard_normal(dims, np.float32) * 42) + middle, low, high - 1)
        if not self.form:
            return self.constant((numbers * wide).astype(np.float32)), scales, None
        numbers = numbers.astype(self.weight_type)
        zeros = np.full(np.shape(scales), middle, self.weight_type)
        return self.constant(numbers), scales, zeros

    def dense(self, op, x, dims, axis, out, positive, **attributes):
        """Conv or MatMul of x with weights of those dims, a bias if Conv, and Relu behind it where results are positive."""
        inputs = math.prod(dims) // dims[axis]
        w, scales, zeros = self.weights(x, dims, axis, inputs)
        self.work += inputs * math.prod(out)
        bias = self.rng.integers(-500, 500, dims[axis]) if op == "Conv" else None
        if self.form == "dynamic":
            name = self.dynamic(op, x, w, scales, zeros, **attributes)
            if bias is not None:
                shaped = (bias * SCALE * scales).astype(np.float32).reshape(-1, 1, 1)
                name = self.node("Add", [name, self.constant(shaped)])
            return Value(self.node("Relu", [name]) if positive else name, out, positive=positive)
        if self.form == "QOperator":
            of = self.quantization(positive)
            more = [] if bias is None else [self.constant(bias.astype(np.int32))]
            return Value(self.node(f"QLinear{op}", [x.name, x.scale, x.zero, w, self.constant(scales),
                                                    self.constant(zeros), *of, *more], **attributes), out, *of, positive)
        if self.form:
            scale = self.constant(scales)
            axis_of = {"axis": axis} if self.by_channel else {}
            w = self.node("DequantizeLinear", [w, scale, self.constant(zeros)], **axis_of)
        more = [] if bias is None else [self.bias(bias, scales)]
        name = self.node(op, [self.floats(x), w, *more], **attributes)
        return self.quantize(self.node("Relu", [name]) if positive else name, out, positive)

    def dynamic(self, op, x, w, scale, zero, **attributes):
        """The floats of a product of bytes that the activations become when they are known."""
        names = [self.name() for _ in range(3)]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x.name], names))
        sums = self.node(f"{op}Integer", [names[0], w, names[2], self.constant(zero)], **attributes)
        scales = self.node("Mul", [names[1], self.constant(scale)])
        return self.node("Mul", [self.node("Cast", [sums], to=TensorProto.FLOAT), scales])

    def bias(self, numbers, scales):
        scales = (SCALE * scales).astype(np.float32)
        if not self.form:
            return self.constant((numbers * scales).astype(np.float32))
        zeros = np.zeros(np.shape(scales), np.int32)
        axis = {"axis": 0} if np.ndim(scales) else {}
        return self.node("DequantizeLinear", [self.constant(numbers.astype(np.int32)), self.constant(scales),
                                              self.constant(zeros)], **axis)

    def conv(self, x, count, kernel, stride=1, groups=1, positive=True):
        batch, channels, *spatial = x.dims
        pad = (kernel - 1) // 2
        ends = [(d + 2 * pad - kernel) // stride + 1 for d in spatial]
        return self.dense("Conv", x, [count, channels // groups, kernel, kernel], 0, [batch, count, *ends], positive,
                          kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups)

    def matmul(self, x, count, positive=False):
        return self.dense("MatMul", x, [x.dims[-1], count], 1, [*x.dims[:-1], count], positive)

    def product(self, a, b, out, scale=SCALE):
        """MatMul of two activations."""
        self.work += math.prod(out) * a.dims[-1]
        if self.form == "QOperator":
            of = self.quantization(False, scale)
            return Value(self.node("QLinearMatMul", [a.name, a.scale, a.zero, b.name, b.scale, b.zero, *of]), out, *of)
        return self.quantize(self.node("MatMul", [self.floats(a), self.floats(b)]), out, scale=scale)

    def add(self, a, b, positive=False):
        name = self.node("Add", [self.floats(a), self.floats(b)])
        return self.quantize(self.node("Relu", [name]) if positive else name, a.dims, positive)

    def move(self, op, x, dims, *more, **attributes):
        return Value(self.node(op, [x.name, *more], **attributes), dims, x.scale, x.zero, x.positive)

    def reshape(self, x, dims):
        return self.move("Reshape", x, dims, self.constant(np.array(dims, np.int64)))

    def pooled(self, x):
        """Means of all pixels."""
        mean = self.node("ReduceMean", [self.floats(x), self.constant(np.array([2, 3], np.int64))], keepdims=0)
        return self.quantize(mean, x.dims[:2], True, SCALE / 4)

    def model(self, x, y):
        """Serialized; x and y are (name, type, dims)."""
        values = [helper.make_tensor_value_info(n, TensorProto.DataType.Value(t.upper()), d) for n, t, d in (x, y)]
        graph = helper.make_graph(self.nodes, "bench", values[:1], values[1:], self.fixed)
        return helper.make_model(graph, ir_version=10,
                                 opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()


class Quantized(Case):
    """A case of one such graph: build(network, x) writes it and returns its last value."""

    def __init__(self, name, group, form, dims, build, whole=False):
        self.form, self.build, self.dims, self.whole = form, build, dims, whole
        kind = "float" if whole or form[3] not in ("QDQ", "QOperator") else form[0]
        network, last = self.write()
        super().__init__(name, group, [f"x: {kind} {' '.join(map(str, dims))}"], [],
                         f"y: {kind} {' '.join(map(str, last.dims))}")
        self.work, self.of_largest = network.work, STEPS if whole else None

    def write(self):
        network = Network(*self.form, seed=5)
        if self.whole or not network.has_bytes:
            first = network.node("Cast", ["x"], to=TensorProto.FLOAT16) if network.activations == "float16" else "x"
            x = network.quantize(first, self.dims)
        else:
            x = Value("x", self.dims, *network.quantization(False))
        return network, self.build(network, x)

    def model(self, arrays):
        network, last = self.write()
        end = network.floats(last) if self.whole else last.name
        narrow = {"to": TensorProto.FLOAT} if network.activations == "float16" else {}
        network.node("Cast" if narrow else "Identity", [end], "y", **narrow)
        return network.model(*self.inputs, self.out)

    def arrays(self):
        rng = np.random.default_rng(3)
        name, kind, dims = self.inputs[0]
        result = aligned(dims, np.dtype("float32" if kind == "float" else kind))
        numbers = rng.standard_normal(dims, np.float32)
        if kind != "float":
            numbers = np.clip(np.rint(numbers * 25) + (128 if kind == "uint8" else 0), *([0, 255], [-128, 127])[kind == "int8"])
        result[...] = numbers
        return [result]


# ---- Layers ----------------------------------------------------------------------------------------------------


def layer(name, group, dims, build, form=FORMS["QOperator u8s8"]):
    CASES.append(Quantized(name, group, form, dims, build))


def conv(group, image, kernel, count, batch=1, stride=1, groups=1, form=FORMS["QOperator u8s8"], tag=""):
    shape = f"{kernel}x{kernel}{f' / {stride}' if stride > 1 else ''}"
    name = f"{','.join(map(str, image))}, {shape}{f', {count}' if groups == 1 else ''}{tag}{f' x {batch}' if batch > 1 else ''}"
    layer(name, group, [batch, *image], lambda net, x: net.conv(x, count, kernel, stride, groups, positive=False), form)


def by_signs(x, w, by_channel=0):
    return (x, w, by_channel, "QOperator")


for size, less, more in ((56, 64, 256), (28, 128, 512), (14, 256, 1024), (7, 512, 2048)):
    conv("1x1", [less, size, size], 1, more)
    conv("1x1", [more, size, size], 1, less)
conv("1x1", [32, 112, 112], 1, 16)
conv("1x1", [24, 56, 56], 1, 144)
conv("1x1", [96, 14, 14], 1, 576)
conv("1x1", [320, 7, 7], 1, 1280, batch=8)
conv("1x1", [256, 56, 56], 1, 512, stride=2)
conv("1x1", [128, 28, 28], 1, 512, form=by_signs("uint8", "int8", 1), tag=", by channel")
conv("1x1", [128, 28, 28], 1, 512, form=by_signs("int8", "int8"), tag=", s8s8")
conv("1x1", [128, 28, 28], 1, 512, form=by_signs("uint8", "uint8"), tag=", u8u8")
for size, channels in ((56, 64), (28, 128), (14, 256), (7, 512)):
    conv("3x3", [channels, size, size], 3, channels)
conv("3x3", [64, 56, 56], 3, 64, batch=8)
conv("3x3", [64, 56, 56], 3, 128, stride=2)
conv("3x3", [128, 28, 28], 3, 128, form=by_signs("int8", "int8", 1), tag=", s8s8 by channel")
conv("3x3", [128, 56, 56], 3, 128, groups=32, tag=", 32 groups")
conv("depthwise", [32, 112, 112], 3, 32, groups=32)
conv("depthwise", [144, 56, 56], 3, 144, groups=144)
conv("depthwise", [144, 56, 56], 3, 144, stride=2, groups=144)
conv("depthwise", [576, 14, 14], 3, 576, groups=576)
conv("depthwise", [576, 14, 14], 3, 576, groups=576, form=by_signs("int8", "int8", 1), tag=", s8s8 by channel")
conv("depthwise", [960, 7, 7], 3, 960, batch=8, groups=960)
conv("depthwise", [240, 28, 28], 5, 240, stride=2, groups=240)
conv("depthwise", [672, 14, 14], 5, 672, groups=672)
conv("first", [3, 224, 224], 7, 64, stride=2)
conv("first", [3, 224, 224], 3, 32, stride=2)

for form in ("QOperator u8s8", "QDQ u8s8", "QDQ u8s8 by channel", "QDQ s8s8"):
    for rows, inner, columns in ((128, 768, 768), (128, 768, 3072), (128, 3072, 768)):
        layer(f"{form} {rows}x{columns}x{inner}", "MatMul", [rows, inner], lambda net, x, c=columns: net.matmul(x, c),
              FORMS[form])
layer("QOperator u8u8 128x768x768", "MatMul", [128, 768], lambda net, x: net.matmul(x, 768), by_signs("uint8", "uint8"))
layer("QOperator u8s8 1x768x768", "MatMul", [1, 768], lambda net, x: net.matmul(x, 768))
layer("QOperator u8s8 8 x 64x256x256", "MatMul", [8, 64, 256], lambda net, x: net.matmul(x, 256))


# ---- Networks --------------------------------------------------------------------------------------------------


def resnet(net, x):
    x = net.conv(x, 64, 7, 2)
    x = net.move("MaxPool", x, [1, 64, 56, 56], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            way = net.conv(net.conv(x, channels, 3, stride), channels, 3, positive=False)
            beside = net.conv(x, channels, 1, stride, positive=False) if stride > 1 else x
            x = net.add(way, beside, positive=True)
    return net.matmul(net.pooled(x), 1000)


def mobilenet(net, x):
    x = net.conv(x, 32, 3, 2)
    for wider, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                          (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            inner = x.dims[1] * wider
            way = net.conv(x, inner, 1) if wider > 1 else x
            way = net.conv(way, inner, 3, 1 if block else stride, groups=inner)
            way = net.conv(way, channels, 1, positive=False)
            x = net.add(way, x) if block else way
    return net.matmul(net.pooled(net.conv(x, 1280, 1)), 1000)


def encoder(net, x, heads=6, layers=4):
    """A transformer encoder whose normalisation and softmax are those of floats."""
    batch, rows, width = x.dims
    size = width // heads
    for _ in range(layers):
        split = [net.reshape(net.matmul(x, width), [batch, rows, heads, size]) for _ in range(3)]
        q, v = (net.move("Transpose", t, [batch, heads, rows, size], perm=[0, 2, 1, 3]) for t in split[::2])
        k = net.move("Transpose", split[1], [batch, heads, size, rows], perm=[0, 2, 3, 1])
        scores = net.product(q, k, [batch, heads, rows, rows], 0.4)
        scaled = net.node("Mul", [net.floats(scores), net.constant(np.float32(1 / math.sqrt(size)))])
        weights = net.quantize(net.node("Softmax", [scaled], axis=-1), scores.dims, True, 1 / 255)
        y = net.product(weights, v, [batch, heads, rows, size])
        y = net.reshape(net.move("Transpose", y, [batch, rows, heads, size], perm=[0, 2, 1, 3]), [batch, rows, width])
        x = normalised(net, net.add(net.matmul(y, width), x))
        x = normalised(net, net.add(net.matmul(net.matmul(x, 4 * width, positive=True), width), x))
    return x


def normalised(net, x):
    ones, zeros = net.constant(np.ones(x.dims[-1], np.float32)), net.constant(np.zeros(x.dims[-1], np.float32))
    return net.quantize(net.node("LayerNormalization", [net.floats(x), ones, zeros]), x.dims)


for network, name, dims in ((resnet, "resnet18-like", [1, 3, 224, 224]), (mobilenet, "mobilenet-v2-like", [1, 3, 224, 224]),
                            (encoder, "encoder 128x384", [1, 128, 384])):
    for form, parts in FORMS.items():
        CASES.append(Quantized(f"{name}, {form}", "network", parts, dims, network, whole=True))
        CASES[-1].options = KEPT.get(form, {})
