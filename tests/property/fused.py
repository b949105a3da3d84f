"""fused.py [--seed N] [--cases N]: the operators of com.microsoft that optimisers make of others, against ONNX Runtime,
whose own they are, and experimental ones of ONNX's first opsets, which it still runs: random shapes and attributes, optional inputs left out, weights and inputs, one thread and three."""

import sys

import nodes
import numpy as np
import one_node
import onnxruntime
import trials

DOMAIN = "com.microsoft"
LIMITS = {"double": 1e-6, "float": 2e-4, "float16": 1e-2}
WORDS = {"double": np.float64, "float": np.float32, "float16": np.float16}


def some(rng, kind, *dims):
    return kind, rng.normal(size=[int(d) for d in dims]).astype(WORDS[kind])


def maybe(rng, value, often=0.5):
    return value if rng.random() < often else None


def dims_of(rng, least=1, most=4, longest=20):
    return [int(d) for d in rng.integers(1, longest, int(rng.integers(least, most + 1)))]


def some_of(rng, attributes, often=0.6):
    return {name: value for name, value in attributes.items() if rng.random() < often}


# ---- Floats ----------------------------------------------------------------------------------------------------------

def gelu(rng):
    op = str(rng.choice(["Gelu", "FastGelu", "BiasGelu", "QuickGelu"]))
    dims = dims_of(rng, 1, 4, 40)
    inputs = [some(rng, "float", *dims)]
    if op == "BiasGelu" or (op == "FastGelu" and rng.random() < 0.5):
        inputs.append(some(rng, "float", dims[-1]))
    attributes = some_of(rng, {"alpha": float(rng.uniform(0.5, 2))}) if op == "QuickGelu" else {}
    return op, inputs, ["float"], attributes


def fused_matmul(rng):
    kind = str(rng.choice(["float", "float", "double"]))
    m, n, k = (int(d) for d in rng.integers(1, 40, 3))
    batch = dims_of(rng, 0, 2, 4)
    attributes = some_of(rng, {name: int(rng.integers(0, 2)) for name in ("transA", "transB")})
    attributes |= some_of(rng, {"alpha": float(rng.choice([1, 0.125, -2.5]))})
    operands = []
    for name, rows, columns in (("A", m, k), ("B", k, n)):
        matrix = [columns, rows] if attributes.get("trans" + name) else [rows, columns]
        own = batch[int(rng.integers(0, len(batch) + 1)):] if rng.random() < 0.3 else list(batch)
        own = [1 if rng.random() < 0.1 else d for d in own]
        dims = own + matrix
        if len(own) and rng.random() < 0.3:
            attributes["transBatch" + name] = 1
            dims = [dims[-2], *own, dims[-1]]
        operands.append(dims)
    if any("Batch" in name for name in attributes) and len(operands[0]) != len(operands[1]):
        return fused_matmul(rng) # ONNX Runtime has that for batches of one rank alone
    return "FusedMatMul", [some(rng, kind, *dims) for dims in operands], [kind], attributes


def fused_gemm(rng):
    m, n, k = (int(d) for d in rng.integers(1, 40, 3))
    attributes = some_of(rng, {"transA": int(rng.integers(0, 2)), "transB": int(rng.integers(0, 2)),
                               "alpha": float(rng.uniform(0.5, 2)), "beta": float(rng.uniform(0.5, 2))})
    name = str(rng.choice(["Relu", "LeakyRelu", "Elu", "HardSigmoid", "Sigmoid", "Softplus", "Softsign", "Tanh",
                           "ThresholdedRelu", "Selu"]))
    attributes["activation"] = name
    if name in ("LeakyRelu", "Elu", "HardSigmoid", "ThresholdedRelu", "Selu"):
        attributes["activation_alpha"] = float(rng.uniform(0.1, 1))
    if name == "HardSigmoid":
        attributes["activation_beta"] = float(rng.uniform(0.1, 1))
    if name == "Selu":
        attributes["activation_gamma"] = float(rng.uniform(0.5, 2))
    a = [k, m] if attributes.get("transA") else [m, k]
    b = [n, k] if attributes.get("transB") else [k, n]
    c = [[n], [1, n], [m, n], [m, 1], [1]][int(rng.integers(0, 5))]
    return "FusedGemm", [some(rng, "float", *a), some(rng, "float", *b), maybe(rng, some(rng, "float", *c), 0.8)], \
        ["float"], attributes


def fused_conv(rng):
    rank, group = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    inner, outer = int(rng.integers(1, 6)), int(rng.integers(1, 6)) * group
    kernel = [int(d) for d in rng.integers(1, 4, rank)]
    spatial = [int(d) for d in rng.integers(4, 12, rank)]
    strides, dilations = ([int(d) for d in rng.integers(1, 3, rank)] for _ in range(2))
    pads = [int(d) for d in rng.integers(0, 2, 2 * rank)]
    out = [(s + pads[d] + pads[d + rank] - (dilations[d] * (kernel[d] - 1) + 1)) // strides[d] + 1
           for d, s in enumerate(spatial)]
    if min(out) < 1:
        return fused_conv(rng)
    attributes = {"group": group, "pads": pads, "strides": strides, "dilations": dilations}
    attributes |= some_of(rng, {"kernel_shape": kernel})
    name = str(rng.choice(["", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"]))
    if name:
        attributes["activation"] = name
    if name in ("LeakyRelu", "Clip", "HardSigmoid"):
        attributes["activation_params"] = {"LeakyRelu": [0.3], "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4]}[name]
    batch = int(rng.integers(1, 3))
    return "FusedConv", [some(rng, "float", batch, inner * group, *spatial), some(rng, "float", outer, inner, *kernel),
                         maybe(rng, some(rng, "float", outer)), maybe(rng, some(rng, "float", batch, outer, *out))], \
        ["float"], attributes


def nhwc_conv(rng):
    """FusedConv and Conv of images whose channels are last: ONNX Runtime has no such kernels here, but those."""
    _, inputs, outputs, attributes = fused_conv(rng)
    activated = rng.random() < 0.7
    if not activated:
        inputs = inputs[:3]
        attributes = {k: v for k, v in attributes.items() if "activation" not in k}
    images = [i and (i[0], np.moveaxis(i[1], 1, -1)) if k in (0, 3) else i for k, i in enumerate(inputs)]
    return "NhwcFusedConv" if activated else "NhwcConv", images, outputs, attributes


def skip_norm(rng):
    simple = bool(rng.random() < 0.4)
    kind = str(rng.choice(["float", "float", "float16"]))
    batch, length, size = (int(d) for d in rng.integers(1, [4, 8, 70]))
    dims = [batch, length, size] if rng.random() < 0.8 else [length, size]
    skip = dims if rng.random() < 0.6 else [[1, length, size], [length, size]][int(rng.integers(0, 2))][-len(dims):]
    inputs = [some(rng, kind, *dims), some(rng, kind, *skip), some(rng, kind, size)]
    inputs += [maybe(rng, some(rng, kind, size)) for _ in range(1 if simple else 2)]
    outputs = [kind, None, None, maybe(rng, kind)]
    while outputs[-1] is None:
        outputs.pop()
    return f"Skip{'Simplified' if simple else ''}LayerNormalization", inputs, outputs, \
        {"epsilon": float(rng.choice([1e-5, 1e-12, 1e-3]))}


def simple_norm(rng):
    kind = str(rng.choice(["float", "float", "float16", "double"]))
    dims = dims_of(rng, 1, 4)
    axis = int(rng.integers(-len(dims), len(dims))) if rng.random() < 0.5 else -1
    attributes = {"epsilon": 1e-5, "axis": axis, "stash_type": 1}
    return "SimplifiedLayerNormalization", [some(rng, kind, *dims), some(rng, kind, *dims[axis % len(dims):])], \
        [kind], attributes


# ---- Quantised tensors -----------------------------------------------------------------------------------------------

def bytes_of(rng, kind, *dims):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return kind, rng.integers(low, high + 1, [int(d) for d in dims]).astype(kind)


def scale(rng, low=0.01, high=0.1, count=None):
    dims = ([], [1])[int(rng.integers(0, 2))] if count is None else [count]
    return "float", np.asarray(rng.uniform(low, high, dims), np.float32)


def zero(rng, kind, count=None):
    dims = ([], [1])[int(rng.integers(0, 2))] if count is None else [count]
    middle = 0 if kind == "int8" else 128
    return kind, np.asarray(rng.integers(middle - 20, middle + 20, dims)).astype(kind)


def quantized_two(rng):
    kind = str(rng.choice(["uint8", "int8"]))
    dims = dims_of(rng)
    other = [1 if rng.random() < 0.2 else d for d in dims][int(rng.integers(0, len(dims))) if rng.random() < 0.3 else 0:]
    inputs = [bytes_of(rng, kind, *dims), scale(rng), maybe(rng, zero(rng, kind), 0.7),
              bytes_of(rng, kind, *other), scale(rng), maybe(rng, zero(rng, kind), 0.7),
              scale(rng, 0.05, 0.2), maybe(rng, zero(rng, kind), 0.7)]
    if rng.random() < 0.5:
        inputs[0], inputs[3] = inputs[3], inputs[0]
    return str(rng.choice(["QLinearAdd", "QLinearMul"])), inputs, [kind], {}


def quantized_one(rng):
    kind, op = str(rng.choice(["uint8", "int8"])), str(rng.choice(["QLinearSigmoid", "QLinearLeakyRelu"]))
    inputs = [bytes_of(rng, kind, *dims_of(rng)), scale(rng), maybe(rng, zero(rng, kind), 0.7), scale(rng, 0.004, 0.02),
              maybe(rng, zero(rng, kind), 0.7)]
    return op, inputs, [kind], some_of(rng, {"alpha": float(rng.uniform(0.05, 0.5))}) if op.endswith("Relu") else {}


def quantized_pool(rng):
    kind = str(rng.choice(["uint8", "int8"]))
    inputs = [bytes_of(rng, kind, *dims_of(rng, 3, 5, 9)), scale(rng), zero(rng, kind), scale(rng), zero(rng, kind)]
    return "QLinearGlobalAveragePool", inputs, [kind], some_of(rng, {"channels_last": int(rng.integers(0, 2))})


def quantized_window(rng):
    kind, rank = str(rng.choice(["uint8", "int8"])), int(rng.integers(1, 4))
    kernel, strides = ([int(d) for d in rng.integers(1, 4, rank)] for _ in range(2))
    spatial = [int(d) for d in rng.integers(4, 20 if rank < 3 else 8, rank)]
    attributes = {"kernel_shape": kernel, "strides": strides, **some_of(rng, {"channels_last": int(rng.integers(0, 2))})}
    # ONNX Runtime divides by the whole kernel where a window ends behind the padding, rounds up with VALID, and takes
    # elements away with SAME where strides are longer than kernels: AveragePool does none of that.
    if rng.random() < 0.3:
        attributes["auto_pad"] = str(rng.choice(["VALID", "SAME_UPPER", "SAME_LOWER"]))
        attributes["strides"] = [min(pair) for pair in zip(kernel, strides)]
    elif rng.random() < 0.6:
        attributes["pads"] = [int(rng.integers(0, d)) for d in kernel * 2]
    if rng.random() < 0.3 and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    else:
        attributes |= some_of(rng, {"count_include_pad": 1})
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 9))
    dims = [batch, *spatial, channels] if attributes.get("channels_last") else [batch, channels, *spatial]
    return "QLinearAveragePool", [bytes_of(rng, kind, *dims), scale(rng), maybe(rng, zero(rng, kind), 0.7), scale(rng),
                                  maybe(rng, zero(rng, kind), 0.7)], [kind], attributes


def nhwc_pool(rng):
    kind, rank = str(rng.choice(["uint8", "int8"])), int(rng.integers(1, 4))
    kernel, strides, dilations = ([int(d) for d in rng.integers(1, 4, rank)] for _ in range(3))
    spatial = [int(d) for d in rng.integers(7, 20 if rank < 3 else 9, rank)]
    attributes = {"kernel_shape": kernel, "strides": strides, **some_of(rng, {"dilations": dilations})}
    if rng.random() < 0.3:
        attributes = {"kernel_shape": kernel, "auto_pad": str(rng.choice(["VALID", "SAME_UPPER", "SAME_LOWER"]))}
    elif rng.random() < 0.6:
        attributes["pads"] = [int(rng.integers(0, d)) for d in kernel * 2]
    dims = [int(rng.integers(1, 3)), *spatial, int(rng.integers(1, 40))]
    return "NhwcMaxPool", [bytes_of(rng, kind, *dims)], [kind], attributes


def quantized_conv(rng):
    left, right = [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")][int(rng.integers(0, 3))]
    rank, group = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 5]))
    inner, outer = int(rng.integers(1, 9)), int(rng.integers(1, 9)) * group
    if rng.random() < 0.2:
        inner = 1
    kernel, strides, dilations = ([int(d) for d in rng.integers(1, 4, rank)] for _ in range(3))
    spatial = [int(d) for d in rng.integers(7, 16 if rank < 3 else 9, rank)]
    attributes = {"group": group, "strides": strides, **some_of(rng, {"kernel_shape": kernel, "dilations": dilations})}
    if rng.random() < 0.2:
        attributes["auto_pad"] = str(rng.choice(["VALID", "SAME_UPPER", "SAME_LOWER"]))
        attributes = {"group": group, "auto_pad": attributes["auto_pad"]}
    elif rng.random() < 0.6:
        attributes["pads"] = [int(rng.integers(0, d)) for d in kernel * 2]
    last = int(rng.random() < 0.7)
    batch, channels = int(rng.integers(1, 3)), inner * group
    dims = [batch, *spatial, channels] if last else [batch, channels, *spatial]
    count = outer if rng.random() < 0.5 else None
    number = np.float32(rng.uniform(0.5, 2) * np.sqrt(inner * np.prod(kernel)))
    point = np.zeros([count or 1] if count else [], right) if right == "int8" else None
    inputs = [bytes_of(rng, left, *dims), scale(rng), zero(rng, left), bytes_of(rng, right, outer, inner, *kernel),
              scale(rng, count=count), zero(rng, right) if point is None else (right, point),
              ("float", number), zero(rng, left),
              maybe(rng, ("int32", rng.integers(-9999, 9999, outer).astype(np.int32)))]
    return "QLinearConv", inputs, [left], {"channels_last": last, **attributes} if last or rng.random() < 0.5 else attributes


def quantized_mean(rng):
    kind, dims = str(rng.choice(["uint8", "int8"])), dims_of(rng)
    axes = [int(a) for a in rng.permutation(len(dims))[:int(rng.integers(1, len(dims) + 1))]]
    axes = [a - len(dims) if rng.random() < 0.3 else a for a in axes]
    inputs = [bytes_of(rng, kind, *dims), scale(rng), maybe(rng, zero(rng, kind), 0.7), scale(rng),
              maybe(rng, zero(rng, kind), 0.7)]
    return "QLinearReduceMean", inputs, [kind], {"axes": axes, "keepdims": int(rng.integers(0, 2))}


def quantized_where(rng):
    kind, dims = str(rng.choice(["uint8", "int8"])), dims_of(rng)
    chosen, other, condition = ([1 if rng.random() < 0.2 else d for d in dims] for _ in range(3))
    inputs = [("bool", rng.random(condition) < 0.5), bytes_of(rng, kind, *chosen), scale(rng), zero(rng, kind),
              bytes_of(rng, kind, *other), scale(rng), zero(rng, kind), scale(rng), zero(rng, kind)]
    return "QLinearWhere", inputs, [kind], {}


def quantized_softmax(rng):
    kind, dims = str(rng.choice(["uint8", "int8"])), [d + 1 for d in dims_of(rng)]
    # With 1/256, ONNX Runtime lets a probability of 1 wrap to 0, and so it does with any scale where an axis is 1.
    inputs = [bytes_of(rng, kind, *dims), scale(rng), zero(rng, kind), ("float", np.asarray(1 / 250, np.float32)),
              (kind, np.asarray(np.iinfo(kind).min, kind))]
    axis = int(rng.integers(-len(dims), len(dims)))
    return "QLinearSoftmax", inputs, [kind], {"opset": int(rng.choice([11, 13])), **some_of(rng, {"axis": axis})}


def quantized_concat(rng):
    kind, dims = str(rng.choice(["uint8", "int8"])), dims_of(rng)
    axis = int(rng.integers(0, len(dims)))
    inputs = [scale(rng), zero(rng, kind)]
    for _ in range(int(rng.integers(1, 5))):
        dims[axis] = int(rng.integers(1, 9))
        inputs += [bytes_of(rng, kind, *dims), scale(rng), zero(rng, kind)]
    return "QLinearConcat", inputs, [kind], {"axis": int(axis - len(dims)) if rng.random() < 0.3 else axis}


def quantized_gemm(rng):
    left, right = [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")][int(rng.integers(0, 3))]
    m, n, k = (int(d) for d in rng.integers(1, 40, 3))
    attributes = some_of(rng, {"transA": int(rng.integers(0, 2)), "transB": int(rng.integers(0, 2)),
                               "alpha": float(rng.uniform(0.5, 2))})
    a = [k, m] if attributes.get("transA") else [m, k]
    b = [n, k] if attributes.get("transB") else [k, n]
    count = n if rng.random() < 0.5 else 1
    c = [[n], [1, n], [m, n], [m, 1], [1]][int(rng.integers(0, 5))]
    bias = ("int32", rng.integers(-9999, 9999, c).astype(np.int32))
    inputs = [bytes_of(rng, left, *a), scale(rng), zero(rng, left), bytes_of(rng, right, *b), scale(rng, count=count),
              zero(rng, right, count), maybe(rng, bias)]
    if rng.random() < 0.5:
        return "QGemm", inputs, ["float"], attributes
    return "QGemm", [*inputs, scale(rng, 1, 3), zero(rng, left)], [left], attributes


def embed_norm(rng):
    batch, length, size, words, positions, segments = (int(d) for d in rng.integers(1, [4, 9, 40, 30, 5, 4]))
    positions += length
    def indices(rows, most):
        return "int32", rng.integers(0, most, (rows, length)).astype(np.int32)
    segmented, masked = rng.random() < 0.6, rng.random() < 0.5
    inputs = [indices(batch, words), indices(batch, segments) if segmented else None, some(rng, "float", words, size),
              some(rng, "float", positions, size), some(rng, "float", segments, size) if segmented else None,
              some(rng, "float", size), some(rng, "float", size), indices(batch, 2) if masked else None,
              maybe(rng, indices(int(rng.choice([1, batch])), positions))]
    outputs = ["float", "int32", maybe(rng, "float")]
    return "EmbedLayerNormalization", inputs, outputs if outputs[2] else outputs[:2], {"epsilon": 1e-12}


def factors(rng):
    """Shapes of a product of matrices, with dimensions before those of A, and perhaps of B."""
    m, n, k = (int(d) for d in rng.integers(1, 40, 3))
    batch = dims_of(rng, 0, 2, 4)
    return [*batch, m, k], [*batch, k, n] if rng.random() < 0.3 else [k, n], n


def quantizing_matmul(rng):
    kind = str(rng.choice(["uint8", "int8"]))
    a, b, n = factors(rng)
    count = n if rng.random() < 0.5 and len(b) == 2 else None # ONNX Runtime takes wrong columns of the bias otherwise
    inputs = [some(rng, "float", *a), bytes_of(rng, kind, *b), scale(rng, count=count),
              maybe(rng, zero(rng, kind, count)), maybe(rng, some(rng, "float", n))]
    return "DynamicQuantizeMatMul", inputs, ["float"], {}


def integer_matmul(rng):
    left, right = [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")][int(rng.integers(0, 3))]
    a, b, n = factors(rng)
    count = n if rng.random() < 0.5 and len(b) == 2 else None # the same
    inputs = [bytes_of(rng, left, *a), bytes_of(rng, right, *b), scale(rng), scale(rng, count=count),
              maybe(rng, zero(rng, left)), maybe(rng, zero(rng, right, count)), maybe(rng, some(rng, "float", n))]
    return "MatMulIntegerToFloat", inputs, ["float"], {}


def matmul_words(rng):
    kinds = [str(rng.choice(["int16", "int16", "uint16"])) for _ in range(2)]
    a, b, _ = factors(rng)
    return "MatMulInteger16", [bytes_of(rng, kinds[0], *a), bytes_of(rng, kinds[1], *b)], ["int32"], {}


def quantized_attention(rng):
    kind = str(rng.choice(["uint8", "int8"]))
    batch, rows, inner, heads, size = (int(d) for d in rng.integers(1, [4, 7, 20, 4, 9]))
    columns, past = 3 * heads * size, int(rng.integers(1, 6)) if rng.random() < 0.4 else 0
    keys = rows + past
    masks = [None, rng.integers(1, keys + 1, [batch]), np.concatenate([rng.integers(keys // 2 + 1, keys + 1, [batch]),
             rng.integers(0, keys // 2 + 1, [batch])]), rng.integers(0, 2, [batch, keys]),
             rng.integers(0, 2, [batch, rows, keys])]
    mask = masks[int(rng.integers(0, 5))]
    count = columns if rng.random() < 0.5 else None
    inputs = [bytes_of(rng, "uint8", batch, rows, inner), bytes_of(rng, kind, inner, columns), some(rng, "float", columns),
              scale(rng, 0.002, 0.01), scale(rng, 0.002, 0.01, count),
              None if mask is None else ("int32", mask.astype(np.int32)), maybe(rng, zero(rng, "uint8")),
              maybe(rng, zero(rng, kind, count)), some(rng, "float", 2, batch, heads, past, size) if past else None]
    attributes = {"num_heads": heads, **some_of(rng, {"unidirectional": int(rng.integers(0, 2))})}
    attributes |= some_of(rng, {"scale": 0.3, "mask_filter_value": -50.0}, 0.3)
    return "QAttention", inputs, ["float", "float"] if past else ["float"], attributes


def convert(rng):
    kind = str(rng.choice(["uint8", "int8", "int16", "uint16"]))
    dims = dims_of(rng)
    axis = int(rng.integers(0, len(dims)))
    count = dims[axis] if rng.random() < 0.5 else None
    attributes = {"axis": axis} if count else {}
    parameter = np.asarray(rng.uniform(0.01, 0.1, [count] if count else []), np.float32)
    point = np.asarray(rng.integers(0, 100, [count] if count else [])).astype(kind)
    if rng.random() < 0.5:
        given = maybe(rng, (kind, point), 0.7)
        return "QuantizeLinear", [some(rng, "float", *dims), ("float", parameter), given], \
            [kind if given else "uint8"], attributes
    return "DequantizeLinear", [bytes_of(rng, kind, *dims), ("float", parameter), maybe(rng, (kind, point), 0.7)], \
        ["float"], attributes


# ---- Experimental operators of ONNX's first opsets -------------------------------------------------------------------

EARLY = {"Affine", "Crop", "DynamicSlice", "ImageScaler", "MeanVarianceNormalization", "ParametricSoftplus", "Scale",
         "ScaledTanh", "ThresholdedRelu"}


def early_map(rng):
    op = str(rng.choice(["Affine", "ParametricSoftplus", "Scale", "ScaledTanh", "ThresholdedRelu"]))
    factors = {"alpha": float(rng.uniform(-2, 2)), "beta": float(rng.uniform(-2, 2))}
    attributes = {"Scale": some_of(rng, {"scale": factors["alpha"]}), "ThresholdedRelu": some_of(rng, {"alpha": 0.3}),
                  "Affine": some_of(rng, factors)}.get(op, factors)
    return op, [some(rng, "float", *dims_of(rng))], ["float"], attributes


def early_image(rng):
    op = str(rng.choice(["Crop", "ImageScaler", "MeanVarianceNormalization"]))
    dims = [int(d) for d in rng.integers(2, 9, 4)]
    attributes = some_of(rng, {"across_channels": int(rng.integers(0, 2)), "normalize_variance": int(rng.integers(0, 2))})
    if op == "ImageScaler":
        attributes = {"bias": rng.normal(size=dims[1]).tolist(), **some_of(rng, {"scale": float(rng.uniform(-2, 2))})}
    elif op == "Crop":
        left, top = (int(rng.integers(0, dims[d])) for d in (3, 2))
        right, bottom = int(rng.integers(0, dims[3] - left)), int(rng.integers(0, dims[2] - top))
        attributes = {"border": [left, top, right, bottom]}
        attributes |= some_of(rng, {"scale": [dims[2] - top - bottom, dims[3] - left - right]})
    return op, [some(rng, "float", *dims)], ["float"], attributes


def early_slice(rng):
    dims = dims_of(rng, 1, 4, 9)
    axes = rng.permutation(len(dims))[:int(rng.integers(1, len(dims) + 1))]
    starts = np.array([int(rng.integers(-dims[a], dims[a])) for a in axes])
    ends = np.array([int(rng.choice([dims[a], 1000, -1, int(rng.integers(1, 9))])) for a in axes])
    if len(axes) == len(dims) and rng.random() < 0.5:
        return "DynamicSlice", [some(rng, "float", *dims), ("int64", starts[np.argsort(axes)]),
                                ("int64", ends[np.argsort(axes)])], ["float"], {}
    return "DynamicSlice", [some(rng, "float", *dims), ("int64", starts), ("int64", ends), ("int64", axes)], ["float"], {}


DRAW = [gelu, early_map, early_image, early_slice, fused_matmul, fused_gemm, fused_conv, skip_norm, simple_norm, quantized_two, quantized_one,
        quantizing_matmul, integer_matmul, convert, quantized_pool, quantized_softmax, quantized_concat, quantized_gemm,
        quantized_window, quantized_where, embed_norm, nhwc_conv, nhwc_pool, quantized_conv, quantized_mean,
        matmul_words, quantized_attention]


# ---- Cases -----------------------------------------------------------------------------------------------------------

def by_runtime(data, inputs, fixed):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {f"x{k}": i[1] for k, i in enumerate(inputs) if i is not None and k not in fixed})


def by_others(op, inputs, outputs, attributes):
    """Operators without a kernel in ONNX Runtime, by others; None for those that it has."""
    if op == "QLinearReduceMean":
        x, by, point, to, other = ((0 if i is None else np.squeeze(i[1]) if k else i[1]) for k, i in enumerate(inputs + [None] * (5 - len(inputs))))
        axes = tuple(attributes["axes"])
        mean = ((x.astype(np.float64) - point) * by).mean(axes, keepdims=bool(attributes["keepdims"]))
        limits = np.iinfo(outputs[0])
        return [np.clip(np.rint(mean / to) + other, limits.min, limits.max).astype(outputs[0])]
    if op == "MatMulInteger16" and any(i[0] == "uint16" for i in inputs): # it has one of int16; sums wrap around
        return [np.matmul(*(i[1].astype(np.int64) for i in inputs)).astype(np.int32)]
    if op in ("NhwcConv", "NhwcFusedConv"):
        first = [i and (i[0], np.moveaxis(i[1], -1, 1)) if k in (0, 3) else i for k, i in enumerate(inputs)]
        data = one_node.model("FusedConv", 21, first, set(), outputs, attributes, DOMAIN)
        return [np.moveaxis(by_runtime(data, first, set())[0], 1, -1)]
    return None


def given(op, inputs, outputs):
    """Zero points, where ONNX Runtime fails without them."""
    if not op.startswith("QLinear") or op == "QLinearConv":
        return inputs
    last = -(-len(inputs) // 3) * 3 - 1 # that of the result is the last one
    full = [i or (outputs[0], np.zeros([], outputs[0])) for i in inputs + [None] * (last - len(inputs))]
    tensors = {"QLinearAdd": (0, 3), "QLinearMul": (0, 3), "QLinearAveragePool": (0,)}.get(op)
    if tensors: # they take lists of one element where those are no weights
        full = [i if k in tensors else (i[0], i[1].reshape([])) for k, i in enumerate(full)]
    return full


def differs(got, wanted, kind):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{got.shape} instead of {wanted.dtype}{wanted.shape}"
    away = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    if kind not in LIMITS:
        return f"off by {away.max():.0f} of {kind}" if away.size and away.max() > 1 else None
    limit = LIMITS[kind] * (1 + np.abs(wanted.astype(np.float64)))
    return f"off by {away.max():.3g}" if not (away <= limit).all() else None


def case(rng, turn):
    op, inputs, outputs, attributes = DRAW[turn % len(DRAW)](rng)
    while inputs[-1] is None:
        inputs.pop()
    fixed = {k for k in range(len(inputs)) if rng.random() < (0.7 if k else 0.1)}
    if rng.random() < 0.3:
        fixed = set()
    if op == "EmbedLayerNormalization": # ONNX Runtime looks at shapes that this model does not state
        fixed = {2, 3, 4, 5, 6}
    if op == "QLinearConv": # ONNX Runtime takes none of these from a run
        fixed |= {1, 2, 4, 5, 6, 7}
    if op == "QLinearWhere" and fixed & {7, 8}: # ONNX Runtime crashes where some of them alone are weights
        fixed |= {2, 3, 5, 6, 7, 8}
    if len(fixed) == len(inputs):
        fixed.discard(0)
    domain = "" if op.startswith("Simplified") or op in EARLY else DOMAIN
    version = 21 if op not in EARLY else int(rng.integers(1, 10 - (op[0] == "M")))
    data = one_node.model(op, version, inputs, fixed, outputs, attributes, domain)
    what = f"{op} {[i and (i[0], i[1].shape) for i in inputs]} weights {sorted(fixed)} {attributes} {outputs}"
    full = given(op, inputs, outputs)
    right = by_others(op, inputs, outputs, attributes) or by_runtime(one_node.model(op, version, full, fixed, outputs, attributes, domain), full, fixed)
    kinds = [kind for kind in outputs if kind]
    first, wrong = one_node.steady(data, inputs, fixed)
    if wrong:
        return f"{what}: {wrong}"
    for got, wanted, kind in zip(first, right, kinds):
        wrong = differs(got, wanted, kind)
        if wrong:
            return f"{what}: {wrong}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(case, 1250))
