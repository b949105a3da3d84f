"""lines.py [--seed N] [--cases N]: ArgMax, ArgMin, Hardmax, TopK, CumSum and CumProd against numpy, along any axis of
inputs of any shape, type and strides, with ties and NaN, one thread and two."""

import sys

import nodes
import numpy as np
import oxlib
import passes
import trials
import values
from onnx import TensorProto, helper

WHOLE = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
REAL = ["float16", "bfloat16", "float", "double"]
SUMMED = [*REAL, "uint32", "int32", "uint64", "int64"]


def random_input(rng, type_name):
    dims = passes.row_dims(rng) if rng.random() < 0.5 else [int(d) for d in rng.integers(1, 9, int(rng.integers(1, 5)))]
    if rng.random() < 0.05:
        dims = [int(rng.integers(2, 5)), int(rng.integers(30000, 60000))]
        dims = dims[::-1] if rng.random() < 0.5 else dims
    elif rng.random() < 0.2:  # around whole blocks of elements and of lines
        dims = [int(rng.integers(1, 40)), int(rng.integers(15, 140))]
    x = values.random_values(rng, type_name, dims, small=bool(rng.random() < 0.5))
    if type_name in REAL and rng.random() < 0.3:
        x[rng.random(dims) < 0.02] = np.nan
    return x


def ordered(x, largest):
    """Along the last axis: the indices in order; NaN is the greatest, the lower index of equals comes first."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    if not largest:
        return np.argsort(wide, axis=-1, kind="stable")
    return (x.shape[-1] - 1 - np.argsort(wide[..., ::-1], axis=-1, kind="stable"))[..., ::-1]


def arg(rng, op, x, axis):
    last, keep = int(rng.random() < 0.4), int(rng.random() < 0.5)
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    find = np.argmax if op == "ArgMax" else np.argmin
    index = find(np.flip(wide, axis) if last else wide, axis=axis, keepdims=bool(keep))
    return 13, {"axis": axis, "keepdims": keep, "select_last_index": last}, [], [
        (x.shape[axis] - 1 - index if last else index).astype(np.int64)]


def hardmax(rng, op, x, axis):
    opset, shaped = int(rng.choice([11, 13])), x
    if opset < 13:
        shaped = x.reshape(int(np.prod(x.shape[:axis % x.ndim])), -1)
    index = np.argmax(shaped.astype(np.float64), axis=axis if opset >= 13 else 1, keepdims=True)
    hot = np.zeros_like(shaped)
    np.put_along_axis(hot, index, 1, axis if opset >= 13 else 1)
    return opset, {"axis": axis}, [], [hot.reshape(x.shape)]


def top_k(rng, op, x, axis):
    n = x.shape[axis]
    k, largest = int(rng.integers(0, min(n, 9) + 1)) if rng.random() < 0.7 else n, int(rng.random() < 0.6)
    moved = np.moveaxis(x, axis, -1)
    index = ordered(moved, largest)[..., :k]
    picked = np.take_along_axis(moved, index, -1)
    return 24, {"axis": axis, "largest": largest}, [np.array([k], np.int64)], [
        np.moveaxis(picked, -1, axis), np.moveaxis(index, -1, axis).astype(np.int64)]


def cumulate(rng, op, x, axis):
    exclusive, reverse = int(rng.random() < 0.4), int(rng.random() < 0.4)
    wide = x if x.dtype.kind in "iu" else x.astype(np.float64)
    wide = np.flip(wide, axis) if reverse else wide
    if exclusive:
        wide = np.roll(wide, 1, axis)
        wide[(slice(None),) * (axis % x.ndim) + (0,)] = 0 if op == "CumSum" else 1
    with np.errstate(all="ignore"):
        total = (np.cumsum if op == "CumSum" else np.cumprod)(wide, axis=axis, dtype=wide.dtype)
        total = (np.flip(total, axis) if reverse else total).astype(x.dtype)
    return 26, {"exclusive": exclusive, "reverse": reverse}, [np.array(axis, np.int64)], [total]


KINDS = {"ArgMax": (arg, WHOLE + REAL), "ArgMin": (arg, WHOLE + REAL), "Hardmax": (hardmax, REAL[::2] + REAL[3:]),
         "TopK": (top_k, WHOLE + REAL), "CumSum": (cumulate, SUMMED), "CumProd": (cumulate, SUMMED)}


def run_model(op, opset, type_name, x, attributes, lists, noutputs, threads):
    stored = [helper.make_tensor(f"l{k}", TensorProto.INT64, a.shape, a.reshape(-1)) for k, a in enumerate(lists)]
    results = [f"o{k}" for k in range(noutputs)]
    node = helper.make_node(op, ["x"] + [t.name for t in stored], results, **attributes)
    data = nodes.model_around([node], {"x": type_name}, dict.fromkeys(results), opset, stored)
    return nodes.run(data, [(x, type_name)], threads)


def same(got, wanted, tolerance):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return False
    if got.dtype.kind in "iu":
        return np.array_equal(got, wanted)
    return np.allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=0, equal_nan=True)


def check(rng, _):
    """None, or what is wrong with one random operator."""
    op = str(rng.choice(sorted(KINDS)))
    draw, types = KINDS[op]
    type_name = str(rng.choice(types))
    x = random_input(rng, type_name)
    axis = int(rng.integers(-x.ndim, x.ndim))
    opset, attributes, lists, wanted = draw(rng, op, x, axis)
    where = f"{op}-{opset} {type_name} {list(x.shape)} axis {axis} {attributes} {[l.tolist() for l in lists]}"
    try:
        x = values.lay_out(rng, x)
        one, two = (run_model(op, opset, type_name, x, attributes, lists, len(wanted), t) for t in (1, 2))
    except oxlib.OxError as error:
        return f"{where}: status {error.status}: {error}"
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float": 1e-6}.get(type_name, 1e-12) if "Cum" in op else 0
    for k, (a, b, right) in enumerate(zip(one, two, wanted)):
        if not passes.same_bits(a, b):
            return f"{where}: output {k} differs with two threads"
        if not same(a, right, tolerance):
            return f"{where}: output {k} is not what numpy gives"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 600))
