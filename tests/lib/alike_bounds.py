"""alike_bounds.py: how far results may be apart where weights are laid out for one of two runs alone, and other loops
than for given ones add up products in another order. u is half a unit in the last place of the type that is computed in;
results of 16 bits are rounded once more, to a unit of their own. Where other nodes follow a product, its own results
are rounded so, too, and may cancel behind that: they are S at most.

- Sums of k products, in any order and with products rounded or not, are within k * u * S of the exact ones, where S is
  the sum of the products' absolute values: the same operators on absolute values give S, and on ones k.
- Winograd's algorithm has errors of eight times those of plain sums, in the largest S.
- x * factor + offset, of BatchNormalization with known parameters, and (x - mean) * factor + bias are at most 9 * u * S
  apart, S = |factor| * (|x| + |mean|) + |bias|. The steps round the difference, the sum and the root of the variance
  (half an error), the quotient, the product: 4.5; the line rounds the factor, the offset and the product: 3; both round
  their sum.
- Recurrent networks apply functions to sums: OX_CHECK_COMPOSED_ERRORS * u of the largest result
  (src/runtime/check_bounds.h).

- What QuantizeLinear makes of a float that lies between two steps may be either of them. So in networks of quantized
  tensors, whose weights nodes make of bytes, results are a step apart at most even where all inputs are constants.

A graph with several products has no bound of its own. Its steps are checked one by one instead, each on its own inputs,
with the bounds of check_bounds.h (ox_options.check)."""

import arrays
import numpy as np
import onnx
import oxlib
from onnx import numpy_helper

PLAIN_SUMS = {"Conv", "FusedMatMul", "Gemm", "MatMul", "NhwcConv", "TransposeMatMul"}
SUMS = PLAIN_SUMS | {"FusedConv", "FusedGemm", "MatMulBnb4", "MatMulNBits", "NhwcFusedConv"}
COMPOSED = {"GRU", "LSTM", "RNN"}
LINE = "BatchNormalization"
LAID_OUT = SUMS | COMPOSED | {LINE}
HALF_UNIT = {"double": 2.0**-53, "float": 2.0**-24, "float16": 2.0**-24, "bfloat16": 2.0**-24}
UNIT = {"double": 0, "float": 0, "float16": 2.0**-10, "bfloat16": 2.0**-7}
SMALLEST = {"double": 5e-324, "float": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
BEHIND = 4  # roundings of alpha, beta, a bias, a residual sum
WINOGRAD, LINE_ERRORS, COMPOSED_ERRORS = 1 + 8, 9, 4096
MONOTONE = PLAIN_SUMS | {"Abs", "Add", "Relu", LINE}  # of absolute values, they give a bound of what they give otherwise


def parameters_known(sample, chosen):
    """Whether all but the first input of a BatchNormalization are constants, which it then makes a line of."""
    known = {*chosen, *(t.name for t in sample.graph.initializer)}
    return any(n.op_type == LINE and set(n.input[1:]) <= known and n.input[0] not in known for n in sample.nodes)


def is_laid_out(sample):
    return bool(sample.ops & LAID_OUT) or any(is_projected(n) for n in sample.nodes)


def is_projected(node):
    """Attention of com.microsoft is a product and attention behind it."""
    return node.op_type == "Attention" and node.domain == "com.microsoft"


def of_whole(sample, wanted):
    """How far each output may be away where all inputs are constants; None where the bits are promised. Weights that
    nodes make of bytes are laid out in the run that is given the inputs, whose steps are checked."""
    if "DequantizeLinear" not in sample.ops or not sample.ops & SUMS:
        return None
    checked(sample, ())
    return [1 if w and w[0] not in HALF_UNIT else True for w in wanted]


def changed(sample, how):
    """All inputs and weights, those of floats made other ones. Variances stay, and means are subtracted."""
    means = {n.input[3] for n in sample.nodes if n.op_type == LINE}
    kept = {n.input[4] for n in sample.nodes if n.op_type == LINE}
    return {name: (type_name, how(array) * array.dtype.type(-1 if name in means else 1))
            for name, (type_name, array) in {**sample.weights(), **sample.feeds}.items()
            if type_name in HALF_UNIT and name not in kept}


def sums(sample, how, factor):
    """The outputs for such inputs, with factors as alpha of Gemm made others, too."""
    factors = [a for n in sample.nodes for a in n.attribute if a.type == onnx.AttributeProto.FLOAT and a.name in ("alpha", "beta")]
    before = [a.f for a in factors]
    for a in factors:
        a.f = factor(a.f)
    try:
        found, _ = sample.run(given=changed(sample, how))
    finally:
        for a, f in zip(factors, before):
            a.f = f
    return [None if f is None else f[1].astype(np.float64) for f in found]


def checked(sample, chosen):
    """Raises an error where a step of the run is not within its bound."""
    sample.settings.check = True
    sample.run(chosen)


def of(sample, chosen, wanted, algorithms):
    """How far each output may be away, as arrays; None where the bits are promised; True where steps are checked."""
    products = [n.op_type for n in sample.nodes if n.op_type in SUMS | COMPOSED or is_projected(n)]
    if not products and not parameters_known(sample, chosen):
        return None
    if len(products) == 1 and products[0] not in SUMS and sample.ops == {products[0]}:
        return [share_of(w) for w in wanted]
    if len(products) + (LINE in sample.ops) > 1 or not sample.ops <= MONOTONE:
        checked(sample, chosen)
        return [True] * len(wanted)
    sizes = sums(sample, np.abs, abs)
    if not products:
        return [bound(w, LINE_ERRORS * s) for w, s in zip(wanted, sizes)]
    times = [BEHIND + np.max(k, initial=0) for k in sums(sample, np.ones_like, lambda _: 1)]
    if any("Winograd" in text for text in algorithms):
        return [bound(w, WINOGRAD * k * np.max(s, initial=0), between(sample, s)) for w, s, k in zip(wanted, sizes, times)]
    return [bound(w, 2 * k * s, between(sample, s)) for w, s, k in zip(wanted, sizes, times)]


def between(sample, sums_of_absolutes):
    """How large a result between two nodes may be; 0 where there is one node."""
    return sums_of_absolutes if len(sample.nodes) > 1 else 0


def bound(wanted, units, between_nodes=0):
    """So many half units, of both results' type; 0 for integers."""
    type_name, array = wanted
    if type_name not in HALF_UNIT:
        return 0
    with np.errstate(invalid="ignore"):  # of infinities, which have to be the same in both
        size = np.abs(array.astype(np.float64)) + between_nodes
        return HALF_UNIT[type_name] * units * 1.02 + UNIT[type_name] * size + SMALLEST[type_name]


def share_of(wanted):
    size = np.abs(wanted[1].astype(np.float64)).max(initial=0)
    return bound(wanted, COMPOSED_ERRORS * size)


def near(one, other, limit):
    """Whether two outputs are within the bound of each other."""
    if one is None or other is None or one[0] != other[0] or one[1].shape != other[1].shape:
        return False
    if limit is True:
        return True
    a, b = one[1].astype(np.float64), other[1].astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b))))
