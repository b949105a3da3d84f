"""networks.py DIR: writes small networks with random weights, DIR/NAME/model.onnx: a keyword spotter of depthwise and
1x1 convolutions (floats, QDQ and QOperator form), and in QDQ form a MobileNet of a quarter of the width, a ResNet of
eight layers and an autoencoder, and operators of bytes, convolutions of drawn shapes, functions of a byte, products of floats, and scales, in many forms. The same bytes each time."""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SPAN = 6.0  # of an activation behind Relu, in floats


class Value:
    def __init__(self, name, shape, scale=1.0, zero=0):
        self.name, self.shape, self.scale, self.zero = name, shape, scale, zero


class Network:
    """Values are names of int8 tensors in the quantized forms, with their scale and zero point."""

    def __init__(self, form, shape, seed):
        self.form, self.rng, self.opset = form, numpy.random.default_rng(seed), 13
        self.nodes, self.weights, self.count = [], [], 0
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        self.x = Value("x", list(shape))
        if form != "float":
            self.x = self.quantize("x", list(shape), 8 / 255, 0)

    def const(self, array):
        self.count += 1
        self.weights.append(numpy_helper.from_array(array, f"w{self.count}"))
        return f"w{self.count}"

    def node(self, op, inputs, domain="", **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"n{self.count}", domain=domain, **attributes))
        return name

    def params(self, scale, zero):
        return [self.const(numpy.float32(scale)), self.const(numpy.int8(zero))]

    def quantize(self, name, shape, scale, zero):
        return Value(self.node("QuantizeLinear", [name] + self.params(scale, zero)), shape, scale, zero)

    def floats(self, x):
        return x.name if self.form == "float" else self.node("DequantizeLinear", [x.name] + self.params(x.scale, x.zero))

    def weight(self, shape, fan, gain=2.0):
        """Floats, and the same as int8 with a scale for each output channel."""
        w = self.rng.standard_normal(shape) * numpy.sqrt(gain / fan)
        scales = (numpy.abs(w).reshape(shape[0], -1).max(axis=1) / 127).astype(numpy.float32)
        column = scales.reshape([-1] + [1] * (len(shape) - 1))
        return w.astype(numpy.float32), numpy.clip(numpy.rint(w / column), -127, 127).astype(numpy.int8), scales

    def bias(self, channels, x, scales):
        b = self.rng.standard_normal(channels) * 0.05
        steps = (numpy.float32(x.scale) * scales).astype(numpy.float32)
        return b.astype(numpy.float32), numpy.rint(b / steps).astype(numpy.int32), steps

    def layer(self, op, x, w, b, steps, shape, relu, floats, attributes):
        """An operator with weights, and Relu if it has one."""
        w_float, w_int, scales = w
        b_float, b_int, _ = b
        scale, zero = (SPAN / 255, -128) if relu else (2 * SPAN / 255, 0)
        zeros = numpy.zeros(len(scales), numpy.int8)
        if self.form == "float":
            name = self.node(op, [x.name, self.const(w_float), self.const(b_float)], **attributes)
            return Value(self.node("Relu", [name]) if relu else name, shape)
        if self.form == "qop" and op == "Conv":
            inputs = [x.name] + self.params(x.scale, x.zero) + [self.const(w_int), self.const(scales), self.const(zeros)]
            inputs += self.params(scale, zero) + [self.const(b_int)]
            return Value(self.node("QLinearConv", inputs, **attributes), shape, scale, zero)
        given = [floats] if floats else [self.floats(x)]
        given.append(self.node("DequantizeLinear", [self.const(w_int), self.const(scales), self.const(zeros)], axis=0))
        given.append(self.node("DequantizeLinear", [self.const(b_int), self.const(steps),
                                                    self.const(numpy.zeros(len(steps), numpy.int32))], axis=0))
        name = self.node(op, given, **attributes)
        return self.quantize(self.node("Relu", [name]) if relu else name, shape, scale, zero)

    def conv(self, x, channels, kernel, stride=1, groups=1, pads=None, relu=True):
        per_group = x.shape[1] // groups
        pads = pads or [kernel[0] // 2, kernel[1] // 2] * 2
        w = self.weight([channels, per_group] + list(kernel), per_group * kernel[0] * kernel[1])
        b = self.bias(channels, x, w[2])
        size = [(x.shape[2 + d] + pads[d] + pads[2 + d] - kernel[d]) // stride + 1 for d in range(2)]
        attributes = dict(kernel_shape=kernel, strides=[stride] * 2, pads=pads, group=groups)
        return self.layer("Conv", x, w, b, b[2], [1, channels] + size, relu, None, attributes)

    def dense(self, x, outputs, relu=False):
        w = self.weight([outputs, x.shape[1]], x.shape[1], 2.0 if relu else 1.0)
        b = self.bias(outputs, x, w[2])
        return self.layer("Gemm", x, w, b, b[2], [1, outputs], relu, None, dict(transB=1))

    def add(self, x, y):
        name = self.node("Relu", [self.node("Add", [self.floats(x), self.floats(y)])])
        return self.quantize(name, x.shape, 2 * SPAN / 255, -128)

    def pool(self, x):
        shape = [1, x.shape[1]]
        name = self.node("AveragePool", [self.floats(x)], kernel_shape=x.shape[2:])
        if self.form == "float":
            return Value(self.node("Flatten", [name]), shape)
        q = self.quantize(name, x.shape[:2] + [1, 1], x.scale, x.zero)
        name = self.node("Flatten", [self.floats(q)])
        return self.quantize(name, shape, x.scale, x.zero)

    def save(self, folder, y):
        names = y if isinstance(y, list) else [self.floats(y)]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
        graph = helper.make_graph(self.nodes, "network", [self.input], outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset == 13 else 10)
        os.makedirs(folder, exist_ok=True)
        onnx.save(model, os.path.join(folder, "model.onnx"))


def keywords(form):
    net = Network(form, (1, 1, 49, 10), 3)
    x = net.conv(net.x, 64, (10, 4), 2, pads=[4, 1, 5, 1])
    for _ in range(4):
        x = net.conv(x, 64, (3, 3), groups=64)
        x = net.conv(x, 64, (1, 1))
    return net, net.dense(net.pool(x), 12)


def mobilenet():
    net = Network("qdq", (1, 3, 96, 96), 4)
    x = net.conv(net.x, 8, (3, 3), 2)
    for channels, stride in [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)] + [(128, 1)] * 5 + [(256, 2), (256, 1)]:
        x = net.conv(x, x.shape[1], (3, 3), stride, groups=x.shape[1])
        x = net.conv(x, channels, (1, 1))
    return net, net.dense(net.pool(x), 2)


def resnet():
    net = Network("qdq", (1, 3, 32, 32), 5)
    x = net.conv(net.x, 16, (3, 3))
    for channels, stride in [(16, 1), (32, 2), (64, 2)]:
        y = net.conv(net.conv(x, channels, (3, 3), stride), channels, (3, 3), relu=False)
        short = x if stride == 1 else net.conv(x, channels, (1, 1), stride, relu=False)
        x = net.add(y, short)
    return net, net.dense(net.pool(x), 10)


def autoencoder():
    net = Network("qdq", (1, 640), 6)
    x = net.x
    for outputs in [128] * 4 + [8] + [128] * 4:
        x = net.dense(x, outputs, True)
    return net, net.dense(x, 640)


def windows():
    """QLinearConv, average pools, Gemm, products and arithmetic of bytes in many forms, each an output: types, zero points, scales that leave ties, groups, strides, dilations,
    padding at one side, kernels of one and two dimensions."""
    net = Network("qop", (1, 4, 11, 13), 7)
    rng, outputs = net.rng, []
    types = {"i": (numpy.int8, -128), "u": (numpy.uint8, 0)}
    forms = [  # outputs, groups, kernel, strides, dilations, pads
        (5, 1, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)), (4, 4, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
        (4, 4, (3, 3), (2, 2), (1, 1), (0, 1, 1, 0)), (4, 4, (3, 3), (1, 1), (2, 1), (2, 0, 1, 3)),
        (4, 4, (3, 3), (1, 3), (1, 2), (0, 2, 0, 2)), (8, 4, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
        (3, 1, (2, 5), (2, 1), (1, 2), (1, 0, 0, 4)), (6, 2, (3, 1), (1, 2), (3, 1), (0, 0, 2, 0)),
        (4, 4, (5, 5), (1, 1), (1, 1), (2, 2, 2, 2)), (2, 1, (1, 1), (3, 2), (1, 1), (0, 0, 0, 0)),
        (7, 1, (1, 1), (1, 1), (1, 1), (0, 0, 0, 1)), (4, 4, (3, 3), (1, 1), (1, 1), (0, 11, 0, 4)),
        (4, 1, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)), (4, 2, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
        (4, 4, (3, 3), (1, 6), (1, 1), (1, 1, 1, 0)), (4, 4, (3, 3), (3, 4), (1, 1), (1, 0, 2, 0)),
        (4, 4, (3, 3), (2, 2), (2, 1), (2, 1, 2, 1)), (4, 4, (3, 3), (5, 11), (1, 1), (1, 0, 0, 0)),
        (17, 1, (3, 3), (1, 2), (1, 1), (1, 1, 1, 1)), (4, 1, (5, 3), (2, 1), (1, 1), (0, 1, 3, 0)),
        (4, 2, (3,), (1,), (1,), (1, 1)), (4, 4, (3,), (2,), (2,), (0, 3)), (9, 1, (1,), (1,), (1,), (0, 0)),
        (3, 1, (8, 8), (1, 2), (1, 1), (3, 4, 4, 3)),  # more taps than a word has bits
        # steps and padding whose products are beyond 32 bits
        (4, 4, (3, 3), (1, 1), (2**29, 1), (2**29, 1, 2**29, 1)), (3, 1, (3, 3), (1, 1), (1, 2**29), (1, 2**29, 1, 2**29))]
    for count, groups, kernel, strides, dilations, pads in forms:
        for x_kind, w_kind, y_kind in ("iii", "uuu", "iui", "uiu"):
            x_type, x_low = types[x_kind]
            w_type, w_low = types[w_kind]
            y_type, y_low = types[y_kind]
            x = Value("x", [1, 4] + ([11, 13] if len(kernel) == 2 else [143]))
            given = x.name
            if len(kernel) == 1:
                given = net.node("Reshape", [given, net.const(numpy.array([1, 4, 143], numpy.int64))])
            x_scale, x_zero = rng.choice([0.03125, 0.0437]), x_low + rng.integers(60, 200)
            first = [net.const(numpy.float32(x_scale)), net.const(x_type(x_zero))]
            name = net.node("QuantizeLinear", [given] + first)
            w = (rng.integers(0, 256, [count, 4 // groups] + list(kernel)) + w_low).astype(w_type)
            k = w.size // count
            per_channel = rng.integers(2)
            zeros = rng.integers(0, 256, count if per_channel else ()) + w_low if rng.integers(2) else numpy.zeros(())
            scales = numpy.float32(rng.choice([0.25, 0.013], count if per_channel else ()) / k ** 0.5)
            if rng.integers(3) == 0:
                scales = numpy.float32(2.0 ** rng.integers(-9, 1))
            y_scale, y_zero = rng.choice([0.5, 0.171, 0.03125]), y_low + rng.integers(0, 256)
            inputs = [name] + first + [net.const(w), net.const(scales), net.const(zeros.astype(w_type))]
            last = [net.const(numpy.float32(y_scale)), net.const(y_type(y_zero))]
            inputs += last + ([net.const(rng.integers(-3000, 3000, count).astype(numpy.int32))] if rng.integers(2) else [])
            name = net.node("QLinearConv", inputs, group=groups, kernel_shape=kernel, strides=strides,
                            dilations=dilations, pads=pads)
            outputs.append(net.node("DequantizeLinear", [name] + last))
    pools = [  # kernel, strides, pads, whether padding counts
        ((11, 13), (1, 1), (0, 0, 0, 0), 0), ((3, 3), (1, 1), (1, 1, 1, 1), 0), ((3, 3), (2, 2), (1, 1, 1, 1), 1),
        ((2, 5), (3, 1), (1, 0, 0, 4), 0), ((11, 13), (1, 1), (1, 2, 0, 1), 1), ((70,), (1,), (3, 0), 0), ((3,), (2,), (0, 2), 1)]
    for kernel, strides, pads, counts in pools + [(None, None, None, None)]:
        for x_kind, y_kind in "ii", "uu", "iu", "ui":
            (x_type, x_low), (y_type, y_low) = types[x_kind], types[y_kind]
            given = "x"
            if kernel and len(kernel) == 1:
                given = net.node("Reshape", [given, net.const(numpy.array([1, 4, 143], numpy.int64))])
            first = [net.const(numpy.float32(0.0437)), net.const(x_type(x_low + rng.integers(60, 200)))]
            last = [net.const(numpy.float32(rng.choice([0.0437, 0.011]))), net.const(y_type(y_low + rng.integers(0, 256)))]
            given = net.node("DequantizeLinear", [net.node("QuantizeLinear", [given] + first)] + first)
            if kernel:
                name = net.node("AveragePool", [given], kernel_shape=kernel, strides=strides, pads=pads,
                                count_include_pad=counts)
            else:
                name = net.node("GlobalAveragePool", [given])
            outputs.append(net.node("DequantizeLinear", [net.node("QuantizeLinear", [name] + last)] + last))
    for m, k in (1, 572), (2, 286), (44, 13), (4, 143):
        for n in 1, 2, 3, 4, 5, 11, 16, 37:
            for turned in 0, 1:
                outputs.append(gemm(net, types, m, k, n, turned))
    for m, k in (1, 143), (11, 13), (13, 11):
        for n in 1, 3, 4, 11, 35:
            for batch in (), (1,), (2, 2):
                outputs.append(product(net, types, m, k, n, batch))
    for op in "Add", "Sub", "Mul", "Div":
        for shape in [1, 4, 11, 13], [13], [4, 1, 1], [1], [11, 1]:
            outputs.append(arithmetic(net, types, op, shape, rng.integers(2)))
    return net, outputs


def arithmetic(net, types, op, shape, relu):
    """An operation on x and an array of that shape, both of bytes, whose types, zero points and scales are random."""
    rng = net.rng
    (x_type, x_low), (w_type, w_low), (y_type, y_low) = [types["iu"[rng.integers(2)]] for _ in range(3)]
    x = [net.const(numpy.float32(rng.choice([0.03125, 0.0437]))), net.const(x_type(x_low + rng.integers(60, 200)))]
    w = [net.const(numpy.float32(rng.choice([0.25, 0.013]))), net.const(w_type(w_low + rng.integers(60, 200)))]
    y = [net.const(numpy.float32(rng.choice([0.5, 0.171, 0.03125]))), net.const(y_type(y_low + (0 if relu else rng.integers(0, 256))))]
    a = net.node("DequantizeLinear", [net.node("QuantizeLinear", ["x"] + x)] + x)
    b = net.node("DequantizeLinear", [net.const((rng.integers(0, 256, shape) + w_low).astype(w_type))] + w)
    name = net.node(op, [a, b] if op == "Div" or rng.integers(2) else [b, a])
    name = net.node("QuantizeLinear", [net.node("Relu", [name]) if relu else name] + y)
    return net.node("DequantizeLinear", [name] + y)


def product(net, types, m, k, n, batch):
    """QLinearMatMul or MatMulInteger, whose types, zero points and scales are random: one, or one for each column or row.
    batch: that of the matrices [k,n]; x are four matrices [m,k]."""
    rng = net.rng
    (x_type, x_low), (w_type, w_low), (y_type, y_low) = [types["iu"[rng.integers(2)]] for _ in range(3)]
    first = [net.const(numpy.float32(rng.choice([0.03125, 0.0437]))), net.const(x_type(x_low + rng.integers(60, 200)))]
    given = net.node("Reshape", ["x", net.const(numpy.array(list(batch) + [m, k] if len(batch) == 2 else [-1, m, k], numpy.int64))])
    given = net.node("QuantizeLinear", [given] + first)
    w = net.const((rng.integers(0, 256, list(batch) + [k, n]) + w_low).astype(w_type))
    shape = [(), (n,), list(batch) + [1, n]][rng.integers(3)]
    zeros = net.const((rng.integers(0, 256, shape) + w_low).astype(w_type))
    rows = rng.integers(4) == 0  # scales and zero points of x by rows
    x_zeros = net.const((x_low + rng.integers(60, 200, m if rows else ())).astype(x_type))
    if rng.integers(3) == 0:
        sums = net.node("MatMulInteger", [given, w] + [[x_zeros, zeros], [x_zeros], []][rng.integers(3)])
        return net.node("DequantizeLinear", [sums, net.const(numpy.float32(1))])
    scales = net.const(numpy.float32(rng.choice([0.25, 0.013], shape) / k ** 0.5))
    x_scales = net.const(numpy.float32(rng.choice([0.03125, 0.0437], m if rows else ())))
    last = [net.const(numpy.float32(rng.choice([0.5, 0.171, 0.03125]))), net.const(y_type(y_low + rng.integers(0, 256)))]
    name = net.node("QLinearMatMul", [given, x_scales, x_zeros, w, scales, zeros] + last)
    return net.node("DequantizeLinear", [name] + last)


def gemm(net, types, m, k, n, turned):
    """A Gemm of bytes, whose types, zero points and scales are random; turned: its weights are [n, k]."""
    rng = net.rng
    (x_type, x_low), (w_type, w_low), (y_type, y_low) = [types["iu"[rng.integers(2)]] for _ in range(3)]
    x_scale, y_scale = numpy.float32(rng.choice([0.03125, 0.0437])), numpy.float32(rng.choice([0.5, 0.171, 0.03125]))
    first = [net.const(x_scale), net.const(x_type(x_low + rng.integers(60, 200)))]
    last = [net.const(y_scale), net.const(y_type(y_low + rng.integers(0, 256)))]
    given = net.node("QuantizeLinear", [net.node("Reshape", ["x", net.const(numpy.array([m, k], numpy.int64))])] + first)
    shape = n if rng.integers(2) else ()
    scales = numpy.broadcast_to(numpy.float32(rng.choice([0.25, 0.013], shape) / k ** 0.5), shape).copy()
    zeros = rng.integers(0, 256, shape) + w_low if rng.integers(2) else numpy.zeros(shape)
    w = (rng.integers(0, 256, (n, k) if turned else (k, n)) + w_low).astype(w_type)
    axis = dict(axis=0 if turned else 1)
    inputs = [net.node("DequantizeLinear", [given] + first),
              net.node("DequantizeLinear", [net.const(w), net.const(scales), net.const(numpy.array(zeros, w_type))], **axis)]
    if rng.integers(2):
        steps = numpy.array(x_scale * scales, numpy.float32)
        bias = rng.integers(-3000, 3000, n).astype(numpy.int32)
        inputs.append(net.node("DequantizeLinear", [net.const(bias), net.const(steps),
                                                    net.const(numpy.zeros(steps.shape, numpy.int32))], axis=0))
    name = net.node("QuantizeLinear", [net.node("Gemm", inputs, transB=turned)] + last)
    return net.node("DequantizeLinear", [name] + last)


def products():
    """Convolutions and products of floats in many forms, each an output. All numbers are integers whose sums are exact,
    so that every order gives the same bits."""
    net = Network("float", (1, 6, 11, 13), 8)
    rng, outputs = net.rng, []
    whole = net.node("Round", [net.node("Mul", ["x", net.const(numpy.float32(8))])])

    def integers(*shape):
        return net.const(rng.integers(-50, 51, shape).astype(numpy.float32))

    def give(name):
        outputs.append(net.node("Add", [name, net.const(numpy.float32(0.5))]))  # which has one zero

    forms = [  # outputs, groups, kernel, strides, dilations, pads
        (5, 1, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)), (6, 6, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
        (6, 6, (3, 3), (2, 2), (1, 1), (0, 1, 1, 0)), (6, 6, (3, 3), (1, 1), (2, 1), (2, 0, 1, 3)),
        (6, 6, (3, 3), (1, 3), (1, 2), (0, 2, 0, 2)), (12, 6, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
        (18, 6, (2, 3), (1, 1), (1, 1), (0, 1, 1, 1)), (24, 6, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
        (30, 6, (1, 1), (2, 1), (1, 1), (0, 0, 0, 0)), (3, 1, (2, 5), (2, 1), (1, 2), (1, 0, 0, 4)),
        (8, 2, (3, 1), (1, 2), (3, 1), (0, 0, 2, 0)), (6, 6, (5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
        (6, 6, (1, 3), (1, 1), (1, 1), (0, 14, 0, 1)), (6, 6, (11, 13), (1, 1), (1, 1), (0, 0, 0, 0)),
        (4, 1, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)), (9, 1, (1, 1), (3, 2), (1, 1), (0, 0, 0, 0)),
        (6, 6, (3,), (1,), (1,), (1, 1)), (12, 6, (4,), (2,), (2,), (0, 3)), (7, 1, (1,), (1,), (1,), (0, 0)),
        (6, 6, (2, 2, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0, 1, 1, 1)), (5, 3, (1, 3, 2), (1, 2, 1), (1, 1, 1), (0,) * 6),
        # steps and padding whose products are beyond 32 bits
        (6, 6, (3, 3), (1, 1), (2**29, 1), (2**29, 1, 2**29, 1)), (3, 1, (3, 3), (1, 1), (1, 2**29), (1, 2**29, 1, 2**29))]
    sizes = {1: [143], 2: [11, 13], 3: [1, 11, 13]}
    for count, groups, kernel, strides, dilations, pads in forms:
        count -= count % groups
        for images in (1, 3):
            dims = net.const(numpy.array([images, 6 // images] + sizes[len(kernel)], numpy.int64))
            if groups > 2:
                dims = net.const(numpy.array([1, 6] + sizes[len(kernel)], numpy.int64))
            per_group = (6 // images if groups <= 2 else 6) // groups
            if not per_group or (images > 1 and groups > 2):
                continue
            inputs = [net.node("Reshape", [whole, dims]), integers(count, per_group, *kernel)]
            give(net.node("Conv", inputs + ([integers(count)] if rng.integers(2) else []), group=groups,
                          kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads))
    rows = net.node("Reshape", [whole, net.const(numpy.array([66, 13], numpy.int64))])
    for m in (1, 3, 4, 9):
        a = net.node("Slice", [rows] + [net.const(numpy.array([v], numpy.int64)) for v in (0, m, 0)])
        turned = net.node("Transpose", [a], perm=[1, 0])
        for n in (1, 3, 4, 9, 17):
            give(net.node("MatMul", [a, integers(13, n)]))
            give(net.node("Gemm", [a, integers(n, 13), integers(n)], transB=1))
            give(net.node("Gemm", [turned, integers(13, n), integers(m, 1)], transA=1, alpha=2.0, beta=-1.0))
            give(net.node("Gemm", [turned, integers(n, 13)], transA=1, transB=1))
    give(net.node("MatMul", [net.node("Reshape", [whole, net.const(numpy.array([6, 11, 13], numpy.int64))]),
                             integers(6, 13, 5)]))
    return net, outputs


def scales():
    """QuantizeLinear and DequantizeLinear of every type, with scales for tensors, axes and blocks, in order and strided;
    some leave ties, and some are 0, negative, infinite or NaN."""
    net = Network("float", (1, 6, 5, 7), 9)
    net.opset = 21
    rng, outputs, whole = net.rng, [], [1, 6, 5, 7]
    large = net.node("Cast", [net.node("Mul", ["x", net.const(numpy.float32(5e8))])], to=TensorProto.INT32)
    strided = net.node("Transpose", ["x"], perm=[0, 3, 2, 1])
    single = net.node("Slice", ["x"] + [net.const(numpy.array([v], numpy.int64)) for v in (0, 1, 3)])
    pixel = net.node("Reshape", [net.node("Slice", [net.node("Reshape", ["x", net.const(numpy.array([-1], numpy.int64))])]
                                 + [net.const(numpy.array([v], numpy.int64)) for v in (3, 4)]), net.const(numpy.array([], numpy.int64))])
    inputs = [("x", whole), (large, whole), (strided, [1, 7, 5, 6]), (single, None), (pixel, [])]
    for given, shape in inputs:
        for dtype in numpy.int8, numpy.uint8, numpy.int16, numpy.uint16:
            forms = [((), {})]
            for axis in range(len(shape or [])):
                forms.append(((shape[axis],), dict(axis=axis - len(shape) * int(rng.integers(2)))))
                block = int(rng.choice([1, 2, 3, 2**32]))
                forms.append((tuple(shape[:axis] + [-(-shape[axis] // block)] + shape[axis + 1:]), dict(axis=axis, block_size=block)))
            for dims, attributes in forms:
                info = numpy.iinfo(dtype)
                scale = numpy.float32(rng.choice([0.03125, 0.0437, 0.5, 2e-4, -0.25, 0.0, numpy.inf, numpy.nan], dims, p=[0.3, 0.2, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05]))
                if given == large:
                    scale = numpy.float32(scale * 1e8)
                zero = [net.const(rng.integers(info.min, info.max + 1, dims).astype(dtype))]
                if dtype == numpy.uint8 and rng.integers(2):
                    zero = []
                params = [net.const(scale)] + zero
                name = net.node("QuantizeLinear", [given] + params, **attributes)
                back = net.const(numpy.float32(rng.uniform(-2, 2, dims)))
                outputs.append(net.node("DequantizeLinear", [name, back] + zero, **attributes))
    for dims, attributes in ((), {}), ((6,), dict(axis=1)), ((1, 6, 5, 2), dict(axis=3, block_size=4)):
        zeros = rng.integers(-2**31, 2**31, dims).astype(numpy.int32)
        for zero in [], [net.const(zeros)]:
            outputs.append(net.node("DequantizeLinear", [large, net.const(numpy.float32(rng.uniform(-2, 2, dims)))] + zero, **attributes))
    return net, outputs


def shapes():
    """QLinearConv of drawn shapes, each an output: one image and two, 1 to 20 channels, all, some or one of them in a group, one output
    or more for each, windows of 1 to 5 elements a side, in steps of 1 to 3, padding that differs from side to side."""
    net = Network("qop", (1, 20, 11, 13), 11)
    rng, outputs = net.rng, []
    flat = net.node("Reshape", ["x", net.const(numpy.array([-1], numpy.int64))])
    types = [(numpy.int8, -128), (numpy.uint8, 0)]
    for turn in range(60):
        (x_type, x_low), (w_type, w_low), (y_type, y_low) = [types[rng.integers(2)] for _ in range(3)]
        images, size = int(rng.integers(1, 3)), [int(rng.integers(1, 12)), int(rng.integers(1, 14))]
        channels = int(rng.integers(1, 20 // images + 1))
        groups = (channels, 1, 1, 2 - channels % 2)[turn % 4]
        count = groups * int(rng.integers(1, 4 if turn % 4 == 0 else 20 // groups + 1))
        kernel = [3, 3] if turn % 8 == 0 else [1, 1] if turn % 8 == 1 else rng.integers(1, 6, 2).tolist()
        dilations = rng.choice([1, 1, 2], 2).tolist()
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        pads = rng.integers(0, 3, 4) * (turn % 8 != 1)
        pads[2:] = numpy.maximum(pads[2:], numpy.array(reach) - size - pads[:2])
        many = [net.const(numpy.array([v], numpy.int64)) for v in (0, images * channels * size[0] * size[1])]
        given = net.node("Reshape", [net.node("Slice", [flat] + many), net.const(numpy.array([images, channels] + size, numpy.int64))])
        first = [net.const(numpy.float32(0.0437)), net.const(x_type(x_low + rng.integers(60, 200)))]
        last = [net.const(numpy.float32(rng.choice([0.5, 0.171]))), net.const(y_type(y_low + rng.integers(60, 200)))]
        w = (rng.integers(0, 256, [count, channels // groups] + kernel) + w_low).astype(w_type)
        scales = numpy.float32(rng.choice([0.05, 0.013], count) / (w.size // count) ** 0.5)
        zeros = rng.integers(0, 256, count) + w_low if rng.integers(2) else numpy.zeros(count)
        inputs = [net.node("QuantizeLinear", [given] + first)] + first + [net.const(w), net.const(scales), net.const(zeros.astype(w_type))]
        inputs += last + ([net.const(rng.integers(-3000, 3000, count).astype(numpy.int32))] if rng.integers(2) else [])
        name = net.node("QLinearConv", inputs, group=groups, kernel_shape=kernel, strides=rng.integers(1, 4, 2).tolist(),
                        dilations=dilations, pads=pads.tolist())
        outputs.append(net.node("DequantizeLinear", [name] + last))
    return net, outputs


def functions():
    """Functions of one byte between quantizations, in both types, each an output, of all bytes: those that one operator is, of
    several operators, behind each other, and of inputs of Concat whose scales differ. Some results have more dimensions."""
    net = Network("float", (1, 8, 8, 8), 10)
    net.opset = 14
    outputs, kinds = [], [(numpy.int8, -128), (numpy.uint8, 0)]

    def number(value):
        return net.const(numpy.float32(value))

    forms = [lambda x: net.node("Sigmoid", [x]), lambda x: net.node("Tanh", [x]), lambda x: net.node("HardSwish", [x]),
             lambda x: net.node("Elu", [x], alpha=0.7), lambda x: net.node("LeakyRelu", [x], alpha=0.2),
             lambda x: net.node("Mul", [x, net.node("Sigmoid", [x])]), lambda x: net.node("Exp", [net.node("Neg", [x])]),
             lambda x: net.node("Div", [number(1), net.node("Add", [net.node("Mul", [x, x]), number(1)])]),
             lambda x: net.node("Clip", [x, number(-0.5), number(1.25)]),
             lambda x: net.node("Pow", [net.node("Abs", [x]), number(0.5)]),
             lambda x: net.node("Mul", [net.node("Softplus", [x]), net.const(numpy.full((1, 1, 1, 1, 1), 0.5, numpy.float32))])]
    for index, form in enumerate(forms):
        for x_kind, y_kind in ((0, 0), (1, 1), (0, 1), (1, 0)):
            (x_type, x_low), (y_type, y_low) = kinds[x_kind], kinds[y_kind]
            x = [number(0.05), net.const(x_type(x_low + int(net.rng.integers(60, 200))))]
            y = [number(net.rng.choice([0.011, 0.0078125, 0.05])), net.const(y_type(y_low + int(net.rng.integers(0, 200))))]
            given = net.node("QuantizeLinear", ["x", number(0.0125), x[1]])  # all bytes
            name = net.node("QuantizeLinear", [form(net.node("DequantizeLinear", [given] + x))] + y)
            if index % 3 == 0:  # a function behind a function
                z = [number(0.02), net.const(x_type(x_low + 100))]
                name = net.node("QuantizeLinear", [net.node("Tanh", [net.node("DequantizeLinear", [name] + y)])] + z)
                y = z
            outputs.append(net.node("DequantizeLinear", [name] + y))
    parts, z = [], [number(0.03), net.const(numpy.int8(3))]
    for scale, zero in (0.03, 3), (0.05, -20), (0.01, 100):
        x = [number(scale), net.const(numpy.int8(zero))]
        parts.append(net.node("DequantizeLinear", [net.node("QuantizeLinear", ["x"] + x)] + x))
    outputs.append(net.node("DequantizeLinear", [net.node("QuantizeLinear", [net.node("Concat", parts, axis=1)] + z)] + z))
    return net, outputs


NETWORKS = {"kws_float": lambda: keywords("float"), "kws_qdq": lambda: keywords("qdq"),
            "kws_qop": lambda: keywords("qop"), "mobilenet": mobilenet, "resnet": resnet, "autoencoder": autoencoder,
            "windows": windows, "shapes": shapes, "functions": functions, "products": products, "scales": scales}

for name, make in NETWORKS.items():
    network, result = make()
    network.save(os.path.join(sys.argv[1], name), result)
