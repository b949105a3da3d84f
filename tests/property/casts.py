"""casts.py: Cast between all pairs of numeric types against numpy, for inputs of any shape and strides.

Values stay where the result is defined: fractions are cut off, whole numbers wrap, and what a real type cannot hold is
rounded once, to the nearest, ties to even, which is checked with exact fractions where numpy would round twice.
"""

import fractions
import sys

import arrays
import numpy as np
import oxlib
import trials
import values
from onnx import TensorProto, helper

WHOLE = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
REAL = ["float16", "bfloat16", "float", "double"]
TYPES = [*WHOLE, *REAL, "bool"]


def random_input(rng, source, target):
    dims = values.output_dims(rng, most=256)
    if source not in REAL:
        return values.random_values(rng, source, dims)
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


def check(rng):
    """None, or what is wrong with one random cast."""
    source, target = str(rng.choice(TYPES)), str(rng.choice(TYPES))
    x = values.lay_out(rng, random_input(rng, source, target))
    kinds = [TensorProto.DataType.Value(name.upper()) for name in (source, target)]
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=kinds[1])], "graph",
                              [helper.make_tensor_value_info("x", kinds[0], None)],
                              [helper.make_tensor_value_info("y", kinds[1], None)])
    model = oxlib.Model(
        helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString())
    session = oxlib.Session(model, oxlib.Options(threads=int(rng.integers(1, 3))))
    try:
        session.set_input(0, arrays.to_input(x, source))
        session.run()
        got = arrays.from_tensor(session.output(0))[1]
    finally:
        session.close()
        model.close()
    wanted = expected(x, source, target)
    if same(got, wanted):
        return None
    at = next(i for i in range(x.size) if not same(got.reshape(-1)[i:i + 1], wanted.reshape(-1)[i:i + 1]))
    return (f"{source} {x.reshape(-1)[at]!r} to {target}: {got.reshape(-1)[at]!r}, "
            f"expected {wanted.reshape(-1)[at]!r}")


if __name__ == "__main__":
    sys.exit(trials.run(lambda rng, _: check(rng), 1000))
