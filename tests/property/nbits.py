"""nbits.py [--seed N] [--cases N]: operators on weights of 2, 4 and 8 bits in blocks (com.microsoft): random sizes, block
sizes, zero points of every kind, groups and biases, weights and inputs, one thread and three, against float64, and against
ONNX Runtime where that has the operator for these types."""

import sys

import ml_dtypes
import numpy as np
import one_node
import onnxruntime
import oxlib
import trials

DOMAIN = "com.microsoft"
WORDS = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
LIMITS = {"float": 2e-5, "float16": 2e-3, "bfloat16": 1e-2}
CODES = ([0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, -0.0, -5.208333333e-03, -0.66666667, -1,
          -0.33333333, -0.5, -0.16666667, -0.25],
         [-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
          -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
          0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1])


def narrow(kind, array):
    """The array in that type, and what it holds then, in float64."""
    array = np.asarray(array).astype(WORDS[kind])
    return (kind, array), array.astype(np.float64)


def pack(codes, bits):
    """Codes of rows, the lowest bits first."""
    each = 8 // bits
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)])
    split = codes.reshape(*codes.shape[:-1], -1, each).astype(np.uint8)
    return np.bitwise_or.reduce(split << (np.arange(each, dtype=np.uint8) * bits), axis=-1)


def sizes(rng, n_most=90, k_most=300):
    """N, K, and how many rows of A there are before the last dimension."""
    n, k = int(rng.integers(1, n_most)), int(rng.integers(1, k_most))
    if rng.random() < 0.3:
        k = int(rng.choice([32, 64, 128, 256, 288]))
    rows = [int(d) for d in rng.integers(1, [4, 6])] if rng.random() < 0.5 else [int(rng.choice([1, 1, 2, 3, 7, 33]))]
    return n, k, rows


def nbits(rng):
    kind, bits = str(rng.choice(["float", "float", "float16", "bfloat16"])), int(rng.choice([2, 4, 4, 8]))
    block, (n, k, rows) = int(rng.choice([16, 32, 64, 128, 256])), sizes(rng)
    blocks = -(-k // block)
    a, wide = narrow(kind, rng.normal(size=[*rows, k]))
    codes = rng.integers(0, 2 ** bits, (n, blocks * block))
    scales, wide_scales = narrow(kind, rng.uniform(0.01, 0.1, (n, blocks)) * rng.choice([-1, 1], (n, blocks)))
    flat = rng.random() < 0.2
    groups = rng.integers(0, blocks, k) if rng.random() < 0.2 else np.arange(k) // block
    zeros, way = np.full((n, blocks), 2.0 ** (bits - 1)), str(rng.choice(["none", "packed", "packed", "floats"]))
    point = None
    if way == "packed":
        zeros = rng.integers(0, 2 ** bits, (n, blocks))
        point = "uint8", pack(zeros, bits)
    elif way == "floats":
        point, zeros = narrow(kind, rng.uniform(0, 2 ** bits, (n, blocks)))
    group = None
    if not (groups == np.arange(k) // block).all():
        padded = np.pad(groups, (0, blocks * block - k)) if rng.random() < 0.5 else groups
        group = "int32", padded.astype(np.int32)
    bias, wide_bias = narrow(kind, rng.normal(size=n)) if rng.random() < 0.4 else (None, 0)
    if flat:
        scales, point = ((t and (t[0], t[1].reshape(-1))) for t in (scales, point))
    weights = (codes[:, :k] - zeros[:, groups]) * wide_scales[:, groups]
    attributes = {"N": n, "K": k, "bits": bits, "block_size": block}
    if rng.random() < 0.6:
        attributes["accuracy_level"] = int(rng.integers(0, 4))
    inputs = [a, ("uint8", pack(codes.reshape(n, blocks, block), bits)), scales, point, group, bias]
    bound = np.abs(wide) @ np.abs(weights).T + np.abs(wide_bias)
    return "MatMulNBits", inputs, kind, attributes, wide @ weights.T + wide_bias, bound


def codes_of_4_bits(rng):
    kind, quant = str(rng.choice(["float", "float", "float16", "bfloat16"])), int(rng.integers(0, 2))
    block, (n, k, rows) = int(rng.choice([16, 32, 64, 128])), sizes(rng)
    codes = rng.integers(0, 16, n * k + (n * k & 1))
    scales, wide_scales = narrow(kind, rng.uniform(0.01, 0.1, -(-n * k // block)))
    attributes = {"N": n, "K": k, "block_size": block, "quant_type": quant}
    if rng.random() < 0.3:
        attributes["transB"] = int(rng.integers(0, 2))
    forward = attributes.get("transB", 1)
    weights = (np.array(CODES[quant])[codes[:n * k]] * np.repeat(wide_scales, block)[:n * k]).reshape(n, k)
    weights = weights.T if forward else weights
    a, wide = narrow(kind, rng.normal(size=[*rows, len(weights)]))
    packed = (codes[::2] << 4 | codes[1::2]).astype(np.uint8)
    return "MatMulBnb4", [a, ("uint8", packed), scales], kind, attributes, wide @ weights, np.abs(wide) @ np.abs(weights)


DRAW = [nbits, nbits, codes_of_4_bits]


def by_runtime(op, inputs, kind, attributes):
    """What ONNX Runtime gives where all but A are weights; None where it has no kernel, as for some of these types,
    groups and floats as zero points. It takes no notice of transB, and with groups none of zero points: 8 stands for
    all of them, in 2 bits, too."""
    if not attributes.get("transB", 1) or (len(inputs) > 4 and inputs[4] and (inputs[3] or attributes["bits"] != 4)):
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    data = one_node.model(op, 1, inputs, set(range(1, len(inputs))), [kind], attributes, DOMAIN)
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, {"x0": inputs[0][1]})[0]
    except tuple(getattr(onnxruntime.capi.onnxruntime_pybind11_state, name) for name in ("Fail", "NotImplemented")):
        if kind == "float" and op == "MatMulNBits" and attributes["bits"] == 4 and len(inputs) == 3:
            raise
        return None


def away(got, right, bound, limit):
    """What is wrong, if elements are further off than a share of the sums of absolute values."""
    if got.shape != right.shape:
        return f"shape {got.shape} instead of {right.shape}"
    off = np.abs(got - right) - limit * (bound + 1e-3)
    return f"off by {np.abs(got - right).max():.3g}" if not (off <= 0).all() else None


def case(rng, turn):
    op, inputs, kind, attributes, right, bound = DRAW[turn % len(DRAW)](rng)
    while inputs[-1] is None:
        inputs.pop()
    fixed = set(range(1, len(inputs))) if rng.random() < 0.6 else {i for i in range(1, len(inputs)) if rng.random() < 0.5}
    data = one_node.model(op, 1, inputs, fixed, [kind], attributes, DOMAIN)
    what = f"{op} {[i and (i[0], i[1].shape) for i in inputs]} weights {sorted(fixed)} {attributes}"
    try:
        first, again = one_node.results(data, inputs, fixed, 1)
        other = one_node.results(data, inputs, fixed, 3)[0]
    except oxlib.OxError as error:
        return f"{what}: {error}"
    if not one_node.same(first, again) or not one_node.same(first, other):
        return f"{what}: another run or three threads give other bits"
    got = first[0].astype(np.float64)
    wrong = away(got, right, bound, LIMITS[kind])
    if wrong:
        return f"{what}: {wrong}"
    theirs = by_runtime(op, inputs, kind, attributes)
    wrong = theirs is not None and away(got, theirs.astype(np.float64), bound, 2 * LIMITS[kind])
    return f"{what}: {wrong} from ONNX Runtime" if wrong else None


if __name__ == "__main__":
    sys.exit(trials.run(case, 400))
