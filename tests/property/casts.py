"""casts.py: Cast and CastLike between all pairs of numeric types against numpy, for inputs of any shape and strides,
as inputs and as constants, behind another node and alone.

Values stay where the result is defined: fractions are cut off, and rounded to the nearest integer, ties to even, for
integers of less than 8 bits; whole numbers wrap; and what a real type cannot hold is rounded once, to the nearest, ties
to even, which is checked with exact fractions where numpy would round twice.
"""

import fractions
import sys

import arrays
import ml_dtypes
import numpy as np
import oxlib
import trials
import values
from onnx import TensorProto, helper, numpy_helper

WHOLE = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
SMALL = ["uint4", "int4", "uint2", "int2"]
REAL = ["float16", "bfloat16", "float", "double"]
TINY_REAL = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1", "float8e8m0"]
TYPES = [*WHOLE, *REAL, "bool"]
TARGETS = [*TYPES, *SMALL]


def small_numbers(rng, source, target, dims):
    """Halves, quarters and their neighbours, whose nearest integers the small type holds."""
    limits, dtype = ml_dtypes.iinfo(arrays.DTYPES[target][1]), arrays.DTYPES[source][1]
    if source == "float8e8m0":
        x = rng.choice([0.25, 0.5, 1.0, *([2.0] if limits.max > 1 else [])], dims)
    else:
        x = rng.integers(4 * limits.min - 2, 4 * limits.max + 3, dims) / 4 + rng.choice([0, 0.05, -0.05], dims)
    x = np.asarray(x).astype(dtype)
    rounded = np.rint(x.astype(np.float64))
    return np.where((rounded >= limits.min) & (rounded <= limits.max), x, np.array(1, dtype))


def random_input(rng, source, target):
    dims = values.output_dims(rng, most=256)
    if source in SMALL:
        limits = ml_dtypes.iinfo(arrays.DTYPES[source][1])
        return rng.integers(limits.min, limits.max + 1, dims).astype(arrays.DTYPES[source][1])
    if source not in REAL + TINY_REAL:
        return values.random_values(rng, source, dims)
    if target in SMALL:
        return small_numbers(rng, source, target, dims)
    dtype, to = arrays.DTYPES[source][1], arrays.DTYPES[target][1]
    if target not in WHOLE:
        return values.random_values(rng, source, dims)
    limits = np.iinfo(to)
    largest = min(float(limits.max), 60000.0 if source == "float16" else 2.0**70) * 0.99
    least = max(float(limits.min), -largest) if limits.min else 0.0
    spread = rng.uniform(least, largest, dims)
    near = rng.uniform(max(least, -9.0), 9.0, dims)
    return np.asarray(np.where(rng.random(dims) < 0.5, spread, near)).astype(dtype)


def nearest(value, dtype):
    """The number of a real type that is nearest to a whole number; of two, the one whose last bit is 0."""
    with np.errstate(over="ignore"):
        first = np.asarray(float(value)).astype(dtype)
    if not np.isfinite(first):
        return first
    number = np.dtype(f"u{dtype.itemsize}")
    bits = int(first.view(number))
    around = [(b, np.array(b, number).view(dtype)) for b in range(max(bits - 1, 0), bits + 2)]
    exact = [(abs(fractions.Fraction(float(n)) - value), b & 1, n) for b, n in around if np.isfinite(n)]
    return min(exact, key=lambda entry: entry[:2])[2]


def expected(x, source, target):
    dtype = arrays.DTYPES[target][1]
    if target in SMALL:
        bits = ml_dtypes.iinfo(dtype).bits
        whole = np.rint(x.astype(np.float64)).astype(np.int64) if source in REAL + TINY_REAL else x.astype(np.int64)
        low = whole & ((1 << bits) - 1)
        return np.where((low >> (bits - 1) == 1) & (target[0] == "i"), low - (1 << bits), low).astype(dtype)
    if source in SMALL:
        source, x = "int8", x.astype(np.int8)
    if source in WHOLE and target in ("float16", "bfloat16", "float"):
        flat = [nearest(int(v), dtype) for v in x.reshape(-1)]
        return np.array(flat, dtype).reshape(x.shape)
    if target == "bool":
        return x != 0
    with np.errstate(all="ignore"):
        if target in WHOLE and source in REAL:
            return np.trunc(x.astype(np.float64)).astype(dtype)
        return x.astype(dtype)


def same(a, b):
    if a.dtype.kind in "iub":
        return np.array_equal(a, b)
    return np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True)


def graph_of(rng, x, source, kinds, constant):
    """The cast, by attribute or by another tensor's type; of what Abs gives, too, which changes nothing."""
    nodes, weights, at = [], [], "x"
    plain = source in REAL + WHOLE and not (x.astype(np.float64) < 0).any() and not np.signbit(x.astype(np.float64)).any()
    if plain and rng.random() < 0.3:
        nodes.append(helper.make_node("Abs", ["x"], ["a"]))
        at = "a"
    if rng.random() < 0.3:
        weights.append(helper.make_tensor("like", kinds[1], [0], b"", True))
        nodes.append(helper.make_node("CastLike", [at, "like"], ["y"]))
    else:
        nodes.append(helper.make_node("Cast", [at], ["y"], to=kinds[1]))
    ins = [] if constant else [helper.make_tensor_value_info("x", kinds[0], None)]
    if constant:
        weights.append(numpy_helper.from_array(np.array(x, order="C"), "x"))
    return helper.make_graph(nodes, "graph", ins, [helper.make_tensor_value_info("y", kinds[1], None)], weights)


def result(rng, x, source, target):
    kinds = [TensorProto.DataType.Value(name.upper()) for name in (source, target)]
    constant = bool(rng.random() < 0.25)
    graph = graph_of(rng, x, source, kinds, constant)
    model = oxlib.Model(
        helper.make_model(graph, ir_version=13, opset_imports=[helper.make_opsetid("", 25)]).SerializeToString())
    session = oxlib.Session(model, oxlib.Options(threads=int(rng.integers(1, 3))))
    try:
        if not constant:
            bytewise = {"i": np.int8, "u": np.uint8}[source[0]] if source in SMALL else x.dtype
            session.set_input(0, arrays.to_input(values.lay_out(rng, x.astype(bytewise)), source))
        session.run()
        return arrays.from_tensor(session.output(0))[1]
    finally:
        session.close()
        model.close()


def check(rng):
    """None, or what is wrong with one random cast."""
    target = str(rng.choice(TARGETS))
    source = str(rng.choice([*TARGETS, *(TINY_REAL if target in SMALL else [])]))
    x = random_input(rng, source, target)
    got, wanted = result(rng, x, source, target), expected(x, source, target)
    if got.shape == wanted.shape and same(got, wanted):
        return None
    if got.shape != wanted.shape:
        return f"{source} to {target}: shape {got.shape} instead of {wanted.shape}"
    at = next(i for i in range(x.size) if not same(got.reshape(-1)[i:i + 1], wanted.reshape(-1)[i:i + 1]))
    return (f"{source} {x.reshape(-1)[at]!r} to {target}: {got.reshape(-1)[at]!r}, "
            f"expected {wanted.reshape(-1)[at]!r}")


if __name__ == "__main__":
    sys.exit(trials.run(lambda rng, _: check(rng), 1000))
