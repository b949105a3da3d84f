"""product_cases.py: random matrix products, with the exact result and how far from it rounding may lead.

A case has operands, attributes, and `exact` and `bound`, arrays of the result's shape: for floats the result in a wider
type and the largest error of its elements, k * eps / 2 times the sum of the sizes of what is added; for integers the
wrapped result and None.
"""

import arrays
import numpy as np
import values
from values import pick

UNIT = {"float": 2.0 ** -24, "double": 2.0 ** -53, "float16": 2.0 ** -24, "bfloat16": 2.0 ** -24}
# Half a unit in the last place, half the smallest number, the largest.
ROUNDED_TO = {"float16": (2.0 ** -11, 2.0 ** -25, 65504.0), "bfloat16": (2.0 ** -8, 2.0 ** -133, 3.3895e38),
              "float8e4m3fn": (2.0 ** -4, 2.0 ** -10, 448.0), "float8e4m3fnuz": (2.0 ** -4, 2.0 ** -11, 240.0),
              "float8e5m2": (2.0 ** -3, 2.0 ** -17, 57344.0), "float8e5m2fnuz": (2.0 ** -3, 2.0 ** -18, 57344.0)}
SMALLEST = {"double": 5e-324}
MOST_DIMS = 64
LARGEST = {"float": 3.4028235e38, "double": 1.797e308}


def is_float(type_name):
    return type_name in UNIT


class Case:
    def __init__(self, op, opset, types, operands, attributes, exact, bound=None, out_type=None):
        self.op, self.opset, self.types, self.out_type = op, opset, types, out_type or types[0]
        self.operands, self.attributes, self.exact, self.bound = operands, attributes, exact, bound

    def describe(self):
        shapes = ", ".join(f"{t}{list(x.shape)}" for t, x in zip(self.types, self.operands) if x is not None)
        return f"{self.op} opset {self.opset} {self.attributes or ''} on {shapes}"


# ---- Sizes and values ------------------------------------------------------------------------------------------------


def draw_sizes(rng):
    """[m, n, k], of 0 to 130 mostly; now and then one of them is long enough for several blocks, also of a vector."""
    sizes = [int(s) for s in np.where(rng.random(3) < 0.3, rng.integers(0, 10, 3), rng.integers(0, 131, 3))]
    if rng.random() < 0.08:
        sizes = [min(s, 40) for s in sizes]
        sizes[int(rng.integers(0, 3))] = int(rng.integers(250, 1300))
    elif rng.random() < 0.03:
        sizes = [min(s, 40) for s in sizes]
        sizes[int(rng.integers(0, 2))], sizes[int(rng.integers(1, 3))] = 1, int(rng.integers(2000, 5000))
    return sizes


def draw_values(rng, type_name, dims):
    """Random elements; of floats, a share with rows and columns of very different sizes, and a few special ones."""
    if not is_float(type_name):
        return values.random_values(rng, type_name, dims)
    result = rng.normal(size=dims)
    kind, power = rng.random(), 2.0 if type_name == "float16" else 12.0
    if kind < 0.2:
        result = result * 2.0 ** np.round(rng.uniform(-power, power, size=dims))
    elif kind < 0.4 and len(dims) >= 2:
        result = result * 2.0 ** np.round(rng.uniform(-power, power, size=[*dims[:-1], 1]))
    elif kind < 0.45 and result.size:
        result.reshape(-1)[rng.integers(0, result.size, 2)] = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], 2)
    return np.asarray(result).astype(arrays.DTYPES[type_name][1])


def widen(type_name, array):
    wide = np.longdouble if type_name == "double" else np.float64
    return array.astype(wide) if is_float(type_name) else array


# ---- Results ---------------------------------------------------------------------------------------------------------


def multiply(type_name, a, b):
    """(the exact product, the sum of the sizes of its terms; None for integers)"""
    a, b = widen(type_name, a), widen(type_name, b)
    return np.matmul(a, b), np.matmul(np.abs(a), np.abs(b)) if is_float(type_name) else None


def error_bound(type_name, k, exact, sizes, roundings=0):
    """`sizes` bounds what is added up; `roundings` counts those after the sum."""
    bound = (k + roundings) * UNIT[type_name] * sizes + (k + 4) * SMALLEST.get(type_name, 2.0 ** -149)
    if type_name in ROUNDED_TO:
        relative, smallest, _ = ROUNDED_TO[type_name]
        bound = bound * (1 + relative) + relative * np.abs(exact) + smallest
    return bound


def wrong_element(case, got):
    """The index of the first element of a result that is wrong, None if there is none."""
    if case.bound is None:
        wrong = case.exact != got
    else:
        type_name = case.out_type
        got, limit = widen(type_name, got), LARGEST.get(type_name) or ROUNDED_TO.get(type_name, [np.inf])[-1]
        with np.errstate(invalid="ignore"):
            near = np.abs(got - case.exact) <= case.bound
            beyond = np.isinf(got) & (np.sign(got) == np.sign(case.exact)) & (np.abs(case.exact) + case.bound >= limit)
        wrong = ~(near | (got == case.exact) | beyond | (np.isnan(got) & np.isnan(case.exact)))
    places = np.argwhere(wrong)
    return tuple(int(i) for i in places[0]) if len(places) else None


# ---- Gemm ------------------------------------------------------------------------------------------------------------


def factor(rng, type_name):
    choices = [0.0, 1.0, 1.0, 2.0, -3.0] + ([0.5, 0.1] if is_float(type_name) else [])
    return float(np.float32(pick(rng, choices)))


def c_shapes(m, n, since, broadcast):
    if since < 7 and not broadcast:
        return [[m, n]]
    return [[m, n], [1, n], [m, 1], [1, 1], [n], [1], []]


def draw_gemm(rng, since, opset, types):
    type_name = pick(rng, types["T"])
    m, n, k = draw_sizes(rng)
    trans_a, trans_b = (int(t) for t in rng.integers(0, 2, 2))
    attributes = {"alpha": factor(rng, type_name), "beta": factor(rng, type_name), "transA": trans_a, "transB": trans_b}
    if since < 7:
        attributes["broadcast"] = int(rng.integers(0, 2))
    a = draw_values(rng, type_name, [k, m] if trans_a else [m, k])
    b = draw_values(rng, type_name, [n, k] if trans_b else [k, n])
    c = draw_values(rng, type_name, pick(rng, c_shapes(m, n, since, attributes.get("broadcast"))))
    operands = [a, b] if since >= 11 and rng.random() < 0.3 else [a, b, c]
    if attributes["beta"] == 0 and is_float(type_name):
        c[...] = np.nan  # has no part in the result
    exact, bound = finish_gemm(type_name, k, *multiply(type_name, a.T if trans_a else a, b.T if trans_b else b),
                               operands[2] if len(operands) > 2 else None, attributes)
    return Case("Gemm", opset, [type_name] * len(operands), operands, attributes, exact, bound)


def finish_gemm(type_name, k, product, sizes, c, attributes):
    alpha, beta = attributes["alpha"], attributes["beta"] if c is not None else 0.0
    if not is_float(type_name):
        kind = product.dtype
        result = product * np.array(int(alpha)).astype(kind)
        return (result + c * np.array(int(beta)).astype(kind) if beta else result), None
    exact, sizes = alpha * product, abs(alpha) * sizes
    if beta:
        added = np.broadcast_to(widen(type_name, c), product.shape) * beta
        exact, sizes = exact + added, sizes + np.abs(added)
    return exact, error_bound(type_name, k, exact, sizes, roundings=3)


# ---- MatMul ----------------------------------------------------------------------------------------------------------


def batch_dims(rng):
    """Up to 14 dims whose product is small; now and then as many as a tensor may have, most of them 1."""
    if rng.random() < 0.05:
        dims = [1] * int(rng.integers(40, MOST_DIMS - 1))
        for _ in range(int(rng.integers(0, 5))):
            dims[int(rng.integers(0, len(dims)))] = int(rng.integers(1, 4))
        return dims
    dims = [int(d) for d in rng.choice([0, 1, 2, 3, 5], int(rng.integers(0, 15)), p=[0.01, 0.62, 0.25, 0.1, 0.02])]
    while int(np.prod(dims, dtype=np.int64)) > 48:
        dims[int(rng.integers(0, len(dims)))] = 1
    return dims


def matmul_dims(rng):
    """Dims of both operands, and k."""
    m, n, k = draw_sizes(rng)
    batch = batch_dims(rng) if rng.random() < 0.6 else []
    if int(np.prod(batch, dtype=np.int64)) > 4:
        m, n, k = (min(s, 24) for s in (m, n, k))
    a, b = values.operand_dims(rng, batch) + [m, k], values.operand_dims(rng, batch) + [k, n]
    return [k] if rng.random() < 0.08 else a, [k] if rng.random() < 0.08 else b, k


def draw_matmul(rng, since, opset, types):
    type_name = pick(rng, types["T"])
    a_dims, b_dims, k = matmul_dims(rng)
    operands = [draw_values(rng, type_name, dims) for dims in (a_dims, b_dims)]
    if rng.random() < 0.1:
        operands = [values.repeated(rng, x) for x in operands]
    exact, sizes = (None if x is None else np.asarray(x) for x in multiply(type_name, *operands))
    bound = error_bound(type_name, k, exact, sizes) if is_float(type_name) else None
    return Case("MatMul", opset, [type_name] * 2, operands, {}, exact, bound)


# ---- MatMulInteger and QLinearMatMul ---------------------------------------------------------------------------------


def entry_dims(rng, dims, by_row):
    """Dims of zero points of a matrix: none, one, one for each row or column, or for those of each matrix."""
    if len(dims) < 2 or rng.random() < 0.4:
        return [] if rng.random() < 0.5 else [1]
    length = dims[-2 if by_row else -1]
    if rng.random() < 0.4:
        return [length]
    return values.operand_dims(rng, dims[:-2]) + ([length, 1] if by_row else [1, length])


def as_seen(array, by_row):
    """Zero points or scales as numpy is to see them beside their matrix."""
    return array.reshape(-1, 1) if by_row and array.ndim == 1 and array.size != 1 else array


def draw_bytes(rng, type_name, dims):
    if "int" in type_name:
        return values.random_values(rng, type_name, dims)
    return np.asarray(rng.normal(size=dims) * 2.0 ** rng.integers(-3, 3)).astype(arrays.DTYPES[type_name][1])


def take_off(array, zero, by_row, wide):
    return array.astype(wide) if zero is None else array.astype(wide) - as_seen(zero, by_row).astype(wide)


def draw_matmul_integer(rng, since, opset, types):
    a_dims, b_dims, _ = matmul_dims(rng)
    a_type, b_type = pick(rng, types["T1"]), pick(rng, types["T2"])
    a, b = draw_bytes(rng, a_type, a_dims), draw_bytes(rng, b_type, b_dims)
    zeros = [draw_bytes(rng, t, entry_dims(rng, dims, row)) if rng.random() < 0.8 else None
             for t, dims, row in ((a_type, a_dims, True), (b_type, b_dims, False))]
    exact = np.asarray(np.matmul(take_off(a, zeros[0], True, np.int32), take_off(b, zeros[1], False, np.int32)))
    operands = [a, b, *zeros]
    while operands[-1] is None:
        operands.pop()
    return Case("MatMulInteger", opset, [a_type, b_type, a_type, b_type][:len(operands)], operands, {}, exact,
                out_type="int32")


def draw_scales(rng, type_name, dims):
    return np.asarray(2.0 ** rng.uniform(-6, 2, size=dims)).astype(arrays.DTYPES[type_name][1])


def draw_qlinear_matmul(rng, since, opset, types):
    a_dims, b_dims, k = matmul_dims(rng)
    kinds = [pick(rng, types[t]) for t in ("T1", "T2", "T3")]
    scale_type = pick(rng, types["TS"]) if "TS" in types else "float"
    a, b = draw_bytes(rng, kinds[0], a_dims), draw_bytes(rng, kinds[1], b_dims)
    shapes = [entry_dims(rng, a_dims, True), entry_dims(rng, b_dims, False), [] if rng.random() < 0.5 else [1]]
    zeros = [draw_bytes(rng, t, dims) for t, dims in zip(kinds, shapes)]
    scales = [draw_scales(rng, scale_type, dims) for dims in shapes]
    factor = as_seen(scales[0], True).astype(np.float64) * scales[1].astype(np.float64)
    sums = [take_off(x, zero, row, np.float64) for x, zero, row in ((a, zeros[0], True), (b, zeros[1], False))]
    product, sizes = np.matmul(*sums), np.matmul(*(np.abs(x) for x in sums))
    spread = float(np.max(np.abs(product * np.squeeze(factor) if factor.size == 1 else product), initial=0)) or 1.0
    scales[2] = np.asarray(scales[2].astype(np.float64) * spread / 64).astype(scales[2].dtype)
    factor = vector_factor(factor, a_dims, b_dims) / scales[2].astype(np.float64).reshape(())
    exact, bound = requantize(kinds, k, product * factor, sizes * np.abs(factor), zeros[2])
    operands = [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]]
    names = [kinds[0], scale_type, kinds[0], kinds[1], scale_type, kinds[1], scale_type, kinds[2]]
    return Case("QLinearMatMul", opset, names, operands, {}, exact, bound, out_type=kinds[2])


def vector_factor(factor, a_dims, b_dims):
    """The scales in the shape of the result, which lacks the dimension of a vector."""
    if len(a_dims) == 1 and factor.ndim >= 2:
        factor = factor.reshape(factor.shape[:-2] + factor.shape[-1:])
    elif len(b_dims) == 1 and factor.ndim >= 2:
        factor = factor.reshape(factor.shape[:-1])
    return factor.reshape(()) if factor.size == 1 else factor


def requantize(kinds, k, values_, sizes, zero):
    """(the result, how far from it another one may be)"""
    zero = zero.astype(np.float64).reshape(())
    inexact = any("float" in kind for kind in kinds[:2])
    error = (k + 4) * UNIT["float"] * sizes if inexact else 1e-9 * np.abs(values_)
    if "float" in kinds[2]:
        relative, smallest, largest = ROUNDED_TO[kinds[2]]
        exact = np.clip(values_ + zero, -largest, largest)
        return exact, error + relative * np.abs(exact) + smallest + 2 * UNIT["float"] * np.abs(exact)
    limits = np.iinfo(arrays.DTYPES[kinds[2]][1])
    low, high = (np.clip(np.rint(v) + zero, limits.min, limits.max) for v in (values_ - error, values_ + error))
    return np.clip(np.rint(values_) + zero, limits.min, limits.max), high - low


DRAWERS = {"Gemm": draw_gemm, "MatMul": draw_matmul, "MatMulInteger": draw_matmul_integer,
           "QLinearMatMul": draw_qlinear_matmul}


def draw(rng, row):
    """A case of a row of broadcast.read_schemas."""
    op, since, until, types, _ = row
    opset = int(rng.integers(since, until + 1))
    with np.errstate(all="ignore"):
        return DRAWERS[op](rng, since, opset, types)
