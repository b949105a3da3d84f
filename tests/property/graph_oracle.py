"""graph_oracle.py: whether what ox gives for one node is right, told by numpy (reference.py, casts.py) or by
onnx.reference. Each node is given ox's own intermediate values, so that errors do not pile up.

What is allowed, and why:
- EXACT operators give the reference's value, to the bit.
- Functions are within 4 units in the last place of the exact result (Gelu 8): docs/design.md. The reference is
  computed in double, so that it counts as exact for all types but double, where it has errors of its own.
- Functions that are differences (Softplus, Elu, ...) are measured against the largest of their terms.
- Sums and products may be taken in any order: one unit in the last place of the sum of the sizes, for each term.
  A product whose factors above 1, or below, go beyond the range of their type has no order-free result: it may be
  infinite, 0 or NaN (0 times what has overflowed), and is free.
- Shrink of integers is exact; the reference computes it in double, and is not asked beyond 2^53.
- Quantizing divides by the scale in float: where the quotient is half way between two numbers, either may come.
- 16-bit floats are computed in float and rounded once: a unit of theirs comes on top of what float may differ by."""

import math
import warnings

import arrays
import graph_held
import graph_models
import graph_norms
import casts
import graph_run
import ml_dtypes
import numpy as np
import reference
from onnx import helper
from onnx.reference import ReferenceEvaluator

FLOATS = reference.FLOATS
MOVES = {"Identity", "Transpose", "Reshape", "Slice", "Expand", "Squeeze", "Unsqueeze", "Flatten", "Split", "Concat",
         "Gather", "Shape", "Size"}
EXACT = MOVES | {"Abs", "Neg", "Sign", "Relu", "Not", "BitwiseNot", "Add", "Sub", "Mul", "Div", "BitShift", "Max",
                 "Min", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater", "Less",
                 "GreaterOrEqual", "LessOrEqual", "Where", "Clip", "PRelu", "Cast", "CastLike", "BitCast", "IsNaN",
                 "IsInf", "Ceil", "Floor", "Round", "ReduceMax", "ReduceMin", "GlobalMaxPool", "MatMulInteger",
                 "Constant", "ConstantOfShape", "Dropout", "Mod", "Sqrt", "Reciprocal"}
ULPS = {"Gelu": 8, "Softmax": 16, "Mish": 12, "Selu": 8, "Elu": 8, "Celu": 8, "Swish": 8, "Sum": 8, "Mean": 8}
TERMS = {"Softplus", "Elu", "Celu", "Selu", "Mish", "Swish", "HardSwish", "HardSigmoid", "Gelu", "Erf", "Shrink",
         "Softsign", "Sum", "Mean", "LeakyRelu"}
SUMS = {"ReduceSum", "ReduceMean", "MatMul", "Gemm", "Conv"}
BLENDS = {"Resize", "GridSample", "AffineGrid"}  # of any elements of the first input
PRODUCTS = {"MatMul", "Gemm"}  # BLAS leaves out products with 0, NaN times 0 too
QUANTA = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearMatMul"}
# Where reference.py knows the operator, it gets these attributes.
OPTIONS = {"Mod": {"fmod": 0}, "BitShift": {"direction": "LEFT"}}
# NaN is dealt with in another way than the reference does, which the specification leaves open.
OPEN_NAN = {"Sign", "Relu", "Clip", "PRelu", "LeakyRelu", "ReduceMax", "ReduceMin", "GlobalMaxPool", "Shrink",
            "HardSigmoid", "HardSwish", "ThresholdedRelu", "Softmax", "Selu", "Elu", "Celu"} | BLENDS | PRODUCTS


def unsigned(array):
    """The array as numbers of its width, for operators that only move elements; strings as numbers of their texts."""
    if array.dtype.names:
        return np.array([CODES.setdefault(t, len(CODES)) for t in arrays.texts_of(array).reshape(-1)],
                        np.int64).reshape(array.shape)
    if array.dtype == np.complex128:
        return array
    return array if array.dtype.kind in "iub" else np.array(array, order="C").view(f"u{array.dtype.itemsize}")


CODES = {}


def evaluator(node, types, opset):
    """onnx.reference for one node, of which the types do not change."""
    if "evaluator" not in node.kept:
        graph = helper.make_graph([graph_models.node_proto(node, types)], "graph",
                                  [graph_models.info_of(name, types[name]) for name in node.inputs if name],
                                  [graph_models.info_of(name, types[name]) for name in node.outputs])
        model = helper.make_model(graph, ir_version=13, opset_imports=[helper.make_opsetid("", opset)])
        node.kept["evaluator"] = ReferenceEvaluator(model)
    return node.kept["evaluator"]


def evaluate(node, operands, types, opset):
    """What onnx.reference gives for one node; None if it cannot."""
    feeds = dict(zip([name for name in node.inputs if name], operands))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [np.asarray(x) for x in evaluator(node, types, opset).run(None, feeds)]
    except Exception:  # its own limits: types and shapes that it does not know
        return None


def by_numpy(node, operands):
    if node.op not in reference.FUNCTIONS or (node.op in SUMS and operands[0].dtype.kind not in "iu"):
        return None
    options = node.attributes if node.op == "Gemm" else {
        k: node.attributes.get(k, v) for k, v in OPTIONS.get(node.op, {}).items()}
    with np.errstate(all="ignore"):
        return [np.asarray(reference.FUNCTIONS[node.op](*operands, **options))]


def by_cast(x, source, target):
    """Between types that casts.py knows, as far as the result is defined."""
    if source == target:
        return [x]
    if source not in casts.TYPES or target not in casts.TYPES:
        return None
    if target in casts.WHOLE and source in casts.REAL:
        limits, wide = np.iinfo(arrays.DTYPES[target][1]), x.astype(np.float64)
        if not (np.isfinite(wide) & (wide > float(limits.min) - 1) & (wide < float(limits.max))).all():
            return None
    if x.size > 4096 and source in casts.WHOLE:
        return None  # with exact fractions, that takes long
    return [casts.expected(odd(x) if source == "double" and target == "bfloat16" else x, source, target)]


def odd(x):
    """Doubles as floats, so that rounding them once more is as if the doubles were rounded once: what is cut off shows
    in the last bit."""
    with np.errstate(all="ignore"):
        cut = x.astype(np.float32)
        bits = np.where(np.abs(cut.astype(np.float64)) > np.abs(x), cut.view(np.uint32) - 1, cut.view(np.uint32))
        inexact = np.isfinite(x) & (cut.astype(np.float64) != x)
        return np.where(inexact, bits | 1, cut.view(np.uint32)).astype(np.uint32).view(np.float32)


def wide(array):
    return array.astype(np.float64) if array.dtype.kind in "fV" and not array.dtype.names else array


def by_reference(node, operands, types, opset):
    if node.op not in EXACT | QUANTA:
        operands = [wide(x) for x in operands]
    elif node.op not in MOVES | {"QuantizeLinear"} and any(x.dtype.names or x.dtype.kind == "V" for x in operands):
        operands = [x.astype(np.float32) if x.dtype.kind == "V" and not x.dtype.names else x for x in operands]
    return evaluate(node, operands, types, opset)


def gelu(x, approximate="none"):
    x = wide(x)
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * np.vectorize(math.erfc, [float])(-x / np.sqrt(2))


# onnx.reference gives another rank for five dimensions, and computes some functions of doubles in less than double.
OWN = {"GlobalMaxPool": lambda x: np.max(x, axis=tuple(range(2, x.ndim)), keepdims=True),
       "Erf": lambda x: np.vectorize(math.erf, [float])(wide(x)),
       "HardSwish": lambda x: wide(x) * np.clip(wide(x) / 6 + 0.5, 0, 1),
       "Gelu": gelu}


def has_range(node, operands, types, opset, wanted):
    """Whether the factors of each product above 1 together, and those below, stay within the range of their type."""
    limits = np.finfo(np.float64 if operands[0].dtype == np.float64 else np.float32)
    size = np.abs(wide(operands[0]))
    with np.errstate(all="ignore"):
        above = evaluate(node, [np.maximum(size, 1), *operands[1:]], types, opset)
        below = evaluate(node, [np.where(size > 0, np.minimum(size, 1), 1), *operands[1:]], types, opset)
    return (above[0] <= limits.max) & (below[0] >= limits.tiny) if above and below else np.ones(wanted.shape, bool)


def scale_of(node, operands, types, opset, wanted):
    """What an error is measured against, for each element, and how many terms it was added up from."""
    if node.op in SUMS:
        sizes = evaluate(node, [np.abs(wide(x)) if x.dtype.kind in "fV" else x for x in operands], types, opset)
        count = max((x.size for x in operands), default=1) / max(wanted.size, 1)
        terms = operands[0].shape[-1] if node.op in ("MatMul", "Gemm") and operands[0].ndim else count
        return (np.abs(wide(sizes[0])), 4 + 2 * terms) if sizes else (None, 0)
    scale = np.abs(wide(wanted)) if wanted.dtype.kind in "fV" else np.abs(wanted.astype(np.float64))
    if node.op in BLENDS:
        return np.full(wanted.shape, np.abs(wide(operands[0])).max(initial=0)), 64
    if node.op in TERMS:
        with np.errstate(all="ignore"):
            for x in operands:
                scale = np.maximum(scale, np.maximum(np.abs(wide(x)), 1).astype(np.float64))
    terms = operands[0].size / max(wanted.size, 1) if node.op == "ReduceProd" else 0
    if node.op == "ReduceProd" and operands[0].dtype.kind in "fV":
        scale = np.where(has_range(node, operands, types, opset, wanted), scale, np.inf)
    if node.op == "Softmax" and wanted.size:
        # The difference from the largest is rounded before it is an exponent.
        finite = wide(operands[0])[np.isfinite(wide(operands[0]))]
        terms = min(np.ptp(finite), 750) if finite.size else 0
    return scale, ULPS.get(node.op, 4) + terms


def unit_of(dtype):
    return np.finfo(np.float64 if dtype == np.float64 else np.float32).eps


def is_close(node, operands, types, opset, wanted, got):
    """Whether each element is as near to the wanted one as the operator's row above allows."""
    if wanted.shape != got.shape:
        return np.zeros(1, bool)
    if got.dtype.names:
        texts = arrays.texts_of(wanted) if wanted.dtype.names else np.asarray(wanted, object)
        return np.asarray(arrays.texts_of(got) == texts)
    if got.dtype.name in ("int2", "uint2", "int4", "uint4"):
        wanted, got = wanted.astype(np.int8), got.astype(np.int8)
    if got.dtype.kind in "iub" or node.op in QUANTA and got.dtype.kind in "iu":
        away = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
        if node.op == "Shrink":  # the reference is exact up to 2^53
            return (wanted == got) | (np.abs(operands[0].astype(np.float64)) >= 2**53)
        if node.op not in QUANTA:
            return wanted == got
        # Beyond what integers hold, the reference casts as the machine does; it divides 16-bit floats as such.
        most = 2**26 if operands[0].dtype == np.float32 else 2**11
        free = ~(np.abs(wide(operands[0])) < most) if node.op == "QuantizeLinear" else False
        return (away <= 1) | free
    if got.dtype.kind == "c":
        return (wanted == got) | (wanted != wanted) & (got != got)
    with np.errstate(all="ignore"):
        a, b = wide(wanted).astype(np.float64), wide(got).astype(np.float64)
        rounded = wanted.astype(got.dtype).astype(np.float64)
        same = (a == b) | (rounded == b) | (np.isnan(a) & np.isnan(b))
        if node.op in EXACT:
            return same | ((np.isnan(a) | np.isnan(b)) if node.op in OPEN_NAN else False)
        scale, ulps = once(node, "scale", [wanted, *operands],
                           lambda: scale_of(node, operands, types, opset, wanted))
        if scale is None:
            return np.ones(1, bool)
        own = 0 if got.dtype.itemsize >= 4 else 1.01 * float(ml_dtypes.finfo(got.dtype).eps)
        bound = scale * (ulps * unit_of(got.dtype) + own) + float(ml_dtypes.finfo(got.dtype).tiny)
        largest = float(ml_dtypes.finfo(got.dtype).max)
        # Beyond the largest number, an order of adding may pass through infinity.
        free = ~np.isfinite(scale) | (scale > largest / 4)
        open_nan = (np.isnan(a) | np.isnan(b)) if node.op in OPEN_NAN else False
        return same | (np.abs(a - b) <= bound) | free | open_nan


def mean_of_integers(node, operands):
    """The sum, in 64 bits, over the count, cut off towards zero."""
    x, rank = operands[0], operands[0].ndim
    axes = operands[1].tolist() if len(operands) > 1 else node.attributes.get("axes", [])
    axes = tuple(a % rank for a in axes) if axes else tuple(range(rank))
    kind = np.int64 if x.dtype.kind == "i" else np.uint64
    total = np.sum(x, axis=axes, keepdims=bool(node.attributes.get("keepdims", 1)), dtype=kind)
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return np.asarray(reference.divide(total, np.array(count, kind)).astype(x.dtype))


def once(node, key, operands, make):
    """make(), once for these operands of a node; they do not change."""
    kept = node.kept.get(key)
    if kept is None or not all(a is b for a, b in zip(kept[0], operands)):
        kept = node.kept[key] = operands, make()
    return kept[1]


def expected(node, operands, types, opset):
    """What the outputs should be; None if that is open."""
    if node.op == "Concat":
        return [np.concatenate([unsigned(x) for x in operands], node.attributes["axis"])]
    if node.op in MOVES:
        return evaluate(node, [unsigned(operands[0]), *operands[1:]], types, opset)
    if node.op == "Cast":
        return by_cast(operands[0], types[node.inputs[0]], types[node.outputs[0]])
    if node.op == "CastLike":
        return by_cast(operands[0], types[node.inputs[0]], types[node.inputs[1]])
    if any(x.dtype.names for x in operands) and not node.op.startswith("Cast"):
        return None  # texts that move in other ways: picks.py
    if node.op in graph_norms.ELSEWHERE:
        return None  # norms.py, lines.py, reductions.py, pools.py, picks.py and images.py compare them with numpy
    if node.op == "ReduceMean" and operands[0].dtype.kind in "iu":
        return [mean_of_integers(node, operands)]
    if node.op in OWN:
        with np.errstate(all="ignore"):
            return [np.asarray(OWN[node.op](*operands, **node.attributes))]
    given = iter(operands)
    operands = [next(given) if name else None for name in node.inputs] if node.op == "Clip" else operands
    if len(operands) == sum(1 for name in node.inputs):
        try:
            wanted = by_numpy(node, operands)
        except reference.DivisionByZero:
            return None
        if wanted is not None:
            return wanted
    return by_reference(node, operands, types, opset)


def judge(node, known, types, opset, results=None):
    """None, or what is wrong with the results of a node (those in `known` if they are not given); "" if nothing says
    what is right."""
    operands = [known[name] for name in node.inputs if name]
    if node.op in graph_held.OPERATORS and (node.op != "Identity" or graph_held.is_held(types[node.inputs[0]])):
        name = node.outputs[0]
        got = (types[name], known[name] if results is None else results[0])
        return graph_run.differs(node.op, graph_held.expected(node, known, types), got, types[name])
    wanted = once(node, "expected", operands, lambda: expected(node, operands, types, opset))
    if wanted is None:
        return ""
    for i, name in enumerate(node.outputs):
        if not name or i >= len(wanted):
            continue
        got = known[name] if results is None else results[i]
        if node.op in MOVES and node.op not in ("Shape", "Size"):
            got = unsigned(got)
        close = is_close(node, operands, types, opset, wanted[i], got)
        if not close.all():
            return describe(node, name, operands, wanted[i], got, close)
    return None


def describe(node, name, operands, wanted, got, close):
    if wanted.shape != got.shape:
        return f"{node.op}: {name} is of shape {list(got.shape)}, not {list(wanted.shape)}"
    at = tuple(int(i) for i in np.argwhere(~close)[0])
    near = [x[at] for x in operands if x.shape == got.shape]
    return f"{node.op}: {name}{list(at)} is {got[at]!r}, not {wanted[at]!r}" + (f", of {near}" if near else "")
