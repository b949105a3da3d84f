"""chances.py [--seed N] [--cases N]: operators with random numbers, losses and optimizers. Random numbers with a seed
are those of numpy's RandomState; without one, each run has others."""

import sys

import arrays
import nodes
import numpy as np
import trials
from onnx.reference.ops import op_negative_log_likelihood_loss, op_softmax_cross_entropy_loss
from onnx.reference.ops.aionnx_preview_training import op_adagrad, op_adam, op_momentum

REAL = ["float16", "bfloat16", "float", "double"]
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float": 1e-5, "double": 1e-9}


def dims_of(rng, least, most, size=6):
    return [int(d) for d in rng.integers(1, size, int(rng.integers(least, most)))]


def draw(rng, kind, dims, low=-1, high=1):
    return np.asarray(rng.uniform(low, high, dims)).astype(arrays.DTYPES[kind][1])


def near(got, wanted, kind):
    scale = max(1, np.max(np.abs(np.asarray(wanted, np.float64)), initial=0, where=np.isfinite(wanted)))
    return got.shape == np.shape(wanted) and np.allclose(got.astype(np.float64), wanted, rtol=TOLERANCES[kind],
                                                         atol=TOLERANCES[kind] * scale, equal_nan=True)


# ---- Random numbers ----------------------------------------------------------------------------------------------


def filled(rng):
    op, kind = str(rng.choice(["Normal", "Uniform"])), str(rng.choice(REAL))
    dims, seed = dims_of(rng, 1, 4, 20), int(rng.integers(0, 1 << 20))
    a, b = (float(np.float32(v)) for v in rng.uniform(-2, 2, 2))
    state = np.random.RandomState(seed)
    wanted = state.randn(*dims) * b + a if op == "Normal" else a + state.uniform(size=dims) * (b - a)
    names = ("mean", "scale") if op == "Normal" else ("low", "high")
    attributes = {names[0]: a, names[1]: b, "seed": float(seed), "dtype": nodes.kind_of(kind)}
    if rng.random() < 0.5:
        data = nodes.model_of(f"Random{op}", 22, {}, {"y": kind}, shape=dims, **attributes)
        got = nodes.run(data, [])[0]
    else:
        source = str(rng.choice(["int8", "float", "bool"]))
        data = nodes.model_of(f"Random{op}Like", 22, {"x": source}, {"y": kind}, **attributes)
        got = nodes.run(data, [(np.zeros(dims, arrays.DTYPES[source][1]), source)])[0]
    return None if near(got, wanted, kind) else f"Random{op} {kind} {dims} seed {seed}: is not what numpy draws"


def dropout(rng):
    kind, dims, seed = str(rng.choice(REAL)), dims_of(rng, 0, 4, 20), int(rng.integers(0, 1 << 31))
    ratio, x = float(rng.integers(0, 9)) / 10, draw(rng, kind, dims)
    kept = np.random.RandomState(seed).uniform(size=dims) >= ratio if ratio else np.ones(dims, bool)
    inputs = {"x": kind, "ratio": "double", "training": "bool"}
    constants = {"training": np.array(True)} if rng.random() < 0.5 else {}
    feeds = [(x, kind), (np.array(ratio), "double"), (np.array(True), "bool")][:3 - len(constants)]
    data = nodes.model_of("Dropout", 22, inputs, {"y": kind, "mask": "bool"}, constants, seed=seed)
    got, mask = nodes.run(data, feeds)
    right = np.array_equal(mask, kept) and near(got, x.astype(np.float64) * kept / (1 - ratio), kind)
    return None if right else f"Dropout {kind} {dims} ratio {ratio} seed {seed}: is not what numpy drops"


def bernoulli(rng):
    kind, to = str(rng.choice(REAL)), str(rng.choice(["bool", "int8", "float", "double", "float16", "uint64"]))
    dims, seed = dims_of(rng, 0, 4, 20), int(rng.integers(0, 1 << 20))
    x = draw(rng, kind, dims, 0, 1)
    wanted = np.random.RandomState(seed).uniform(size=dims) < x.astype(np.float64)
    data = nodes.model_of("Bernoulli", 22, {"x": kind}, {"y": to}, dtype=nodes.kind_of(to), seed=float(seed))
    got = nodes.run(data, [(x, kind)])[0]
    right = np.array_equal(got.astype(np.float64), np.asarray(wanted, np.float64))
    return None if right else f"Bernoulli {kind} to {to} {dims} seed {seed}: is not what numpy draws"


def multinomial(rng):
    kind, to, batch = str(rng.choice(REAL)), str(rng.choice(["int32", "int64"])), int(rng.integers(1, 4))
    classes, samples, seed = int(rng.integers(1, 20)), int(rng.integers(0, 50)), int(rng.integers(0, 1 << 20))
    x = draw(rng, kind, [batch, classes], -3, 3)
    sums = np.cumsum(np.exp(x.astype(np.float64)), axis=1)
    numbers = np.random.RandomState(seed).uniform(size=(batch, samples)) * sums[:, -1:]
    data = nodes.model_of("Multinomial", 22, {"x": kind}, {"y": to}, dtype=nodes.kind_of(to), seed=float(seed),
                          sample_size=samples)
    got = nodes.run(data, [(x, kind)])[0]
    wanted = np.array([np.searchsorted(s, n, side="right") for s, n in zip(sums, numbers)]).reshape(batch, samples)
    return None if np.array_equal(got, wanted) else f"Multinomial {kind} {batch} {classes} {samples}: draws others"


def unseeded(rng):
    """The mean and the spread are right, and another session has other numbers."""
    data = nodes.model_of("RandomNormal", 22, {}, {"y": "double"}, shape=[4000], dtype=nodes.kind_of("double"))
    one, two = (nodes.run(data, [])[0] for _ in range(2))
    wild = abs(one.mean()) > 0.1 or abs(one.std() - 1) > 0.1
    return "RandomNormal without a seed: is not normal" if wild or np.array_equal(one, two) else None


# ---- Losses ------------------------------------------------------------------------------------------------------


def loss(rng):
    kind, softmax = str(rng.choice(["float16", "float", "double"])), bool(rng.random() < 0.6)
    classes = int(rng.integers(1, 9)) if rng.random() < 0.8 else int(rng.integers(200, 700))
    rows, inner = int(rng.integers(1, 6)), dims_of(rng, 0, 3, 9 if rng.random() < 0.8 else 40)
    x = draw(rng, kind, [rows, classes, *inner], -4, 4)
    target = rng.integers(0, classes, [rows, *inner]).astype(np.int32 if rng.random() < 0.5 else np.int64)
    weight = draw(rng, kind, [classes], 0.1, 2) if rng.random() < 0.5 else None
    attributes = {"reduction": str(rng.choice(["none", "sum", "mean"]))}
    if rng.random() < 0.5:
        attributes["ignore_index"] = int(rng.choice([-100, 0, classes + 3]))
        target[rng.random(target.shape) < 0.2] = attributes["ignore_index"]
    wide, heavy = x.astype(np.float64), None if weight is None else weight.astype(np.float64)
    ignored = attributes.get("ignore_index")
    with np.errstate(all="ignore"):
        if softmax:
            wanted = op_softmax_cross_entropy_loss.softmaxcrossentropy(
                wide, target, heavy, attributes["reduction"], ignored, True)
        else:
            wanted = op_negative_log_likelihood_loss._compute_negative_log_likelihood_loss(
                wide, target, heavy, attributes["reduction"], ignored)
    label = "int32" if target.dtype == np.int32 else "int64"
    inputs = {"x": kind, "target": label, "weight": "" if weight is None else kind}
    outputs = {"y": kind, "log_prob": kind} if softmax else {"y": kind}
    op = "SoftmaxCrossEntropyLoss" if softmax else "NegativeLogLikelihoodLoss"
    data = nodes.model_of(op, 13, inputs, outputs, **attributes)
    feeds = [(x, kind), (target, label)] + ([] if weight is None else [(weight, kind)])
    one, two = (nodes.run(data, feeds, threads) for threads in (1, 2))
    right = all(near(a, b, kind) and a.tobytes() == c.tobytes() for a, b, c in zip(one, wanted, two))
    return None if right else f"{op} {kind} {list(x.shape)} {attributes}: {one[0]}, not {wanted[0]}"


# ---- Optimizers --------------------------------------------------------------------------------------------------


def optimizer(rng):
    op, kind = str(rng.choice(["Adagrad", "Adam", "Momentum"])), str(rng.choice(["float", "double"]))
    lists, count = 4 if op == "Adam" else 3, int(rng.integers(1, 4))
    rate, steps = draw(rng, "float", [], 0, 1), np.array(int(rng.integers(0, 5)))
    shapes = [dims_of(rng, 0, 4, 12) for _ in range(count)]
    tensors = [[draw(rng, kind, shape, 0 if k >= 2 else -1, 1) for shape in shapes] for k in range(lists)]
    names = {"Adagrad": ["decay_factor", "epsilon", "norm_coefficient"],
             "Momentum": ["alpha", "beta", "norm_coefficient"],
             "Adam": ["alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post"]}[op]
    attributes = {name: float(np.float32(rng.uniform(0.01, 0.9))) for name in names}
    if op == "Momentum":
        attributes["mode"] = str(rng.choice(["standard", "nesterov"]))
    apply = {"Adagrad": op_adagrad._apply_adagrad, "Adam": op_adam._apply_adam,
             "Momentum": op_momentum._apply_nesterov if attributes.get("mode") == "nesterov"
             else op_momentum._apply_momentum}[op]
    given = {name: value for name, value in attributes.items() if name != "mode"}
    wide = [[t.astype(np.float64) for t in part] for part in tensors]
    changed = [apply(float(rate), int(steps), *(part[i] for part in wide), **given) for i in range(count)]
    wanted = [step[k] for k in range(lists - 1) for step in changed]
    inputs = {"r": "float", "t": "int64", **{f"x{i}": kind for i in range(lists * count)}}
    outputs = {f"y{i}": kind for i in range(len(wanted))}
    data = nodes.model_of(op, 22, inputs, outputs, domain="ai.onnx.preview.training", **attributes)
    feeds = [(rate, "float"), (steps, "int64"), *((t, kind) for part in tensors for t in part)]
    right = all(near(got, right, kind) for got, right in zip(nodes.run(data, feeds), wanted))
    return None if right else f"{op} {kind} {shapes} {attributes}: is not as expected"


def check(rng, _):
    kinds = [filled, filled, dropout, bernoulli, multinomial, unseeded, loss, loss, loss, optimizer, optimizer]
    return kinds[int(rng.integers(0, len(kinds)))](rng)


if __name__ == "__main__":
    sys.exit(trials.run(check, 800))
