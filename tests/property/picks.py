"""picks.py [--cases N] [--seed N]: operators that move, repeat, pick or place elements against numpy, over any types,
shapes and strides: Pad, Tile, DepthToSpace, GatherElements, ScatterND, NonZero, Unique and their kin."""

import sys

import arrays
import nodes
import numpy as np
import oxlib
import trials
import values

TYPES = ["float", "double", "float16", "bfloat16", "int8", "uint8", "int16", "uint32", "int64", "bool", "complex64",
         "complex128", "string"]


def shape_of(rng, low, high, least=0):
    return [int(d) for d in rng.integers(least, 6, int(rng.integers(low, high + 1)))]


def data_of(rng, shape, types=TYPES, small=False):
    type_name = values.pick(rng, types)
    return type_name, values.lay_out(rng, values.random_values(rng, type_name, shape, small))


def zero_of(type_name):
    return arrays.TEXT_PAIRS[0] if type_name == "string" else arrays.DTYPES[type_name][1].type(0)


def longs(items):
    return np.array(items, np.int64)


class Case:
    """A node, its inputs by name (array, type name), its outputs' types, and what numpy gives."""

    def __init__(self, op, opset, inputs, outputs, wanted, tolerance=0.0, **attributes):
        self.op, self.opset, self.inputs, self.outputs, self.wanted = op, opset, inputs, outputs, wanted
        self.tolerance, self.attributes = tolerance, attributes

    def __str__(self):
        inputs = " ".join(f"{k}={v[1]}{list(v[0].shape)}" for k, v in self.inputs.items() if v)
        return f"{self.op}-{self.opset} {inputs} {self.attributes}"


def one(op, opset, inputs, type_name, wanted, **attributes):
    return Case(op, opset, inputs, {"y": type_name}, [wanted], **attributes)


def pad(rng):
    type_name, x = data_of(rng, shape_of(rng, 1, 4, 1))
    mode = values.pick(rng, ["constant", "constant", "edge", "reflect", "wrap"])
    axes = [int(a) for a in rng.permutation(x.ndim)[:int(rng.integers(1, x.ndim + 1))]]
    high = 9 if mode == "constant" else int(values.pick(rng, [3, 20]))
    pads = [[int(p) for p in rng.integers(-2 if rng.random() < 0.3 else 0, high, len(axes))] for _ in range(2)]
    cut, width = [slice(None)] * x.ndim, [(0, 0)] * x.ndim
    for axis, before, after in zip(axes, *pads):
        if max(-before, 0) + max(-after, 0) >= x.shape[axis]:
            return None
        cut[axis] = slice(max(-before, 0), x.shape[axis] - max(-after, 0))
        width[axis] = (max(before, 0), max(after, 0))
    value = values.random_values(rng, type_name, (), True)
    value = np.asarray(value, arrays.DTYPES[type_name][1])
    kept = x[tuple(cut)]
    if mode == "constant":
        wanted = np.full([d + sum(w) for d, w in zip(kept.shape, width)], value, x.dtype)
        wanted[tuple(slice(w[0], w[0] + d) for d, w in zip(kept.shape, width))] = kept
    else:
        places = [np.pad(np.arange(d), w, mode=mode) for d, w in zip(kept.shape, width)]
        wanted = kept[np.ix_(*places)]
    inputs = {"x": (x, type_name), "p": (longs(pads[0] + pads[1]), "int64"), "v": (value, type_name),
              "a": (longs(axes), "int64")}
    return one("Pad", 21, inputs, type_name, wanted, mode=mode)


def center(rng):
    type_name, x = data_of(rng, shape_of(rng, 1, 3, 1))
    shape = [int(d) for d in rng.integers(0, 9, x.ndim)]
    wanted = np.full(shape, zero_of(type_name), x.dtype)
    source, place = [], []
    for old, new in zip(x.shape, shape):
        less = min(old, new)
        source.append(slice((old - less) // 2, (old - less) // 2 + less))
        place.append(slice((new - less) // 2, (new - less) // 2 + less))
    wanted[tuple(place)] = x[tuple(source)]
    return one("CenterCropPad", 18, {"x": (x, type_name), "s": (longs(shape), "int64")}, type_name, wanted)


def tile(rng):
    type_name, x = data_of(rng, shape_of(rng, 1, 4))
    repeats = [int(r) for r in rng.integers(0 if rng.random() < 0.1 else 1, 4, x.ndim)]
    return one("Tile", 13, {"x": (x, type_name), "r": (longs(repeats), "int64")}, type_name, np.tile(x, repeats))


def blocks(rng):
    b, n, c, h, w = (int(v) for v in rng.integers(1, 4, 5))
    last = rng.random() < 0.5
    order = (0, 3, 4, 1, 5, 2) if last else (0, 1, 4, 2, 5, 3)
    inner = (n, b, b, c, h, w) if last else (n, c, b, b, h, w)
    mode = "DCR" if last else "CRD"
    if rng.random() < 0.5:
        type_name, x = data_of(rng, (n, c * b * b, h, w))
        wanted = x.reshape(inner).transpose(order).reshape(n, c, h * b, w * b)
        return one("DepthToSpace", 13, {"x": (x, type_name)}, type_name, wanted, blocksize=b, mode=mode)
    type_name, x = data_of(rng, (n, c, h * b, w * b))
    wanted = x.reshape(n, c, h, b, w, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h, w)
    return one("SpaceToDepth", 13, {"x": (x, type_name)}, type_name, wanted, blocksize=b)


def trilu(rng):
    type_name, x = data_of(rng, shape_of(rng, 2, 4))
    k, upper = int(values.pick(rng, [-9, -2, -1, 0, 1, 3, 9, 2**63 - 1, -2**63])), int(rng.integers(0, 2))
    rows, columns = np.indices(x.shape[-2:]).astype(object)
    kept = (columns - rows >= k) if upper else (columns - rows <= k)
    wanted = np.where(np.broadcast_to(kept.astype(bool), x.shape), x, zero_of(type_name))
    return one("Trilu", 14, {"x": (x, type_name), "k": (longs(k), "int64")}, type_name, wanted, upper=upper)


def count_up(rng):
    type_name = values.pick(rng, ["float", "double", "int16", "int32", "int64"])
    start, limit, delta = (int(v) for v in rng.integers(-40, 40, 3))
    scale = 0.25 if type_name in ("float", "double") else 1
    dtype = arrays.DTYPES[type_name][1]
    if not delta:
        return None
    ends = [np.array(v * scale, dtype) for v in (start, limit, delta)]
    return one("Range", 11, dict(zip("abc", ((e, type_name) for e in ends))), type_name,
               (np.arange(start, limit, delta) * scale).astype(dtype))


def places_in(rng, shape, size, wide):
    found = rng.integers(values.pick(rng, [0, -size]), size, shape)
    return found.astype(np.int64 if wide else np.int32), "int64" if wide else "int32"


def elements(rng):
    axis = int(rng.integers(0, 4))
    type_name, x = data_of(rng, shape_of(rng, axis + 1, 4, 1))
    most = 7 if rng.random() < 0.9 else 700  # indices are looked at in pieces
    shape = [int(rng.integers(0, most)) if d == axis else int(rng.integers(1, x.shape[d] + 1)) for d in range(x.ndim)]
    index, kind = places_in(rng, shape, x.shape[axis], rng.random() < 0.5)
    part = x[tuple(slice(0, s) if d != axis else slice(None) for d, s in enumerate(shape))]
    wanted = np.take_along_axis(part, index.astype(np.int64), axis)
    inputs = {"x": (x, type_name), "i": (values.lay_out(rng, index), kind)}
    return one("GatherElements", 13, inputs, type_name, wanted, axis=axis)


REDUCTIONS = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scatter_elements(rng):
    axis = int(rng.integers(0, 4))
    how = values.pick(rng, list(REDUCTIONS))
    types = TYPES if how == "none" else ["float", "double", "float16", "bfloat16", "int8", "uint8", "int64", "bool"]
    type_name, x = data_of(rng, shape_of(rng, axis + 1, 4, 1), types, small=True)
    shape = [int(rng.integers(0, 7)) if d == axis else int(rng.integers(1, x.shape[d] + 1)) for d in range(x.ndim)]
    index, kind = places_in(rng, shape, x.shape[axis], rng.random() < 0.5)
    updates = values.lay_out(rng, values.random_values(rng, type_name, shape, True))
    wanted = x.copy()
    for place in np.ndindex(*shape):
        to = list(place)
        to[axis] = int(index[place])
        wanted[tuple(to)] = REDUCTIONS[how](wanted[tuple(to)], updates[place])
    inputs = {"x": (x, type_name), "i": (values.lay_out(rng, index), kind), "u": (updates, type_name)}
    if how == "none" and type_name != "bfloat16" and rng.random() < 0.3:
        return one("Scatter", 9, inputs, type_name, wanted, axis=axis)
    return one("ScatterElements", 18, inputs, type_name, wanted, axis=axis, reduction=how)


def tuples(rng, shape, batch, most=3):
    """Tuples of indices behind the batch dimensions."""
    size = int(rng.integers(1, len(shape) - batch + 1))
    list_shape = [*shape[:batch], *[int(d) for d in rng.integers(0, most + 1, int(rng.integers(0, 3)))]]
    return np.stack([rng.integers(-d, d, list_shape) for d in shape[batch:batch + size]], -1), size


def gather_nd(rng):
    type_name, x = data_of(rng, shape_of(rng, 1, 4, 1))
    batch = int(rng.integers(0, x.ndim))
    index, size = tuples(rng, x.shape, batch)
    wanted = np.empty([*index.shape[:-1], *x.shape[batch + size:]], x.dtype)
    for place in np.ndindex(*index.shape[:-1]):
        wanted[place] = x[place[:batch] + tuple(index[place])]
    inputs = {"x": (x, type_name), "i": (values.lay_out(rng, index), "int64")}
    return one("GatherND", 13, inputs, type_name, wanted, batch_dims=batch)


def scatter_nd(rng):
    how = values.pick(rng, list(REDUCTIONS))
    types = TYPES if how == "none" else ["float", "double", "float16", "bfloat16", "int8", "uint8", "int64", "bool"]
    type_name, x = data_of(rng, shape_of(rng, 1, 4, 1), types, small=True)
    index, size = tuples(rng, x.shape, 0)
    updates = values.random_values(rng, type_name, [*index.shape[:-1], *x.shape[size:]], True)
    wanted = x.copy()
    for place in np.ndindex(*index.shape[:-1]):
        to = tuple(index[place])
        wanted[to] = REDUCTIONS[how](wanted[to], updates[place])
    inputs = {"x": (x, type_name), "i": (index, "int64"), "u": (values.lay_out(rng, updates), type_name)}
    return one("ScatterND", 18, inputs, type_name, wanted, reduction=how)


def one_hot(rng):
    kind = values.pick(rng, ["int64", "int32", "uint8", "float", "float16", "double"])
    type_name = values.pick(rng, TYPES)
    index = values.random_values(rng, kind, shape_of(rng, 1, 3), True)
    depth, axis = int(rng.integers(0, 7)), int(rng.integers(-index.ndim - 1, index.ndim + 1))
    pair = values.random_values(rng, type_name, (2,), True)
    whole = index.astype(np.int64)
    hit = np.arange(depth) == np.where(whole < 0, whole + depth, whole)[..., None]
    wanted = pair[np.moveaxis(hit, -1, axis).astype(int)]
    inputs = {"i": (values.lay_out(rng, index), kind), "d": (longs(depth), "int64"), "v": (pair, type_name)}
    return one("OneHot", 11, inputs, type_name, wanted, axis=axis)


def reverse(rng):
    type_name, x = data_of(rng, shape_of(rng, 2, 4))
    batch = int(rng.integers(0, 2))
    lengths = rng.integers(0, x.shape[1 - batch] + 1, x.shape[batch])
    wanted = x.copy()
    for b, length in enumerate(lengths):
        at = (slice(None), b) if batch else (b,)
        wanted[at][:length] = x[at][:length][::-1]
    inputs = {"x": (x, type_name), "n": (lengths, "int64")}
    return one("ReverseSequence", 10, inputs, type_name, wanted, batch_axis=batch, time_axis=1 - batch)


def nonzero(rng):
    shape = shape_of(rng, 0, 4) if rng.random() < 0.9 else [3, int(rng.integers(200, 900))]
    type_name, x = data_of(rng, shape, small=True)
    truth = np.array([bool(t) for t in arrays.texts_of(x).ravel()]).reshape(x.shape) if x.dtype.names else x != 0
    wanted = np.stack(np.nonzero(truth)) if x.ndim else np.empty((0, int(truth)))
    return one("NonZero", 13, {"x": (x, type_name)}, "int64", wanted.astype(np.int64))


def compress(rng):
    shape = shape_of(rng, 1, 4) if rng.random() < 0.9 else [int(rng.integers(1, 6)), int(rng.integers(1, 150))]
    type_name, x = data_of(rng, shape)
    axis = None if rng.random() < 0.3 else int(rng.integers(-x.ndim, x.ndim))
    size = x.size if axis is None else x.shape[axis]
    condition = rng.random(int(rng.integers(0, size + 1))) < 0.5
    kept = np.flatnonzero(condition)
    wanted = x.ravel()[kept] if axis is None else np.take(x, kept, axis)
    attributes = {} if axis is None else {"axis": axis}
    return one("Compress", 11, {"x": (x, type_name), "c": (condition, "bool")}, type_name, wanted, **attributes)


def unique(rng):
    many = rng.random() < 0.2  # are sorted in another way than few
    type_name, x = data_of(rng, (int(rng.integers(500, 3000)),) if many else shape_of(rng, 1, 3),
                           ["float", "double", "float16", "int8", "uint8", "int32", "int64", "uint64", "bool"],
                           small=not many or bool(rng.random() < 0.5))
    if many and x.dtype.kind == "f":
        x = x + 0  # zeros are equal, and which one comes out is another matter
    axis = None if many or rng.random() < 0.5 else int(rng.integers(0, x.ndim))
    if axis is not None and 0 in x.shape:
        return None
    y, first, place, count = np.unique(x + 0 if x.dtype.kind == "f" else x, True, True, True, axis=axis)
    ordered = int(rng.integers(0, 2))
    if not ordered:
        order = np.argsort(first)
        back = np.argsort(order)
        y, first, count = np.take(y, order, axis or 0), first[order], count[order]
        place = back[place.ravel()]
    wanted = [y, first, place.ravel().astype(np.int64), count]
    attributes = {"sorted": ordered} if axis is None else {"sorted": ordered, "axis": axis}
    outputs = {"y": type_name, "f": "int64", "p": "int64", "n": "int64"}
    return Case("Unique", 11, {"x": (x, type_name)}, outputs, wanted, **attributes)


KINDS = [pad, pad, pad, center, tile, blocks, trilu, count_up, elements, scatter_elements, gather_nd, scatter_nd,
         one_hot, reverse, nonzero, compress, unique]


def check(rng, turn):
    """None, or what is wrong with one random node. Lists are constants, or come with the run."""
    with np.errstate(all="ignore"):
        case = KINDS[turn % len(KINDS)](rng)
    if case is None:
        return None
    inputs = {name: kind for name, (_, kind) in case.inputs.items()}
    numbers = {name: array for name, (array, kind) in case.inputs.items() if kind in ("int64", "float") and array.size}
    constants = {name: array for name, array in numbers.items() if name != "x"} if rng.random() < 0.5 else {}
    try:
        data = nodes.model_of(case.op, case.opset, inputs, case.outputs, constants, **case.attributes)
        feeds = [pair for name, pair in case.inputs.items() if name not in constants]
        results = nodes.run(data, feeds, threads=int(rng.integers(1, 3)))
    except oxlib.OxError as error:
        return f"{case}: status {error.status}: {error}"
    for k, (got, wanted) in enumerate(zip(results, case.wanted)):
        if not nodes.same(got, wanted, case.tolerance):
            return f"{case}: output {k} is {got.tolist()}, and not {np.asarray(wanted).tolist()}"[:900]
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 3400))
