"""ml_models.py: random linear models and support vector machines of the domain ai.onnx.ml."""

import numpy as np
from ml_case import TRANSFORMS, Case, draw_rows, draw_type, labels, pick, weights

CLASS_LABELS = ("classlabels_ints", "classlabels_strings")


def linear_regressor(rng):
    type_name, targets = draw_type(rng, ["float"]), pick(rng, [1, 2, 3])
    x = draw_rows(rng, type_name, columns=pick(rng, [1, 3, 8, 21]), special=False)
    attributes = {"targets": targets, "coefficients": weights(rng, targets * x.shape[1]).tolist(),
                  "post_transform": "NONE" if targets == 1 else pick(rng, TRANSFORMS)}
    if rng.random() < 0.7:
        attributes["intercepts"] = weights(rng, targets).tolist()
    return Case("LinearRegressor", 1, [(type_name, x)], attributes)


def linear_classifier(rng):
    """Two classes may have one score."""
    type_name, classes = draw_type(rng), pick(rng, [2, 3, 5])
    x = draw_rows(rng, type_name, columns=pick(rng, [1, 3, 8, 21]), special=False)
    count = 1 if classes == 2 and rng.random() < 0.5 else classes
    attributes = {"coefficients": weights(rng, count * x.shape[1]).tolist(),
                  "intercepts": weights(rng, count).tolist(), "post_transform": pick(rng, TRANSFORMS),
                  **labels(rng, classes, CLASS_LABELS)}
    return Case("LinearClassifier", 1, [(type_name, x)], attributes, 2)


def draw_kernel(rng):
    kind = pick(rng, ["LINEAR", "POLY", "RBF", "SIGMOID"])
    return {"kernel_type": kind, "kernel_params": [0.25, 0.5, float(rng.integers(1, 4))]}


def svm_regressor(rng):
    x = draw_rows(rng, "float", special=False)
    vectors = pick(rng, [0, 1, 4, 9])
    attributes = {"n_supports": vectors, "one_class": int(rng.random() < 0.2), "rho": weights(rng, 1).tolist(),
                  "coefficients": weights(rng, vectors or x.shape[1]).tolist(), **draw_kernel(rng)}
    if vectors:
        attributes["support_vectors"] = weights(rng, vectors * x.shape[1]).tolist()
    return Case("SVMRegressor", 1, [("float", x)], attributes, tolerance=1e-4)


def svm_classifier(rng):
    """Without support vectors it is linear, which onnxruntime has a rule of its own for if there are two classes."""
    type_name, classes = draw_type(rng), pick(rng, [2, 3, 4])
    x = draw_rows(rng, type_name, special=False)
    attributes = {**labels(rng, classes, CLASS_LABELS), **draw_kernel(rng), "post_transform": pick(rng, TRANSFORMS)}
    per_class = [int(n) for n in rng.integers(1, 5, classes)]
    pairs = classes * (classes - 1) // 2
    if classes > 2 and rng.random() < 0.3:
        attributes.update(coefficients=weights(rng, classes * x.shape[1]).tolist(), rho=weights(rng, 1).tolist())
        return Case("SVMClassifier", 1, [(type_name, x)], attributes, 2, tolerance=1e-4)
    attributes.update(vectors_per_class=per_class, rho=(weights(rng, pairs) + 1 / 999).tolist(),
                      support_vectors=weights(rng, sum(per_class) * x.shape[1]).tolist(),
                      coefficients=weights(rng, sum(per_class) * (classes - 1)).tolist())
    if rng.random() < 0.4:
        attributes.update(prob_a=(weights(rng, pairs) - 1).tolist(), prob_b=weights(rng, pairs).tolist())
    return Case("SVMClassifier", 1, [(type_name, x)], attributes, 2, tolerance=1e-3)


DRAWERS = {"LinearRegressor": linear_regressor, "LinearClassifier": linear_classifier, "SVMRegressor": svm_regressor,
           "SVMClassifier": svm_classifier}
