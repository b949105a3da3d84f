"""experts.py [--seed N] [--cases N]: MoE and QMoE of com.microsoft with random shapes, attributes and optional inputs,
against their definitions in double, and against ONNX Runtime, whose own they are, where it takes them."""

import math
import os
import sys
import time

import arrays
import heads
import numpy as np
import one_node
import trials

SECONDS = 2 # of processor time
LIMITS = {"float": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def activate(kind, x, gate, attributes):
    """What comes of the first product, and of the third one, if there is one."""
    if kind == "swiglu":
        fusion, limit = attributes.get("swiglu_fusion", 0), attributes.get("swiglu_limit", np.inf)
        g, linear = (x[::2], x[1::2]) if fusion == 1 else np.split(x, 2) if fusion == 2 else (x, gate)
        g, linear = np.minimum(g, limit), np.clip(linear, -limit, limit)
        return g * sigmoid(attributes.get("activation_alpha", 1.0) * g) * (linear + attributes.get("activation_beta", 0.0))
    made = {"relu": lambda: np.maximum(x, 0), "silu": lambda: x * sigmoid(x), "identity": lambda: x,
            "gelu": lambda: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))}[kind]()
    return made if gate is None else made * gate


def mix(tokens, router, products, mixing, attributes):
    """products: (weights, bias or None) or None, for the first, the second and the third one."""
    kind, top = attributes.get("activation_type", "relu"), attributes.get("k", 1)

    def multiply(which, expert, x):
        weights, bias = products[which]
        return weights[expert] @ x + (0 if bias is None else bias[expert])
    results = np.zeros_like(tokens)
    for t, x in enumerate(tokens):
        chosen = np.argsort(-router[t], kind="stable")[:top]
        shares = (softmax(router[t]) if mixing is None else mixing[t])[chosen]
        if attributes.get("normalize_routing_weights"):
            shares = shares / shares.sum()
        for expert, share in zip(chosen, shares):
            gate = multiply(2, expert, x) if products[2] else None
            results[t] += share * multiply(1, expert, activate(kind, multiply(0, expert, x), gate, attributes))
    return results


def draw_attributes(rng, experts):
    kind = str(rng.choice(["relu", "gelu", "silu", "swiglu", "swiglu", "identity"]))
    attributes = {"activation_type": kind} if kind != "relu" or rng.random() < 0.5 else {}
    attributes |= {"k": int(rng.integers(1, experts + 1))} if rng.random() < 0.8 else {}
    attributes |= {"normalize_routing_weights": int(rng.integers(0, 2))} if rng.random() < 0.7 else {}
    if kind == "swiglu":
        attributes |= {"swiglu_fusion": int(rng.choice([0, 1, 1, 2]))}
        attributes |= {"activation_alpha": 1.5} if rng.random() < 0.5 else {}
        attributes |= {"activation_beta": 0.5} if rng.random() < 0.5 else {}
        attributes |= {"swiglu_limit": 0.75} if rng.random() < 0.5 else {}
    return kind, attributes


def draw_sizes(rng, each):
    """Tokens, experts, and the two widths; many tokens now and then."""
    tokens = int(rng.integers(1, 12)) if rng.random() < 0.9 else int(rng.integers(60, 120))
    return tokens, int(rng.integers(1, 6)), int(rng.integers(1, 5)) * each, int(rng.integers(1, 5)) * each


def draw_tokens(rng, kind, tokens, hidden):
    dims = [tokens, hidden] if rng.random() < 0.5 or tokens % 2 else [2, tokens // 2, hidden]
    return heads.numbers(rng, kind, *dims)


def router_of(rng, kind, tokens, experts):
    """No two scores of a token are equal, nor so near that a rounding could tell them apart."""
    scores = np.argsort(rng.random((tokens, experts)), axis=1) / 4 - 0.5
    return kind, scores.astype(arrays.DTYPES[kind][1])


def floats(rng):
    kind = heads.draw_kind(rng)
    tokens, experts, hidden, inner = draw_sizes(rng, int(rng.integers(1, 12)))
    activation, attributes = draw_attributes(rng, experts)
    fusion = attributes.get("swiglu_fusion", 0)
    gated = activation == "swiglu" and not fusion or not fusion and rng.random() < 0.2
    x, router = draw_tokens(rng, kind, tokens, hidden), router_of(rng, kind, tokens, experts)
    inputs, products = [x, router], []
    for n, k in ((inner * (2 if fusion else 1), hidden), (hidden, inner), (inner, hidden))[:3 if gated else 2]:
        weights = heads.numbers(rng, kind, experts, n, k)
        weights = kind, (weights[1].astype(np.float64) / np.sqrt(k)).astype(weights[1].dtype)
        bias = heads.maybe(rng, heads.numbers(rng, kind, experts, n))
        inputs += [weights, bias]
        products.append((heads.wide(weights), heads.wide(bias)))
    products += [None] * (3 - len(products))
    right = mix(heads.wide(x).reshape(tokens, hidden), heads.wide(router), products, None, attributes)
    return "MoE", inputs, [kind], attributes, [right.reshape(x[1].shape)]


def crowd(rng):
    """As many experts as there may be in a small model, all of them chosen."""
    experts = 1500
    inputs = [heads.numbers(rng, "float", 1, 1), heads.numbers(rng, "float", 1, experts),
              heads.numbers(rng, "float", experts, 1, 1), None, heads.numbers(rng, "float", experts, 1, 1)]
    x, router, *weights = (heads.wide(i) for i in inputs if i is not None)
    attributes = {"k": experts}
    right = mix(x, router, [(w, None) for w in weights] + [None], None, attributes)
    return "MoE", inputs, ["float"], attributes, [right]


def pack(values, bits):
    """Integers along the last axis to bytes, the lowest bits first, and zeros up to a whole byte."""
    each = 8 // bits
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % each)])
    parts = values.reshape(*values.shape[:-1], -1, each).astype(np.uint8)
    return np.bitwise_or.reduce(parts << (np.arange(each, dtype=np.uint8) * bits), axis=-1).astype(np.uint8)


def packed_product(rng, kind, scale_kind, experts, n, k, bits, block):
    """Inputs (weights, scales, bias, zero points), and the weights that they stand for."""
    weights = rng.integers(0, 2 ** bits, (experts, n, k))
    blocks = k // block if block else 1
    scales = rng.uniform(0.2, 1, (experts, n, blocks)) / (2 ** bits * np.sqrt(k) / 4)
    scales = scale_kind, (scales if block else scales[..., 0]).astype(arrays.DTYPES[scale_kind][1])
    zeros, points = None, 2 ** (bits - 1)
    if rng.random() < 0.4:
        points = rng.integers(0, 2 ** bits, (experts, n, blocks))
        zeros = "uint8", pack(points if block else points[..., 0], bits)
    wide = scales[1].astype(np.float64).reshape(experts, n, blocks)
    real = ((weights.reshape(experts, n, blocks, -1) - np.reshape(points, (experts, n, blocks, 1) if zeros else ())) *
            wide[..., None]).reshape(experts, n, k)
    bias = heads.maybe(rng, heads.numbers(rng, kind, experts, n))
    return ("uint8", pack(weights, bits)), scales, bias, zeros, real


def draw_widths(rng, bits, attributes):
    """The bits of each product's weights, and the attributes that say so: one for all, or of their own. Fused SwiGLU has fc3
    in fc1."""
    widths = [bits] * 3
    if rng.random() < 0.3:
        widths = [int(rng.choice([2, 4, 8])) for _ in widths]
        widths[2] = widths[0] if attributes.get("swiglu_fusion") else widths[2]
    for i, own in enumerate(widths):
        if own != bits or rng.random() < 0.1:
            attributes[f"fc{i + 1}_expert_weight_bits"] = own
    if bits != 4 or rng.random() < 0.5:
        attributes["expert_weight_bits"] = bits
    return widths


def integers(rng):
    kind = heads.draw_kind(rng)
    scale_kind = kind if rng.random() < 0.7 else "float"
    bits, block = int(rng.choice([4, 4, 8, 2])), int(rng.choice([0, 16, 32, 64]))
    tokens, experts, hidden, inner = draw_sizes(rng, block or 16)
    activation, attributes = draw_attributes(rng, experts)
    attributes |= {"block_size": block} if block else {}
    fusion = attributes.get("swiglu_fusion", 0)
    gated = activation == "swiglu" and not fusion or not fusion and rng.random() < 0.2
    x, router = draw_tokens(rng, kind, tokens, hidden), router_of(rng, kind, tokens, experts)
    widths = draw_widths(rng, bits, attributes)
    inputs, products = [x, router] + [None] * 13, []
    for i, (n, k) in enumerate(((inner * (2 if fusion else 1), hidden), (hidden, inner), (inner, hidden))[:3 if gated else 2]):
        *given, zeros, real = packed_product(rng, kind, scale_kind, experts, n, k, widths[i], block)
        inputs[2 + 3 * i:5 + 3 * i] = given
        inputs[11 + i] = zeros
        products.append((real, heads.wide(given[2])))
    products += [None] * (3 - len(products))
    if rng.random() < 0.3:
        inputs[14] = kind, rng.uniform(0.1, 1, (tokens, experts)).astype(arrays.DTYPES[kind][1])
    right = mix(heads.wide(x).reshape(tokens, hidden), heads.wide(router), products, heads.wide(inputs[14]), attributes)
    return "QMoE", inputs, [kind], attributes, [right.reshape(x[1].shape)]


KINDS = [floats, integers]


def case(rng, turn):
    op, inputs, outputs, attributes, right = (crowd if turn == 2 else KINDS[turn % len(KINDS)])(rng)
    while inputs[-1] is None:
        inputs.pop()
    fixed = {k for k in range(1, len(inputs)) if rng.random() < 0.3 and inputs[k] is not None}
    data = one_node.model(op, 21, inputs, fixed, outputs, attributes, heads.DOMAIN)
    what = f"{op} {[i and (i[0], i[1].shape) for i in inputs]} weights {sorted(fixed)} {attributes}"
    limit = LIMITS[outputs[0]]
    start = time.process_time()
    first, wrong = one_node.steady(data, inputs, fixed)
    if wrong:
        return f"{what}: {wrong}"
    if time.process_time() - start > SECONDS * (10 if "OX_SANITIZED" in os.environ else 1):
        return f"{what}: took {time.process_time() - start:.1f} s"
    size = 1 + np.abs(right[0]).max(initial=0)
    # ONNX Runtime's kernel of QMoE normalizes what comes of a softmax, whatever the attribute says; that of MoE does not.
    mixed = len({attributes.get(f"fc{i}_expert_weight_bits") for i in (1, 2, 3)}) > 1  # it refuses these
    asked = turn % 4 < 2 and not mixed and (op == "MoE" or attributes.get("normalize_routing_weights") or len(inputs) > 14)
    for who, given in (("ox", first), ("ONNX Runtime", heads.by_runtime(data, inputs, fixed) if asked else None)):
        away = 0 if given is None else np.abs(given[0].astype(np.float64) - right[0]).max(initial=0)
        # ONNX Runtime's QMoE rounds tokens to bytes in some of its ways.
        if not away <= (limit if who == "ox" else 20 * limit if op == "MoE" else 0.1) * size:
            return f"{what}: {who} is off by {away:.3g}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(case, 600))
