"""recurrent.py: RNN, GRU and LSTM with random attributes against their equations in the specification, and
DynamicQuantizeLSTM against onnxruntime, whose own it is."""

import sys

import arrays
import numpy as np
import one_node
import onnxruntime
import oxlib
import trials

TYPES = {1: ["float", "double", "float16"], 22: ["float", "double", "float16", "bfloat16"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
VERSIONS = {"RNN": [1, 7, 14, 22], "GRU": [1, 3, 7, 14, 22], "LSTM": [1, 7, 14, 22]}
# An activation, the defaults of the parameters that it takes, and what it computes.
ACTIVATIONS = {
    "Relu": ([], lambda x: np.maximum(x, 0)),
    "Tanh": ([], np.tanh),
    "Sigmoid": ([], lambda x: 1 / (1 + np.exp(-x))),
    "Affine": ([1, 0], lambda x, a, b: a * x + b),
    "LeakyRelu": ([0.01], lambda x, a: np.where(x >= 0, x, a * x)),
    "ThresholdedRelu": ([1], lambda x, a: np.where(x > a, x, 0)),
    "ScaledTanh": ([1, 1], lambda x, a, b: a * np.tanh(b * x)),
    "HardSigmoid": ([0.2, 0.5], lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "Elu": ([1], lambda x, a: np.where(x >= 0, x, a * np.expm1(x))),
    "Softsign": ([], lambda x: x / (1 + np.abs(x))),
    "Softplus": ([], lambda x: np.log1p(np.exp(x))),
}
BOUNDED = ["Tanh", "Sigmoid", "HardSigmoid", "Softsign", "ScaledTanh"]


def rounded(rng, type_name, dims):
    """Numbers that the type holds exactly; small where they are many, as some activations have no limits."""
    limit = 1 if len(dims) < 3 else 2 / np.sqrt(max(dims[2], 1))
    return rng.uniform(-limit, limit, dims).astype(arrays.DTYPES[type_name][1])


def draw_functions(rng, op, directions):
    """(attributes, functions by direction)"""
    names = list(rng.choice([*ACTIVATIONS] if rng.random() < 0.5 else BOUNDED, FUNCTIONS[op] * directions))
    attributes = {"activations": [str(n) for n in names]}
    if rng.random() < 0.4: # one pass over the gates, where nothing else is asked for
        names, attributes = DEFAULTS[op] * directions, {}
    lists, functions, given = ([], []), [], rng.random() < 0.6
    for name in names:
        defaults, function = ACTIVATIONS[name]
        numbers = [float(np.float32(rng.uniform(0.1, 0.9))) if given else float(np.float32(d)) for d in defaults]
        for values, number in zip(lists, numbers):
            values.append(number)
        functions.append(lambda x, f=function, n=numbers: f(x, *n))
    if given:
        attributes |= {k: v for k, v in zip(("activation_alpha", "activation_beta"), lists) if v}
    return attributes, [functions[d * FUNCTIONS[op]:(d + 1) * FUNCTIONS[op]] for d in range(directions)]


def draw(rng, op):
    version = int(rng.choice(VERSIONS[op]))
    type_name = str(rng.choice(TYPES[22 if version == 22 else 1]))
    seq, batch, size, hidden = (int(rng.integers(low, high)) for low, high in ((0, 6), (0, 5), (0, 9), (1, 20)))
    if rng.random() < 0.1:
        batch, hidden = 1, int(rng.integers(60, 90))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1
    attributes, functions = draw_functions(rng, op, directions)
    attributes |= {"direction": direction} if direction != "forward" or rng.random() < 0.5 else {}
    attributes |= {"hidden_size": hidden} if rng.random() < 0.7 else {}
    attributes |= {"clip": float(np.float32(rng.uniform(0.3, 2)))} if rng.random() < 0.3 else {}
    attributes |= {"layout": int(rng.integers(0, 2))} if version >= 14 else {}
    attributes |= {"input_forget": int(rng.random() < 0.3)} if op == "LSTM" else {}
    attributes |= {"linear_before_reset": int(rng.integers(0, 2))} if op == "GRU" and version >= 3 else {}
    attributes |= {"output_sequence": int(rng.integers(0, 2))} if version < 7 else {}
    rows = GATES[op] * hidden

    def some(*dims, often=0.6):
        return (type_name, rounded(rng, type_name, dims)) if rng.random() < often else None
    by_batch = attributes.get("layout", 0)
    state = (batch, directions, hidden) if by_batch else (directions, batch, hidden)
    inputs = [some(*((batch, seq, size) if by_batch else (seq, batch, size)), often=1),
              some(directions, rows, size, often=1), some(directions, rows, hidden, often=1),
              some(directions, 2 * rows), None, some(*state)]
    if rng.random() < 0.4:
        inputs[4] = ("int32", rng.integers(0, seq + 1, batch).astype(np.int32))
    if op == "LSTM":
        inputs += [some(*state), some(directions, 3 * hidden)]
    fixed = {k for k in (1, 2, 3) if rng.random() < 0.6}
    return version, type_name, attributes, functions, inputs, fixed


def cell(op, attributes, f, gates, x, h, c, w, r, bw, br, p):
    """The next (h, c) of one row: gates are the rows of the weights."""
    n = len(h)
    clip = attributes.get("clip")

    def at(k):
        return slice(k * n, (k + 1) * n)

    def apply(function, v):
        return function(v if clip is None else np.clip(v, -clip, clip))
    a, b = w @ x + bw, r @ h + br
    if op == "RNN":
        return apply(f[0], a + b), c
    if op == "GRU":
        z, reset = apply(f[0], (a + b)[at(0)]), apply(f[0], (a + b)[at(1)])
        if attributes.get("linear_before_reset", 0):
            g = apply(f[1], a[at(2)] + reset * b[at(2)])
        else:
            g = apply(f[1], a[at(2)] + r[at(2)] @ (reset * h) + br[at(2)])
        return (1 - z) * g + z * h, c
    s = a + b
    i = apply(f[0], s[at(0)] + p[at(0)] * c)
    forget = 1 - i if attributes.get("input_forget", 0) else apply(f[0], s[at(2)] + p[at(2)] * c)
    c = forget * c + i * apply(f[1], s[at(3)])
    o = apply(f[0], s[at(1)] + p[at(1)] * c)
    return o * apply(f[2], c), c


def expected(op, attributes, functions, inputs):
    wide = [None if i is None else i[1].astype(np.float64) for i in inputs] + [None] * 2
    by_batch, direction = attributes.get("layout", 0), attributes.get("direction", "forward")
    x = wide[0].swapaxes(0, 1) if by_batch else wide[0]
    (seq, batch, _), (directions, rows, hidden) = x.shape, wide[2].shape
    states = [np.zeros((directions, batch, hidden)) if s is None else (s.swapaxes(0, 1) if by_batch else s).copy()
              for s in wide[5:7]]
    y = np.zeros((seq, directions, batch, hidden))
    for d in range(directions):
        bias = np.zeros(2 * rows) if wide[3] is None else wide[3][d]
        p = np.zeros(3 * hidden) if wide[7] is None else wide[7][d]
        for row in range(batch):
            length = seq if wide[4] is None else int(wide[4][row])
            backward = direction == "reverse" or d == 1
            h, c = states[0][d, row], states[1][d, row]
            for t in reversed(range(length)) if backward else range(length):
                h, c = cell(op, attributes, functions[d], GATES[op], x[t, row], h, c, wide[1][d], wide[2][d],
                            bias[:rows], bias[rows:], p)
                y[t, d, row] = h
            states[0][d, row], states[1][d, row] = h, c
    results = [y, *states]
    if by_batch:
        results = [y.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in states)]
    return results[:3 if op == "LSTM" else 2]


def quantized(rng):
    """Weights are bytes, and transposed. Roundings of states may go another way where they are half-way."""
    batch, seq, size, hidden = (int(d) for d in rng.integers(1, [4, 5, 9, 20]))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    directions, rows = 2 if direction == "bidirectional" else 1, 4 * hidden
    attributes = {"hidden_size": hidden, "direction": direction, "input_forget": int(rng.integers(0, 2))}
    kind = str(rng.choice(["int8", "uint8"]))

    def some(*dims, often=0.5):
        return ("float", rounded(rng, "float", dims)) if rng.random() < often else None
    inputs = [some(seq, batch, size, often=1), None, None, some(directions, 2 * rows), None,
              some(directions, batch, hidden), some(directions, batch, hidden), some(directions, 3 * hidden)]
    if rng.random() < 0.3:
        inputs[4] = ("int32", rng.integers(1, seq + 1, batch).astype(np.int32))
    for k, depth in ((1, size), (2, hidden)):
        low, high = (-60, 61) if kind == "int8" else (0, 256)  # sums of two products of larger ones would not fit 16 bits
        inputs[k] = (kind, rng.integers(low, high, (directions, depth, rows)).astype(kind))
        entries = (directions, rows) if kind == "int8" and rng.random() < 0.5 else (directions,)
        zero = 0 if entries[1:] else int(rng.integers(low, high))
        inputs += [("float", rng.uniform(0.001, 0.01, entries).astype(np.float32)),
                   (kind, np.full(entries, zero, kind))]
    fixed = {1, 2, 8, 9, 10, 11}
    data = one_node.model("DynamicQuantizeLSTM", 1, inputs, fixed, ["float"] * 3, attributes, "com.microsoft")
    feeds = {f"x{k}": i[1] for k, i in enumerate(inputs) if i is not None and k not in fixed}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # with more, it may quantize parts of a batch by themselves
    right = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    return data, inputs, fixed, right, f"DynamicQuantizeLSTM {kind} {[i and i[1].shape for i in inputs]} {attributes}"


def quantized_case(rng):
    data, inputs, fixed, right, what = quantized(rng)
    try:
        wrong = one_node.problem(data, inputs, fixed, right, ["bfloat16"] * 3)
    except oxlib.OxError as error:
        wrong = str(error)
    return wrong and f"{what}: {wrong}"


def case(rng, turn):
    if turn % 8 == 7:
        return quantized_case(rng)
    op = [*GATES][turn % 3]
    right = [np.array(np.inf)]
    while not all((np.abs(r) < 100).all() for r in right): # some activations let states grow from step to step
        version, type_name, attributes, functions, inputs, fixed = draw(rng, op)
        with np.errstate(all="ignore"):
            right = expected(op, attributes, functions, inputs)
    wanted = [type_name if rng.random() < 0.8 else None for _ in right]
    if not any(wanted):
        wanted[0] = type_name
    right = [r for r, w in zip(right, wanted) if w]
    data = one_node.model(op, version, inputs, fixed, wanted, attributes)
    dims = [None if i is None else i[1].shape for i in inputs]
    what = f"{op}-{version} {type_name} {attributes} {dims} weights {sorted(fixed)}"
    try:
        wrong = one_node.problem(data, inputs, fixed, right, [type_name] * len(right))
    except oxlib.OxError as error:
        wrong = str(error)
    return wrong and f"{what}: {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 400))
