"""ml_case.py: a node of the domain ai.onnx.ml, and what all drawers of such nodes need."""

import numpy as np

NUMBERS = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}
WORDS = ["", "a", "ox", "\u00e9\u00df", "a longer label that is kept nowhere inline"]
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


class Case:
    """A node. What it gives is asked of onnxruntime, unless it is known here."""

    def __init__(self, op, version, inputs, attributes, outputs=1, tolerance=1e-5, expected=None):
        self.op, self.version, self.inputs, self.attributes = op, version, inputs, attributes
        self.outputs, self.tolerance, self.expected = outputs, tolerance, expected

    def said(self):
        text = ", ".join(f"{k}={v}" for k, v in self.attributes.items()).replace("\n", " ")
        return text if len(text) < 900 else text[:900] + "..."


def pick(rng, choices):
    return choices[int(rng.integers(0, len(choices)))]


def draw_type(rng, names=tuple(NUMBERS)):
    return pick(rng, names)


def draw_rows(rng, type_name, rows=None, columns=None, special=True):
    """Rows of few numbers, with NaN and infinities among them."""
    rows = pick(rng, [1, 2, 5, 9, 300]) if rows is None else rows
    columns = int(rng.integers(1, 7)) if columns is None else columns
    x = rng.integers(-4, 5, (rows, columns)) / (2 if type_name in ("float", "double", "float16") else 1)
    if special and type_name in ("float", "double", "float16"):
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.03] = np.inf
        x[rng.random(x.shape) < 0.03] = -np.inf
    return x.astype(np.float16 if type_name == "float16" else NUMBERS[type_name])


def weights(rng, count, negative=True):
    return (rng.integers(-64 if negative else 0, 65, count) / 64).astype(np.float32)


def labels(rng, count, names=("classlabels_int64s", "classlabels_strings")):
    if rng.random() < 0.5:
        return {names[0]: [int(i) for i in rng.permutation(20)[:count] - 5]}
    return {names[1]: [f"{pick(rng, WORDS)}{i}" for i in range(count)]}
