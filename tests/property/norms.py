"""norms.py [--seed N] [--cases N]: normalisations against numpy, in double: over random shapes, axes and types, with
rows of all lengths, inputs of any strides, known and unknown parameters, one thread and two, and next to
elementwise nodes, with which they have to give the same bits in a pass and one by one."""

import sys

import arrays
import nodes
import numpy as np
import oxlib
import passes
import trials
import values
from onnx import helper

EPSILON = 2**-7 # which is the same as a float
TYPES = ["float", "float", "double", "float16", "bfloat16"]


def wide(*tensors):
    return [None if t is None else t.astype(np.float64) for t in tensors]


def centred(x, axes, epsilon, outside=False):
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    scale = 1 / (np.sqrt(variance) + epsilon) if outside else 1 / np.sqrt(variance + epsilon)
    return (x - mean) * scale, mean, scale


def along(parameter, rank, axis=1):
    """A parameter of channels, so that it broadcasts."""
    return parameter.reshape(parameter.shape + (1,) * (rank - axis - parameter.ndim))


def positive(rng, type_name, dims):
    return (rng.random(dims) + 0.5).astype(arrays.DTYPES[type_name][1])


def near(rng, type_name, dims):
    return rng.normal(size=dims, loc=rng.normal() * 3).astype(arrays.DTYPES[type_name][1])


def random_dims(rng, least=2):
    if rng.random() < 0.04: # rows that no pass takes, and work for two threads
        return [int(rng.integers(1, 3)), int(rng.integers(2, 5)), int(rng.integers(17000, 30000))]
    dims = passes.row_dims(rng) if rng.random() < 0.4 else [int(d) for d in rng.integers(1, 9, int(rng.integers(1, 6)))]
    return dims + [int(rng.integers(1, 4)) for _ in range(least - len(dims))]


def far_apart(rng, t, x, scale, mean):
    """The same with a mean that most digits of x cancel, or whose product with the scale is no number of the type."""
    if rng.random() < 0.7 or t == "float16":
        return x + x.dtype.type(2048), scale, mean + mean.dtype.type(2048)
    return np.full_like(x, 2.0**80), scale * scale.dtype.type(2.0**60), np.full_like(mean, 2.0**80)


def batch(rng, t):
    opset = int(rng.choice([1, 6, 7, 8, 9, 13, 14, 15, 21]))
    t = t if opset >= 14 or t != "bfloat16" else "float16"
    x = near(rng, t, random_dims(rng, 1))
    trains = bool(rng.random() < 0.3)
    spatial = opset >= 9 or bool(rng.random() < 0.7)
    dims = [1] if x.ndim == 1 else list(x.shape[1:2] if spatial else x.shape[1:])
    scale, bias, mean, variance = (near(rng, t, dims), near(rng, t, dims), near(rng, t, dims), positive(rng, t, dims))
    attributes = {"epsilon": EPSILON, "momentum": 0.75}
    if opset < 9:
        attributes["spatial"] = int(spatial)
    if opset < 6:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    if opset < 7:
        attributes["is_test"] = int(not trains)
    elif opset >= 14:
        attributes["training_mode"] = int(trains)
    if not trains and rng.random() < 0.2:
        x, scale, mean = far_apart(rng, t, x, scale, mean)
    axes = tuple(d for d in range(x.ndim) if d == 0 or d > (len(dims) if x.ndim > 1 else 0))
    wx, ws, wb, wm, wv = wide(x, *(along(p, x.ndim) if x.ndim > 1 else p for p in (scale, bias, mean, variance)))
    if not trains:
        unread = int(rng.integers(0, 3 if opset >= 14 else 5)) if not 7 <= opset < 14 else 0
        return "BatchNormalization", opset, [x, scale, bias, mean, variance], attributes, [
            (wx - wm) / np.sqrt(wv + EPSILON) * ws + wb] + [None] * unread
    y, m, _ = centred(wx, axes, EPSILON)
    m, v = m.reshape(dims), wx.var(axis=axes).reshape(dims)
    outputs = [y * ws + wb, mean * 0.75 + m * 0.25, variance * 0.75 + v * 0.25]
    return "BatchNormalization", opset, [x, scale, bias, mean, variance], attributes, outputs + (
        [m, v] if opset < 14 else [])


def last_axes(rng, x):
    axis = int(rng.integers(-x.ndim, x.ndim))
    return axis, tuple(range(axis % x.ndim, x.ndim))


def some_of(rng, outputs):
    """Mostly none; otherwise all, or some of them named without a reader."""
    kind = rng.random()
    return [] if kind < 0.6 else outputs if kind < 0.8 else [o if rng.random() < 0.5 else None for o in outputs]


def layer(rng, t):
    x = near(rng, t, random_dims(rng, 1))
    axis, axes = last_axes(rng, x)
    dims = x.shape[axes[0]:] if rng.random() < 0.7 else values.operand_dims(rng, list(x.shape))
    scale, bias = near(rng, t, dims), near(rng, t, dims) if rng.random() < 0.7 else None
    wx, ws, wb = wide(x, scale, bias)
    y, mean, inverse = centred(wx, axes, EPSILON)
    outputs = [y * ws + (0 if bias is None else wb)] + some_of(rng, [mean, inverse])
    opset = int(rng.choice([1, 6, 7, 13, 16, 17, 17, 17]))
    return "LayerNormalization", opset, [x, scale] + ([] if bias is None else [bias]), {"axis": axis, "epsilon": EPSILON}, outputs


def rms(rng, t):
    x = near(rng, t, random_dims(rng, 1))
    axis, axes = last_axes(rng, x)
    scale = near(rng, t, x.shape[axes[0]:])
    wx, ws = wide(x, scale)
    y = wx / np.sqrt(np.square(wx).mean(axis=axes, keepdims=True) + EPSILON) * ws
    attributes = {"axis": axis, "epsilon": EPSILON}
    if rng.random() < 0.5:
        return "RMSNormalization", 23, [x, scale], attributes, [y]
    inverse = 1 / np.sqrt(np.square(wx).mean(axis=axes, keepdims=True) + EPSILON)
    return "SimplifiedLayerNormalization", int(rng.choice([1, 7, 13, 17, 21])), [x, scale], attributes, \
        [y, *some_of(rng, [inverse])]


def skip(rng, t):
    """SkipLayerNormalization and its simplified form, of com.microsoft: the mean is one of the first alone."""
    t = t if t != "double" else "float"
    dims, simple = random_dims(rng, 2)[-3:], bool(rng.random() < 0.5)
    x, other, scale, bias, more = (near(rng, t, d) for d in (dims, dims, dims[-1:], dims[-1:], dims[-1:]))
    total = (wide(x)[0] + wide(other)[0]).astype(x.dtype)
    total = (wide(total)[0] + wide(more)[0]).astype(x.dtype)
    wx, ws, wb = wide(total, scale, bias)
    attributes = {"epsilon": EPSILON, "domain": "com.microsoft"}
    if simple:
        inverse = 1 / np.sqrt(np.square(wx).mean(axis=-1, keepdims=True) + EPSILON)
        extra = some_of(rng, [inverse, wx])
        return "SkipSimplifiedLayerNormalization", 17, [x, other, scale, more], attributes, \
            [wx * inverse * ws, *([None] if extra else []), *extra]
    y, mean, inverse = centred(wx, (-1,), EPSILON)
    return "SkipLayerNormalization", 17, [x, other, scale, bias, more], attributes, \
        [y * ws + wb, *some_of(rng, [mean, inverse, wx])]


def instance(rng, t):
    opset = int(rng.choice([1, 6, 22]))
    t = t if opset == 22 or t != "bfloat16" else "float"
    x = near(rng, t, random_dims(rng, 3))
    scale, bias = near(rng, t, x.shape[1:2]), near(rng, t, x.shape[1:2])
    wx, ws, wb = wide(x, along(scale, x.ndim), along(bias, x.ndim))
    return "InstanceNormalization", opset, [x, scale, bias], {"epsilon": EPSILON}, [
        centred(wx, tuple(range(2, x.ndim)), EPSILON)[0] * ws + wb]


def group(rng, t):
    opset, groups = int(rng.choice([18, 21])), int(rng.integers(1, 4))
    dims = random_dims(rng, 3)
    dims[1] *= groups
    x = near(rng, t, dims)
    count = groups if opset < 21 else dims[1]
    scale, bias = near(rng, t, [count]), near(rng, t, [count])
    wx, ws, wb = wide(x, scale, bias)
    y = centred(wx.reshape(dims[0], groups, -1), (2,), EPSILON)[0].reshape(dims)
    ws, wb = (along(np.repeat(p, dims[1] // count), x.ndim) for p in (ws, wb))
    return "GroupNormalization", opset, [x, scale, bias], {"num_groups": groups, "epsilon": EPSILON}, [y * ws + wb]


def lp(rng, t):
    opset, p = int(rng.choice([1, 22])), int(rng.integers(1, 3))
    t = t if opset == 22 or t != "bfloat16" else "float"
    x = near(rng, t, random_dims(rng, 1))
    axis = int(rng.integers(-x.ndim, x.ndim))
    x[rng.random(x.shape) < 0.3] = 0
    norm = np.linalg.norm(wide(x)[0], p, axis, keepdims=True)
    return "LpNormalization", opset, [x], {"p": p, "axis": axis}, [wide(x)[0] / np.where(norm == 0, 1, norm)]


def mean_variance(rng, t):
    t = t if t != "bfloat16" else "double"
    x = near(rng, t, random_dims(rng, 1))
    axes = [int(a) for a in rng.permutation(x.ndim)[:int(rng.integers(1, x.ndim + 1))]]
    if np.prod([x.shape[a] for a in axes]) < 16:  # a few elements may lie so close that their mean is not exact enough
        x = near(rng, t, [16 if d == axes[0] else 2 for d in range(x.ndim)])
    return "MeanVarianceNormalization", 9, [x], {"axes": axes}, [centred(wide(x)[0], tuple(axes), 1e-9, True)[0]]


def lrn(rng, t):
    t = t if t != "bfloat16" else "float"
    x = near(rng, t, random_dims(rng, 3))
    size, beta = int(rng.choice([1, 2, 3, 5, 8, 100, 2**40])), float(rng.choice([0.75, 0.5, 1.25]))
    wx = wide(x)[0]
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    sums = [np.square(wx[:, max(0, c - before):c + after + 1]).sum(axis=1) for c in range(x.shape[1])]
    y = wx / (1.5 + 0.25 / size * np.stack(sums, 1))**beta
    return "LRN", 13, [x], {"size": size, "alpha": 0.25, "beta": beta, "bias": 1.5}, [y]


KINDS = [batch, batch, layer, layer, rms, skip, instance, group, lp, mean_variance, lrn]


def run_model(op, opset, type_name, inputs, attributes, read, constants, threads, around=False, no_fuse=False):
    """What the operator gives; read: whether an output is one of the graph; around: of |x|, and what Relu makes of its
    first output."""
    names = [f"i{k}" for k in range(len(inputs))]
    results = [f"o{k}" for k in range(len(read))]
    stored = [helper.make_tensor(n, nodes.kind_of(type_name), a.shape, np.ascontiguousarray(a).tobytes(), raw=True)
              for n, a in list(zip(names, inputs))[1:]] if constants else []
    given = names[:1] if constants else names
    steps = [helper.make_node(op, names, results, **attributes)]
    if around:
        steps = [helper.make_node("Abs", names[:1], ["a"]),
                 helper.make_node(op, ["a", *names[1:]], ["n", *results[1:]], **attributes),
                 helper.make_node("Relu", ["n"], results[:1])]
    outputs = dict.fromkeys(name for name, is_read in zip(results, read) if is_read)
    data = nodes.model_around(steps, dict.fromkeys(given, type_name), outputs, opset, stored,
                              [attributes["domain"]] if "domain" in attributes else [])
    return nodes.run(data, [(array, type_name) for array in inputs[:len(given)]], threads, no_fuse=no_fuse)


def check(rng, _):
    """None, or what is wrong with one random normalisation."""
    type_name = str(rng.choice(TYPES))
    op, opset, inputs, attributes, wanted = KINDS[int(rng.integers(0, len(KINDS)))](rng, type_name)
    type_name = next(n for n in TYPES if arrays.DTYPES[n][1] == inputs[0].dtype)
    where = f"{op}-{opset} {type_name} {[list(i.shape) for i in inputs]} {attributes} {len(wanted)} outputs"
    x = values.lay_out(rng, inputs[0])
    constants = bool(rng.random() < 0.5)
    read = [right is not None for right in wanted]
    wanted = [right for right in wanted if right is not None]
    try:
        one, two = (run_model(op, opset, type_name, [x, *inputs[1:]], attributes, read, constants, threads)
                    for threads in (1, 2))
        if opset >= 6 and type_name != "bfloat16":  # for Abs and Relu
            fused, alone = (run_model(op, opset, type_name, [x, *inputs[1:]], attributes, read, constants, 2,
                                      True, no_fuse) for no_fuse in (False, True))
            if not all(map(passes.same_bits, fused, alone)):
                return f"{where}: differs in a pass with others"
    except oxlib.OxError as error:
        return f"{where}: status {error.status}: {error}"
    tolerances = {"float32": 2e-5, "float64": 1e-10, "float16": 4e-3, "bfloat16": 3e-2}
    for k, (a, b, right) in enumerate(zip(one, two, wanted)):
        right = np.asarray(right)
        if not passes.same_bits(a, b):
            return f"{where}: output {k} differs with two threads"
        worst = np.abs(a.astype(np.float64) - right) / (np.abs(right) + 1) if a.shape == right.shape else np.array(9e9)
        if not np.all(worst < tolerances[a.dtype.name]):
            return f"{where}: output {k} {list(a.shape)} is wrong by {worst.max()} (constants: {constants})"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 600))
