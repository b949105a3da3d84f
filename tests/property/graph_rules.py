"""graph_rules.py: how a node of each operator is drawn. An operator that joins ox needs a line here: a function of the
draft and the operator's name, which picks values, and adds a node. What ox refuses is left out again, so a rule need
not know all that an operator asks for."""

import arrays
import graph_control
import graph_draw
import graph_lists
import graph_models
import graph_norms
import graph_run
import numpy as np
from graph_draw import ALL, FLOATS, INTS, NUMBERS, SIGNED

WHOLE_FLOATS = ["float", "double"]
WIDE = ["float", "double", "float16", "bfloat16", "int32", "int64", "uint32", "uint64"]  # of products and sums


def with_rank(least):
    return lambda array: array.ndim >= least


# ---- Elementwise ------------------------------------------------------------------------------------------------


def unary(types, **attributes):
    """One input. An attribute is a function of the draft, or a list to choose from; half of them are left out."""

    def rule(d, op):
        drawn = {k: v(d) if callable(v) else d.choose(v) for k, v in attributes.items() if d.chance(0.5)}
        d.add(op, [d.pick(types)], **drawn)

    return 13, rule


def since(version, rule):
    return version, rule[1]


def binary(types):

    def rule(d, op):
        a = d.pick(types)
        operands = [a, d.partner(a)] if a else [None]
        d.add(op, operands[::-1] if d.chance(0.5) else operands)

    return 13, rule


def variadic(types):
    """One input is the value itself."""

    def rule(d, op):
        a = d.pick(types)
        d.add(op, [a] if not a or d.chance(0.5) else [a, *[d.partner(a) for _ in range(int(d.rng.integers(1, 4)))]])

    return 13, rule


def divide(d, op):
    a = d.pick(NUMBERS)
    if a is None:
        return
    b = d.partner(a)
    attributes = {"fmod": 1} if op == "Mod" and (d.type_of(a) in FLOATS or d.chance(0.3)) else {}
    if d.type_of(a) in INTS and (d.array(b) == 0).any():
        made = d.array(b).copy()
        b = d.source(d.type_of(a), made.shape, np.where(made == 0, np.array(3, made.dtype), made))
    d.add(op, [a, b], **attributes)


def power(d, op):
    a = d.pick(FLOATS + ["int32", "int64"])
    if a is None:
        return
    if d.chance(0.5):
        d.add(op, [a, d.constant(d.choose([2, 3, 2, 0, 1]), d.type_of(a))])
    else:
        d.add(op, [a, d.source(d.choose(["int32", "int64"]), (), np.asarray(d.rng.integers(0, 4)))])


def shift(d, op):
    a = d.pick(graph_draw.UNSIGNED + (SIGNED if d.opset >= 28 else []))
    if a is not None:
        d.add(op, [a, d.partner(a)], direction=d.choose(["LEFT", "RIGHT"]))


def clip(d, op):
    a = d.pick(NUMBERS)
    if a is None:
        return
    limits = [d.constant(n, d.type_of(a)) if d.chance(0.5) else "" for n in (1, 5)]
    while limits and not limits[-1]:
        limits.pop()
    d.add(op, [a, *limits])


def prelu(d, op):
    a = d.pick(WIDE)
    if a is not None:
        slopes = [n for n in d.names if d.type_of(n) == d.type_of(a) and unidirectional(d.shape(a), d.shape(n))]
        d.add(op, [a, d.choose(slopes)])


def unidirectional(shape, other):
    try:
        return np.broadcast_shapes(shape, other) == shape
    except ValueError:
        return False


def where(d, op):
    a = d.pick(ALL)
    if a is None:
        return
    b = d.partner(a)
    shape = np.broadcast_shapes(d.shape(a), d.shape(b))
    conditions = [n for n in d.names if d.type_of(n) == "bool" and d.fits(shape, d.shape(n))]
    condition = d.choose(conditions) if conditions and d.chance(0.7) else d.source("bool", shape)
    d.add(op, [condition, a, b])


def cast(d, op):
    """To its own type as often as not: such a node hands on what it is given."""
    a = d.pick(ALL)
    if a is None:
        return
    to = d.type_of(a) if d.chance(0.5) else d.choose(d.types_in([t for t in ALL if not t.startswith("complex")]))
    if d.type_of(a) != to and not d.tame and "string" in (to, d.type_of(a)):
        return
    if op == "Cast":
        d.add(op, [a], to=arrays.DTYPES[to][0])
    else:
        like = [n for n in d.names if d.type_of(n) == to]
        d.add(op, [a, d.choose(like) if like else d.source(to, [])])


def bit_cast(d, op):
    """Not of NaN, which has many bits, and of whole bytes."""
    a = d.pick(NUMBERS, lambda x: not (x != x).any())
    if a is not None:
        width = d.array(a).dtype.itemsize
        same = [t for t in NUMBERS if arrays.DTYPES[t][1].itemsize == width]
        d.add(op, [a], to=arrays.DTYPES[d.choose(same)][0])


def number(low, high):
    return lambda d: float(np.float32(d.rng.uniform(low, high)))


# ---- Quantizing -------------------------------------------------------------------------------------------------


def scale_of(d, type_name, dims=()):
    array = np.asarray(2.0 ** d.rng.integers(-4, 1, dims) * d.rng.uniform(1, 2, dims))
    return d.source(type_name, dims, array.astype(arrays.DTYPES[type_name][1]))


def quantize(d, op):
    a = d.pick(["float"] + (["float16", "bfloat16"] if d.opset >= 19 else []), with_rank(1))
    if a is None:
        return
    axis = int(d.rng.integers(0, d.array(a).ndim))
    dims = [d.shape(a)[axis]] if d.chance(0.4) else []
    to = d.choose(["uint8", "int8"] + (["int16", "uint16"] if d.opset >= 21 else []))
    if op == "QuantizeLinear":
        d.add(op, [a, scale_of(d, d.type_of(a), dims), d.source(to, dims)], axis=axis)


def dequantize(d, op):
    a = d.pick(["uint8", "int8"] + (["int16", "uint16"] if d.opset >= 21 else []), with_rank(1))
    if a is None:
        return
    axis = int(d.rng.integers(0, d.array(a).ndim))
    dims = [d.shape(a)[axis]] if d.chance(0.4) else []
    zero = [d.source(d.type_of(a), dims)] if d.chance(0.7) else []
    d.add(op, [a, scale_of(d, "float", dims), *zero], axis=axis)


def has_scale(x):
    """A range so small that its scale is 0 gives 0 / 0 as the zero point, which the specification casts to a byte."""
    reach = np.float32(max(x.max(), 0)) - np.float32(min(x.min(), 0))
    return bool(np.isfinite(x.astype(np.float64)).all()) and (reach == 0 or reach / np.float32(255) > 0)


def quantize_dynamic(d, op):
    d.add(op, [d.pick(["float"], lambda x: x.size > 0 and has_scale(x))], 3)


# ---- Rows -------------------------------------------------------------------------------------------------------


def reduce(types):

    def rule(d, op):
        a = d.pick(types)
        if a is None:
            return
        rank = d.array(a).ndim
        first = int(d.rng.integers(0, rank)) if rank else 0
        axes = list(range(first, rank)) if d.chance(0.6) else [int(n) for n in np.flatnonzero(d.rng.random(rank) < 0.5)]
        keep = {"keepdims": int(d.chance(0.7))} if d.chance(0.8) else {}
        as_input = d.opset >= (13 if op == "ReduceSum" else 18)
        if not axes or d.chance(0.1):
            made = d.add(op, [a], **keep)
        elif as_input:
            made = d.add(op, [a, d.ints(axes)], **keep)
        else:
            made = d.add(op, [a], axes=axes, **keep)
        if made and d.chance(0.3) and keep.get("keepdims", 1):
            d.add("Sub", [a, made[0]])  # as models centre rows

    return 13, rule


def softmax(d, op):
    a = d.pick(FLOATS, with_rank(1))
    if a is not None:
        rank = d.array(a).ndim
        d.add(op, [a], axis=int(d.rng.integers(-rank, rank)) if d.chance(0.4) else -1)


# ---- Products ---------------------------------------------------------------------------------------------------


def exact(d, name):
    """Sums of products are to be exact, so that their order, which strides may change, does not show: the value
    rounded to small whole numbers. Integers are exact as they are."""
    if name is None or d.type_of(name) not in FLOATS:
        return name
    limits = [d.constant(n, d.type_of(name)) for n in (-4, 4)]
    made = d.add("Clip", [name, *limits])
    made = made and d.add("Round", made)
    return made and made[0]


def whole(d, type_name, dims):
    array = d.rng.integers(-3 if type_name[0] != "u" else 0, 4, dims)
    return d.source(type_name, dims, np.asarray(array).astype(arrays.DTYPES[type_name][1]))


def matmul(d, op):
    a = exact(d, d.pick(WIDE, with_rank(1)))
    if a is None:
        return
    shape, type_name = d.shape(a), d.type_of(a)
    n = int(d.rng.choice([1, 2, 3, 8, 17]))
    if len(shape) >= 2 and shape[-1] == shape[-2] and d.chance(0.2):
        d.add(op, [a, a])
    elif d.chance(0.7):
        d.add(op, [a, whole(d, type_name, [shape[-1], n] if d.chance(0.9) else [shape[-1]])])
    elif len(shape) >= 2:
        d.add(op, [whole(d, type_name, [n, shape[-2]]), a])


def gemm(d, op):
    a = exact(d, d.pick(WIDE, lambda x: x.ndim == 2))
    if a is None:
        return
    (m, k), n, type_name = d.shape(a), int(d.rng.choice([1, 2, 5, 16, 19])), d.type_of(a)
    left, right = d.chance(0.3), d.chance(0.4)
    if left:
        m, k = k, m
    b = whole(d, type_name, [n, k] if right else [k, n])
    c = [whole(d, type_name, d.choose([[m, n], [n], [1, n], [m, 1], []]))] if d.chance(0.6) else []
    scale = {"alpha": 2.0} if d.chance(0.2) else {}
    d.add(op, [a, b, *c], transA=int(left), transB=int(right), **scale)


def conv(d, op):
    a = exact(d, d.pick(FLOATS, lambda x: 3 <= x.ndim <= 4 and min(x.shape, default=0) > 0))
    if a is None:
        return
    groups = d.shape(a)[1] if d.chance(0.2) else 1
    channels = groups * int(d.rng.integers(1, 4))
    kernel = [int(k) for k in d.rng.integers(1, 4, d.array(a).ndim - 2)]
    w = whole(d, d.type_of(a), [channels, d.shape(a)[1] // groups, *kernel])
    bias = [whole(d, d.type_of(a), [channels])] if d.chance(0.5) else []
    d.add(op, [a, w, *bias], group=groups, pads=[int(p) for p in d.rng.integers(0, 2, 2 * len(kernel))])


def global_pool(d, op):
    d.add(op, [d.pick(FLOATS, lambda x: x.ndim >= 3 and x.size > 0)])


def matmul_integer(d, op):
    a = d.pick(["uint8", "int8"], with_rank(2))
    if a is not None:
        b = d.source(d.choose(["uint8", "int8"]), [d.shape(a)[-1], int(d.rng.integers(1, 9))])
        d.add(op, [a, b, *([d.source(d.type_of(a), ())] if d.chance(0.5) else [])])


def qlinear_matmul(d, op):
    a = d.pick(["uint8", "int8"], with_rank(2))
    if a is not None:
        b = d.source(d.type_of(a), [d.shape(a)[-1], int(d.rng.integers(1, 9))])
        scales = [scale_of(d, "float") for _ in range(3)]
        zeros = [d.source(d.type_of(a), ()) for _ in range(3)]
        d.add(op, [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]])


# ---- Views and moves --------------------------------------------------------------------------------------------


def transpose(d, op):
    a = d.pick(ALL, with_rank(1))
    if a is not None:
        d.add(op, [a], **({"perm": [int(p) for p in d.rng.permutation(d.array(a).ndim)]} if d.chance(0.8) else {}))


def reshape(d, op):
    """To a shape that is given, or to that of another value, which is computed."""
    a = d.pick(ALL)
    if a is None:
        return
    size = d.array(a).size
    others = [n for n in d.names if d.array(n).size == size]
    if d.chance(0.3):
        shape = d.add("Shape", [d.choose(others)])
        d.add(op, [a, *shape] if shape else [None])
        return
    first = d.choose([n for n in range(1, min(size, 64) + 1) if size % n == 0] or [1])
    dims = d.choose([[first, size // first], [first, -1], [-1], [1, first, size // first]])
    d.add(op, [a, d.ints(dims)])


def slice_(d, op):
    a = d.pick(ALL, with_rank(1))
    if a is None:
        return
    axis = int(d.rng.integers(0, d.array(a).ndim))
    length = d.shape(a)[axis]
    step = int(d.rng.choice([-2, -1, 1, 1, 2]))
    start = int(d.rng.integers(0, max(length, 1)))
    end = int(d.rng.choice([length, 2 * length, start + 1])) if step > 0 else int(d.rng.choice([-length - 1, 0]))
    d.add(op, [a, *[d.ints([n]) for n in (start, end, axis, step)]])


def expand(d, op):
    a = d.pick(ALL)
    if a is not None:
        shape = [int(d.rng.integers(1, 4)) if n == 1 else n for n in d.shape(a)]
        d.add(op, [a, d.ints([int(d.rng.integers(1, 3)), *shape] if d.chance(0.3) else shape)])


def squeeze(d, op):
    a = d.pick(ALL)
    if a is not None:
        ones = [i for i, n in enumerate(d.shape(a)) if n == 1]
        d.add(op, [a, d.ints(ones[:1] if d.chance(0.5) else ones)] if ones and d.chance(0.7) else [a])


def unsqueeze(d, op):
    a = d.pick(ALL, lambda x: x.ndim < 7)
    if a is not None:
        d.add(op, [a, d.ints([int(d.rng.integers(0, d.array(a).ndim + 1))])])


def flatten(d, op):
    a = d.pick(ALL)
    if a is not None:
        d.add(op, [a], axis=int(d.rng.integers(0, d.array(a).ndim + 1)))


def concat(d, op):
    a = d.pick(ALL, with_rank(1))
    if a is None:
        return
    axis, shape = int(d.rng.integers(0, d.array(a).ndim)), d.shape(a)
    rest = shape[:axis] + shape[axis + 1:]
    same = [n for n in d.names if d.type_of(n) == d.type_of(a) and d.array(n).ndim == len(shape) and
            d.shape(n)[:axis] + d.shape(n)[axis + 1:] == rest]
    d.add(op, [a, *[d.choose(same) for _ in range(int(d.rng.integers(0, 4)))]], axis=axis)


def split(d, op):
    a = d.pick(ALL, with_rank(1))
    if a is None:
        return
    axis = int(d.rng.integers(0, d.array(a).ndim))
    length, parts = d.shape(a)[axis], int(d.rng.integers(1, 4))
    if d.chance(0.5):
        cuts = sorted(int(n) for n in d.rng.integers(0, length + 1, parts - 1))
        lengths = [b - a for a, b in zip([0, *cuts], [*cuts, length])]
        d.add(op, [a, d.ints(lengths)], parts, axis=axis)
    elif d.opset >= 18:
        d.add(op, [a], parts, axis=axis, num_outputs=parts)
    elif length % parts == 0:
        d.add(op, [a], parts, axis=axis)


def gather(d, op):
    a = d.pick(ALL, with_rank(1))
    if a is None:
        return
    axis = int(d.rng.integers(0, d.array(a).ndim))
    length = d.shape(a)[axis]
    if length:
        dims = [int(n) for n in d.rng.integers(1, 4, int(d.rng.integers(0, 3)))]
        d.add(op, [a, d.source("int64", dims, np.asarray(d.rng.integers(-length, length, dims)))], axis=axis)


def shape_of(d, op):
    has_start = op == "Shape" and d.opset >= 15 and d.chance(0.3)
    d.add(op, [d.pick(ALL)], **({"start": int(d.rng.integers(-2, 3))} if has_start else {}))


def constant(d, op):
    if d.chance(0.7):
        array = graph_draw.random_array(d.rng, d.type_name, [int(n) for n in d.rng.integers(1, 4, 2)], d.tame)
        d.add(op, [], value=graph_models.tensor_of("value", array, d.type_name))
    else:
        d.add(op, [], value_floats=[1.0, -2.5])


def constant_of_shape(d, op):
    value = graph_draw.random_array(d.rng, d.type_name, [1], d.tame)
    shape = [n for n in d.names if d.type_of(n) == "int64" and d.array(n).ndim == 1 and d.array(n).size < 6 and
             (d.array(n) >= 0).all() and np.maximum(d.array(n).astype(float), 1).prod() < 2000]
    dims = d.choose(shape) if shape and d.chance(0.6) else d.ints([int(n) for n in d.rng.integers(0, 5, 2)])
    d.add(op, [dims], **({"value": graph_models.tensor_of("value", value, d.type_name)} if d.chance(0.7) else {}))




def dropout(d, op):
    d.add(op, [d.pick(FLOATS)], d.choose([1, 2]))


# ---- Padding, picking, placing ----------------------------------------------------------------------------------


def pad(d, op):
    a = d.pick(ALL, lambda x: x.ndim > 0 and x.size > 0)
    if a is not None:
        pads = [int(n) for n in d.rng.integers(-1 if d.chance(0.3) else 0, 3, 2 * d.array(a).ndim)]
        d.add(op, [a, d.ints(pads)], mode=d.choose(["constant", "constant", "edge", "reflect"]))


def sizes(d, op):
    """CenterCropPad: other sizes; Tile: how often."""
    a = d.pick(ALL, with_rank(1))
    if a is not None:
        d.add(op, [a, d.ints([int(n) for n in d.rng.integers(1, 4, d.array(a).ndim)])])


def count_up(d, op):
    kind = d.choose(["int64", "int32", "float"])
    d.add(op, [d.constant(n, kind) for n in (int(d.rng.integers(-5, 3)), int(d.rng.integers(3, 9)), d.choose([1, 2]))])


def blocks(d, op):
    d.add(op, [d.pick(ALL, lambda x: x.ndim == 4)], blocksize=d.choose([1, 2]))


def matrix(**attributes):
    """Of the last two dimensions, or of two alone."""

    def rule(d, op):
        drawn = {k: int(d.choose(v)) for k, v in attributes.items() if d.chance(0.6)}
        least = lambda x: x.ndim == 2 if op == "EyeLike" else x.ndim >= 2
        d.add(op, [d.pick(NUMBERS + ["bool"], least)], **drawn)

    return 14, rule


def places(d, low, high, dims):
    return d.source("int64", dims, np.asarray(d.rng.integers(low, high, dims)))


def by_elements(d, op):
    """GatherElements and ScatterElements: indices as large as the data."""
    a = d.pick(ALL, lambda x: x.ndim > 0 and x.size > 0)
    if a is None:
        return
    axis, shape = int(d.rng.integers(0, d.array(a).ndim)), d.shape(a)
    index = places(d, -shape[axis], shape[axis], shape)
    d.add(op, [a, index] if op == "GatherElements" else [a, index, d.source(d.type_of(a), shape)], axis=axis)


def by_tuples(d, op):
    """GatherND and ScatterND: indices of the first dimension."""
    a = d.pick(ALL, lambda x: x.ndim > 0 and x.size > 0)
    if a is None:
        return
    count, shape = int(d.rng.integers(1, 4)), d.shape(a)
    index = places(d, -shape[0], shape[0], [count, 1])
    d.add(op, [a, index] if op == "GatherND" else [a, index, d.source(d.type_of(a), [count, *shape[1:]])])


def one_hot(d, op):
    a = d.pick(INTS, lambda x: 0 < x.ndim < 6)
    if a is not None:
        values = d.source("float", [2])
        d.add(op, [a, d.ints([int(d.rng.integers(1, 5))]), values], axis=int(d.rng.integers(-1, d.array(a).ndim + 1)))


def reverse(d, op):
    a = d.pick(ALL, with_rank(2))
    if a is not None:
        d.add(op, [a, places(d, 0, d.shape(a)[0] + 1, [d.shape(a)[1]])])


def compress(d, op):
    a = d.pick(ALL, with_rank(1))
    if a is not None:
        axis = int(d.rng.integers(0, d.array(a).ndim))
        d.add(op, [a, d.source("bool", [d.shape(a)[axis]])], axis=axis)


def unique(d, op):
    d.add(op, [d.pick(INTS + ["bool"])], d.choose([1, 1, 4]), **({"sorted": 0} if d.chance(0.4) else {}))


def resize(d, op):
    a = d.pick(["float", "double", "int8", "uint8"], lambda x: 0 < x.ndim < 5 and x.size > 0)
    if a is not None:
        scales = d.source("float", [d.array(a).ndim], d.rng.choice([1, 1, 2, 0.5], d.array(a).ndim).astype(np.float32))
        d.add(op, [a, "", scales], mode=d.choose(["nearest", "nearest", "linear"]))


def grid_sample(d, op):
    a = exact(d, d.pick(["float", "double"], lambda x: x.ndim == 4 and x.size > 0))
    if a is not None:
        d.add(op, [a, whole(d, "float", [d.shape(a)[0], 2, 3, 2])])


def affine_grid(d, op):
    d.add(op, [whole(d, d.choose(["float", "double"]), [2, 2, 3]), d.ints([2, 1, 3, 4])])


def suppress(d, op):
    boxes, scores = whole(d, "float", [1, 5, 4]), whole(d, "float", [1, 2, 5])
    d.add(op, [boxes, scores, d.ints([int(d.rng.integers(0, 4))])])


# ---- The table --------------------------------------------------------------------------------------------------

ELEMENTWISE = {
    "Abs": unary(NUMBERS), "Neg": unary(FLOATS + SIGNED), "Sign": unary(NUMBERS),
    "Relu": since(14, unary(FLOATS + SIGNED)), "Not": unary(["bool"]), "BitwiseNot": since(18, unary(INTS)),
    "Add": since(14, binary(NUMBERS)), "Sub": since(14, binary(NUMBERS)), "Mul": since(14, binary(NUMBERS)),
    "Div": (14, divide), "Mod": (13, divide), "Pow": (13, power), "BitShift": (13, shift),
    "Max": variadic(NUMBERS), "Min": variadic(NUMBERS), "Sum": variadic(FLOATS), "Mean": variadic(FLOATS),
    "And": binary(["bool"]), "Or": binary(["bool"]), "Xor": binary(["bool"]),
    "BitwiseAnd": since(18, binary(INTS)), "BitwiseOr": since(18, binary(INTS)), "BitwiseXor": since(18, binary(INTS)),
    "Equal": binary(NUMBERS + ["bool", "string"]), "Greater": binary(NUMBERS), "Less": binary(NUMBERS),
    "GreaterOrEqual": since(16, binary(NUMBERS)), "LessOrEqual": since(16, binary(NUMBERS)),
    "Where": (16, where), "Clip": (13, clip), "PRelu": (16, prelu), "Cast": (13, cast), "CastLike": (15, cast),
    "BitCast": (26, bit_cast), "IsNaN": unary(FLOATS), "IsInf": unary(WHOLE_FLOATS, detect_negative=[0, 1]),
    "Ceil": unary(FLOATS), "Floor": unary(FLOATS), "Round": unary(FLOATS), "Sqrt": unary(FLOATS),
    "Reciprocal": unary(FLOATS), "Exp": unary(FLOATS), "Log": unary(FLOATS), "Erf": unary(FLOATS),
    "Sin": unary(WHOLE_FLOATS), "Cos": unary(WHOLE_FLOATS), "Tan": unary(WHOLE_FLOATS), "Asin": unary(WHOLE_FLOATS),
    "Acos": unary(WHOLE_FLOATS), "Atan": unary(WHOLE_FLOATS), "Sinh": unary(WHOLE_FLOATS),
    "Cosh": unary(WHOLE_FLOATS), "Tanh": unary(FLOATS), "Asinh": unary(WHOLE_FLOATS), "Acosh": unary(WHOLE_FLOATS),
    "Atanh": unary(WHOLE_FLOATS), "Sigmoid": unary(FLOATS), "Softplus": unary(WHOLE_FLOATS),
    "Softsign": unary(WHOLE_FLOATS), "Gelu": since(20, unary(FLOATS, approximate=["none", "tanh"])),
    "Mish": since(18, unary(WHOLE_FLOATS)), "HardSwish": since(14, unary(WHOLE_FLOATS)),
    "Swish": since(24, unary(FLOATS, alpha=number(0.5, 2))), "LeakyRelu": since(16, unary(FLOATS, alpha=number(0, 1))),
    "Elu": unary(WHOLE_FLOATS, alpha=number(0.5, 2)), "Celu": unary(["float"], alpha=number(0.5, 2)),
    "Selu": unary(WHOLE_FLOATS), "HardSigmoid": unary(WHOLE_FLOATS, alpha=number(0.1, 1)),
    "ThresholdedRelu": unary(WHOLE_FLOATS, alpha=number(0, 2)), "Shrink": unary(NUMBERS, lambd=number(0, 2)),
}
QUANTIZING = {
    "QuantizeLinear": (13, quantize), "DequantizeLinear": (13, dequantize),
    "DynamicQuantizeLinear": (13, quantize_dynamic), "MatMulInteger": (13, matmul_integer),
    "QLinearMatMul": (13, qlinear_matmul),
}
ROWS = {
    "ReduceSum": reduce(WIDE), "ReduceMean": reduce(WIDE), "ReduceProd": reduce(WIDE),
    "ReduceMax": reduce(WIDE + ["uint8", "int8"]), "ReduceMin": reduce(WIDE + ["uint8", "int8"]),
    "ReduceL1": reduce(WIDE), "ReduceL2": reduce(WIDE), "ReduceLogSum": reduce(WHOLE_FLOATS),
    "ReduceLogSumExp": reduce(WHOLE_FLOATS), "ReduceSumSquare": reduce(WIDE), "Softmax": (13, softmax),
}
PRODUCTS = {"MatMul": (13, matmul), "Gemm": (13, gemm), "Conv": (13, conv), "GlobalMaxPool": (13, global_pool),
            "GlobalAveragePool": (13, global_pool), "GlobalLpPool": (13, global_pool)}
VIEWS = {
    "Identity": since(14, unary(ALL)), "Transpose": (13, transpose), "Reshape": (14, reshape), "Slice": (13, slice_),
    "Expand": (13, expand), "Squeeze": (13, squeeze), "Unsqueeze": (13, unsqueeze), "Flatten": (13, flatten),
    "Split": (13, split), "Dropout": (13, dropout),
}
MOVES = {
    "Concat": (13, concat), "Gather": (13, gather), "Shape": (13, shape_of), "Size": (13, shape_of),
    "Constant": (13, constant), "ConstantOfShape": (13, constant_of_shape),
}
PICKS = {
    "Pad": (13, pad), "CenterCropPad": (18, sizes), "Tile": (13, sizes), "Range": (13, count_up),
    "DepthToSpace": (13, blocks), "SpaceToDepth": (13, blocks), "Trilu": matrix(upper=[0, 1]),
    "EyeLike": matrix(k=[-1, 0, 1]), "GatherElements": (13, by_elements), "ScatterElements": (16, by_elements),
    "GatherND": (13, by_tuples), "ScatterND": (16, by_tuples), "OneHot": (13, one_hot), "ReverseSequence": (13, reverse),
    "NonZero": unary(NUMBERS + ["bool"]), "Compress": (13, compress), "Unique": (13, unique), "Resize": (13, resize),
    "GridSample": (20, grid_sample), "AffineGrid": (20, affine_grid), "NonMaxSuppression": (13, suppress),
}
CONTROL = {op: rule(lambda: RULES) for op, rule in {
    "If": graph_control.choice, "Loop": graph_control.loop, "Scan": graph_control.scan,
    "SequenceMap": graph_control.sequence_map}.items()}
RULES = [(50, ELEMENTWISE), (4, QUANTIZING), (10, ROWS), (8, graph_norms.NORMS), (8, PRODUCTS), (18, VIEWS), (10, MOVES),
         (8, PICKS), (8, CONTROL), (8, graph_lists.LISTS)]
# Operators of ox without a rule, and why.
WITHOUT = {
    "onednn.graph.StaticExpand": "of a domain of its own; tests/property/expand_forms.py has it",
    "onednn.graph.StaticUnsqueeze": "the same",
    "CausalConvWithState": "tests/property/transposed.py has it", "Col2Im": "the same", "ConvTranspose": "the same",
    "MaxUnpool": "the same", "ConvInteger": "tests/property/integer_convs.py has it", "QLinearConv": "the same",
    "DeformConv": "tests/property/deforms.py has it",
    "MaxRoiPool": "tests/property/regions.py has it", "RoiAlign": "the same",
    "com.microsoft.DynamicQuantizeLSTM": "tests/property/recurrent.py has it",
    **{f"com.microsoft.{name}": "tests/property/nbits.py has it" for name in (
        "GatherBlockQuantized", "MatMulBnb4", "MatMulNBits")},
    "com.microsoft.MurmurHash3": "tests/property/texts.py has it", "com.microsoft.Tokenizer": "the same",
    "SimplifiedLayerNormalization": "ONNX Runtime's; tests/property/fused.py has it",
    **{name: "of the first opsets; tests/property/fused.py has it" for name in (
        "Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh")},
    **{f"com.microsoft.{name}": "of a domain of its own; tests/property/fused.py has it" for name in (
        "BiasGelu", "DequantizeLinear", "DynamicQuantizeMatMul", "EmbedLayerNormalization", "FastGelu",
        "FusedConv", "FusedGemm", "FusedMatMul", "Gelu", "MatMulInteger16", "MatMulIntegerToFloat", "NhwcConv",
        "NhwcFusedConv", "NhwcMaxPool", "QAttention", "QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearConv",
        "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearMul", "QLinearReduceMean", "QLinearSigmoid",
        "QLinearSoftmax", "QLinearWhere", "QuantizeLinear", "QuickGelu", "SkipLayerNormalization",
        "SkipSimplifiedLayerNormalization")},
    **{f"com.microsoft.{name}": "of a domain of its own; tests/property/twins.py has it" for name in (
        "CDist", "CausalConvWithState", "DecoderMaskedMultiHeadAttention", "ExpandDims", "GatedAdd", "GatedRMSNorm", "GatherND", "GridSample", "LinearAttention",
        "LinearAttentionGate", "MRotaryEmbedding", "Pad", "QEmbedLayerNormalization", "Range", "SampleOp", "ScaledSiLU",
        "TransposeMatMul", "Trilu", "Unique")},
    **{f"com.microsoft.nchwc.{name}": "of a domain of its own; tests/property/saved.py has it" for name in (
        "AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReorderInput", "ReorderOutput",
        "Upsample")},
    "Scatter": "older than the versions of these graphs; it is ScatterElements",
    "Upsample": "the same; it is Resize",
    "Bernoulli": "tests/property/chances.py has it: its numbers are random",
    "Multinomial": "the same",
    "RandomNormal": "the same",
    "RandomNormalLike": "the same",
    "RandomUniform": "the same",
    "RandomUniformLike": "the same",
    "NegativeLogLikelihoodLoss": "tests/property/chances.py has it: it ends what is trained",
    "SoftmaxCrossEntropyLoss": "the same",
    "ai.onnx.preview.training.Adagrad": "of a domain of its own; tests/property/chances.py has it",
    "ai.onnx.preview.training.Adam": "the same",
    "ai.onnx.preview.training.Momentum": "the same",
    "ai.onnx.preview.training.Gradient": "it names values of its graph; tests/property/gradients.py has it",
    "DFT": "its sums cancel; tests/property/signals.py has it",
    "STFT": "the same",
    "Det": "the same",
    "BlackmanWindow": "tests/property/signals.py has it",
    "HammingWindow": "the same",
    "HannWindow": "the same",
    "MelWeightMatrix": "the same",
    "StringConcat": "of texts; tests/property/texts.py has it",
    "StringNormalizer": "the same",
    "StringSplit": "the same",
    "TfIdfVectorizer": "the same",
    **{f"ai.onnx.ml.{name}": "its attributes are the model; tests/property/ml.py has it" for name in (
        "ArrayFeatureExtractor", "Binarizer", "CategoryMapper", "FeatureVectorizer", "Imputer", "LabelEncoder",
        "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder", "SVMClassifier", "SVMRegressor", "Scaler",
        "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")},
    "Attention": "tests/property/attentions.py has it", "LinearAttention": "the same", "RotaryEmbedding": "the same",
    "ai.onnx.preview.FlexAttention": "the same",
    **{f"com.microsoft.{name}": "tests/property/heads.py has it" for name in (
        "Attention", "GroupQueryAttention", "MultiHeadAttention", "RotaryEmbedding")},
    "com.microsoft.MoE": "tests/property/experts.py has it", "com.microsoft.QMoE": "the same",
    "SwiGLU": "the same", "TensorScatter": "the same", "Einsum": "tests/property/einsums.py has it",
    "GRU": "tests/property/recurrent.py has it", "LSTM": "the same", "RNN": "the same",
    "com.microsoft.DynamicQuantizeLSTM": "the same",
}
