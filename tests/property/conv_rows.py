"""conv_rows.py: convolutions whose weights are the model's own, with kernels, strides, dilations, groups and ranks of all
kinds, as products with pixels as rows or columns and direct sums compute them, alone and with what follows joined to
them, against sums in double. The same bits for 1, 2 and 3 threads, and for weights that nodes make of the model's own;
these are made and laid out once for all sessions."""

import sys

import arrays
import numpy as np
import oxlib
import trials
from convs import ISAS, any_way, number, sums_of
from onnx import TensorProto, helper, numpy_helper

# Type, and the rounding errors of sums, and of each node's result.
TYPES = {"float": (np.float32, TensorProto.FLOAT, 2.0**-24, 0), "double": (np.float64, TensorProto.DOUBLE, 2.0**-53, 0),
         "float16": (arrays.DTYPES["float16"][1], TensorProto.FLOAT16, 2.0**-24, 2.0**-11),
         "bfloat16": (arrays.DTYPES["bfloat16"][1], TensorProto.BFLOAT16, 2.0**-24, 2.0**-8)}
FACTOR = 100  # of a unit in the last place times the root of the number of products


WAYS = ("kept", "made", "given")


def model_of(dtype, given, attributes, tail, way):
    """The bytes of a model: the convolution, then a residual sum, then Clip. Its weights are initializers, made of some
    by a node, or inputs."""
    def value(name):
        return helper.make_tensor_value_info(name, TYPES[dtype][1], None)

    nodes = [helper.make_node("Conv", ["x", *given], ["c"], **attributes)]
    limits = {"low": np.array(-1, TYPES[dtype][0]), "high": np.array(2, TYPES[dtype][0])}
    if tail > 0:
        nodes.append(helper.make_node("Add", ["c", "r"], ["s"]))
    if tail > 1:
        nodes.append(helper.make_node("Clip", ["s", "low", "high"], ["y"]))
    if way == "made":
        nodes.insert(0, helper.make_node("Neg", ["minus"], ["w"]))
        given = {**{name: given[name] for name in given if name != "w"}, "minus": -given["w"]}
    kept = {**({} if way == "given" else given), **(limits if tail > 1 else {})}
    inputs = ["x", *(["r"] if tail else []), *(given if way == "given" else [])]
    graph = helper.make_graph(nodes, "graph", [value(name) for name in inputs], [value(["c", "s", "y"][tail])],
                              [numpy_helper.from_array(array, name) for name, array in kept.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString()


def run(model, dtype, inputs, **options):
    session = oxlib.Session(model, oxlib.Options(no_winograd=True, **options))
    try:
        for i, array in enumerate(inputs):
            session.set_input(i, arrays.to_input(array, dtype))
        session.run()
        return arrays.from_tensor(session.output(0))[1].copy(), session.memory().weight_bytes
    finally:
        session.close()


def check(rng, _):
    """None, or what is wrong with one random case."""
    dtype = str(rng.choice(["float"] * 6 + ["double", "float16", "float16", "bfloat16"]))
    rank, groups = [2, 2, 2, 1, 3][number(rng, 0, 4)], number(rng, 1, 4) if rng.random() < 0.3 else 1
    most = {1: 300, 2: [7, 14, 40][number(rng, 0, 2)], 3: 8}[rank]
    sizes = [number(rng, 1, most) for _ in range(rank)]
    if rng.random() < 0.05:
        sizes[number(rng, 0, rank - 1)] = 0  # windows see padding alone
    kernel = [1] * rank if rng.random() < 0.3 else [number(rng, 1, 5) for _ in range(rank)]
    strides = [number(rng, 1, 3) if rng.random() < 0.4 else 1 for _ in range(rank)]
    dilations = [number(rng, 1, 3) if rng.random() < 0.3 else 1 for _ in range(rank)]
    ins, outs = [number(rng, 1, 80) if rng.random() < 0.7 else number(rng, 1, 5) for _ in range(2)]
    if rng.random() < 0.25:  # outputs side by side
        ins, outs = number(rng, 1, 34), 16 * number(rng, 1, 4) - number(rng, 0, 3) * number(rng, 0, 1)
    if rng.random() < 0.1:
        ins = number(rng, 257, 600)  # more than a block along the channels
    if rng.random() < 0.1:
        outs = number(rng, 513, 700)
    pads = [number(rng, 0, 3) if rng.random() < 0.5 else 0 for _ in range(2 * rank)]
    if rng.random() < 0.2:  # many windows see padding by most taps
        dilations = [number(rng, 1, size + 2) for size in sizes]
        pads = [d * (k - 1) // 2 for d, k in zip(dilations, kernel)] * 2
    for d in range(rank):
        pads[d + rank] = max(pads[d + rank], dilations[d] * (kernel[d] - 1) + 1 - sizes[d] - pads[d])
    numpy_type, _, unit, narrow = TYPES[dtype]
    images = number(rng, 1, 4)
    x = rng.standard_normal([images, groups * ins, *sizes]).astype(numpy_type)
    given = {"w": rng.standard_normal([groups * outs, ins, *kernel]).astype(numpy_type)}
    if rng.random() < 0.1:  # products of padding are NaN
        given["w"].reshape(-1)[number(rng, 0, given["w"].size - 1)] = rng.choice([np.inf, -np.inf, np.nan])
    if rng.random() < 0.5:
        given["b"] = rng.standard_normal(groups * outs).astype(numpy_type)
    with np.errstate(invalid="ignore"):
        exact = sums_of(x.astype(np.float64), given["w"].astype(np.float64), groups, strides, dilations, pads[:rank],
                        pads[rank:])
    if "b" in given:
        exact += given["b"].astype(np.float64).reshape(-1, *[1] * rank)
    tail, inputs = number(rng, 0, 2), [x]
    largest = np.abs(exact[np.isfinite(exact)]).max(initial=0)
    if tail:
        inputs.append(rng.standard_normal(exact.shape).astype(numpy_type))
        exact += inputs[1].astype(np.float64)
        largest += 2 * np.abs(inputs[1].astype(np.float64)).max(initial=0)
    if tail > 1:
        exact = np.clip(exact, -1, 2)
    attributes = {"group": groups, "pads": pads, "strides": strides, "dilations": dilations}
    isa = ISAS[number(rng, 0, len(ISAS) - 1)]
    # Direct sums, in one go over all channels, are no way for more than 32 of them, which the bound counts on.
    ways = ["rows", "columns"] + (["beside", "direct"] if ins <= 32 else [])
    text = f"{dtype} {x.shape} {given['w'].shape} {attributes} tail {tail} {isa} " \
           f"{any_way(rng, *ways)}"
    bound = FACTOR * unit * np.sqrt(ins * np.prod(kernel) + 1) + 2 * narrow * largest
    first = {}
    for way in WAYS:
        model = oxlib.Model(model_of(dtype, given, attributes, tail, way))
        values = inputs + list(given.values()) if way == "given" else inputs
        try:
            (result, kept), (again, kept_again) = [run(model, dtype, values, isa=isa, threads=threads)
                                                   for threads in (1, number(rng, 2, 3))]
        finally:
            model.close()
        first[way] = result
        if result.shape != exact.shape:
            return f"{text}: {result.shape} is not {exact.shape}"
        if result.tobytes() != again.tobytes():
            return f"{text}: weights {way}: other bits in several threads"
        if kept != kept_again:
            return f"{text}: weights {way}: {kept} bytes for one session, {kept_again} for two"
        known, result = np.isfinite(exact), result.astype(np.float64)
        if not np.array_equal(result[~known], exact[~known], equal_nan=True):
            return f"{text}: weights {way}: infinities and NaN are elsewhere"
        error = np.abs(result[known] - exact[known]).max(initial=0)
        if not error <= bound:
            return f"{text}: weights {way}: an error of {error}, not {bound} at most"
    if first["kept"].tobytes() != first["made"].tobytes() and given["w"].nbytes >= 256:
        return f"{text}: other bits where weights are made by a node"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 300))
