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
ROUNDED_TO = {"float16": (2.0 ** -11, 2.0 ** -25, 65504.0), "bfloat16": (2.0 ** -8, 2.0 ** -133, 3.3895e38)}
SMALLEST = {"double": 5e-324}
LARGEST = {"float": 3.4028235e38, "double": 1.797e308}


def is_float(type_name):
    return type_name in UNIT


class Case:
    def __init__(self, op, opset, types, operands, attributes, exact, bound=None):
        self.op, self.opset, self.types, self.out_type = op, opset, types, types[0]
        self.operands, self.attributes, self.exact, self.bound = operands, attributes, exact, bound

    def describe(self):
        shapes = ", ".join(f"{t}{list(x.shape)}" for t, x in zip(self.types, self.operands) if x is not None)
        return f"{self.op} opset {self.opset} {self.attributes or ''} on {shapes}"


# ---- Sizes and values ------------------------------------------------------------------------------------------------


def draw_sizes(rng):
    """[m, n, k], of 0 to 130 mostly; now and then one of them is long enough for several blocks."""
    sizes = [int(s) for s in np.where(rng.random(3) < 0.3, rng.integers(0, 10, 3), rng.integers(0, 131, 3))]
    if rng.random() < 0.08:
        sizes = [min(s, 40) for s in sizes]
        sizes[int(rng.integers(0, 3))] = int(rng.integers(250, 1300))
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
        type_name = case.types[0]
        got, limit = widen(type_name, got), LARGEST.get(type_name) or ROUNDED_TO[type_name][2]
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


def draw_gemm(rng, since, opset, type_name):
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
    """Up to 14 dims whose product is small."""
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


def draw_matmul(rng, since, opset, type_name):
    a_dims, b_dims, k = matmul_dims(rng)
    operands = [draw_values(rng, type_name, dims) for dims in (a_dims, b_dims)]
    if rng.random() < 0.1:
        operands = [values.repeated(rng, x) for x in operands]
    exact, sizes = (None if x is None else np.asarray(x) for x in multiply(type_name, *operands))
    bound = error_bound(type_name, k, exact, sizes) if is_float(type_name) else None
    return Case("MatMul", opset, [type_name] * 2, operands, {}, exact, bound)


DRAWERS = {"Gemm": draw_gemm, "MatMul": draw_matmul}


def draw(rng, row):
    """A case of a row of broadcast.read_schemas."""
    op, since, until, types, _ = row
    opset = int(rng.integers(since, until + 1))
    with np.errstate(all="ignore"):
        return DRAWERS[op](rng, since, opset, pick(rng, types["T"]))
