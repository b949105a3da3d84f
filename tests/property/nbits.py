"""nbits.py [--seed N] [--cases N]: operators on weights of 2, 4 and 8 bits in blocks (com.microsoft): random sizes, block
sizes, zero points of every kind, groups and biases, weights and inputs, one thread and three, every way beside the plain one, against float64, and against
ONNX Runtime where that has the operator for these types."""

import sys

import ml_dtypes
import numpy as np
import one_node
import onnxruntime
import trials

DOMAIN = "com.microsoft"
WORDS = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int4": np.int8, "uint4": np.uint8}
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
    if rng.random() < 0.4:
        k = int(rng.choice([1, 2, 3, 32, 64, 128, 256, 288, 528, 700]))
    rows = [int(d) for d in rng.integers(1, [4, 6])] if rng.random() < 0.5 else [int(rng.choice([1, 1, 2, 3, 7, 33]))]
    return n, k, rows


def large_sizes(rng):
    """The same, of weights that take more than 64 KB in 2 bits or 4."""
    n, k = int(rng.integers(500, 700)), int(rng.integers(530, 700))
    if rng.random() < 0.7:  # rows that fill whole bytes
        n, k = -n // 4 * -4, -k // 4 * -4
    return n, k, [int(rng.choice([1, 2, 9]))]


def rounded(a, block):
    """Rows as accuracy_level 4 has them: bytes with a scale for each block, but for those with huge elements."""
    a, k, huge = a.astype(np.float32), a.shape[-1], (np.abs(a) >= 2.0 ** 100).any(-1, keepdims=True)
    given, a = a, np.where(huge, 0, a)
    blocks = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, -k % block)]).reshape(*a.shape[:-1], -1, block)
    scales = np.maximum(np.abs(blocks).max(-1, keepdims=True) / np.float32(127), np.finfo(np.float32).tiny)
    return np.where(huge, given, (np.rint(blocks / scales) * scales.astype(np.float64)).reshape(*a.shape[:-1], -1)[..., :k])


def with_infinity(rng, a):
    a = a.copy()
    a.reshape(-1)[int(rng.integers(a.size))] = np.inf
    return a


def nbits(rng):
    kind, bits = str(rng.choice(["float", "float", "float16", "bfloat16"])), int(rng.choice([2, 4, 4, 8]))
    block, (n, k, rows) = int(rng.choice([16, 32, 64, 128, 256, 512, 1024])), sizes(rng)
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
        near = codes[:, ::block] + rng.normal(size=(n, blocks)) * 1e-3  # little is left of a weight
        point, zeros = narrow(kind, near if rng.random() < 0.5 else rng.uniform(-2, 2 ** bits, (n, blocks)))
    group = None
    if not (groups == np.arange(k) // block).all():
        padded = np.pad(groups, (0, blocks * block - k)) if rng.random() < 0.5 else groups
        group = "int32", padded.astype(np.int32)
    bias, wide_bias = narrow(kind, rng.normal(size=n)) if rng.random() < 0.4 else (None, 0)
    if flat:
        scales, point = ((t and (t[0], t[1].reshape(-1))) for t in (scales, point))
    if way in ("none", "packed") and not group and rng.random() < 0.2:  # a scale that is infinite, and all weights above 0
        (a, wide), at = narrow(kind, rng.uniform(1, 2, [*rows, k])), (int(rng.integers(0, n)), int(rng.integers(0, blocks)))
        scales[1].reshape(n, blocks)[at] = wide_scales[at] = np.inf
        codes[at[0], at[1] * block:][:block] = 2 ** bits - 1
        if way == "packed":
            zeros[at] = rng.integers(0, 2 ** bits - 1)
            point = "uint8", pack(zeros, bits)
            point = (point[0], point[1].reshape(-1)) if flat else point
    elif way == "none" and rng.random() < 0.3:  # an element of A that is, and all weights above 0
        (a, wide), codes = narrow(kind, with_infinity(rng, wide)), np.maximum(codes, 2 ** (bits - 1) + 1)
        scales, wide_scales = narrow(kind, np.abs(wide_scales))
    weights = (codes[:, :k] - zeros[:, groups]) * wide_scales[:, groups]
    attributes = {"N": n, "K": k, "bits": bits, "block_size": block}
    if rng.random() < 0.6:
        attributes["accuracy_level"] = int(rng.choice([0, 1, 2, 3, 4, 4, 4, 4]))
    if attributes.get("accuracy_level") == 4:
        wide = rounded(wide, block)
    inputs = [a, ("uint8", pack(codes.reshape(n, blocks, block), bits)), scales, point, group, bias]
    bound, apart = (np.abs(wide) @ size.T + np.abs(wide_bias)
                    for size in (np.abs(weights), (codes[:, :k] + np.abs(zeros[:, groups])) * np.abs(wide_scales[:, groups])))
    return "MatMulNBits", inputs, kind, attributes, wide @ weights.T + wide_bias, bound, apart


def far_scales(rng):
    """Scales of A and of weights whose products underflow, or overflow where all weights are 0; weights that are
    rounded below the smallest normal number; or elements of A near the greatest or the least one, whose sums overflow or
    lose bits before they are scaled."""
    block, (n, k, rows) = int(rng.choice([16, 32, 64])), sizes(rng)
    way = str(rng.choice(["small", "large", "fine", "huge", "tiny"]))
    blocks, high, idle = -(-k // block), float(2.0 ** rng.integers(50, 110)), rng.random(n) < 0.5
    size = {"small": 2.0 ** -85, "large": high, "fine": 2.0 ** 90, "huge": 2.0 ** 125, "tiny": 2.0 ** -144}[way]
    a, wide = narrow("float", np.clip(rng.normal(size=[*rows, k]), -7, 7) * size)
    level = int(rng.integers(0, 5)) if way in ("huge", "tiny") else 4
    if level == 4:
        wide = rounded(wide, block)
    codes, zeros = rng.integers(0, 16, (n, blocks * block)), np.full((n, blocks), 8.0)
    size = {"small": 2.0 ** -60, "large": np.where(idle, 2.0 ** 100, 1 / high)[:, None], "fine": 2.0 ** -143,
            "huge": 2.0 ** -40, "tiny": 2.0 ** 110}[way]
    scales, wide_scales = narrow("float", rng.uniform(1, 2, (n, blocks)) * size)
    point = None
    if way == "large":
        codes[idle] = 8
    elif way in ("fine", "tiny") or (way == "huge" and rng.random() < 0.3):
        point, zeros = narrow("float", rng.uniform(0, 16, (n, blocks)))
    weights = (codes[:, :k] - np.repeat(zeros, block, 1)[:, :k]) * np.repeat(wide_scales, block, 1)[:, :k]
    inputs = [a, ("uint8", pack(codes.reshape(n, blocks, block), 4)), scales, point]
    bound = np.abs(wide) @ np.abs(weights).T
    return "MatMulNBits", inputs, "float", {"N": n, "K": k, "block_size": block, "accuracy_level": level}, wide @ weights.T, bound


def long_block(rng):
    """A block whose products of bytes, as they are, add up to more than 32 bits hold."""
    block, rows = 1 << 17, [int(rng.integers(4, 9))]
    k = block - int(rng.integers(0, 3))
    a, wide = narrow("float", rng.uniform(0.9, 1, [*rows, k]))
    scales, wide_scales = narrow("float", np.full((1, 1), 0.01))
    wide, weights = rounded(wide, block), np.full((k, 1), (255 - 128) * wide_scales[0, 0])
    inputs = [a, ("uint8", np.full((1, 1, block), 255, np.uint8)), scales]
    attributes = {"N": 1, "K": k, "bits": 8, "block_size": block, "accuracy_level": 4}
    bound = np.abs(wide) @ np.abs(weights)
    return "MatMulNBits", inputs, "float", attributes, wide @ weights, bound, 2 * bound


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


def gather(rng):
    """The data of int4 and uint4 may be gathered and quantised along any axes, that of bytes along the first and last."""
    kind, word = str(rng.choice(["float", "float16", "bfloat16"])), str(rng.choice(["uint8", "int4", "uint4"]))
    bits = int(rng.choice([2, 4, 8])) if word == "uint8" else 4
    dims = [int(d) for d in rng.integers(1, 12, int(rng.integers(2 if word == "uint8" else 1, 4)))]
    axis, along = (int(rng.integers(0, len(dims))) for _ in range(2))
    if word == "uint8":
        axis, along = 0, len(dims) - 1
    dims[along] = int(rng.integers(1, 30)) * (8 // bits)
    block = int(rng.choice([16, 32, 64, 128]))
    blocks = -(-dims[along] // block)
    low = -8 if word == "int4" else 0
    codes = rng.integers(low, low + 2 ** bits, dims)
    counts = dims[:along] + [blocks] + dims[along + 1:]
    scales, wide_scales = narrow(kind, rng.uniform(0.01, 0.1, counts) * rng.choice([-1, 1], counts))
    zeros = rng.integers(low, low + 2 ** bits, counts) if rng.random() < 0.6 else None
    indices = rng.integers(-dims[axis] - 1, dims[axis] + 1, [int(d) for d in rng.integers(1, 5, int(rng.integers(0, 3)))])
    point = np.full(counts, 2 ** (bits - 1) if word == "uint8" else 0) if zeros is None else zeros
    weights = (codes - np.repeat(point, block, along).take(range(dims[along]), along)) * \
        np.repeat(wide_scales, block, along).take(range(dims[along]), along)
    right = np.take(weights, np.clip(indices, -dims[axis], dims[axis] - 1), axis)
    known = (indices >= -dims[axis]) & (indices < dims[axis])
    right *= known.reshape(known.shape + (1,) * (len(dims) - axis - 1))
    packed = [t if t is None else (word, pack(t, bits) if word == "uint8" else t.astype(WORDS[word]))
              for t in (codes, zeros)]
    attributes = {"bits": bits, "block_size": block, "gather_axis": axis, "quantize_axis": along - len(dims)}
    inputs = [packed[0], (str(indices.dtype), indices), scales, packed[1]]
    if rng.random() < 0.5:
        inputs[1] = "int32", indices.astype(np.int32)
    return "GatherBlockQuantized", inputs, kind, attributes, right, np.abs(right)


DRAW = [nbits, nbits, codes_of_4_bits, gather, far_scales]
LONG = 101  # turns from one long block to the next


def given(op):
    """The input that is no weight."""
    return 1 if op.startswith("Gather") else 0


def by_runtime(op, inputs, kind, attributes):
    """What ONNX Runtime gives where all but A are weights; None where it has no kernel, as for some of these types,
    groups and floats as zero points. It takes no notice of transB, and with groups none of zero points: 8 stands for
    all of them, in 2 bits, too."""
    if attributes.get("accuracy_level") == 4 or attributes["block_size"] > 256 or not attributes.get("transB", 1) or \
            (len(inputs) > 4 and inputs[4] and (inputs[3] or attributes["bits"] != 4)):
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    data = one_node.model(op, 1, inputs, set(range(len(inputs))) - {given(op)}, [kind], attributes, DOMAIN)
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, {f"x{given(op)}": inputs[given(op)][1]})[0]
    except tuple(getattr(onnxruntime.capi.onnxruntime_pybind11_state, name) for name in ("Fail", "NotImplemented")):
        if kind == "float" and op == "MatMulNBits" and attributes["bits"] == 4 and len(inputs) == 3:
            raise
        return None


def away(got, right, bound, limit):
    """What is wrong, if elements are further off than a share of the sums of absolute values."""
    if got.shape != right.shape:
        return f"shape {got.shape} instead of {right.shape}"
    away = np.abs(np.subtract(got, right, where=got != right, out=np.zeros_like(right)))  # infinite ones are alike
    off = away - limit * (np.where(np.isfinite(right), bound, 0) + 1e-3)
    return f"off by {away.max():.3g}" if not (off <= 0).all() else None


def case(rng, turn):
    op, inputs, kind, attributes, right, bound, *apart = (long_block if turn % LONG == LONG - 1 else DRAW[turn % len(DRAW)])(rng)
    while inputs[-1] is None:
        inputs.pop()
    fixed = {i for i in range(len(inputs)) if i != given(op)}
    if rng.random() < 0.4:
        fixed = {i for i in fixed if rng.random() < 0.5}
    data = one_node.model(op, 1, inputs, fixed, [kind], attributes, DOMAIN)
    what = f"{op} {[i and (i[0], i[1].shape) for i in inputs]} weights {sorted(fixed)} {attributes}"
    first, wrong = one_node.steady(data, inputs, fixed, check=True)
    if wrong:
        return f"{what}: {wrong}"
    got = first[0].astype(np.float64)
    wrong = away(got, right, bound, LIMITS[kind])
    if wrong:
        return f"{what}: {wrong}"
    theirs = by_runtime(op, inputs, kind, attributes) if np.isfinite(right).all() else None
    # It scales weights and zero points apart, so that what is left of them when they are near has their errors.
    wrong = theirs is not None and away(got, theirs.astype(np.float64), (apart or [bound])[0], 2 * LIMITS[kind])
    return f"{what}: {wrong} from ONNX Runtime" if wrong else None


if __name__ == "__main__":
    sys.exit(trials.run(case, 400))
