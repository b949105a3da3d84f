"""heads.py [--seed N] [--cases N]: MultiHeadAttention, Attention, GroupQueryAttention and RotaryEmbedding of com.microsoft
with random shapes, attributes and optional inputs, against their definitions in double, and against ONNX Runtime, whose
own they are, where it takes them."""

import sys

import arrays
import nodes
import numpy as np
import one_node
import onnxruntime
import oxlib
import trials

DOMAIN = "com.microsoft"
REFUSED = onnxruntime.capi.onnxruntime_pybind11_state
LIMITS = {"float": 1e-3, "float16": 6e-3, "bfloat16": 4e-2}


def numbers(rng, kind, *dims):
    return kind, rng.uniform(-1, 1, [int(d) for d in dims]).astype(arrays.DTYPES[kind][1])


def integers(values, kind="int32"):
    return kind, np.asarray(values).astype(kind)


def wide(value):
    return None if value is None else value[1].astype(np.float64)


def draw_kind(rng):
    return str(rng.choice(["float", "float", "float16", "bfloat16"]))


def maybe(rng, value, often=0.5):
    return value if rng.random() < often else None


# ---- The definitions -------------------------------------------------------------------------------------------------

def split(x, heads):
    """batch x steps x (heads * size) to batch x heads x steps x size."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).swapaxes(1, 2)


def weigh(scores, seen, sink=None):
    """Softmax over keys that are seen."""
    scores = np.where(seen, scores, -np.inf)
    if sink is not None:
        scores = np.concatenate([scores, np.broadcast_to(sink, (*scores.shape[:3], 1))], axis=3)
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    weights = np.nan_to_num(weights / weights.sum(axis=3, keepdims=True)) # nothing is seen: nothing comes
    return weights if sink is None else weights[..., :-1]


def flat(y):
    return y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1)


def key_mask(mask, batch, keys, filter_value):
    """What a mask of integers adds, as batch x 1 x (queries or 1) x keys."""
    if mask is None:
        return 0
    places = np.arange(keys)
    if mask.ndim == 1:
        seen = places < mask[:batch, None]
        if mask.size == 2 * batch:
            seen &= places >= mask[batch:, None]
        seen = seen[:, None]
    else:
        seen = mask.reshape(batch, -1, keys) > 0
    return np.where(seen, 0.0, filter_value)[:, None]


def multi_head(q, k, v, before, attributes, mask, added):
    """Output, and scores before softmax; all heads first."""
    keys, queries = k.shape[2], q.shape[2]
    scale = attributes.get("scale") or 1 / np.sqrt(q.shape[3])
    scores = q @ k.swapaxes(2, 3) * scale + key_mask(mask, q.shape[0], keys, attributes.get("mask_filter_value", -10000.0))
    scores = scores + (0 if added is None else added)
    seen = np.ones((queries, keys), bool)
    if attributes.get("unidirectional"):
        seen = np.arange(keys) <= before + np.arange(queries)[:, None]
    return flat(weigh(scores, seen) @ v), np.where(seen, scores, -np.inf)


def rotate(x, cos, sin, interleaved):
    half = cos.shape[-1]
    x, rest = x[..., :2 * half], x[..., 2 * half:]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = [a * cos - b * sin, a * sin + b * cos]
    pairs = np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)
    return np.concatenate([pairs, rest], -1)


# ---- MultiHeadAttention and Attention --------------------------------------------------------------------------------

def draw_mask(rng, batch, queries, keys, causal):
    """No query is without a key: what is left of scores beside -10000 is rounded away."""
    first = 0 if causal else keys // 2
    masks = [None, rng.integers(1, keys + 1, [batch]),
             np.concatenate([rng.integers(keys // 2 + 1, keys + 1, [batch]), rng.integers(0, first + 1, [batch])]),
             rng.integers(0, 2, [batch, keys]), rng.integers(0, 2, [batch, queries, keys])]
    mask = masks[int(rng.integers(0, 5))]
    if mask is not None and mask.ndim > 1:
        mask[..., 0] = 1
    return None if mask is None else integers(mask)


def draw_added(rng, kind, batch, heads, queries, keys):
    return numbers(rng, kind, 1 if rng.random() < 0.3 else batch, 1 if rng.random() < 0.3 else heads, queries, keys)


def some_numbers(rng):
    attributes = {"unidirectional": int(rng.integers(0, 2))} if rng.random() < 0.6 else {}
    attributes |= {"scale": 0.3} if rng.random() < 0.3 else {}
    return attributes | ({"mask_filter_value": -3.0} if rng.random() < 0.5 else {})


def grow(past, added, before, room):
    """A cache: `added` behind the first `before` steps of the past."""
    cache = np.zeros((*added.shape[:2], room, added.shape[3]))
    if past is not None:
        cache[:, :, :past.shape[2]] = past
    cache[:, :, before:before + added.shape[2]] = added
    return cache


def many_heads(rng):
    kind = draw_kind(rng)
    batch, heads, queries, added, size, values = (int(d) for d in rng.integers(1, [4, 5, 7, 9, 9, 9]))
    if rng.random() < 0.05:
        queries, added = 70, 90
    form = str(rng.choice(["apart", "apart", "apart", "keys and values", "all", "cache"]))
    if form in ("all", "keys and values"):
        values = size
    if form == "all":
        added = queries
    parts = [numbers(rng, kind, batch, steps, heads * width) for steps, width in ((queries, size), (added, size), (added, values))]
    bias = maybe(rng, numbers(rng, kind, heads * (2 * size + values)), 0.4)
    past = int(rng.integers(1, 6)) if form != "cache" and rng.random() < 0.4 else 0
    shared = past and rng.random() < 0.3
    before = int(rng.integers(0, past + 1)) if shared else past
    room = past + added if not shared else max(past, before + added)
    past = room if shared else past
    keys = before + added
    q, k, v = (split(wide(p), heads) for p in parts)
    if form == "cache":
        parts[1:] = [(kind, np.ascontiguousarray(split(p[1], heads))) for p in parts[1:]]
    elif form == "keys and values":
        parts[1:] = [(kind, np.stack([p[1].reshape(batch, added, heads, size) for p in parts[1:]], 3)), None]
    elif form == "all":
        parts = [(kind, np.stack([p[1].reshape(batch, added, heads, size) for p in parts], 3)), None, None]
    if bias:
        whole = np.split(wide(bias), [heads * size, 2 * heads * size])
        own = (1, form != "cache", form != "cache") # keys and values of a cache have theirs
        q, k, v = (x + b.reshape(heads, 1, -1) * one for x, b, one in zip((q, k, v), whole, own))
    pasts = [numbers(rng, kind, batch, heads, past, width) for width in (size, values)] if past else [None, None]
    caches = [grow(wide(p), x, before, room) for p, x in zip(pasts, (k, v))]
    attributes = {"num_heads": heads, **some_numbers(rng)}
    mask = draw_mask(rng, batch, queries, keys, attributes.get("unidirectional"))
    bias_of_scores = maybe(rng, draw_added(rng, kind, batch, heads, queries, keys), 0.3)
    if mask and mask[1].ndim == 1 and rng.random() < 0.2:
        mask = integers(np.concatenate([mask[1][:batch], np.zeros(2 * batch + 2)]))
    y, scores = multi_head(q, *(c[:, :, :keys] for c in caches), before, attributes, mask and mask[1], wide(bias_of_scores))
    inputs = [*parts, bias, mask, bias_of_scores, *pasts, integers([before]) if shared else None]
    return "MultiHeadAttention", inputs, [kind, kind, kind, maybe(rng, kind, 0.3)], attributes, [y, *caches, scores]


def projected(rng):
    kind = draw_kind(rng)
    batch, heads, steps, inner, size, values = (int(d) for d in rng.integers(1, [4, 5, 7, 20, 9, 9]))
    past = int(rng.integers(1, 6)) if rng.random() < 0.4 else 0
    if past or rng.random() < 0.6:
        values = size
    columns = heads * (2 * size + values)
    x, w = numbers(rng, kind, batch, steps, inner), numbers(rng, kind, inner, columns)
    w = kind, (w[1] / np.sqrt(inner)).astype(w[1].dtype)
    bias = maybe(rng, numbers(rng, kind, columns), 0.7)
    keys = past + steps
    q, k, v = (split(p, heads) for p in np.split(wide(x) @ wide(w) + (0 if bias is None else wide(bias)),
                                                [heads * size, 2 * heads * size], axis=2))
    before = numbers(rng, kind, 2, batch, heads, past, size) if past else None
    if past:
        k, v = (np.concatenate([p, a], 2) for p, a in zip(wide(before), (k, v)))
    attributes = {"num_heads": heads, **some_numbers(rng)}
    mask = draw_mask(rng, batch, steps, keys, attributes.get("unidirectional"))
    added = maybe(rng, draw_added(rng, kind, batch, heads, steps, keys), 0.3)
    if values != size or rng.random() < 0.2:
        attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * values]
    y, _ = multi_head(q, k, v, past, attributes, mask and mask[1], wide(added))
    present = [np.stack([k, v])] if values == size else []
    return "Attention", [x, w, bias, mask, before, added], [kind] * (1 + len(present)), attributes, [y, *present]


# ---- GroupQueryAttention ---------------------------------------------------------------------------------------------

def packed(whole, bits):
    """Elements of a quantized cache as it has them."""
    return whole.astype(np.int8) if bits == 8 else (whole[..., ::2] + 8 | whole[..., 1::2] + 8 << 4).astype(np.uint8)


def group_query(rng):
    kind = draw_kind(rng)
    batch, shared, heads, steps, half = (int(d) for d in rng.integers(1, [4, 4, 4, 6, 5]))
    size = 16 if rng.random() < 0.5 else 2 * half + int(rng.integers(0, 2)) # ONNX Runtime takes no others than 16
    first = rng.random() < 0.4
    if rng.random() < 0.05:
        first, steps = True, 90
    counts = rng.integers(1, steps + 1, batch) if first else rng.integers(steps, steps + 9, batch)
    if first:
        counts[int(rng.integers(0, batch))] = steps
    total = steps if first else int(max(counts.max(), steps + 1))
    before = np.zeros(batch, int) if first else counts - steps
    past = total - steps if rng.random() < 0.5 else total + int(rng.integers(0, 4))
    past = past if not first or rng.random() < 0.5 else 0
    parts = [numbers(rng, kind, batch, steps, n * size) for n in (heads * shared, heads, heads)]
    pasts = [numbers(rng, kind, batch, heads, past, size) if past or not first else None for _ in range(2)]
    attributes = {"num_heads": heads * shared, "kv_num_heads": heads}
    cos = sin = places = None
    positions = before[:, None] + np.arange(steps)
    q, k, v = (split(wide(p), n) for p, n in zip(parts, (heads * shared, heads, heads)))
    norms = [numbers(rng, kind, size) for _ in range(2)] if rng.random() < 0.15 else [None, None]
    if norms[0]:
        epsilon = np.float32(1e-6)
        if rng.random() < 0.5:
            attributes["qk_norm_epsilon"] = 0.125
            epsilon = 0.125
        q, k = (x / np.sqrt((x * x).mean(3, keepdims=True) + epsilon) * wide(w) for x, w in zip((q, k), norms))
    if rng.random() < 0.6:
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(rng.integers(0, 2))}
        turned = size // 2 if rng.random() < 0.7 else int(rng.integers(1, size // 2 + 1))
        rows = total + 6
        cos, sin = numbers(rng, kind, rows, turned), numbers(rng, kind, rows, turned)
        if rng.random() < 0.4:
            places = rng.integers(0, 6, (batch, steps))
            positions = places[0, 0] + np.broadcast_to(np.arange(steps), (batch, steps)) if first else places
            places = integers(places, "int64")
        q, k = (rotate(x, wide(cos)[positions][:, None], wide(sin)[positions][:, None], attributes["rotary_interleaved"])
                for x in (q, k))
    if rng.random() < 0.3:
        parts = [(kind, np.concatenate([p[1] for p in parts], 2)), None, None]
    room = max(past, total)
    computed = bool(norms[0]) or "do_rotary" in attributes
    bits, scales, kept, types = 0, [None, None], [], [kind] * 2
    if past and (kind == "float" or not computed) and rng.random() < 0.3:
        bits, each = int(rng.choice([8] if size % 2 else [4, 8])), rng.random() < 0.5
        attributes |= {"kv_cache_bit_width": bits, **dict.fromkeys(["k_quant_type", "v_quant_type"], "PER_CHANNEL" if each else "PER_TENSOR")}
        types = ["int8" if bits == 8 else "uint8"] * 2
    caches = []
    for i, (given, x) in enumerate(zip(pasts, (k, v))):
        if bits:
            low = -1 << (bits - 1)
            scale = np.exp2(-rng.integers(bits - 4, bits + 1, heads * size if each else 1))
            scales[i], wide_scale = ("float", scale.astype(np.float32)), scale.reshape(-1, 1, size) if each else scale
            whole = rng.integers(low, -low, (batch, heads, past, size))
            given, x = ("", whole), x / wide_scale
            if computed and (abs(x - np.floor(x) - 0.5) < 1e-3).any(): # rounding errors decide
                return group_query(rng)
            x = np.clip(np.rint(x), low, -low - 1)
            pasts[i] = types[i], packed(whole, bits)
        cache = np.zeros((batch, heads, room, size))
        if given:
            cache[:, :, :past] = wide(given)
        for b in range(batch):
            cache[b, :, before[b]:before[b] + steps] = x[b]
        kept.append(packed(cache.astype(int), bits) if bits else cache)
        caches.append(cache * wide_scale if bits else cache)
    attributes |= {"scale": 0.4} if rng.random() < 0.3 else {}
    attributes |= {"softcap": 0.5} if rng.random() < 0.3 else {}
    attributes |= {"causal": 0} if rng.random() < 0.1 else {}
    if rng.random() < 0.3 and attributes.get("causal", 1):
        attributes["local_window_size"] = int(rng.integers(1, 5))
    added = maybe(rng, draw_added(rng, kind, batch, heads * shared, steps, total), 0.3)
    sink = maybe(rng, numbers(rng, kind, heads * shared), 0.2)
    attributes |= {"smooth_softmax": 1} if rng.random() < 0.2 else {}
    shown = int(rng.integers(0, 3))
    attributes |= {"qk_output": shown} if shown else {}
    y, scores = grouped(q, *(np.repeat(c[:, :, :total], shared, axis=1) for c in caches), before, counts, attributes, wide(added),
                        wide(sink))
    inputs = [*parts, *pasts, integers(counts - 1), integers(total if rng.random() < 0.3 else [total]), cos, sin, places, added, sink, *scales, *norms]
    outputs = [kind, *types] + ([kind] if shown else [])
    return "GroupQueryAttention", inputs, outputs, attributes, [y, *kept, scores]


def grouped(q, k, v, before, counts, attributes, added, sink):
    keys, queries = k.shape[2], q.shape[2]
    scores = q @ k.swapaxes(2, 3) * (attributes.get("scale") or 1 / np.sqrt(q.shape[3]))
    if cap := attributes.get("softcap"):
        scores = cap * np.tanh(scores / cap)
    scores = scores + (0 if added is None else added)
    own, places = (before[:, None] + np.arange(queries))[..., None], np.arange(keys)
    seen = np.broadcast_to(places < counts[:, None, None], (len(counts), queries, keys))
    if attributes.get("causal", 1):
        seen = seen & (places <= own)
    if (window := attributes.get("local_window_size", -1)) > 0:
        seen = seen & (places > own - window)
    seen = seen[:, None]
    if sink is None and attributes.get("smooth_softmax"):
        sink = np.zeros(q.shape[1])
    if sink is not None:
        sink = sink[:, None, None]
    weights = weigh(scores, seen, sink)
    return flat(weights @ v), weights if attributes.get("qk_output") == 2 else np.where(seen, scores, 0)


# ---- RotaryEmbedding -------------------------------------------------------------------------------------------------

def rotary(rng):
    kind = draw_kind(rng)
    batch, heads, steps, half = (int(d) for d in rng.integers(1, [4, 5, 6, 9]))
    attributes, size = {}, 2 * half
    if rng.random() < 0.3: # a part of each head
        size += int(rng.integers(0, 6))
        attributes = {"rotary_embedding_dim": 2 * half, "num_heads": heads}
    attributes |= {"num_heads": heads} if rng.random() < 0.4 else {}
    attributes |= {"interleaved": int(rng.integers(0, 2))} if rng.random() < 0.7 else {}
    attributes |= {"is_packed_batching": 1} if rng.random() < 0.2 else {}
    attributes |= {"scale": 0.5} if rng.random() < 0.2 else {}
    rows = steps + int(rng.integers(0, 5))
    steps = steps if rng.random() < 0.95 else 0
    x = numbers(rng, kind, batch, heads, steps, size)
    cos, sin = numbers(rng, kind, rows, half), numbers(rng, kind, rows, half)
    if rng.random() < 0.4:
        places = rng.integers(0, rows - steps + 1, [1] if rng.random() < 0.7 else [])
        positions = np.broadcast_to(places + np.arange(steps), (batch, steps))
    else:
        places = positions = rng.integers(0, rows, (batch, steps))
    right = rotate(wide(x), wide(cos)[positions][:, None], wide(sin)[positions][:, None], attributes.get("interleaved", 0))
    if rng.random() < 0.6:
        x, right = ((kind, x[1].swapaxes(1, 2).reshape(batch, steps, heads * size)),
                    right.swapaxes(1, 2).reshape(batch, steps, heads * size))
    return "RotaryEmbedding", [x, integers(places, "int64"), cos, sin], [kind], attributes, [right]


# ---- Cases -----------------------------------------------------------------------------------------------------------

def by_runtime(data, inputs, fixed):
    """None where ONNX Runtime does not take the node."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, {f"x{k}": i[1] for k, i in enumerate(inputs) if i is not None and k not in fixed})
    except (REFUSED.Fail, REFUSED.NotImplemented, REFUSED.InvalidArgument, REFUSED.InvalidGraph, REFUSED.RuntimeException):
        return None


def decided(op, k, got, exact, inputs, attributes):
    """What ONNX Runtime gives, with the definition's values where nothing says what is there: behind the keys of one of
    the batch, for queries behind them, and of keys that are not seen. It hides no keys from the last query of
    MultiHeadAttention."""
    if k == 3:
        got = np.where(np.isinf(exact), exact, got)
    if op == "MultiHeadAttention" and attributes.get("unidirectional") and k in (0, 3):
        got[..., -1, :] = exact[..., -1, :]
    if op != "GroupQueryAttention":
        return got
    first = inputs[0][1].shape[1] == inputs[6][1].ravel()[0]
    for b, count in enumerate(inputs[5][1] + 1):
        if k == 3:
            got[b, :, :, count:] = exact[b, :, :, count:]
        if k in (1, 2) or (k == 3 and first):
            got[b, :, count:] = exact[b, :, count:]
        elif k == 0 and first:
            got[b, count:] = exact[b, count:]
    return got


def against_runtime(op, data, inputs, fixed, right, outputs, attributes):
    if op == "Attention" and (len(inputs) < 3 or inputs[2] is None): # without a bias it crashes
        return None
    for k, (got, exact, kind) in enumerate(zip(by_runtime(data, inputs, fixed) or [], right, outputs)):
        got = decided(op, k, got.astype(np.float64), exact, inputs, attributes)
        if not np.allclose(got, exact, rtol=LIMITS.get(kind, 0), atol=LIMITS.get(kind, 0)):
            return f"ONNX Runtime's output {k} is off the definition by {np.abs(got - exact).max():.3g}"
    return None


KINDS = [many_heads, projected, group_query, rotary]


def case(rng, turn):
    with np.errstate(all="ignore"):
        op, inputs, outputs, attributes, right = KINDS[turn % len(KINDS)](rng)
    while inputs[-1] is None:
        inputs.pop()
    while outputs[-1] is None:
        outputs.pop()
    fixed = {k for k in range(1, len(inputs)) if rng.random() < 0.1 and inputs[k] is not None}
    data = one_node.model(op, 21, inputs, fixed, outputs, attributes, DOMAIN)
    what = f"{op} {[i and (i[0], i[1].shape) for i in inputs]} weights {sorted(fixed)} {attributes} {outputs}"
    if op == "GroupQueryAttention":
        what += f" {inputs[5][1]} {inputs[6][1]}"
    try:
        wrong = one_node.problem(data, inputs, fixed, right, outputs)
    except oxlib.OxError as error:
        wrong = str(error)
    if not wrong and turn % 8 < 4:
        wrong = against_runtime(op, data, inputs, fixed, right, outputs, attributes)
    return wrong and f"{what}: {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 1600))
