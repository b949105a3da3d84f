"""winograds.py: convolutions 3x3 whose weights are the model's own, as Winograd's algorithm computes them, on random images,
groups, batches and padding, alone and with what follows joined to them, against sums in double: within a few times the
error of plain sums, which the option no_winograd gives. The same bits for 1, 2 and 3 threads, and where the image is
constant, so that the result is computed while a plan is made."""

import sys

import arrays
import numpy as np
import oxlib
import trials
from convs import ISAS, any_way, number, sums_of
from onnx import TensorProto, helper, numpy_helper

FLOAT = 2.0**-24
# Type, and the rounding error of each node's result.
TYPES = {"float": (np.float32, TensorProto.FLOAT, 0), "float16": (arrays.DTYPES["float16"][1], TensorProto.FLOAT16, 2.0**-11),
         "bfloat16": (arrays.DTYPES["bfloat16"][1], TensorProto.BFLOAT16, 2.0**-8)}
FACTOR = 400  # half as much again as a few thousand cases had; plain sums have up to 60


def model_of(type_name, weights, bias, groups, pads, tail, constants=(), is_given=False):
    """The bytes of a model: the convolution, then a residual sum, then Relu, as many of them as `tail` says. The
    constants take the place of its inputs; weights that are given are an input, too."""
    def value(name):
        return helper.make_tensor_value_info(name, TYPES[type_name][1], None)

    given = [numpy_helper.from_array(weights, "w")] + ([] if bias is None else [numpy_helper.from_array(bias, "b")])
    last = ["c", "s", "y"][tail]
    nodes = [helper.make_node("Conv", ["x", *[g.name for g in given]], ["c"], group=groups, pads=pads)]
    if tail > 0:
        nodes.append(helper.make_node("Add", ["c", "r"], ["s"]))
    if tail > 1:
        nodes.append(helper.make_node("Relu", ["s"], ["y"]))
    inputs = ["x", "r"] if tail else ["x"]
    given += [numpy_helper.from_array(a, name) for name, a in zip(inputs, constants)]
    inputs = inputs[len(constants):] + (["w"] if is_given else [])
    graph = helper.make_graph(nodes, "graph", [value(name) for name in inputs], [value(last)], given)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString()


def run(model, type_name, inputs, **options):
    session = oxlib.Session(model, oxlib.Options(**options))
    try:
        for i, array in enumerate(inputs):
            session.set_input(i, arrays.to_input(array, type_name))
        session.run()
        return arrays.from_tensor(session.output(0))[1].copy()
    finally:
        session.close()


def sizes_of(rng):
    """Images of many panels, of a few tiles, and of less than a tile; now and then wide ones."""
    most = [5, 20, 60][number(rng, 0, 2)]
    sizes = [number(rng, 1, most), number(rng, 1, most)]
    if rng.random() < 0.1:
        sizes[number(rng, 0, 1)] = number(rng, 200, 700)
    return sizes


def check(rng, _):
    """None, or what is wrong with one random case."""
    sizes, groups = sizes_of(rng), number(rng, 1, 3) if rng.random() < 0.3 else 1
    ins, outs = [number(rng, 8, most) if rng.random() < 0.9 else number(rng, 1, 9) for most in (70, 100)]
    if rng.random() < 0.1 and max(sizes) < 30:
        ins = number(rng, 257, 600)  # more than a block along the channels
    images = number(rng, 1, 3) if rng.random() < 0.7 else number(rng, 4, 20)
    pads = [number(rng, 0, 2) for _ in range(4)]
    for d in range(2):
        pads[d + 2] = max(pads[d + 2], 3 - sizes[d] - pads[d])
    type_name = str(rng.choice(["float"] * 7 + ["float16", "float16", "bfloat16"]))
    dtype, _, narrow = TYPES[type_name]
    x = rng.standard_normal([images, groups * ins, *sizes]).astype(dtype)
    weights = rng.standard_normal([groups * outs, ins, 3, 3]).astype(dtype)
    bias = rng.standard_normal(groups * outs).astype(dtype) if rng.random() < 0.5 else None
    tail = number(rng, 0, 2)
    exact = sums_of(x.astype(np.float64), weights.astype(np.float64), groups, [1, 1], [1, 1], pads[:2], pads[2:])
    inputs = [x]
    if bias is not None:
        exact += bias.astype(np.float64).reshape(-1, 1, 1)
    largest = np.abs(exact).max(initial=0)
    if tail:
        inputs.append(rng.standard_normal(exact.shape).astype(dtype))
        exact += inputs[1].astype(np.float64)
        largest += 2 * np.abs(inputs[1].astype(np.float64)).max(initial=0)
    if tail > 1:
        exact = np.maximum(exact, 0)
    isa = ISAS[number(rng, 0, len(ISAS) - 1)]
    text = f"{type_name} {x.shape} {weights.shape} pads {pads} groups {groups} tail {tail} {isa} {any_way(rng, 'winograd')}"
    model = oxlib.Model(model_of(type_name, weights, bias, groups, pads, tail))
    try:
        got = [run(model, type_name, inputs, isa=isa, threads=threads) for threads in (1, number(rng, 2, 3))]
        plain = run(model, type_name, inputs, isa=isa, no_winograd=True)
    finally:
        model.close()
    constant = oxlib.Model(model_of(type_name, weights, bias, groups, pads, tail, inputs))
    free = oxlib.Model(model_of(type_name, weights, bias, groups, pads, tail, is_given=True))
    try:
        folded, summed = run(constant, type_name, [], isa=isa), run(free, type_name, [*inputs, weights], isa=isa)
    finally:
        constant.close()
        free.close()
    if got[0].shape != exact.shape:
        return f"{text}: {got[0].shape} is not {exact.shape}"
    if got[0].tobytes() != got[1].tobytes():
        return f"{text}: other bits in several threads"
    if summed.tobytes() != folded.tobytes():  # nothing is laid out or transformed for a product that runs once
        return f"{text}: other bits as a constant"
    scale = np.sqrt(9 * ins)  # of the sums, of which rounding errors are a random walk
    bound = FACTOR * FLOAT * scale + 2 * narrow * largest
    for name, result in (("Winograd", got[0]), ("plain", plain), ("constant", folded)):
        error = np.abs(result.astype(np.float64) - exact).max()
        if not error <= bound:
            return f"{text}: {name}: an error of {error}, not {bound} at most"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 300))
