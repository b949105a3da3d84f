"""integer_convs.py: ConvInteger and QLinearConv on random shapes, zero points and scales against sums in numpy. Scales
are powers of two, so that no quotient rounds before the one that the specification asks for."""

import sys

import nodes
import numpy as np
import oxlib
import trials
from convs import any_way
from onnx import helper

ISAS = [None, *oxlib.builds()]


def number(rng, least, most):
    return int(rng.integers(least, most + 1))


def sums_of(x, w, groups, strides, dilations, pads):
    """The convolution of whole numbers, tap by tap."""
    spatial = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[d], pads[spatial + d]) for d in range(spatial)])
    windows = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilations)]
    outs, ins = w.shape[0] // groups, w.shape[1]
    total = np.zeros([x.shape[0], w.shape[0], *windows], np.int64)
    for tap in np.ndindex(*w.shape[2:]):
        seen = x[(..., *[slice(t * d, t * d + (n - 1) * s + 1, s)
                         for t, d, n, s in zip(tap, dilations, windows, strides)])]
        for g in range(groups):
            part = np.tensordot(w[(slice(g * outs, (g + 1) * outs), slice(None), *tap)],
                                seen[:, g * ins:(g + 1) * ins], ([1], [1]))
            total[:, g * outs:(g + 1) * outs] += np.moveaxis(part, 0, 1)
    return total


def run(rng, node, inputs, kind):
    """What ox gives for a node; inputs: {name: (type, array)}. Weights, or these and their zero points, are the model's own,
    or come with the run.
    """
    constants = [["w"], ["w", *(["wz"] if "wz" in inputs else [])], []][rng.choice(3, p=[0.3, 0.4, 0.3])]
    stored = [helper.make_tensor(name, nodes.kind_of(inputs[name][0]), inputs[name][1].shape,
                                 inputs[name][1].ravel().tolist()) for name in constants]
    given = {name: value for name, value in inputs.items() if name not in constants}
    types = {name: type_name for name, (type_name, _) in given.items()}
    data = nodes.model_around([node], types, {"y": kind}, 13, stored)
    return nodes.run(data, [(array, type_name) for type_name, array in given.values()], number(rng, 1, 3),
                     isa=ISAS[number(rng, 0, len(ISAS) - 1)])[0]


def random_bytes(rng, type_name, dims):
    limits = np.iinfo(type_name)
    return rng.integers(limits.min, limits.max + 1, dims).astype(type_name)


def check(rng, _):
    """None, or what is wrong with one random case."""
    x_type, w_type, y_type = [str(rng.choice(["int8", "uint8"])) for _ in range(3)]
    spatial, groups = number(rng, 1, 3), number(rng, 1, 3)
    large = spatial == 2 and rng.random() < 0.2 # sums that floats do not hold
    kernel = [number(rng, 5, 7) if large else number(rng, 1, 3) for _ in range(spatial)]
    strides, dilations = [number(rng, 1, 3) for _ in kernel], [number(rng, 1, 2) for _ in kernel]
    pads = [number(rng, 0, 2) for _ in range(2 * spatial)]
    if rng.random() < 0.3: # lines of results as long as those of the image
        strides, before = [1] * spatial, [number(rng, 0, (k - 1) * d) for k, d in zip(kernel, dilations)]
        pads = before + [(k - 1) * d - b for k, d, b in zip(kernel, dilations, before)]
    dims = [(k - 1) * d + number(rng, 1, 9) for k, d in zip(kernel, dilations)]
    if rng.random() < 0.3: # rows of several vectors
        dims[-1] += number(rng, 4, 150)
    ins = number(rng, 4, 16) if large else number(rng, 1, rng.choice([1, 5, 90]))
    x = random_bytes(rng, x_type, [number(rng, 1, 2), groups * ins, *dims])
    w = random_bytes(rng, w_type, [groups * number(rng, 1, 5), ins, *kernel])
    x_zero = random_bytes(rng, x_type, [])
    if large and rng.random() < 0.5:
        x, w, x_zero = (np.where(a > np.iinfo(a.dtype).max // 8, np.iinfo(a.dtype).max - a % 2, a)
                        for a in (x, w, np.full_like(x_zero, np.iinfo(x_type).min)))
    w_zero = random_bytes(rng, w_type, [w.shape[0]] if rng.random() < 0.5 else [])
    if rng.random() < 0.4: # weights less their zero points are int8, or hardly beyond it
        w_zero = np.full_like(w_zero, (128 if w_type == "uint8" else 0) + number(rng, -1, 1))
        w = np.clip(w, np.iinfo(w_type).min + 1, np.iinfo(w_type).max - 1)
    less = w_zero.astype(np.int64).reshape(-1, *[1] * (w.ndim - 1))
    sums = sums_of(x.astype(np.int64) - int(x_zero), w.astype(np.int64) - less, groups, strides, dilations, pads)
    way = any_way(rng, "picks", "depth", "direct", "rows", "words", "columns")
    attributes = {"group": groups, "strides": strides, "dilations": dilations, "pads": pads}
    if rng.random() < 0.5:
        inputs = {"x": (x_type, x), "w": (w_type, w), "xz": (x_type, x_zero), "wz": (w_type, w_zero)}
        got = run(rng, helper.make_node("ConvInteger", list(inputs), ["y"], **attributes), inputs, "int32")
        return None if np.array_equal(got, sums) else f"ConvInteger {x_type} {w_type} {x.shape} {w.shape} {attributes} {way}"
    powers = rng.integers(-9, -3, w_zero.shape)
    w_scale, y_scale = np.exp2(powers).astype(np.float32), np.float32(0.5)
    y_zero = random_bytes(rng, y_type, [])
    inputs = {"x": (x_type, x), "xs": ("float", np.float32(0.25)), "xz": (x_type, x_zero), "w": (w_type, w),
              "ws": ("float", w_scale), "wz": (w_type, w_zero), "ys": ("float", y_scale), "yz": (y_type, y_zero)}
    if rng.random() < 0.5:
        inputs["b"] = ("int32", rng.integers(-5000, 5000, w.shape[0]).astype(np.int32))
        sums = sums + inputs["b"][1].reshape(-1, *[1] * spatial)
    inputs = {name: (type_name, np.asarray(array)) for name, (type_name, array) in inputs.items()}
    wanted = np.rint(sums * (0.5 * w_scale.astype(float).reshape(-1, *[1] * spatial))) + float(y_zero)
    limits = np.iinfo(y_type)
    got = run(rng, helper.make_node("QLinearConv", list(inputs), ["y"], **attributes), inputs, y_type)
    right = np.array_equal(got, np.clip(wanted, limits.min, limits.max).astype(y_type))
    return None if right else f"QLinearConv {x_type} {w_type} {y_type} {x.shape} {w.shape} {attributes} {way}"


if __name__ == "__main__":
    sys.exit(trials.run(check, 400))
