"""values.py: random shapes, values and memory layouts."""

import arrays
import numpy as np

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 65504.0, 1e-7, 3.0e38]


def pick(rng, items):
    return items[int(rng.integers(0, len(items)))]


def output_dims(rng, most=4096):
    """Dims of a result: rank 0 to 8, mostly small, now and then one long dimension, none at all, or a large one."""
    rank = int(rng.integers(0, 9))
    if rng.random() < 0.01:
        return large_dims(rng)
    if rng.random() < 0.06:
        long = [int(rng.integers(300, 3000))]
        return [int(rng.integers(1, 4))] + long if rng.random() < 0.5 else long + [int(rng.integers(1, 4))]
    dims = [int(d) for d in rng.choice([0, 1, 2, 3, 4, 5, 7, 17], rank, p=[0.03, 0.2, 0.25, 0.22, 0.1, 0.1, 0.07, 0.03])]
    while int(np.prod(dims, dtype=np.int64)) > most:
        dims[int(rng.integers(0, rank))] = 1
    return dims


def large_dims(rng):
    """Dims of a result that is split over threads, for every element type of two bytes and more."""
    dims = [int(d) for d in rng.integers(1, 9, int(rng.integers(0, 4)))]
    long = -(-int(rng.integers(70000, 90000)) // int(np.prod(dims, dtype=np.int64)))
    dims.insert(int(rng.integers(0, len(dims) + 1)), long)
    return dims


def operand_dims(rng, dims):
    """Dims that broadcast to the given ones: leading dims left out, others 1."""
    kept = list(dims)
    if rng.random() < 0.3 and dims:
        kept = kept[int(rng.integers(0, len(dims) + 1)):]
    ones = rng.random() * 0.7
    return [1 if rng.random() < ones else d for d in kept]


def misfit(rng, dims):
    """Dims that do not broadcast with dims, None if there are none."""
    places = [i for i, d in enumerate(dims) if d != 1]
    if not places:
        return None
    i = int(rng.choice(places))
    return dims[:i] + [dims[i] + 2] + dims[i + 1:]


def random_values(rng, type_name, dims, small=False):
    """Random elements of the type; small ones are whole numbers from 0 (-8 if signed) to 8."""
    dtype = arrays.DTYPES[type_name][1]
    if type_name == "string":
        return arrays.TEXT_PAIRS[rng.integers(0, len(arrays.TEXTS), dims)]
    if type_name == "bool":
        return rng.random(dims) < 0.5
    if type_name.startswith("complex"):
        return (rng.normal(size=dims) + 1j * rng.normal(size=dims)).astype(dtype)
    if dtype.kind in "iu":
        return integers(rng, dtype, dims, small)
    if small:
        return rng.integers(-8, 9, dims).astype(dtype)
    values = rng.normal(scale=10.0, size=dims)
    special = rng.choice(SPECIAL, dims)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(rng.random(dims) < 0.15, special, values)).astype(np.float32).astype(dtype)


def integers(rng, dtype, dims, small):
    limits = np.iinfo(dtype)
    low = -8 if dtype.kind == "i" else 0
    near = rng.integers(low, 9, dims).astype(dtype)
    if small:
        return near
    full = rng.integers(limits.min, limits.max, dims, dtype=dtype, endpoint=True)
    extreme = rng.choice(np.array([limits.min, limits.max, limits.min + 1, 1], dtype), dims)
    kind = rng.random(dims)
    return np.asarray(np.where(kind < 0.4, near, np.where(kind < 0.85, full, extreme))).astype(dtype)


MOST_BYTES = 1 << 28  # gaps in many dimensions would be longer than the memory


def lay_out(rng, array):
    """The same elements with other strides: permuted, reversed, with gaps, repeated, or at an odd address."""
    if rng.random() < 0.5 or not array.size:
        return np.ascontiguousarray(array).reshape(array.shape)
    width = array.dtype.itemsize
    # Strings hold pointers, which must be aligned.
    offset = int(rng.integers(0, width)) if rng.random() < 0.15 and array.dtype.names is None else 0
    steps = [int(s) for s in rng.choice([1, 1, 2, -1, -2], array.ndim)]
    if array.ndim > 16 or array.nbytes * np.prod(np.abs(steps), dtype=np.float64) > MOST_BYTES:
        steps = [s if n > 1 else 1 for s, n in zip(steps, array.shape)]
    strides, size = [0] * array.ndim, width
    for d in rng.permutation(array.ndim):
        strides[d] = size * steps[d]
        size *= array.shape[d] * abs(steps[d])
    start = offset + sum(-s * (d - 1) for s, d in zip(strides, array.shape) if s < 0)
    memory = np.zeros(size + offset, np.uint8)
    view = np.ndarray(array.shape, array.dtype, memory, start, strides)
    view[...] = array
    return view


def repeated(rng, values):
    """Some dimensions of the array replaced by repetitions of their first entry, with stride 0."""
    one = tuple(slice(0, 1) if rng.random() < 0.4 else slice(None) for _ in values.shape)
    return np.broadcast_to(values[one], values.shape)
