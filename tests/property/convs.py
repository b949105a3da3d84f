"""convs.py: Conv in every way that it is computed, on random shapes, strides, dilations, groups and padding, against
sums in numpy; the same bits for 1, 2 and 3 threads, with strided inputs, and with constant weights where the image is an
input and where it is constant, too, so that the result is computed while a plan is made."""

import os
import sys

import arrays
import numpy as np
import oxlib
import trials
import values
from onnx import TensorProto, helper, numpy_helper

ISAS = [None, *oxlib.builds()]
ROUNDING = {"float": 2.0**-23, "double": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LARGEST = {1: 1500, 2: 70, 3: 16}


def number(rng, least, most):
    return int(rng.integers(least, most + 1))


ASKED = os.environ.get("OX_CONV", "")


def any_way(rng, *names):
    """Has convolutions of models that are loaded from now on take one of these ways where they can, or the best one; or
    that which the environment asks for."""
    way = ASKED or (str(rng.choice(names)) if rng.random() < 0.5 else "")
    os.environ["OX_CONV"] = way
    return way


def geometry(rng):
    """(size of the image, kernel, strides, dilations, groups, (channels in, out) of a group)"""
    if rng.random() < 0.1:  # read where they lie, in builds of vectors wide enough
        sizes = [number(rng, 1, LARGEST[2]) for _ in range(2)]
        return sizes, [3, 3], [2, 2], [1, 1], number(rng, 1, 40), (1, number(rng, 1, 3))
    spatial = number(rng, 1, 3)
    most = LARGEST[spatial] if rng.random() < 0.4 else 12
    kernel = [number(rng, 1, [3, 7, 11][number(rng, 0, 2)] if spatial < 3 else 3) for _ in range(spatial)]
    strides = [1] * spatial if rng.random() < 0.5 else [number(rng, 1, 4) for _ in kernel]
    dilations = [1] * spatial if rng.random() < 0.7 else [number(rng, 1, 3) for _ in kernel]
    if rng.random() < 0.05:
        strides[-1] = 40  # more than bands are laid out for
    sizes = [number(rng, 1, most) for _ in kernel]
    if rng.random() < 0.4:  # depthwise
        return sizes, kernel, strides, dilations, number(rng, 1, 40), (1, number(rng, 1, 6))
    return sizes, kernel, strides, dilations, number(rng, 1, 3), (number(rng, 1, 40), number(rng, 1, 80))


def padding(rng, sizes, kernel, strides, dilations):
    """(attributes, padding before, padding behind), so that each kernel fits."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    kind = str(rng.choice(["NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if kind == "NOTSET" or (kind == "VALID" and any(r > n for r, n in zip(reach, sizes))):
        most = 2 if rng.random() < 0.8 else 9
        before = [number(rng, 0, most) for _ in sizes]
        behind = [max(number(rng, 0, most), r - n - b) for r, n, b in zip(reach, sizes, before)]
        return {"pads": before + behind}, before, behind
    if kind == "VALID":
        return {"auto_pad": kind}, [0] * len(sizes), [0] * len(sizes)
    total = [max(0, (-(-n // s) - 1) * s + r - n) for n, s, r in zip(sizes, strides, reach)]
    before = [t // 2 if kind == "SAME_UPPER" else t - t // 2 for t in total]
    return {"auto_pad": kind}, before, [t - b for t, b in zip(total, before)]


def sums_of(x, w, groups, strides, dilations, before, behind):
    """The convolution in double, tap by tap."""
    x = np.pad(x, [(0, 0), (0, 0), *zip(before, behind)])
    windows = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilations)]
    total = np.zeros([x.shape[0], groups, w.shape[0] // groups, int(np.prod(windows))])
    for tap in np.ndindex(*w.shape[2:]):
        seen = x[(..., *[slice(t * d, t * d + (n - 1) * s + 1, s)
                         for t, d, n, s in zip(tap, dilations, windows, strides)])]
        seen = seen.reshape(x.shape[0], groups, w.shape[1], -1 if total.size else 0)
        total += w[(..., *tap)].reshape(groups, -1, w.shape[1]) @ seen
    return total.reshape(x.shape[0], w.shape[0], *windows)


def run(model, inputs, type_name, **options):
    session = oxlib.Session(model, oxlib.Options(**options))
    try:
        for i, array in enumerate(inputs):
            session.set_input(i, arrays.to_input(array, type_name))
        session.run()
        return arrays.from_tensor(session.output(0))[1].copy()
    finally:
        session.close()


def graph_of(type_name, count, attributes, constants=()):
    """The bytes of a model. The last inputs are the constants."""
    kind = TensorProto.DataType.Value(type_name.upper())
    names = ["x", "w", "b"][:count]
    free = count - len(constants)
    graph = helper.make_graph([helper.make_node("Conv", names, ["y"], **attributes)], "graph",
                              [helper.make_tensor_value_info(name, kind, None) for name in names[:free]],
                              [helper.make_tensor_value_info("y", kind, None)],
                              [numpy_helper.from_array(a, name) for name, a in zip(names[free:], constants)])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString()


def folded(inputs, type_name, attributes, isa):
    """The result that is computed while a plan is made. Nothing is laid out for a product that runs once, so that it
    goes the ways of weights that an input brings."""
    model = oxlib.Model(graph_of(type_name, len(inputs), attributes, inputs))
    try:
        return run(model, [], type_name, isa=isa, threads=1)
    finally:
        model.close()


def check(rng, _):
    """None, or what is wrong with one random case."""
    type_name = str(rng.choice(["float"] * 5 + ["double", "float16", "bfloat16"]))
    sizes, kernel, strides, dilations, groups, (ins, outs) = geometry(rng)
    given, before, behind = padding(rng, sizes, kernel, strides, dilations)
    if rng.random() < 0.03:
        sizes = [0 if rng.random() < 0.5 and b + e >= (k - 1) * d + 1 and "pads" in given else n
                 for n, k, d, b, e in zip(sizes, kernel, dilations, before, behind)]
    dtype = arrays.DTYPES[type_name][1]
    x = rng.standard_normal([number(rng, 1, 3), groups * ins, *sizes]).astype(dtype)
    w = rng.standard_normal([groups * outs, ins, *kernel]).astype(dtype)
    inputs = [x, w] + ([rng.standard_normal(groups * outs).astype(dtype)] if rng.random() < 0.5 else [])
    wide = [a.astype(np.float64) for a in inputs]
    place = groups, strides, dilations, before, behind
    exact, size = sums_of(wide[0], wide[1], *place), sums_of(abs(wide[0]), abs(wide[1]), *place)
    for bias in wide[2:]:
        bias = bias.reshape(-1, *[1] * len(kernel))
        exact, size = exact + bias, size + abs(bias)
    attributes = {"group": groups, "strides": strides, "dilations": dilations, **given}
    text = f"{type_name} {x.shape} {w.shape} {attributes} {any_way(rng, 'direct', 'columns')}"
    model = oxlib.Model(graph_of(type_name, len(inputs), attributes))
    try:
        isa = ISAS[number(rng, 0, len(ISAS) - 1)]
        got = [run(model, inputs, type_name, isa=isa, threads=threads) for threads in (1, number(rng, 2, 3))]
        got.append(run(model, [values.lay_out(rng, a) for a in inputs], type_name, isa=isa, threads=1))
    finally:
        model.close()
    if got[0].shape != exact.shape:
        return f"{text}: {got[0].shape} is not {exact.shape}"
    if any(one.tobytes() != got[0].tobytes() for one in got[1:]):
        return f"{text}: other bits with {isa} in several threads or with strides"
    if folded(inputs, type_name, attributes, isa).tobytes() != got[0].tobytes():
        return f"{text}: other bits with {isa} as a constant"
    terms = ins * int(np.prod(kernel)) + 2
    bound = size * (terms * ROUNDING["float" if "16" in type_name else type_name] + ROUNDING[type_name]) + 1e-30
    wrong = np.abs(got[0].astype(np.float64) - exact) > bound + (1e-7 if type_name == "float16" else 0)
    return f"{text}: {int(wrong.sum())} of {exact.size} are wrong with {isa}" if wrong.any() else None


if __name__ == "__main__":
    sys.exit(trials.run(check, 400))
