"""reductions.py: reductions, Softmax and LogSoftmax against numpy, over any axes of inputs of any shape and strides.

Sums are of whole numbers, so that no order of adding rounds; but for a share of the inputs, which is large enough for
threads: its sums have to be the same for any number of them. Nor do sums depend on strides.
"""

import nodes
import numpy as np
import oxlib
import passes
import values
from onnx import TensorProto, helper

def root(x, **where):
    return np.sqrt(np.square(x.astype(np.float64)).sum(**where))


def log_sum(x, **where):
    return np.log(x.astype(np.float64).sum(**where))


def log_sum_exp(x, **where):
    return np.log(np.exp(x.astype(np.float64)).sum(**where))


FOLDS = {"ReduceSum": np.sum, "ReduceProd": np.prod, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceMean": np.mean,
         "ReduceL1": lambda x, **where: np.abs(x).sum(**where), "ReduceL2": root, "ReduceLogSum": log_sum,
         "ReduceLogSumExp": log_sum_exp, "ReduceSumSquare": lambda x, **where: np.square(x).sum(**where)}
LINES = ("Softmax", "LogSoftmax")
TYPES = ["float", "double", "float16", "int32", "int64", "uint32", "uint64", "int8", "uint8"]


def random_input(rng, type_name):
    kind = rng.random()
    dims = [int(d) for d in rng.integers(1, 9, int(rng.integers(1, 5)))] if kind < 0.5 else passes.row_dims(rng)
    if kind > 0.95:
        dims = [int(rng.integers(1, 3)), int(rng.integers(60000, 110000))]
    array = values.random_values(rng, type_name, dims, small=True)
    if kind > 0.95 and type_name in ("float", "double"):
        array = rng.random(dims).astype(array.dtype)
    return values.lay_out(rng, array)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def expected(op, x, axes, keep):
    if op in LINES:
        shares = softmax(x.astype(np.float64), axes[0])
        return shares if op == "Softmax" else np.log(shares)
    if op == "ReduceProd" and x.dtype.kind == "f":
        x = np.sign(x)
    if op == "ReduceLogSum": # of what has a logarithm
        x = np.abs(x)
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    if op == "ReduceMean" and x.dtype.kind in "iu":
        total, count = np.sum(wide, axis=axes, keepdims=keep), np.prod([x.shape[a] for a in axes])
        return np.sign(total) * (np.abs(total) // count)
    return FOLDS[op](wide, axis=axes, keepdims=keep)


def build(op, type_name, axes, keep):
    steps, constants = [], []
    if op == "ReduceProd" and "int" not in type_name:
        steps.append(helper.make_node("Sign", ["x"], ["s"]))
    if op == "ReduceLogSum":
        steps.append(helper.make_node("Abs", ["x"], ["s"]))
    source = "s" if steps else "x"
    if op in LINES:
        steps.append(helper.make_node(op, [source], ["y"], axis=axes[0]))
    else:
        constants.append(helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes))
        steps.append(helper.make_node(op, [source, "axes"], ["y"], keepdims=int(keep)))
    return nodes.model_around(steps, {"x": type_name}, {"y": type_name}, 21, constants)


def result(data, type_name, x, threads):
    return nodes.run(data, [(x, type_name)], threads)[0]


def ops_of(type_name):
    if type_name.endswith("int8"):
        return ["ReduceMax", "ReduceMin"]
    return [*FOLDS] if "int" in type_name else [*FOLDS, *LINES]


def check_streamed(rng, harness):
    """Results of short rows that are so many that they are stored past the caches."""
    x = rng.integers(-9, 9, (2_200_000, 3)).astype(np.float32)
    got = result(build("ReduceSum", "float", (1,), True), "float", x, 1)
    if np.array_equal(got, x.sum(axis=1, keepdims=True)):
        harness.passed += 1
    else:
        harness.failures.append(("ReduceSum", f"float {list(x.shape)} axes (1,): is not what numpy gives"))


def check_large(harness):
    """Rows of floats that no sum of a few of them fits, but the sum of all."""
    x = np.full((5, 300), 3e38, np.float32)
    x[:, 140:280] = -3e38
    x[:, 280:] = np.arange(20) * 3e30
    for op, right in [("ReduceSum", 5.7e32), ("ReduceMean", 1.9e30)]:
        got = result(build(op, "float", (1,), True), "float", x, 1)
        if np.allclose(got, right, rtol=1e-6):
            harness.passed += 1
        else:
            harness.failures.append((op, f"of large floats gives {got[0, 0]}"))


def check_squares(harness):
    """The mean of squares of a row that is the only one, or stands for many."""
    steps = [helper.make_node("Mul", ["x", "x"], ["s"]), helper.make_node("Add", ["x", "many"], ["t"]),
             helper.make_node("ReduceMean", ["s", "axes"], ["m"]), helper.make_node("Sub", ["t", "m"], ["y"])]
    for rows in (1, 4):
        x = np.arange(300, dtype=np.float32).reshape(1, 300) % 7
        many = np.arange(rows, dtype=np.float32).reshape(rows, 1)
        constants = [helper.make_tensor("axes", TensorProto.INT64, [1], [-1]),
                     helper.make_tensor("many", TensorProto.FLOAT, many.shape, many)]
        model = nodes.model_around(steps, {"x": "float"}, {"y": "float"}, 21, constants)
        got = result(model, "float", x, 1)
        if np.allclose(got, x + many - (x * x).mean(), rtol=1e-5, atol=1e-5):
            harness.passed += 1
        else:
            harness.failures.append(("ReduceMean", f"of squares in {rows} rows is not what numpy gives"))


def check_side_by_side(rng, harness):
    """Rows that lie side by side, shorter and longer than what is added at a time, some with sums beyond float."""
    for type_name in TYPES:
        for op in ops_of(type_name):
            for length in (16, 50, 128, 300):
                x = values.random_values(rng, type_name, (2, length, 70), small=True).transpose(0, 2, 1)
                if depends_on_strides(rng, build(op, type_name, (2,), True), type_name, x):
                    harness.failures.append((op, f"{type_name} {list(x.shape)} transposed: differs from it packed"))
                else:
                    harness.passed += 1


def check_repeated(rng, harness):
    """Elements that all dimensions share which are reduced, also where a dimension that is kept lies between them."""
    x = np.broadcast_to(rng.random((6, 1)), (50, 6, 40))
    for axes in ((0, 2), (0,), (2,), (1, 2), (0, 1, 2)):
        if same_as_packed(build("ReduceSum", "double", axes, True), "double", x):
            harness.passed += 1
        else:
            harness.failures.append(("ReduceSum", f"axes {axes} of repeated elements: differs from them packed"))


def same_as_packed(data, type_name, x):
    return passes.same_bits(*(result(data, type_name, a, 1) for a in (x, np.ascontiguousarray(x))))


def depends_on_strides(rng, data, type_name, x):
    """True if numbers that rounding tells apart, written over x, give other bits than where they lie packed."""
    if x.dtype.kind == "f":
        x[...] = rng.random(x.shape)
        x *= np.where(rng.random(x.shape[:-1] + (1,)) < 0.1, np.finfo(x.dtype).max, 1)
    return not same_as_packed(data, type_name, x)


def run(rng, cases, harness):
    """Adds the cases to harness.passed and harness.failures."""
    check_streamed(rng, harness)
    check_large(harness)
    check_squares(harness)
    check_side_by_side(rng, harness)
    check_repeated(rng, harness)
    for _ in range(cases):
        type_name = TYPES[int(rng.integers(0, len(TYPES)))]
        op = str(rng.choice(ops_of(type_name)))
        x = random_input(rng, type_name)
        count = 1 if op in LINES else int(rng.integers(1, x.ndim + 1))
        axes, keep = tuple(int(a) for a in rng.permutation(x.ndim)[:count]), bool(rng.random() < 0.5)
        where = f"{op} {type_name} {list(x.shape)} strides {list(x.strides)} axes {axes} keepdims {keep}"
        try:
            data = build(op, type_name, axes, keep)
            one, two = (result(data, type_name, x, threads) for threads in (1, 2))
        except oxlib.OxError as error:
            harness.failures.append((op, f"{where}: status {error.status}: {error}"))
            continue
        with np.errstate(all="ignore"):
            real = np.asarray(expected(op, x, axes, keep))
            wanted = real.astype(one.dtype)
        if one.dtype.kind in "iu" and real.dtype.kind == "f": # no integer is the logarithm of 0
            wanted = np.where(np.isfinite(real), wanted, one)
        tolerance = 0 if one.dtype.kind in "iu" else 2e-3 if type_name == "float16" else 1e-6
        least = tolerance if "Log" in op else tolerance / 100
        if not passes.same_bits(one, two):
            harness.failures.append((op, f"{where}: differs with two threads"))
        elif one.shape != wanted.shape or not np.allclose(one, wanted, rtol=tolerance, atol=least):
            harness.failures.append((op, f"{where}: is not what numpy gives"))
        elif depends_on_strides(rng, data, type_name, x):
            harness.failures.append((op, f"{where}: differs from the same elements packed"))
        else:
            harness.passed += 1
