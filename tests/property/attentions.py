"""attentions.py: Attention, FlexAttention, RotaryEmbedding, LinearAttention, TensorScatter and SwiGLU with random attributes against
the reference of the package onnx, in double."""

import sys

import arrays
import nodes
import numpy as np
import one_node
import oxlib
import trials
from onnx import helper
from onnx.reference.ops import op_attention, op_linear_attention, op_rotary_embedding

FLOATS = ["float", "double", "float16", "bfloat16"]


def numbers(rng, type_name, *dims):
    return (type_name, rng.uniform(-1, 1, dims).astype(arrays.DTYPES[type_name][1]))


def wide(value):
    return None if value is None else value[1] if value[1].dtype.kind in "bi" else value[1].astype(np.float64)


def draw_mask(rng, type_name, dims):
    dims = [1 if rng.random() < 0.3 and k < len(dims) - 1 else d for k, d in enumerate(dims)]
    dims = dims[int(rng.integers(0, 3)):]
    if rng.random() < 0.5:
        return "bool", rng.random(dims) < 0.7
    mask = numbers(rng, type_name, *dims)
    mask[1][rng.random(dims) < 0.2] = -np.inf
    return mask


def attention(rng):
    version = int(rng.choice([23, 24, 25]))
    type_name, value_type = (str(t) for t in rng.choice(FLOATS, 2))
    batch, shared, heads, queries, added, size, values = (int(d) for d in rng.integers(1, [4, 4, 4, 7, 9, 9, 9]))
    if rng.random() < 0.05:
        queries, added = 300, 350
    past = int(rng.integers(1, 6)) if rng.random() < 0.3 else 0
    keys = past + added
    flat = rng.random() < 0.5

    def operand(kind, count, steps, width):
        return numbers(rng, kind, *((batch, steps, count * width) if flat else (batch, count, steps, width)))
    inputs = [operand(type_name, heads * shared, queries, size), operand(type_name, heads, added, size),
              operand(value_type, heads, added, values)] + [None] * 4
    if rng.random() < 0.5:
        seen = int(rng.integers(1, keys + 1)) if version > 23 and rng.random() < 0.3 else keys
        inputs[3] = draw_mask(rng, type_name, [batch, heads * shared, queries, seen])
    if past:
        inputs[4:6] = [numbers(rng, type_name, batch, heads, past, size),
                       numbers(rng, value_type, batch, heads, past, values)]
    elif version > 23 and rng.random() < 0.4:
        inputs[6] = ("int64", rng.integers(0, keys + 1, batch))
    attributes = {"q_num_heads": heads * shared, "kv_num_heads": heads} if flat else {}
    attributes |= {"is_causal": int(rng.integers(0, 2))} | ({"scale": 0.25} if rng.random() < 0.3 else {})
    attributes |= {"softcap": 0.5} if rng.random() < 0.3 else {}
    attributes["qk_matmul_output_mode"] = int(rng.integers(0, 4))
    if version == 25:
        attributes |= {k: int(rng.integers(-1, 4)) for k in ("left_window_size", "right_window_size")}
    given = [wide(i) for i in inputs]
    if inputs[3] is not None:  # the reference wants a row for every query
        given[3] = np.broadcast_to(given[3], (batch, heads * shared, queries, given[3].shape[-1]))
    right = op_attention._compute_attention(*given, **attributes)
    if attributes["qk_matmul_output_mode"] == 0 and "softcap" in attributes:  # the reference shows them capped
        right = right[:3] + op_attention._compute_attention(*given, **attributes | {"softcap": 0.0})[3:]
    outputs = [type_name, type_name, value_type, type_name]
    return "Attention", version, inputs[:6 if version == 23 else 7], outputs, attributes, right


def flex(rng):
    type_name = str(rng.choice(FLOATS))
    batch, shared, heads, queries, keys, size, values = (int(d) for d in rng.integers(1, [4, 4, 4, 7, 9, 9, 9]))
    inputs = [numbers(rng, type_name, batch, heads * shared, queries, size),
              numbers(rng, type_name, batch, heads, keys, size), numbers(rng, type_name, batch, heads, keys, values)]
    attributes = {"scale": 0.25} if rng.random() < 0.5 else {}
    q, k, v = (wide(i) for i in inputs)
    k, v = (np.repeat(x, shared, axis=1) for x in (k, v))
    scores = q @ np.swapaxes(k, 2, 3) * attributes.get("scale", 1 / np.sqrt(size))
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    right = weights / weights.sum(axis=3, keepdims=True) @ v
    return "ai.onnx.preview.FlexAttention", 1, inputs, [type_name], attributes, [right]


def change(rng, kind, prefix, square, seen):
    """A graph that FlexAttention runs on scores or weights, and what it does. `seen` is the greatest element of the
    node's first input, which the graph may read from outside; None where that has another type."""
    made = {"Neg": lambda x: -x, "Identity": lambda x: x, "Tanh": np.tanh}
    made |= {"Transpose": lambda x: np.swapaxes(x, 2, 3)} if square else {}
    number = rng.uniform(0.5, 2)
    weight = one_node.constant(prefix + "w", kind, np.array(number, arrays.DTYPES[kind][1]))
    known = float(np.array(number, arrays.DTYPES[kind][1]))
    made |= {"Add": lambda x: x + known, "Mul": lambda x: x * known}
    made |= {"Max": lambda x: np.maximum(x, seen)} if seen is not None else {}
    steps = [str(step) for step in rng.choice(list(made), int(rng.integers(0, 4)))]
    names = [f"{prefix}{k}" for k in range(len(steps) + 1)]
    others = {"Add": [prefix + "w"], "Mul": [prefix + "w"], "Max": [prefix + "seen"]}
    body = [helper.make_node("ReduceMax", ["x0"], [prefix + "seen"], keepdims=0)] if "Max" in steps else []
    body += [helper.make_node(step, [names[k], *others.get(step, [])], [names[k + 1]],
                             **{"perm": [0, 1, 3, 2]} if step == "Transpose" else {}) for k, step in enumerate(steps)]
    values = [helper.make_tensor_value_info(name, nodes.kind_of(kind), list("BHLS") if rng.random() < 0.5 else None)
              for name in (names[0], names[-1])]

    def apply(x):
        for step in steps:
            x = made[step](x)
        return x
    return helper.make_graph(body, prefix, values[:1], values[1:], [weight]), apply


def flex_changed(rng):
    """FlexAttention with graphs. Bounds are those of the coarser one of its types."""
    op, version, inputs, outputs, attributes, _ = flex(rng)
    type_name, scale = outputs[0], attributes.get("scale", 1 / np.sqrt(inputs[0][1].shape[3]))
    kind = "double" if type_name == "double" else "float"
    if rng.random() < 0.4:
        kind = str(rng.choice(FLOATS))
        attributes["softmax_precision"] = nodes.kind_of(kind)
    which = [("score_mod",), ("prob_mod",), ("score_mod", "prob_mod")][int(rng.integers(0, 3))]
    q, k, v = (wide(i) for i in inputs)
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
    x = q @ np.swapaxes(k, 2, 3) * scale
    for name in ("score_mod", "prob_mod"):
        if name == "prob_mod":
            x = np.exp(x - x.max(axis=3, keepdims=True))
            x /= x.sum(axis=3, keepdims=True)
        if name in which:
            seen = q.max() if kind == type_name else None
            attributes[name], apply = change(rng, kind, name, q.shape[2] == k.shape[2], seen)
            x = apply(x)
    coarse = max(type_name, kind, key=lambda t: one_node.LIMITS[t])
    return op, version, inputs, outputs, attributes, [x @ v], [coarse]


def rotary(rng):
    type_name = str(rng.choice(["float", "float16", "bfloat16"]))
    batch, steps, heads, half = (int(d) for d in rng.integers(1, 6, 4))
    size, turned = 2 * half, 2 * int(rng.integers(1, half + 1))
    flat, listed = rng.random() < 0.5, rng.random() < 0.5
    x = numbers(rng, type_name, *((batch, steps, heads * size) if flat else (batch, heads, steps, size)))
    attributes = {"interleaved": int(rng.integers(0, 2))} | ({"num_heads": heads} if flat else {})
    attributes |= {"rotary_embedding_dim": turned} if turned < size or rng.random() < 0.5 else {}
    cache = (7, turned // 2) if listed else (batch, steps, turned // 2)
    inputs = [x, numbers(rng, type_name, *cache), numbers(rng, type_name, *cache)]
    inputs += [("int64", rng.integers(0, 7, (batch, steps)))] if listed else []
    right = op_rotary_embedding.rotary_embedding(*(wide(i) for i in inputs), **attributes)
    return "RotaryEmbedding", 23, inputs, [type_name], attributes, [right]


def linear(rng):
    type_name, state_type = (str(t) for t in rng.choice(["float", "float16", "bfloat16"], 2))
    rule = str(rng.choice(["linear", "gated", "delta", "gated_delta"]))
    batch, steps, shared, heads, keys, values = (int(d) for d in rng.integers(1, 6, 6))
    inputs = [numbers(rng, type_name, batch, steps, heads * shared * keys),
              numbers(rng, type_name, batch, steps, heads * keys),
              numbers(rng, type_name, batch, steps, heads * values),
              numbers(rng, state_type, batch, heads, keys, values) if rng.random() < 0.5 else None, None, None]
    inputs[1][1][...] /= np.sqrt(keys).astype(inputs[1][1].dtype)
    if "gated" in rule:
        inputs[4] = numbers(rng, type_name, batch, steps, heads * (keys if rng.random() < 0.5 else 1))
        inputs[4][1][...] = -np.abs(inputs[4][1])
    if "delta" in rule:
        inputs[5] = numbers(rng, type_name, batch, steps, heads if rng.random() < 0.5 else 1)
    attributes = {"q_num_heads": heads * shared, "kv_num_heads": heads, "update_rule": rule}
    attributes |= {"scale": 0.5} if rng.random() < 0.5 else {}
    right = op_linear_attention.LinearAttention._run(None, *(wide(i) for i in inputs), **attributes)
    return "LinearAttention", 27, inputs, [type_name, state_type if inputs[3] else type_name], attributes, right


def scatter(rng):
    type_name = str(rng.choice([*FLOATS, "int8", "uint64", "bool", "complex64"]))
    rank = int(rng.integers(2, 5))
    dims, axis = [int(d) for d in rng.integers(1, 6, rank)], int(rng.integers(1, rank))
    count = int(rng.integers(0, dims[axis] + 1))
    circular = rng.random() < 0.5
    kind = arrays.DTYPES[type_name][1]
    cache = rng.integers(0, 9, dims).astype(kind)
    update = rng.integers(0, 9, dims[:axis] + [count] + dims[axis + 1:]).astype(kind)
    indices = rng.integers(0, 20 if circular else dims[axis] - count + 1, dims[0]) if rng.random() < 0.8 else None
    right = np.moveaxis(cache.copy(), axis, 1)
    for b in range(dims[0]):
        for k in range(count):
            at = (0 if indices is None else int(indices[b])) + k
            right[b, at % dims[axis]] = np.moveaxis(update, axis, 1)[b, k]
    attributes = {"axis": axis - rank if rng.random() < 0.5 else axis}
    attributes |= {"mode": "circular" if circular else "linear"} if circular or rng.random() < 0.5 else {}
    inputs = [(type_name, cache), (type_name, update), None if indices is None else ("int64", indices)]
    return "TensorScatter", 24, inputs, [type_name], attributes, [np.moveaxis(right, 1, axis)]


def swiglu(rng):
    type_name = str(rng.choice(FLOATS))
    dims = [int(d) for d in rng.integers(1, 20, int(rng.integers(1, 4)))]
    inputs = [numbers(rng, type_name, *dims), numbers(rng, type_name, *dims)]
    alpha = float(np.float32(rng.uniform(0, 2)))
    a, b = (wide(i) for i in inputs)
    return "SwiGLU", 28, inputs, [type_name], {"alpha": alpha}, [a / (1 + np.exp(-alpha * a)) * b]


KINDS = [attention, attention, attention, flex, flex_changed, rotary, linear, scatter, swiglu]


def case(rng, turn):
    with np.errstate(all="ignore"):
        op, version, inputs, outputs, attributes, right, *bounds = KINDS[turn % len(KINDS)](rng)
    fixed = {k for k in range(len(inputs)) if rng.random() < 0.1 and inputs[k] is not None}
    domain, _, name = op.rpartition(".")
    data = one_node.model(name, version, inputs, fixed, outputs, attributes, domain)
    shapes = [None if i is None else (i[0], i[1].shape) for i in inputs]
    try:
        wrong = one_node.problem(data, inputs, fixed, right, bounds[0] if bounds else outputs)
    except oxlib.OxError as error:
        wrong = str(error)
    return wrong and f"{op}-{version} {shapes} {attributes}: {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 900))
