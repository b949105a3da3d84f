"""mixed.py [--seed N] [--cases N]: random networks of several operators between quantizations: convolutions, transposed
ones, products, arithmetic whose operands broadcast, pools, Resize and moves, on one to three images; values have several
readers, and some of them share scales. Scales are powers of two and sums are short, so that floats are exact: integer
operators, floats and ONNX Runtime give the same bits."""

import sys

import numpy as np
import oxlib
import quantized
import trials

MOST = 40  # elements of a dimension


class Value:
    def __init__(self, name, params, dims):
        self.name, self.params, self.dims = name, params, dims


class Mixed(quantized.Network):
    """A network of images, and what may be read of it."""

    def __init__(self, rng):
        super().__init__(rng)
        self.values, self.shared, self.scales = [], None, {}
        self.shared = self.params()
        image = [self.number(1, 3), self.number(1, 8), 2 * self.number(1, 5), 2 * self.number(1, 5)]
        others = [image, [1, image[1], 1, 1], image[1:2] + [1, 1], [image[0], 1, *image[2:]], image[3:], [image[0], image[1], 1, 1]]
        for turn in range(self.number(1, 3)):
            dims = image if not turn else others[self.number(0, 5)]
            kind, *params = self.params()
            data = quantized.random_bytes(self, kind, dims)
            constant = turn and quantized.chance(rng, 0.4)
            self.values.append(Value(self.keep(data) if constant else self.feed(data, kind), (kind, *params), dims))

    def params(self):
        """(type, scale, zero point)"""
        kind = str(self.rng.choice(quantized.BYTES))
        scale = np.float32(2.0 ** self.number(-6, -2))
        name = self.keep(scale)
        self.scales[name] = scale
        return kind, name, self.keep(np.array(self.zero(kind)).reshape([]))

    def read(self, value):
        return self.dequantize(value.name, *value.params[1:])

    def give(self, name, dims):
        """A value of floats, or what Relu or Clip make of it, as a value of the network."""
        which = self.number(0, 9)
        if which < 3:
            name = self.node("Relu", [name])
        elif which < 4:
            name = self.node("Clip", [name, self.keep(np.float32(0)), self.keep(np.float32(6))])
        params = self.shared if quantized.chance(self.rng, 0.3) else self.params()
        self.values.append(Value(self.quantize(name, *params[1:]), params, dims))

    def weights(self, dims, axis):
        """(floats, scales) of constant bytes."""
        kind, each = str(self.rng.choice(quantized.BYTES)), quantized.chance(self.rng, 0.5)
        scales = np.exp2(self.rng.integers(-7, -2, dims[axis:axis + 1] if each else [])).astype(np.float32)
        zeros = quantized.random_bytes(self, kind, scales.shape) if quantized.chance(self.rng, 0.3) else np.zeros(scales.shape, kind)
        attributes = {"axis": axis} if each else {}
        return self.dequantize(self.keep(quantized.random_bytes(self, kind, dims)), self.keep(scales),
                               self.keep(np.asarray(zeros, kind)), **attributes), scales

    def bias(self, value, scales, channels):
        """Inputs of a node: a bias with the scale of its sums, or none."""
        if quantized.chance(self.rng, 0.4):
            return []
        steps = np.asarray(np.broadcast_to(self.scales[value.params[1]] * scales, [channels] if scales.ndim else []), np.float32)
        bias = self.rng.integers(-3000, 3000, channels).astype(np.int32)
        return [self.node("DequantizeLinear", [self.keep(bias), self.keep(steps)], **({"axis": 0} if scales.ndim else {}))]


# ---- Operators: each adds a value that it makes of one, or none where that does not fit ---------------------------------

def conv(g, x):
    images, channels, *size = x.dims
    groups = int(g.rng.choice([n for n in (1, 1, 2, 3, channels) if channels % n == 0]))
    count, kernel = groups * g.number(1, 3), [g.number(1, 3), g.number(1, 3)]
    strides, pads = [g.number(1, 2), g.number(1, 2)], [g.number(0, 1) for _ in range(4)]
    out = [(n + before + behind - k) // s + 1 for n, before, behind, k, s in zip(size, pads[:2], pads[2:], kernel, strides)]
    if min(out) < 1:
        return
    w, scales = g.weights([count, channels // groups, *kernel], 0)
    g.give(g.node("Conv", [g.read(x), w, *g.bias(x, scales, count)], group=groups, strides=strides, pads=pads),
           [images, count, *out])


def transposed(g, x):
    images, channels, *size = x.dims
    groups = int(g.rng.choice([n for n in (1, 2, 3) if channels % n == 0]))
    count, kernel, strides = g.number(1, 3), [g.number(1, 3), g.number(1, 3)], [g.number(1, 3), g.number(1, 3)]
    w, scales = g.weights([channels, count, *kernel], 1)
    bias = g.bias(x, np.tile(scales, groups) if scales.ndim else scales, groups * count)
    g.give(g.node("ConvTranspose", [g.read(x), w, *bias], group=groups, strides=strides),
           [images, groups * count, *[(n - 1) * s + k for n, s, k in zip(size, strides, kernel)]])


def arithmetic(g, x):
    fits = [v for v in g.values if len(v.dims) <= 4 and all(a in (1, b) for a, b in zip(v.dims[::-1], x.dims[::-1]))]
    operands = [g.read(x), g.read(fits[g.number(0, len(fits) - 1)])]
    if quantized.chance(g.rng, 0.5):
        operands.reverse()
    g.give(g.node(str(g.rng.choice(["Add", "Add", "Sub", "Mul", "Max"])), operands), x.dims)


def concat(g, x):
    axis = g.number(0, 3)
    fits = [v for v in g.values if len(v.dims) == 4 and v.dims[:axis] + v.dims[axis + 1:] == x.dims[:axis] + x.dims[axis + 1:]]
    parts = [x, *[fits[g.number(0, len(fits) - 1)] for _ in range(g.number(1, 2))]]
    g.give(g.node("Concat", [g.read(v) for v in parts], axis=axis),
           [*x.dims[:axis], sum(v.dims[axis] for v in parts), *x.dims[axis + 1:]])


def resize(g, x):
    how = [{"mode": "nearest", "nearest_mode": "floor"}, {"mode": "linear"}][g.number(0, 1)]
    scales = g.keep(np.array([1, 1, 2, 2], np.float32))
    g.give(g.node("Resize", [g.read(x), "", scales], coordinate_transformation_mode="asymmetric", **how),
           [*x.dims[:2], 2 * x.dims[2], 2 * x.dims[3]])


def pool(g, x):
    strides = [g.number(1, 2), g.number(1, 2)]
    if min(x.dims[2:]) > 1:
        g.give(g.node(str(g.rng.choice(["AveragePool", "MaxPool"])), [g.read(x)], kernel_shape=[2, 2], strides=strides),
               [*x.dims[:2], *[(n - 2) // s + 1 for n, s in zip(x.dims[2:], strides)]])


def mean(g, x):
    count = x.dims[2] * x.dims[3]
    if not count & (count - 1): # divisions are exact
        g.give(g.node("GlobalAveragePool", [g.read(x)]), [*x.dims[:2], 1, 1])


def turned(g, x):
    order = g.rng.permutation(4).tolist()
    g.give(g.node("Transpose", [g.read(x)], perm=order), [x.dims[d] for d in order])


def padded(g, x):
    pads = [0, 0, g.number(0, 2), g.number(0, 2), 0, 0, g.number(0, 2), g.number(0, 2)]
    value = [g.keep(np.float32(g.rng.choice([0, 0.5, -1.25])))] if quantized.chance(g.rng, 0.5) else []
    g.give(g.node("Pad", [g.read(x), g.keep(np.array(pads)), *value]), [n + a + b for n, a, b in zip(x.dims, pads, pads[4:])])


def product(g, x):
    count = g.number(1, 8)
    w, _ = g.weights([x.dims[3], count], 1)
    g.give(g.node("MatMul", [g.read(x), w]), [*x.dims[:3], count])


def again(g, x):
    g.give(g.read(x), x.dims)


KINDS = (conv, conv, transposed, arithmetic, arithmetic, concat, resize, pool, mean, turned, padded, product, again)


def draw(rng):
    g = Mixed(rng)
    for _ in range(g.number(2, 8)):
        x = g.values[g.number(0, len(g.values) - 1)]
        KINDS[g.number(0, len(KINDS) - 1)](g, x if len(x.dims) == 4 and quantized.chance(rng, 0.8) else g.values[0])
        if max(g.values[-1].dims) > MOST:
            g.values.pop()
    read = {name for node in g.nodes for name in node.input}
    made = {node.output[0] for node in g.nodes if node.op_type == "QuantizeLinear"}
    for v in g.values:
        if v.name in made and (v.name not in read or quantized.chance(rng, 0.1)):
            g.outputs[v.name] = v.params[0]
    return g


def case(rng, turn):
    g = draw(rng)
    if not g.outputs:
        return None
    data = quantized.model_of(g, False)
    other = [{"no_integer": True}, {"no_fuse": True}, {"check": True}, {"isa": b"base"}][turn % 4]
    try:
        got, _ = quantized.run(g, data, threads=g.number(1, 3))
        again, _ = quantized.run(g, data, **other)
        wrong = quantized.differs(g, got, again, str(other), True) or \
            quantized.differs(g, got, quantized.by_runtime(g, data), "ONNX Runtime", True)
    except oxlib.OxError as error:
        wrong = str(error)
    return wrong and f"opset {g.opset}: " + "; ".join(
        f"{n.output[0]} = {n.op_type}({', '.join(n.input)})" for n in g.nodes if n.op_type != "Constant") + f": {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 600))
