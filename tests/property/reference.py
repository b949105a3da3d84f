"""reference.py: what the broadcasting operators mean, in numpy.

Types of 16 bits are computed in float32 and rounded once. Integers wrap. Each function takes the operands as numpy
broadcasts them and returns the result; Tolerance says how exactly ox must meet it.
"""

import arrays
import ml_dtypes
import numpy as np

HALVES = ("float16", "bfloat16")
FLOATS = HALVES + ("float", "double")


class DivisionByZero(Exception):
    pass


def widen(operand, dtype):
    return operand.astype(np.float32) if operand is not None and operand.dtype == dtype else operand


def widened(function):
    """The function with 16-bit types computed in float32, the result rounded to the type of the first operand."""

    def wrapped(*operands, **attributes):
        dtype = operands[0].dtype
        if dtype not in (arrays.DTYPES["float16"][1], arrays.DTYPES["bfloat16"][1]):
            return function(*operands, **attributes)
        result = function(*(widen(x, dtype) for x in operands), **attributes)
        return result.astype(dtype) if result.dtype == np.float32 else result

    return wrapped


def is_integer(array):
    return array.dtype.kind in "iu"


def divide(a, b):
    if not is_integer(a):
        return a / b
    return truncated(a, b)[0]


def truncated(a, b):
    """Quotient and remainder of integers, truncated towards zero; the smallest number by -1 wraps."""
    a, b = np.broadcast_arrays(a, b)
    if a.size and (b == 0).any():
        raise DivisionByZero
    by_minus_one = b == -1 if a.dtype.kind == "i" else np.zeros(b.shape, bool)
    divisor = np.where(by_minus_one, np.ones_like(b), b)
    floor = a // divisor
    rest = a - floor * divisor
    up = (rest != 0) & ((a < 0) != (divisor < 0))
    quotient = np.where(up, floor + 1, floor).astype(a.dtype)
    quotient = np.where(by_minus_one, np.zeros_like(a) - quotient, quotient).astype(a.dtype)
    return quotient, (a - quotient * b).astype(a.dtype)


def modulo(a, b, fmod):
    if not is_integer(a):
        return np.fmod(a, b) if fmod else np.mod(a, b)
    rest = truncated(a, b)[1]
    if fmod:
        return rest
    other_sign = (rest != 0) & ((rest < 0) != (b < 0))
    return np.where(other_sign, rest + b, rest).astype(a.dtype)


def power(base, exponent):
    kind = base.dtype
    if not is_integer(base):
        # np.power takes the square root, which is another thing for -inf, where one exponent of 0.5 holds for all.
        return np.float_power(base, exponent).astype(kind)
    base, exponent = np.broadcast_arrays(base, exponent.astype(np.int64))
    result, factor = np.ones_like(base), base.copy()
    left = np.maximum(exponent, 0)
    while left.any():
        result = np.where(left & 1, result * factor, result)
        factor, left = factor * factor, left >> 1
    inverse = np.where(np.abs(base) == 1, base * (exponent % 2) + (1 - exponent % 2), 0)
    return np.where(exponent < 0, inverse, result).astype(base.dtype)


def extreme(a, b, larger):
    """Max or Min: NaN wins, and +0 is larger than -0."""
    result = np.maximum(a, b) if larger else np.minimum(a, b)
    if is_integer(a):
        return result
    both_zero = (a == 0) & (b == 0)
    negative = (np.signbit(a) & np.signbit(b)) if larger else (np.signbit(a) | np.signbit(b))
    zero = np.where(negative, np.array(-0.0, a.dtype), np.array(0.0, a.dtype))
    return np.where(both_zero, zero, result).astype(a.dtype)


def fold(function):
    def folded(*operands):
        result = operands[0]
        for operand in operands[1:]:
            result = function(result, operand)
        return result

    return folded


def mean(*operands):
    total = operands[0]
    for operand in operands[1:]:
        total = total + operand
    return (total / np.array(len(operands), total.dtype)).astype(total.dtype)


def shift(x, amount, direction):
    bits = x.dtype.itemsize * 8
    inside = (amount >= 0) & (amount < bits)
    amount = np.where(inside, amount, 0).astype(x.dtype)
    if direction == "LEFT":
        return np.where(inside, np.left_shift(x, amount), 0).astype(x.dtype)
    fill = np.where(x < 0, -1, 0).astype(x.dtype) if x.dtype.kind == "i" else np.zeros_like(x)
    return np.where(inside, np.right_shift(x, amount), fill).astype(x.dtype)


def clip(x, low=None, high=None):
    """A bound that is left out is the last number of the type, so that no infinity is left."""
    if x.dtype.kind not in "iu":
        limits = ml_dtypes.finfo(x.dtype)
        low = np.asarray(limits.min, x.dtype) if low is None else low
        high = np.asarray(limits.max, x.dtype) if high is None else high
    result = x if low is None else widened(np.maximum)(x, low)
    return result if high is None else widened(np.minimum)(result, high)


def prelu(x, slope):
    return np.where(x < 0, x * slope, x).astype(x.dtype)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    kind = a.dtype
    product = (a.T if transA else a) @ (b.T if transB else b)
    result = product * np.array(alpha).astype(kind)
    return result if c is None else result + c * np.array(beta).astype(kind)


def compare(function):
    def compared(a, b):
        if a.dtype.names:
            a, b = arrays.texts_of(a), arrays.texts_of(b)
        return np.asarray(function(a, b), bool)

    return compared


def where(condition, x, y):
    return np.where(condition, x, y)


FUNCTIONS = {
    "Add": widened(np.add),
    "Sub": widened(np.subtract),
    "Mul": widened(np.multiply),
    "Div": widened(divide),
    "Mod": widened(modulo),
    "Pow": widened(power),
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": compare(np.equal),
    "Greater": compare(np.greater),
    "Less": compare(np.less),
    "GreaterOrEqual": compare(np.greater_equal),
    "LessOrEqual": compare(np.less_equal),
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "BitShift": shift,
    "Max": widened(fold(lambda a, b: extreme(a, b, True))),
    "Min": widened(fold(lambda a, b: extreme(a, b, False))),
    "Sum": widened(fold(np.add)),
    "Mean": widened(mean),
    "PRelu": widened(prelu),
    "Clip": clip,
    "Gemm": widened(gemm),
    "MatMul": widened(np.matmul),
    "Where": where,
}

# Relative error allowed where a result is rounded more than once or comes from a library of mathematics.
TOLERANCE = {"float": 4e-7, "double": 1e-15, "float16": 1e-3, "bfloat16": 8e-3}
INEXACT = {"Pow": 4, "Mean": 1}
# ONNX lets both zeros pass here.
ANY_ZERO = {"Clip", "Mod", "Gemm", "MatMul"}


def difference(op, type_name, wanted, got, scale):
    """The index of the first element that is wrong, None if there is none. scale bounds what cancelled in a sum."""
    if type_name == "string":
        wrong = arrays.texts_of(wanted) != arrays.texts_of(got)
    elif op in INEXACT and type_name in TOLERANCE:
        a, b = wanted.astype(np.float64), got.astype(np.float64)
        bound = TOLERANCE[type_name] * INEXACT[op] * np.maximum(np.abs(a), scale) + np.finfo(np.float32).tiny
        wrong = ~((np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b)))
    elif wanted.dtype.kind in "fcV":
        wrong = ~((wanted == got) | (wanted != wanted) & (got != got))
        if wanted.dtype.kind != "c" and op not in ANY_ZERO:
            wrong |= (wanted == 0) & (np.signbit(wanted) != np.signbit(got))
    else:
        wrong = wanted != got
    where_wrong = np.argwhere(wrong)
    return tuple(int(i) for i in where_wrong[0]) if len(where_wrong) else None
