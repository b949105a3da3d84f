"""twins.py [--seed N] [--cases N]: operators of com.microsoft that are one or a few of ONNX's, and those of language models
that ONNX took over or that are near to one of its own, against ONNX Runtime: random shapes, types and attributes, optional
inputs left out, weights and inputs, one thread and three."""

import sys

import fused
import numpy as np
import one_node
import trials
from fused import dims_of, maybe, some, some_of

NUMBERS = ["float", "double", "int32", "int64"]


def pick(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def number(rng, least, most):
    return int(rng.integers(least, most))


def any_of(rng, kind, dims):
    if kind in fused.WORDS:
        return some(rng, kind, *dims)
    return kind, rng.integers(-9, 9, dims).astype(kind)


# ---- Elements that move ----------------------------------------------------------------------------------------------

def expand_dims(rng):
    dims = dims_of(rng, 1, 3, 6)
    axis = np.asarray(number(rng, -len(dims) - 1, len(dims) + 1), np.int32)
    return "ExpandDims", [any_of(rng, pick(rng, *NUMBERS), dims), ("int32", axis.reshape(pick(rng, [], [1])))], {}


def tuples(rng):
    dims = dims_of(rng, 1, 4, 6)
    count, outer = number(rng, 1, len(dims) + 1), dims_of(rng, 0, 2, 5)
    indices = np.stack([rng.integers(-d, d, outer) for d in dims[:count]], -1)
    kind = pick(rng, "int32", "int64")
    return "GatherND", [any_of(rng, pick(rng, *NUMBERS), dims), (kind, indices.astype(kind))], {}


def padding(rng):
    dims = dims_of(rng, 1, 4, 6)
    mode = pick(rng, "constant", "reflect", "edge", None)
    low = -1 if mode in ("constant", None) else 0
    pads = np.array([number(rng, low, max(1, min(3, d))) for d in dims * 2])
    pads[[d for d in range(2 * len(dims)) if dims[d % len(dims)] == 1]] = 0 if mode == "reflect" else 1
    kind = "float"
    value = some(rng, kind, *pick(rng, [], [1])) if mode in ("constant", None) and rng.random() < 0.5 else None
    pads = pads.reshape(pick(rng, [-1], [1, -1]))
    return "Pad", [some(rng, kind, *dims), ("int64", pads), value], {"mode": mode} if mode else {}


def steps(rng):
    kind = pick(rng, "float", "double", "int16", "int32", "int64")
    start, count, delta = number(rng, -9, 9), number(rng, 0, 20), pick(rng, -3, -1, 1, 2)
    def one(value):
        return kind, np.asarray(value, fused.WORDS.get(kind, kind)).reshape(pick(rng, [], [1]))
    if rng.random() < 0.3:
        return "Range", [one(start), one(start + count)], {}
    return "Range", [one(start), one(start + count * delta), one(delta)], {}


def echo(rng):
    return "SampleOp", [some(rng, "float", *dims_of(rng, 0, 3, 6))], {}


def triangle(rng):
    dims = dims_of(rng, 2, 4, 8)
    k = maybe(rng, ("int64", np.asarray(number(rng, -9, 9))))
    return "Trilu", [any_of(rng, pick(rng, "float", "double", "int64"), dims), k], some_of(rng, {"upper": number(rng, 0, 2)})


def unique(rng):
    values = rng.integers(-4, 5, number(rng, 1, 40)).astype(np.float32)
    return "Unique", [("float", values)], {}


# ---- Products, distances, images -------------------------------------------------------------------------------------

def matmul(rng):
    while True:
        _, inputs, kinds, attributes = fused.fused_matmul(rng)
        if kinds == ["float"] and not any("Batch" in name for name in attributes):
            return "TransposeMatMul", inputs, attributes


def distances(rng):
    kind, width = pick(rng, "float", "double"), number(rng, 1, 20)
    a, b = (some(rng, kind, number(rng, 1, 20), width) for _ in range(2))
    return "CDist", [a, b], some_of(rng, {"metric": pick(rng, "sqeuclidean", "euclidean")})


def sampling(rng):
    n, c, h, w, p, q = (number(rng, 1, 7) for _ in range(6))
    grid = rng.uniform(-1.3, 1.3, (n, p, q, 2)).astype(np.float32)
    attributes = {"align_corners": number(rng, 0, 2), "padding_mode": pick(rng, "zeros", "border", "reflection"),
                  "mode": pick(rng, "bilinear", "nearest", "bicubic")}
    if attributes["mode"] == "bicubic" and attributes["padding_mode"] != "zeros":
        attributes["padding_mode"] = "zeros" # of points outside, not of samples: the version of ONNX's that ox follows differs
    return "GridSample", [some(rng, "float", n, c, h, w), ("float", grid)], some_of(rng, attributes, 0.8)


# ---- Gates and norms -------------------------------------------------------------------------------------------------

def gated_add(rng):
    kind, dims = pick(rng, "float", "float16"), dims_of(rng, 1, 4, 20)
    return "GatedAdd", [some(rng, kind, *dims), some(rng, kind, *dims), some(rng, kind, *dims[:-1], 1)], {}


def scaled_silu(rng):
    scale = maybe(rng, some(rng, pick(rng, "float", "float16"), *pick(rng, [], [])))
    return "ScaledSiLU", [some(rng, pick(rng, "float", "float16"), *dims_of(rng)), scale], some_of(rng, {"alpha": 0.7})


def gated_norm(rng):
    kind, width, dims = pick(rng, "float", "float16"), number(rng, 1, 30), dims_of(rng, 0, 3, 9)
    dims.append(width * number(rng, 1, 4))
    attributes = some_of(rng, {"epsilon": 1e-3, "activation": pick(rng, "silu", "swish", "sigmoid")})
    return "GatedRMSNorm", [some(rng, kind, *dims), some(rng, kind, width), some(rng, kind, *dims)], attributes


def decay_gate(rng):
    kind, dims = pick(rng, "float", "float16"), [number(rng, 1, 5) for _ in range(3)]
    return "LinearAttentionGate", [some(rng, kind, *dims), some(rng, "float", dims[2]), some(rng, "float", dims[2]),
                                   maybe(rng, some(rng, kind, *dims))], {}


def embedding(rng):
    batch, length, size, words, positions, segments = (int(d) for d in rng.integers(1, [4, 9, 40, 30, 5, 4]))
    positions += length
    kind = pick(rng, "uint8", "int8")
    def indices(most):
        return "int32", rng.integers(0, most, (batch, length)).astype(np.int32)
    segmented = rng.random() < 0.6
    tables = [(words, size), (positions, size), (segments, size), (size,), (size,)]
    there = [True, True, segmented, True, True]
    inputs = [indices(words), indices(segments) if segmented else None]
    inputs += [fused.bytes_of(rng, kind, *dims) if has else None for dims, has in zip(tables, there)]
    inputs.append(maybe(rng, indices(2)))
    inputs += [("float", np.asarray(rng.uniform(0.01, 0.1), np.float32)) if has else None for has in there]
    inputs += [(kind, np.asarray(rng.integers(0, 100), kind)) if has else None for has in there]
    return "QEmbedLayerNormalization", inputs, {"epsilon": 1e-12}


# ---- Language models -------------------------------------------------------------------------------------------------

def rotary(rng):
    batch, steps_, heads, most = (number(rng, 1, 6) for _ in range(4))
    sections = [number(rng, 0, 5) for _ in range(3)]
    sections[0] += not sum(sections)
    half, woven = sum(sections), rng.random() < 0.5
    size = 2 * half
    attributes = {"mrope_section": sections, "mrope_layout": int(woven), **some_of(rng, {"interleaved": number(rng, 0, 2)})}
    if rng.random() < 0.3:
        attributes["rotary_embedding_dim"], attributes["num_heads"] = size, heads
        size += 2 * number(rng, 0, 4)
    flat = rng.random() < 0.6
    if flat or rng.random() < 0.3:
        attributes["num_heads"] = heads
    most += steps_  # ONNX Runtime wants as many rows as steps
    kind = pick(rng, "float", "float16")
    dims = [batch, steps_, heads * size] if flat else [batch, heads, steps_, size]
    caches = [some(rng, kind, most, half) for _ in range(2)]
    return "MRotaryEmbedding", [some(rng, kind, *dims), ("int64", rng.integers(0, most, (3, batch, steps_))), *caches], attributes


def linear_attention(rng):
    batch, steps_, heads, keys, values = (number(rng, 1, 6) for _ in range(5))
    queries = heads * number(rng, 1, 3)
    rule = pick(rng, "linear", "gated", "delta", "gated_delta")
    def steps_of(width, factor=1.0):
        return "float", (rng.normal(size=(batch, steps_, width)) * factor).astype(np.float32)
    decay = "float", -rng.uniform(0, 1, (batch, steps_, pick(rng, heads, heads * keys))).astype(np.float32)
    beta = "float", rng.uniform(0, 1, (batch, steps_, pick(rng, heads, 1))).astype(np.float32)
    inputs = [steps_of(queries * keys), steps_of(heads * keys, 0.3), steps_of(heads * values),
              maybe(rng, some(rng, "float", batch, heads, keys, values)), decay if "gated" in rule else None,
              beta if "delta" in rule else None]
    attributes = {"q_num_heads": queries, "kv_num_heads": heads, "update_rule": rule, **some_of(rng, {"scale": 0.4})}
    return "LinearAttention", inputs, attributes


def causal_conv(rng):
    batch, channels, length, kernel = (number(rng, 1, 9) for _ in range(4))
    inputs = [some(rng, "float", batch, channels, length), some(rng, "float", channels, 1, kernel),
              maybe(rng, some(rng, "float", channels)), maybe(rng, some(rng, "float", batch, channels, kernel - 1))]
    return "CausalConvWithState", inputs, some_of(rng, {"activation": pick(rng, "silu", "swish", "none")})


def masked_heads(rng):
    batch, heads, size, room = (number(rng, 1, 6) for _ in range(4))
    width, way = heads * size, pick(rng, "room", "packed", "cross")
    attributes = {"num_heads": heads, **some_of(rng, {"scale": 0.4, "mask_filter_value": -50.0}, 0.4)}
    def heads_of(count):
        return some(rng, "float", batch, heads, count, size)
    def flat(times=1):
        return some(rng, "float", batch, 1, times * width)
    past, length = 0 if way == "cross" else room, number(rng, 0, room)
    keys = room if way == "cross" else length + 1
    mask = rng.integers(0, 2, (batch, keys)).astype(np.int32)
    mask[:, -1] = 1  # sums with -10,000 alone would tell orders of adding
    inputs = [flat(3 if way == "packed" else 1), *([None] * 2 if way == "packed" else
              [heads_of(keys), heads_of(keys)] if way == "cross" else [flat(), flat()]),
              maybe(rng, ("int32", mask), 0.4),
              maybe(rng, some(rng, "float", pick(rng, 1, batch), pick(rng, 1, heads), 1, keys), 0.4) if way != "cross" else None,
              heads_of(past) if past else None, heads_of(past) if past else None]
    if way != "cross":
        attributes["past_present_share_buffer"] = 1
        inputs += [("int32", np.array([length], np.int32)), None, None, maybe(rng, some(rng, "float", 3 * width))]
    return "DecoderMaskedMultiHeadAttention", inputs, attributes


DRAW = [masked_heads, expand_dims, tuples, padding, steps, echo, triangle, unique, matmul, distances, sampling, gated_add, scaled_silu,
        gated_norm, decay_gate, embedding, rotary, linear_attention, causal_conv]


# ---- Cases -----------------------------------------------------------------------------------------------------------

def outputs_of(op, inputs):
    kind = inputs[0][0]
    if op == "DecoderMaskedMultiHeadAttention":
        return [kind] if inputs[1] and inputs[1][1].ndim == 4 else [kind] * 3
    others = {"Unique": [kind, "int64", "int64"], "LinearAttention": [kind, kind], "CausalConvWithState": [kind, kind],
              "QEmbedLayerNormalization": ["float", "int32"]}
    if op == "LinearAttentionGate" and len(inputs) == 4:
        return [kind, kind]
    return others.get(op, [kind])


def by_runtime(data, op, inputs, fixed, outputs, attributes):
    """ONNX Runtime refuses queries, keys and values of one step in one tensor, which its schema has: it gets three."""
    if op == "DecoderMaskedMultiHeadAttention" and not inputs[1]:
        inputs = [(inputs[0][0], part) for part in np.split(inputs[0][1], 3, axis=-1)] + inputs[3:]
        data = one_node.model(op, 21, inputs, fixed, outputs, attributes, fused.DOMAIN)
    return fused.by_runtime(data, inputs, fixed)


def case(rng, turn):
    op, inputs, attributes = DRAW[turn % len(DRAW)](rng)
    while inputs[-1] is None:
        inputs.pop()
    outputs = outputs_of(op, inputs)
    fixed = {k for k in range(1, len(inputs)) if rng.random() < 0.5 and inputs[k] is not None}
    if op == "QEmbedLayerNormalization":  # ONNX Runtime looks at shapes that this model does not state
        fixed = set(range(2, len(inputs))) - {7}
    data = one_node.model(op, 21, inputs, fixed, outputs, attributes, fused.DOMAIN)
    what = f"{op} {[i and (i[0], i[1].shape) for i in inputs]} weights {sorted(fixed)} {attributes} {outputs}"
    right = by_runtime(data, op, inputs, fixed, outputs, attributes)
    first, wrong = one_node.steady(data, inputs, fixed)
    if wrong:
        return f"{what}: {wrong}"
    for got, wanted, kind in zip(first, right, outputs):
        wrong = fused.differs(got, wanted, kind) if kind in fused.LIMITS else not np.array_equal(got, wanted) and "differs"
        if wrong:
            return f"{what}: {wrong}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(case, 1000))
