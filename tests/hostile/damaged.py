"""damaged.py [--cases N] [--seed N] [--only TEST]: nodes that tests of tests/property draw, of every domain, damaged.

A drawn model is right, so that what is wrong with it gets far: one or two of its attributes, dimensions, types, indices,
inputs or constants are changed. ox answers each with an error that has a text, or with a result, within a second of
processor time. The cases run in a process of their own, so that one that ends it, or that does not end, is named.
Needs the Python package onnx.
"""

import contextlib
import ctypes as C
import io
import random
import sys
import time

import changing
import extremes
import numpy as np
import onnx
import oxlib
import trials

# Tests whose models are few nodes, with what they are given.
DRAWN = ["twins", "heads", "experts", "fused", "nbits", "caches", "attentions", "ml", "texts", "regions", "picks", "images",
         "recurrent", "transposed", "suppressions", "quantized", "mixed", "signals", "deforms", "integer_convs", "lines", "maps",
         "norms", "pools", "casts", "einsums", "sequences", "chances", "views", "convs", "shrinks"]
DAMAGES = 8  # of each model
LEFT_OUT = 6  # times that it lacks one or two of a node's inputs
TYPES = [1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 16]
MOST_BYTES = 1 << 20


class Drawn(BaseException):
    """Ends a test once it has a model; no test catches it."""


class Given:
    """What an input holds, apart from the test that drew it."""

    def __init__(self, dtype, dims, raw=b""):
        self.dtype, self.dims, self.raw = dtype, list(dims), raw

    @classmethod
    def of(cls, tensor):
        given = cls(tensor.dtype, tensor.dims[:tensor.rank])
        if not tensor.strides and tensor.data:
            given.raw = C.string_at(tensor.data, given.size())
        return given

    def size(self):
        count = 1
        for dim in self.dims:
            count *= dim
        return min(count * oxlib.library.ox_dtype_size(self.dtype), MOST_BYTES + 1)


def draw(module, seed):
    """(model's bytes, {number: input}) that the test runs first; None where it runs none, or more than tensors."""
    found = []

    def run(session, watched=True):
        usable = all(t.dtype <= 28 and t.dtype != 8 for t in session.inputs.values())
        if usable and hasattr(session.model, "data"):
            found.append((bytes(session.model.data), {k: Given.of(t) for k, t in session.inputs.items()}))
        raise Drawn

    plain, oxlib.Session.run = oxlib.Session.run, run
    check = changing.case_of(module)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check(np.random.default_rng(seed), seed % 1000)
    except (Drawn, oxlib.OxError):
        pass
    finally:
        oxlib.Session.run = plain
    return found[0] if found else None


def draw_own(seed):
    """The same for an operator of the domain of `ox embed`, which no test draws: it makes them of quantized networks."""
    rng = random.Random(seed)
    name = rng.choice(["QLinearAdd", "QLinearSub", "QLinearMul", "QLinearDiv", "QLinearGemm", "QLinearAveragePool",
                       "QLinearGlobalAveragePool", "ByteTable"])
    kind, n, k, m = rng.choice([2, 3]), rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 5)
    scale, zero = (1, []), (kind, [])
    x, attributes = [(kind, [n, k, m, m]), scale, zero], {}
    if name == "QLinearGemm":
        inputs = [(kind, [n, k]), scale, zero, (3, [k, m]), rng.choice([scale, (1, [m])]), (3, []), scale, zero, (6, [m])]
        attributes = rng.choice([{}, {"transB": 0}])
    elif name == "ByteTable":
        inputs, attributes = [(kind, [n, k]), (kind, [256])], rng.choice([{}, {"rank": 3}, {"x_rank": 1}])
    elif "Pool" in name:
        inputs = [*x, scale, zero]
        if name == "QLinearAveragePool":
            attributes = {"kernel_shape": [1, 1], "strides": [1, 2], "pads": [0, 0, 0, 0], "count_include_pad": 1}
    else:
        inputs = [*x, (kind, rng.choice([[m], [k, 1, m], [n, k, m, m]])), scale, zero, scale, zero]
    names = [f"x{i}" for i in range(len(inputs))]
    given, weights = {}, []
    for i, (dtype, dims) in enumerate(inputs):
        tensor = Given(dtype, dims)
        tensor.raw = np.float32(0.5).tobytes() * (tensor.size() // 4) if dtype == 1 else rng.randbytes(tensor.size())
        if i and rng.random() < 0.5:
            weights.append(onnx.TensorProto(name=names[i], data_type=dtype, dims=dims, raw_data=tensor.raw))
        else:
            given[len(given)] = tensor
    known = {w.name for w in weights}
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(name, names, ["y"], domain="ox", **attributes)], "g",
        [onnx.helper.make_tensor_value_info(v, d, None) for v, (d, _) in zip(names, inputs, strict=True) if v not in known],
        [onnx.helper.make_empty_tensor_value_info("y")], weights)
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("ox", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString(), given


# ---- Damage ----------------------------------------------------------------------------------------------------------

def other_dims(rng, dims):
    dims = list(dims)
    way = rng.randrange(6)
    if way == 0 or not dims:
        dims.insert(rng.randint(0, len(dims)), rng.choice([0, 1, 2]))
    elif way == 1:
        dims.pop(rng.randrange(len(dims)))
    elif way == 2:
        rng.shuffle(dims)
    else:
        k = rng.randrange(len(dims))
        dims[k] = max(0, rng.choice([0, 1, dims[k] - 1, dims[k] + 1, 2 * dims[k], dims[k] // 2]))
    return dims


def other_elements(rng, raw, dtype):
    """Some of the integers become others; floats become NaN and the like; else some bits change."""
    kind = kind_of(dtype)
    held = np.frombuffer(bytearray(raw[:len(raw) // kind.itemsize * kind.itemsize]), kind)
    for _ in range(rng.randint(1, 3) if held.size else 0):
        k = rng.randrange(held.size)
        if kind.kind == "f":
            with np.errstate(over="ignore"):
                held[k] = rng.choice(extremes.FLOATS)
        else:
            number = rng.choice([*extremes.NUMBERS, int(held[k]) + 1, int(held[k]) - 1])
            held[k] = np.array(number & (2**(8 * kind.itemsize) - 1), np.uint64).astype(f"u{kind.itemsize}").view(kind)
    return held.tobytes()


def kind_of(dtype):
    return np.dtype({**changing.INTEGERS, **changing.FLOATS}.get(dtype, np.uint8))


def damage_tensor(rng, tensor):
    """A Given whose dims, type or elements are others."""
    way = rng.randrange(4)
    if way == 0:
        tensor.dims = other_dims(rng, tensor.dims)
    elif way == 1:
        tensor.dtype = rng.choice(TYPES)
    else:
        tensor.raw = other_elements(rng, tensor.raw, tensor.dtype)


def damage_constant(rng, graph):
    tensor = rng.choice(graph.initializer)
    if rng.random() < 0.5 and tensor.raw_data:
        tensor.raw_data = other_elements(rng, tensor.raw_data, tensor.data_type)
    else:
        array = Given(tensor.data_type, other_dims(rng, tensor.dims))
        size = array.size()
        if size <= MOST_BYTES and tensor.raw_data:
            del tensor.dims[:]
            tensor.dims.extend(array.dims)
            tensor.raw_data = (tensor.raw_data * (size // len(tensor.raw_data) + 1))[:size]


def damage_attribute(rng, node):
    attr = rng.choice(node.attribute)
    if rng.random() < 0.15:
        node.attribute.remove(attr)
    elif attr.type == onnx.AttributeProto.INT:
        attr.i = rng.choice([*extremes.NUMBERS, 4, 5, 8, 16, attr.i + 1 if attr.i < extremes.MOST else 0, 2 * attr.i % 2**62])
    elif attr.type == onnx.AttributeProto.INTS and attr.ints:
        if rng.random() < 0.3:
            attr.ints.pop()
        else:
            attr.ints[rng.randrange(len(attr.ints))] = rng.choice(extremes.NUMBERS)
    elif attr.type == onnx.AttributeProto.FLOAT:
        attr.f = rng.choice(extremes.FLOATS)
    elif attr.type == onnx.AttributeProto.FLOATS and attr.floats:
        attr.floats[rng.randrange(len(attr.floats))] = rng.choice(extremes.FLOATS)
    elif attr.type == onnx.AttributeProto.STRING:
        attr.s = rng.choice(extremes.WORDS).encode("latin-1")


def damage_inputs(rng, node):
    k = rng.randrange(len(node.input))
    way = rng.randrange(4)
    if way == 0:
        node.input[k] = ""
    elif way == 1:
        node.input[k] = rng.choice(node.input)
    elif way == 2:
        node.input.append(rng.choice(node.input))
    else:
        node.input.pop()


def damage(rng, model, given):
    graph = model.graph
    node = rng.choice(graph.node) if graph.node else None
    ways = []
    if given:
        ways += [lambda: damage_tensor(rng, given[rng.choice(list(given))])] * 3
    if graph.initializer:
        ways += [lambda: damage_constant(rng, graph)] * 2
    if node and node.attribute:
        ways += [lambda: damage_attribute(rng, node)] * 2
    if node and node.input:
        ways.append(lambda: damage_inputs(rng, node))
    if ways:
        rng.choice(ways)()
    # What is given says its own type.
    for k, tensor in given.items():
        if graph.input[k].type.HasField("tensor_type") and rng.random() < 0.9:
            graph.input[k].type.tensor_type.ClearField("shape")
            graph.input[k].type.tensor_type.elem_type = tensor.dtype


# ---- Runs ------------------------------------------------------------------------------------------------------------

def bytes_of(tensor):
    """As many as its dims and type say, from those that it had."""
    size = tensor.size()
    return (tensor.raw * (size // max(1, len(tensor.raw)) + 1))[:size].ljust(size, b"\1")


def damaged(rng, model, given):
    for _ in range(rng.choice([1, 1, 2])):
        damage(rng, model, given)


def lacking(rng, model, given):
    """The same without one or two of the inputs of a node, which may have to be there."""
    node = rng.choice([n for n in model.graph.node if n.input] or [None])
    for _ in range(rng.choice([1, 2]) if node else 0):
        node.input[rng.randrange(len(node.input))] = ""


def attempt(number, options, counts):
    seed = options.seed * 1000003 + number
    rng = random.Random(seed)
    name = options.only or [*DRAWN, "own"][number % (len(DRAWN) + 1)]
    drawn = draw_own(seed) if name == "own" else draw(name, seed % 2**32)
    if not drawn:
        return None
    for turn, change in enumerate([damaged] * DAMAGES + [lacking] * LEFT_OUT):
        model = onnx.load_from_string(drawn[0])
        given = {k: Given(t.dtype, t.dims, t.raw) for k, t in drawn[1].items()}
        change(rng, model, given)
        if any(tensor.size() > MOST_BYTES for tensor in given.values()):
            continue
        what = f"{name}: {' '.join(n.op_type for n in model.graph.node)[:80]}, {change.__name__}, turn {turn}"
        start = time.process_time()
        try:
            inputs = [(given[k].dtype, given[k].dims, bytes_of(given[k])) for k in sorted(given)]
            counts[extremes.run(model.SerializeToString(), inputs, 1 + turn % 2) != oxlib.OK] += 1
        except AssertionError as error:
            return f"{what}: {error}"
        spent = time.process_time() - start
        if spent > extremes.SECONDS:
            return f"{what}: took {spent:.1f} s"
    return None


if __name__ == "__main__":
    sys.exit(extremes.go_through(trials.parse(2000, "--only"), attempt))
