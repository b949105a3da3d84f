"""written_ml.py: cases of the operators of ai.onnx.ml, of which ONNX's node cases have few."""

import numpy as np

import written
from written import floats, ints, texts

DOMAIN = "ai.onnx.ml"


def one(op, versions, inputs, outputs, **attributes):
    return written.one(op, versions, inputs, outputs, domain=DOMAIN, **attributes)


def values():
    sparse = {0: np.array(1.5, np.float32), 3: np.array(-2, np.float32)}
    yield from one("CastMap", (1,), [sparse], [floats(1.5, -2).reshape(1, 2)], says="dense", cast_to="TO_FLOAT",
                   map_form="DENSE")
    yield from one("CastMap", (1,), [sparse], [floats(1.5, 0, 0, -2, 0).reshape(1, 5)], says="sparse",
                   cast_to="TO_FLOAT",
                   map_form="SPARSE", max_map=5)
    known = {"cats_strings": ["a", "b"], "cats_int64s": [7, 9], "default_string": "?", "default_int64": -1}
    yield from one("CategoryMapper", (1,), [ints(9, 8, 7)], [texts("b", "?", "a")], says="texts", **known)
    yield from one("CategoryMapper", (1,), [texts("b", "c", "a")], [ints(9, -1, 7)], says="numbers", **known)
    yield from one("DictVectorizer", (1,), [{"b": np.array(4), "c": np.array(6)}], [ints(0, 4, 6)],
                   string_vocabulary=["a", "b", "c"])
    yield from one("FeatureVectorizer", (1,), [floats(1, 2).reshape(1, 2), floats(3).reshape(1, 1)],
                   [floats(1, 2, 3).reshape(1, 3)], inputdimensions=[2, 1])
    yield from one("Imputer", (1,), [floats(1, np.nan, 3, np.nan).reshape(2, 2)], [floats(1, 8, 3, 8).reshape(2, 2)],
                   imputed_value_floats=[7.0, 8.0], replaced_value_float=float("nan"))
    classes = {"classes_strings": ["a", "b"], "default_string": "?", "default_int64": -5}
    yield from one("LabelEncoder", (1,), [texts("b", "c", "a")], [ints(1, -5, 0)], says="numbers", **classes)
    yield from one("LabelEncoder", (1,), [ints(1, 2, 0)], [texts("b", "?", "a")], says="texts", **classes)
    yield from one("LabelEncoder", (2,), [ints(4, 5)], [floats(0.5, -1)], says="floats", keys_int64s=[4],
                   values_floats=[0.5],
                   default_float=-1.0)
    yield from one("Normalizer", (1,), [floats(3, -4).reshape(1, 2)], [floats(0.6, -0.8).reshape(1, 2)], norm="L2")
    yield from one("OneHotEncoder", (1,), [ints(2, 5)], [floats([1, 0], [0, 0]).reshape(2, 2)], cats_int64s=[2, 4],
                   zeros=1)
    yield from one("Scaler", (1,), [floats(3, 5).reshape(1, 2)], [floats(4, 2).reshape(1, 2)], offset=[1.0, 4.0],
                   scale=[2.0, 2.0])
    shares = floats([0.25, 0.75], [1, 0]).reshape(2, 2)
    maps = [{key: np.array(share) for key, share in zip("ny", row)} for row in shares]
    yield from one("ZipMap", (1,), [shares], [maps], classlabels_strings=["n", "y"])


def lines():
    x = floats([1, 2], [4, 1], [-3, 1]).reshape(3, 2)
    weights, bias = floats([1, 2], [-1, 1]).reshape(2, 2), floats(0.5, 0)
    scores = x @ weights.T + bias
    plain = {"coefficients": weights.reshape(-1).tolist(), "intercepts": bias.tolist()}
    yield from one("LinearRegressor", (1,), [x], [scores], targets=2, **plain)
    yield from one("LinearClassifier", (1,), [x], [ints(3, 3, 4), scores], classlabels_ints=[3, 4], **plain)
    # One support vector to each side: the sum of coefficient times product, and rho.
    vectors = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], "support_vectors": [1.0, 0.0, 0.0, 2.0],
               "coefficients": [2.0, -1.0]}
    sums = (2 * x[:, :1] - 2 * x[:, 1:] + 0.5).astype(np.float32)
    yield from one("SVMRegressor", (1,), [x], [sums], n_supports=2, rho=[0.5], **vectors)
    # Two classes share one sum, whose sign is turned for the first of them, as in ONNX Runtime.
    votes = np.concatenate([-sums, sums], 1)
    yield from one("SVMClassifier", (1,), [x], [ints(9, 8, 9), votes], classlabels_ints=[8, 9],
                   vectors_per_class=[1, 1], rho=[0.5], **vectors)


def trees():
    """x0 <= 1/2 is leaf 1, else leaf 2."""
    x = floats([0, 9], [1, 9], [0.5, 9]).reshape(3, 2)
    tree = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
            "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
            "nodes_missing_value_tracks_true": [0, 0, 0], "nodes_hitrates": [1.0, 1.0, 1.0]}
    targets = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0]}
    weights = [10.0, 20.0]
    wanted = floats(10, 20, 10).reshape(3, 1)
    yield from one("TreeEnsembleRegressor", (1, 3, 5), [x], [wanted], n_targets=1, target_weights=weights, **targets,
                   **tree)
    classes = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1],
               "classlabels_strings": ["a", "b", "c"]}
    votes = floats([10, 0, 0], [0, 20, 0], [10, 0, 0]).reshape(3, 3)
    yield from one("TreeEnsembleClassifier", (1, 3, 5), [x], [texts("a", "b", "a"), votes], class_weights=weights,
                   **classes,
                   **tree)
    # From version 3 on in double, with numbers that no float tells apart.
    half = np.nextafter(0.5, 1)
    fine = np.array([[0.5, 9], [half, 9]])
    tree["nodes_values_as_tensor"] = written.helper.make_tensor("v", written.TensorProto.DOUBLE, [3], [0.5, 0, 0])
    del tree["nodes_values"], tree["nodes_hitrates"]
    doubles = written.helper.make_tensor("w", written.TensorProto.DOUBLE, [2], weights)
    yield from one("TreeEnsembleRegressor", (3, 5), [fine], [floats(10, 20).reshape(2, 1)], says="double", n_targets=1,
                   target_weights_as_tensor=doubles, **targets, **tree)


def cases():
    for part in (values, lines, trees):
        yield from part()
