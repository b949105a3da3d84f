"""sparse.py [--seed N] [--cases N]: sparse initializers of every type, and Constant with a sparse value, against the
dense arrays that they stand for: in the main graph, in a branch, as the default of an input; read by strided, packed
and elementwise operators. Indices that are out of range, out of order or given twice are refused."""

import sys

import arrays
import nodes
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper, numpy_helper

TYPES = [name for name in arrays.DTYPES if not name.startswith("float6")] # which numpy_helper does not pack
BREAKS = ["range", "negative", "order", "twice", "count", "type"]


def tensor_of(name, type_name, array):
    if type_name == "string":
        texts = arrays.texts_of(array).reshape(-1).tolist()
        return helper.make_tensor(name, TensorProto.STRING, array.shape, texts)
    return numpy_helper.from_array(array, name)


def values_of(rng, type_name, count):
    if type_name == "string":
        return arrays.TEXT_PAIRS[rng.integers(0, len(arrays.TEXTS), count)]
    dtype = arrays.DTYPES[type_name][1]
    return rng.integers(0, 2, count).astype(dtype) if type_name in ("bool", "uint2", "int2") else \
        np.array(rng.integers(0, 5, count), np.float32).astype(dtype)


def broken(rng, how, places, total):
    """The places with a fault of that kind; None where they are too few."""
    places = places.copy()
    if how == "range" and len(places):
        places[-1] = total + int(rng.integers(0, 3))
    elif how == "negative" and len(places):
        places[0] = -1 - int(rng.integers(0, 3))
    elif how == "order" and len(places) > 1:
        at = int(rng.integers(0, len(places) - 1))
        places[[at, at + 1]] = places[[at + 1, at]]
    elif how == "twice" and len(places) > 1:
        at = int(rng.integers(1, len(places)))
        places[at] = places[at - 1]
    elif how == "count" and len(places):
        places = places[:-1]
    else:
        return places if how == "type" and len(places) else None
    return places


def indices_of(rng, places, dims, how):
    """As linear indices, or a row of indices for each value."""
    kind = np.int32 if how == "type" else np.int64
    if rng.random() < 0.5 or not dims:
        return numpy_helper.from_array(places.astype(kind), "")
    rows = np.empty((len(places), len(dims)), kind)
    rest = places.copy()
    for d in reversed(range(1, len(dims))):
        rows[:, d], rest = rest % dims[d], rest // dims[d]
    rows[:, 0] = rest
    return numpy_helper.from_array(rows, "")


def model_of(rng, form, type_name, dims, sparse):
    """The model, and how many outputs show the tensor."""
    kind = nodes.kind_of(type_name)
    info = lambda name: helper.make_tensor_value_info(name, kind, None)
    made, outs, given = [], ["y"], []
    if form == "constant":
        made.append(helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    if form == "branch":
        inner = [helper.make_node("Identity", ["w"], ["v"])]
        graph = helper.make_graph(inner, "branch", [], [info("v")], sparse_initializer=[sparse])
        other = helper.make_graph(inner, "other", [], [info("v")], sparse_initializer=[sparse])
        made.append(helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=other))
    else:
        made.append(helper.make_node("Identity", ["w"], ["y"]))
        made.append(helper.make_node("Reshape", ["w", "flat"], ["z"]))
        outs.append("z")
        if type_name in ("float", "int32", "double", "int64"):
            made.append(helper.make_node("Max", ["w", "w"], ["m"]))
            outs.append("m")
    if form == "default":
        given.append(info("w"))
    dense = [numpy_helper.from_array(np.array([-1], np.int64), "flat"), numpy_helper.from_array(np.array(rng.random() < 0.5), "c")]
    graph = helper.make_graph(made, "graph", given, [info(o) for o in outs], dense,
                              sparse_initializer=[sparse] if form in ("initializer", "default") else [])
    imports = [helper.make_opsetid("", 25)]
    return helper.make_model(graph, ir_version=13, opset_imports=imports).SerializeToString(), len(outs)


def check(rng, turn):
    type_name = TYPES[int(rng.integers(0, len(TYPES)))]
    form = ["initializer", "constant", "branch", "default"][int(rng.integers(0, 4))]
    dims = [int(d) for d in rng.integers(1, 6, int(rng.integers(0, 5)))]
    if rng.random() < 0.05 and dims:
        dims[int(rng.integers(0, len(dims)))] = 0
    if form == "branch" or type_name == "string":
        dims = dims or [3]
    total = int(np.prod(dims, dtype=np.int64))
    places = np.sort(rng.permutation(total)[:int(rng.integers(0, total + 1))]).astype(np.int64)
    values = values_of(rng, type_name, len(places))
    wanted = np.zeros(total, arrays.DTYPES[type_name][1])
    wanted[places] = values
    how = BREAKS[int(rng.integers(0, len(BREAKS)))] if rng.random() < 0.3 else None
    wrong = broken(rng, how, places, total) if how else None
    if wrong is None:
        how, wrong = None, places
    sparse = helper.make_sparse_tensor(tensor_of("w", type_name, values), indices_of(rng, wrong, dims, how), dims)
    data, count = model_of(rng, form, type_name, dims, sparse)
    what = f"case {turn}: {form} {type_name} {dims} with {len(places)} values"
    try:
        found = nodes.run(data, [])
    except oxlib.OxError as error:
        if how and error.status == oxlib.MODEL and "sparse tensor" in str(error):
            return None
        return f"{what}, {how}: {error}"
    if how:
        return f"{what}: '{how}' is taken"
    for k, got in enumerate(found[:count]):
        right = wanted if k == 1 else wanted.reshape(dims)
        if not nodes.same(got, right):
            return f"{what}: output {k} is {got.tolist()}, not {right.tolist()}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 600))
