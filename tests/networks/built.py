"""built.py: networks of the kinds that people train, with weights drawn at random: built here, so that no download decides
whether they are tested. Batches and sizes of images and texts are open.
"""

import networks
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 20, 9


class Builder:
    """Nodes and weights; each method adds some and gives the name of the result."""

    def __init__(self, seed):
        self.rng, self.nodes, self.weights = np.random.default_rng(seed), [], []

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}{len(self.nodes)}{'abcd'[i] if outputs > 1 else ''}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values, dtype=np.float32):
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def draw(self, *dims, scale=1.0, offset=0.0):
        return self.constant(self.rng.standard_normal(dims) * scale + offset)

    def kernel(self, *dims):
        return self.draw(*dims, scale=(2 / max(1, np.prod(dims[1:]))) ** 0.5)

    def conv(self, x, channels, count, size=3, stride=1, groups=1, rank=2, bias=True, **attributes):
        weights = [self.kernel(count, channels // groups, *[size] * rank)] + ([self.draw(count, scale=0.1)] if bias else [])
        pads = [(size - 1) // 2] * (2 * rank) if "auto_pad" not in attributes else None
        return self.op("Conv", x, *weights, strides=[stride] * rank, group=groups, **({"pads": pads} if pads else {}),
                       **attributes)

    def batch_norm(self, x, count):
        return self.op("BatchNormalization", x, self.draw(count, scale=0.1, offset=1), self.draw(count, scale=0.1),
                       self.draw(count, scale=0.1), self.constant(0.5 + self.rng.random(count)))

    def layer_norm(self, x, size):
        return self.op("LayerNormalization", x, self.draw(size, scale=0.1, offset=1), self.draw(size, scale=0.1), axis=-1)

    def dense(self, x, size, count):
        product = self.op("MatMul", x, self.draw(size, count, scale=size ** -0.5))
        return self.op("Add", product, self.draw(count, scale=0.1))

    def swish(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def gelu(self, x):
        """As it is exported in primitives."""
        erf = self.op("Erf", self.op("Div", x, self.constant(2 ** 0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1))), self.constant(0.5))

    def model(self, inputs, output):
        values = [helper.make_tensor_value_info(name, dtype, dims) for name, dtype, dims in inputs]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "built", values, [result], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=IR_VERSION).SerializeToString()


IMAGE = [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])]


def unet():
    """Two levels down and up; what skips is cut to the size of what comes up."""
    b = Builder(1)

    def block(x, channels, count):
        for width in (channels, count):
            x = b.op("Relu", b.batch_norm(b.conv(x, width, count, bias=False), count))
        return x

    skips, x = [], "x"
    for channels, count in ((3, 16), (16, 32)):
        x = block(x, channels, count)
        skips.append((x, count))
        x = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = block(x, 32, 64)
    for (skip, count) in reversed(skips):
        x = b.op("ConvTranspose", x, b.kernel(2 * count, count, 2, 2), b.draw(count), strides=[2, 2])
        ends = b.op("Slice", b.op("Shape", x), b.constant([2], np.int64), b.constant([4], np.int64))
        skip = b.op("Slice", skip, b.constant([0, 0], np.int64), ends, b.constant([2, 3], np.int64))
        x = block(b.op("Concat", skip, x, axis=1), 2 * count, count)
    return b.model(IMAGE, b.op("Sigmoid", b.conv(x, 16, 2, size=1)))


def mobilenet():
    """Inverted residuals with squeeze and excitation, h-swish and ReLU6."""
    b = Builder(2)

    def residual(x, channels, count, stride, size, excites):
        wide = 4 * channels
        y = b.batch_norm(b.conv(x, channels, wide, size=1, bias=False), wide)
        y = b.op("HardSwish", y) if excites else b.op("Clip", y, b.constant(0), b.constant(6))
        y = b.batch_norm(b.conv(y, wide, wide, size=size, stride=stride, groups=wide, bias=False), wide)
        if excites:
            s = b.op("Relu", b.conv(b.op("GlobalAveragePool", y), wide, wide // 4, size=1))
            y = b.op("Mul", y, b.op("HardSigmoid", b.conv(s, wide // 4, wide, size=1), alpha=1 / 6, beta=0.5))
        y = b.op("HardSwish", y) if excites else b.op("Clip", y, b.constant(0), b.constant(6))
        y = b.batch_norm(b.conv(y, wide, count, size=1, bias=False), count)
        return b.op("Add", x, y) if channels == count and stride == 1 else y

    x = b.op("HardSwish", b.conv("x", 3, 16, stride=2))
    for row in ((16, 16, 1, 3, False), (16, 24, 2, 3, False), (24, 24, 1, 5, True), (24, 40, 2, 5, True),
                (40, 40, 1, 3, True)):
        x = residual(x, *row)
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    return b.model(IMAGE, b.op("Gemm", x, b.kernel(10, 40), b.draw(10), transB=1))


def convnext():
    """Depthwise 7x7, then channels last for what is a product there, and back."""
    b = Builder(3)
    x = b.conv("x", 3, 24, size=4, stride=4, auto_pad="VALID")
    for _ in range(2):
        y = b.op("Transpose", b.conv(x, 24, 24, size=7, groups=24), perm=[0, 2, 3, 1])
        y = b.dense(b.gelu(b.dense(b.layer_norm(y, 24), 24, 96)), 96, 24)
        y = b.op("Transpose", b.op("Mul", y, b.draw(24)), perm=[0, 3, 1, 2])
        x = b.op("Add", x, y)
    x = b.op("ReduceMean", x, b.constant([2, 3], np.int64), keepdims=0)
    return b.model(IMAGE, b.dense(b.layer_norm(x, 24), 24, 7))


def yolo():
    """A stem, pools of one size behind each other, an upsampled branch, and a head that is taken apart."""
    b = Builder(4)
    x = b.swish(b.conv("x", 3, 16, size=6, stride=2, auto_pad="SAME_UPPER"))
    low = b.swish(b.conv(x, 16, 32, stride=2))
    y = b.swish(b.conv(low, 32, 32, stride=2, auto_pad="SAME_LOWER"))
    pools = [y]
    for _ in range(3):
        pools.append(b.op("MaxPool", pools[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
    y = b.swish(b.conv(b.op("Concat", *pools, axis=1), 128, 32, size=1))
    y = b.op("Resize", y, "", "", b.op("Concat", b.op("Slice", b.op("Shape", y), b.constant([0], np.int64),
             b.constant([2], np.int64)), b.op("Slice", b.op("Shape", low), b.constant([2], np.int64),
             b.constant([4], np.int64)), axis=0), mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor")
    y = b.conv(b.op("Concat", low, y, axis=1), 64, 21)
    n = b.op("Slice", b.op("Shape", y), b.constant([0], np.int64), b.constant([1], np.int64))
    y = b.op("Reshape", y, b.op("Concat", n, b.constant([3, 7, -1], np.int64), axis=0))
    y = b.op("Sigmoid", b.op("Transpose", y, perm=[0, 1, 3, 2]))
    xy, wh, rest = b.op("Split", y, b.constant([2, 2, 3], np.int64), outputs=3, axis=-1)
    wh = b.op("Mul", b.op("Pow", b.op("Mul", wh, b.constant(2)), b.constant(2)), b.draw(1, 3, 1, 2))
    return b.model(IMAGE, b.op("Concat", b.op("Sub", b.op("Mul", xy, b.constant(2)), b.constant(0.5)), wh, rest, axis=-1))


def heads(b, x, size, count):
    """[n, rows, size] as [n, count, rows, size / count], with dims that are computed."""
    shape = b.op("Concat", b.op("Slice", b.op("Shape", x), b.constant([0], np.int64), b.constant([2], np.int64)),
                 b.constant([count, size // count], np.int64), axis=0)
    return b.op("Transpose", b.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def attend(b, x, size, count, mask=None):
    q, k, v = (heads(b, b.dense(x, size, size), size, count) for _ in range(3))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.op("Div", scores, b.constant((size // count) ** 0.5))
    scores = b.op("Where", mask, scores, b.constant(-1e9)) if mask else scores
    y = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = b.op("Reshape", y, b.constant([0, 0, size], np.int64))
    return b.op("Add", x, b.dense(y, size, size))


def transformer():
    """An encoder of texts: rows of tables, two layers with a mask, the mean of what is not masked."""
    b, size = Builder(5), 48
    x = b.op("Gather", b.draw(100, size), "ids")
    rows = b.op("Slice", b.op("Shape", "ids"), b.constant([1], np.int64), b.constant([2], np.int64))
    x = b.layer_norm(b.op("Add", x, b.op("Slice", b.draw(64, size), b.constant([0], np.int64), rows)), size)
    mask = b.op("Cast", b.op("Unsqueeze", "mask", b.constant([1, 2], np.int64)), to=TensorProto.BOOL)
    for _ in range(2):
        x = b.layer_norm(attend(b, x, size, 4, mask), size)
        x = b.layer_norm(b.op("Add", x, b.dense(b.gelu(b.dense(x, size, 96)), 96, size)), size)
    real = b.op("Unsqueeze", b.op("Cast", "mask", to=TensorProto.FLOAT), b.constant([2], np.int64))
    total = b.op("ReduceSum", b.op("Mul", x, real), b.constant([1], np.int64), keepdims=0)
    mean = b.op("Div", total, b.op("ReduceSum", real, b.constant([1], np.int64), keepdims=0))
    return b.model([("ids", TensorProto.INT64, ["n", "rows"]), ("mask", TensorProto.INT64, ["n", "rows"])],
                   b.op("Tanh", b.dense(mean, size, 5)))


def whisper():
    """One-dimensional convolutions over a spectrogram, then attention before the normalisation."""
    b, size = Builder(6), 32
    x = b.op("Gelu", b.conv("x", 20, size, rank=1))
    x = b.op("Transpose", b.op("Gelu", b.conv(x, size, size, stride=2, rank=1)), perm=[0, 2, 1])
    for _ in range(2):
        x = b.op("Add", x, attend(b, b.layer_norm(x, size), size, 2))
        x = b.op("Add", x, b.dense(b.op("Gelu", b.dense(b.layer_norm(x, size), size, 64), approximate="tanh"), 64, size))
    return b.model([("x", TensorProto.FLOAT, ["n", 20, "rows"])], b.layer_norm(x, size))


def crnn():
    """A reader of lines: convolutions, rows that are read both ways, classes for each place."""
    b, size = Builder(7), 24
    x = b.op("LeakyRelu", b.op("InstanceNormalization", b.conv("x", 3, 16), b.draw(16), b.draw(16)), alpha=0.1)
    x = b.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    x = b.op("PRelu", b.conv(x, 16, 32, stride=2), b.draw(32, 1, 1, scale=0.2))
    x = b.op("Transpose", b.op("ReduceMax", x, b.constant([2], np.int64), keepdims=0), perm=[2, 0, 1])
    for kind, gates, inputs in (("LSTM", 4, 32), ("GRU", 3, 2 * size)):
        weights = [b.draw(2, gates * size, inputs, scale=0.2), b.draw(2, gates * size, size, scale=0.2),
                   b.draw(2, 2 * gates * size, scale=0.1)]
        y = b.op(kind, x, *weights, hidden_size=size, direction="bidirectional")
        x = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.constant([0, 0, -1], np.int64))
    return b.model(IMAGE, b.op("LogSoftmax", b.op("Transpose", b.dense(x, 2 * size, 11), perm=[1, 0, 2]), axis=-1))


def noise(*dims):
    return {"x": np.random.default_rng(sum(dims)).standard_normal(dims, np.float32)}


def text(batch, rows):
    rng = np.random.default_rng(rows)
    mask = (np.arange(rows) < rng.integers(1, rows + 1, (batch, 1))).astype(np.int64)
    return {"ids": rng.integers(0, 100, (batch, rows)), "mask": mask}


class Built(networks.Network):
    """A network that is built here."""

    def __init__(self, function, draw, *sizes):
        super().__init__(function.__name__, None, draw, *sizes)
        self.model = function

    def path(self):
        return "built here"


IMAGES = (1, 3, 64, 96), (3, 3, 37, 53)
NETWORKS = [
    *(Built(function, noise, *IMAGES) for function in (unet, mobilenet, convnext, yolo, crnn)),
    Built(transformer, text, (1, 17), (5, 64), (2, 1)),
    Built(whisper, noise, (1, 20, 100), (4, 20, 33)),
]
