"""cases.py: a trained model as ONNX, and the data that all models here are trained on."""

import numpy as np

ROWS, COLUMNS = 240, 6


class Case:
    """A model, its inputs by name (rows, or a dictionary that is a map), and what the library that trained it predicts
    for them, a list of as many outputs as are to be compared: it counts where ONNX Runtime refuses the model."""

    def __init__(self, name, model, inputs, own=None, tolerance=1e-5):
        self.name, self.inputs, self.own, self.tolerance = " ".join(name.split()), inputs, own, tolerance
        self.data = model.SerializeToString()


def rows(count=ROWS):
    """Numbers that no type of floats rounds."""
    return np.random.default_rng(1).integers(-99, 100, (count, COLUMNS)).astype(np.float32) / 8


def missing(x):
    """The same with some numbers missing."""
    result = x.copy()
    result[np.random.default_rng(2).random(x.shape) < 0.15] = np.nan
    return result


def amounts(x, targets=1):
    """What a regressor has to learn."""
    y = x[:, 0] * 0.5 - np.abs(x[:, 1]) + x[:, 2] * x[:, 3] * 0.05
    return y if targets == 1 else np.stack([y, x[:, 4] - y], axis=1)


def numbered(x, count):
    """What a classifier has to learn, as numbers from 0 on."""
    return np.digitize(amounts(x), np.quantile(amounts(x), np.arange(1, count) / count))


def named(x, count):
    """The same as words."""
    return np.array(["ox", "bull", "cow", "calf"])[numbered(x, count)]
