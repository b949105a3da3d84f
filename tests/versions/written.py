"""written.py: cases of versions whose words or meaning no newest node case has, with what they give.

Numbers are few and exact, so that each result can be checked by hand. Draws are such that only one number is possible.
"""

import json

import numpy as np
from onnx import MapProto, SequenceProto, TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.bool_): TensorProto.BOOL, np.dtype(object): TensorProto.STRING}
IR_VERSION = 8


def floats(*values):
    return np.array(values, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def texts(*values):
    return np.array(values, object)


def count(*shape):
    """The numbers from 0 on."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def type_of(value):
    """The type of an array, of a dictionary, and of lists of both."""
    if isinstance(value, list):
        return helper.make_sequence_type_proto(type_of(value[0]))
    if isinstance(value, dict):
        key, number = (np.array(list(part)) for part in (value.keys(), value.values()))
        key_type = TensorProto.STRING if key.dtype.kind == "U" else TensorProto.INT64
        return helper.make_map_type_proto(key_type, helper.make_tensor_type_proto(TYPES[number.dtype], ()))
    return helper.make_tensor_type_proto(TYPES[value.dtype], value.shape)


def message_of(value):
    """The message of such a value."""
    if isinstance(value, dict):
        words = isinstance(next(iter(value)), str)
        message = MapProto(key_type=TensorProto.STRING if words else TensorProto.INT64)
        (message.string_keys if words else message.keys).extend(key.encode() if words else key for key in value)
        message.values.CopyFrom(message_of(list(value.values())))
        return message
    if isinstance(value, list):
        messages = [message_of(element) for element in value]
        if isinstance(value[0], dict):
            return SequenceProto(elem_type=SequenceProto.MAP, map_values=messages)
        return SequenceProto(elem_type=SequenceProto.TENSOR, tensor_values=messages)
    return numpy_helper.from_array(value)


class Case:
    """A model, its inputs and what it gives. nodes: (operator, inputs, outputs, attributes); those that are
    neither made nor given are inputs, in order. An operator with a domain of its own is of version 1 of that."""

    def __init__(self, name, domain, version, nodes, inputs, outputs, tolerance=1e-6):
        self.name, self.tolerance, self.inputs, self.outputs = name, tolerance, inputs, outputs
        made = {output for _, _, outs, _ in nodes for output in outs}
        names = list(dict.fromkeys(i for _, ins, _, _ in nodes for i in ins if i and i not in made))
        used = {i for _, ins, _, _ in nodes for i in ins}
        results = [output for _, _, outs, _ in nodes for output in outs if output and output not in used]
        graph = helper.make_graph(
            [helper.make_node(op.rpartition(".")[2], ins, outs, domain=op.rpartition(".")[0] or domain, **attributes)
             for op, ins, outs, attributes in nodes], name,
            [helper.make_value_info(n, type_of(value)) for n, value in zip(names, inputs, strict=True)],
            [helper.make_value_info(n, type_of(value)) for n, value in zip(results, outputs, strict=True)])
        imports = {domain: version} | {op.rpartition(".")[0]: 1 for op, _, _, _ in nodes if "." in op}
        self.model = helper.make_model(graph, ir_version=IR_VERSION,
                                       opset_imports=[helper.make_opsetid(*i) for i in imports.items()])

    def write(self, folder):
        """In the layout of ONNX's backend tests."""
        data = folder / self.name / "test_data_set_0"
        data.mkdir(parents=True)
        (data.parent / "model.onnx").write_bytes(self.model.SerializeToString())
        (data.parent / "data.json").write_text(json.dumps({"rtol": self.tolerance, "atol": self.tolerance}))
        for kind, values in (("input", self.inputs), ("output", self.outputs)):
            for i, value in enumerate(values):
                (data / f"{kind}_{i}.pb").write_bytes(message_of(value).SerializeToString())


def one(op, versions, inputs, outputs, domain="", tolerance=1e-6, says="", **attributes):
    """A node by itself, in each of the versions."""
    for version in versions:
        name = "_".join(filter(None, (op, str(version), says)))
        node = (op, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(outputs))], attributes)
        yield Case(name, domain, version, [node], inputs, outputs, tolerance)


def broadcasts():
    """Before version 7 the second input began at an axis of the first, and only if `broadcast` said so."""
    x, column, tail = 1 + count(2, 3, 4), floats(1, 2, 4), floats(1, 2, 4, 8)
    wide = column.reshape(3, 1)
    results = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    for op, function in results.items():
        yield from one(op, (1, 6), [x, column], [function(x, wide)], says="axis", broadcast=1, axis=1)
        yield from one(op, (1, 6), [x, tail], [function(x, tail)], says="tail", broadcast=1)
    yield from one("Pow", (1,), [x, column], [np.power(x, wide)], says="axis", broadcast=1, axis=1)
    for op, function in {"Less": np.less, "Greater": np.greater}.items():
        yield from one(op, (1,), [x, column], [function(x, wide)], says="axis", broadcast=1, axis=1)
    numbers, few = x.astype(np.int32), column.astype(np.int32)
    yield from one("Equal", (1,), [numbers, few], [np.equal(numbers, few.reshape(3, 1))], says="axis", broadcast=1,
                   axis=1)
    bits, some = count(2, 3, 4) % 3 == 0, np.array([True, False, True])
    for op, function in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        yield from one(op, (1,), [bits, some], [function(bits, some.reshape(3, 1))], says="axis", broadcast=1, axis=1)
    c = floats(1, 2, 4)
    a, b = count(2, 2), count(2, 3)
    yield from one("Gemm", (1, 6), [a, b, c], [a @ b * 2 + c * 3], says="broadcast", broadcast=1, alpha=2.0, beta=3.0)
    yield from one("PRelu", (1, 6), [x - 13, column], [np.where(x < 13, (x - 13) * wide, x - 13)], says="channels")


def matrices():
    """Before version 13 these looked at their input as a matrix, whose rows begin at the axis."""
    x = count(2, 2, 3) / 4
    powers = np.exp(x.astype(np.float64)).reshape(2, 6)
    shares = powers / powers.sum(1, keepdims=True)
    first = np.zeros((2, 6), np.float32)
    first[:, 5] = 1
    for op, result in {"Softmax": shares, "LogSoftmax": np.log(shares), "Hardmax": first}.items():
        yield from one(op, (1, 11), [x], [result.astype(np.float32).reshape(x.shape)], says="matrix")


def norms():
    x = count(2, 3, 2)
    # Without `spatial` each element of a sample has numbers of its own.
    part = [1 + count(3, 2), count(3, 2) / 2, count(3, 2) / 4, np.full((3, 2), 4, np.float32)]
    scale, bias, mean, variance = part
    wanted = ((x - mean) / np.sqrt(variance) * scale + bias).astype(np.float32)
    old = {"epsilon": 0.0, "spatial": 0}
    yield from one("BatchNormalization", (1,), [x, *part], [wanted], says="elements", is_test=1,
                   consumed_inputs=[0] * 5, **old)
    yield from one("BatchNormalization", (6,), [x, *part], [wanted], says="elements", is_test=1, **old)
    yield from one("BatchNormalization", (7,), [x, *part], [wanted], says="elements", **old)

    # Version 18 has a scale and a bias for each group, where later ones have them for each channel.
    x = count(1, 4, 2)
    groups = x.reshape(2, 4)
    even = (groups - groups.mean(1, keepdims=True)) / np.sqrt(groups.var(1, keepdims=True))
    wanted = (even * [[2], [3]] + [[1], [-1]]).astype(np.float32).reshape(x.shape)
    yield from one("GroupNormalization", (18,), [x, floats(2, 3), floats(1, -1)], [wanted], tolerance=1e-5,
                   num_groups=2,
                   epsilon=0.0)


def pools():
    x = floats(3, -4, 12, 5).reshape(1, 1, 4)
    yield from one("LpPool", (1,), [x], [floats(5, np.sqrt(160), 13).reshape(1, 1, 3)], kernel_shape=[2], p=2.0)
    yield from one("GlobalLpPool", (1,), [x], [floats(24).reshape(1, 1, 1)], p=1.0)
    yield from one("GlobalLpPool", (2, 22), [x], [floats(24).reshape(1, 1, 1)], p=1)
    yield from one("GlobalLpPool", (1, 2, 22), [x], [floats(np.sqrt(194)).reshape(1, 1, 1)], says="default")
    # The first region is the whole image; the second its lower right quarter, of the second image.
    x = count(2, 1, 4, 4)
    rois = floats([0, 0, 0, 3, 3], [1, 2, 2, 3, 3]).reshape(2, 5)
    wanted = floats([5, 7, 13, 15], [26, 27, 30, 31]).reshape(2, 1, 2, 2)
    yield from one("MaxRoiPool", (1, 22), [x, rois], [wanted], pooled_shape=[2, 2])
    yield from one("MaxRoiPool", (1, 22), [x, rois * floats(1, 2, 2, 2, 2)], [wanted], says="scaled",
                   pooled_shape=[2, 2], spatial_scale=0.5)


def enlarged(x):
    """Twice as wide, linear between elements of which the first stays where it is; the last is repeated."""
    between = np.concatenate([(x[..., :-1] + x[..., 1:]) / 2, x[..., -1:]], -1)
    return np.stack([x, between], -1).reshape(*x.shape[:-1], -1)


def sizes():
    x = floats(1, 3, 7, 2, 4, 8).reshape(1, 1, 2, 3)
    near, linear = np.repeat(x, 2, -1), enlarged(x)
    scales = floats(1, 1, 1, 2)
    for mode, wanted in {"nearest": near, "linear": linear}.items():
        yield from one("Upsample", (7,), [x], [wanted], says=mode, mode=mode, scales=scales.tolist())
        yield from one("Upsample", (9, 10), [x, scales], [wanted], says=mode, mode=mode)
        yield from one("Resize", (10,), [x, scales], [wanted], says=mode, mode=mode)
    for mode, wanted in {"nearest": near, "bilinear": linear}.items():
        yield from one("Upsample", (1,), [x], [wanted], says=mode, mode=mode, height_scale=1.0, width_scale=2.0)
    yield from one("Resize", (10,), [count(1, 6), floats(1, 0.5)], [floats(0, 2, 4).reshape(1, 3)], says="smaller",
                   mode="nearest")


def shapes():
    x = count(2, 3)
    yield from one("Tile", (1,), [x, floats(2), floats(1)], [np.tile(x, (1, 2))])
    yield from one("Pad", (1,), [x], [np.pad(x, ((0, 1), (2, 0)), constant_values=5)], paddings=[0, 2, 1, 0], value=5.0)
    wanted = x.copy()
    wanted[1, 0], wanted[0, 2] = 10, 20
    yield from one("Scatter", (9, 11), [x, ints([1, 0, 0]).reshape(1, 3), floats(10, 1, 20).reshape(1, 3)],
                   [np.where([[False, True, False], [False] * 3], 1, wanted).astype(np.float32)])
    yield from one("Concat", (1,), [x, x], [np.concatenate([x, x], 1)], says="default")
    yield from one("Cast", (1,), [floats(-1.5, 2.5)], [np.array([-1, 2], np.int32)], to="INT32")
    yield from one("Split", (1,), [x, ints(1, 2).astype(np.float32)], [x[:, :1], x[:, 1:]], says="input", axis=1)
    yield from one("Dropout", (1, 6), [x], [x], says="test", is_test=1, ratio=0.9)


def lists():
    """Operators on sequences, within chains that begin and end with tensors."""
    a, b, c = count(2, 2), 4 + count(1, 2), 8 + count(2, 2)
    made = ("SequenceConstruct", ["a", "b", "c"], ["s"], {})
    joined = np.concatenate([a, b, c])
    yield Case("ConcatFromSequence_11", "", 11, [made, ("ConcatFromSequence", ["s"], ["y"], {"axis": 0})], [a, b, c],
               [joined])
    erase = ("SequenceErase", ["s", "p"], ["t"], {})
    ends = ("ConcatFromSequence", ["t"], ["y"], {"axis": 0})
    yield Case("SequenceErase_11", "", 11, [made, erase, ends], [a, b, c, np.array(-2)], [np.concatenate([a, c])])
    last = ("SequenceErase", ["s"], ["t"], {})
    yield Case("SequenceErase_11_last", "", 11, [made, last, ends], [a, b, c], [np.concatenate([a, b])])


def chances():
    """Draws with one possible result."""
    sure = floats(0, 1, 1, 0)
    yield from one("Bernoulli", (15, 22), [sure], [sure])
    yield from one("Bernoulli", (15, 22), [sure], [sure > 0], says="bool", dtype=TensorProto.BOOL)
    worthless = -1e30
    rows = floats([0, worthless, worthless], [worthless, worthless, 0]).reshape(2, 3)
    yield from one("Multinomial", (7, 22), [rows], [np.array([[0, 0], [2, 2]], np.int32)], sample_size=2)
    like = np.zeros((2, 3), np.float32)
    for suffix, inputs, shape in (("", [], {"shape": [2, 3]}), ("Like", [like], {})):
        yield from one(f"RandomNormal{suffix}", (1, 22), inputs, [like + 3], mean=3.0, scale=0.0, **shape)
        yield from one(f"RandomUniform{suffix}", (1, 22), inputs, [like + 3], low=3.0, high=3.0, **shape)


def curves():
    x = floats(-2, 0, 1)
    yield from one("Mish", (18,), [x], [(x * np.tanh(np.log1p(np.exp(x)))).astype(np.float32)])


def gradients():
    a, b = floats(1, 2, 4), floats(3)
    gradient = ("ai.onnx.preview.training.Gradient", ["a", "b"], ["p", "q"], {"xs": ["a", "b"], "y": "c"})
    yield Case("Gradient_1", "", 21, [("Mul", ["a", "b"], ["c"], {}), gradient], [a, b],
               [floats(3, 6, 12), floats(3, 3, 3), floats(7)])


def cases():
    for part in (broadcasts, matrices, norms, pools, sizes, shapes, lists, chances, curves, gradients):
        yield from part()
