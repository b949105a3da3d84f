"""ml_mistakes.py: wrong nodes of the domain ai.onnx.ml, and what ox has to say of each."""

import numpy as np
from build import graph, helper, node
from mistakes import MODEL, SHAPE, VALUE, Mistake
from onnx import TensorProto as T

X = np.zeros((2, 3), np.float32)
NAMES = {np.dtype(np.float32): "float", np.dtype(np.int64): "int64", np.dtype(np.int32): "int32"}


def wrong(title, op, status, said, version=3, inputs=(X,), outputs="y", **attributes):
    """A mistake of one node named n."""
    names = ",".join(f"x{i}" for i in range(len(inputs)))
    made = node(f"ai.onnx.ml.{op} {names} {outputs}", **attributes)
    described = ",".join(f"x{i} {NAMES[x.dtype]} ?" for i, x in enumerate(inputs))
    given = ",".join(f"{name} float ?" for name in outputs.split(","))
    body = graph(made, described, given)
    for output in body.output:
        output.ClearField("type")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=8)
    return Mistake(title, model, status, said, list(inputs), place=f"node 'n' (ai.onnx.ml.{op}-")


def numbers(name, values, kind=T.FLOAT):
    return helper.make_tensor(name, kind, [len(values)], values)


# One branch and two leaves.
REGRESSOR = dict(n_targets=1, nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0],
                 nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.0, 0.0, 0.0],
                 nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0],
                 target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0])
ENSEMBLE = dict(n_targets=1, tree_roots=[0], nodes_featureids=[0], nodes_modes=numbers("m", [0], T.UINT8),
                nodes_splits=numbers("s", [0.0]), nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1],
                nodes_falseleafs=[1], leaf_targetids=[0, 0], leaf_weights=numbers("w", [1.0, 2.0]))


CLASSIFIER = {key.replace("target_", "class_"): value for key, value in REGRESSOR.items() if key != "n_targets"}
CLASSIFIER["classlabels_int64s"] = [7, 8, 9]


def regressor(title, status, said, without=(), **changed):
    attributes = {k: v for k, v in {**REGRESSOR, **changed}.items() if k not in without}
    return wrong(title, "TreeEnsembleRegressor", status, said, **attributes)


def ensemble(title, status, said, **changed):
    return wrong(title, "TreeEnsemble", status, said, 5, **{**ENSEMBLE, **changed})


def classifier(title, status, said, without=(), **changed):
    attributes = {k: v for k, v in {**CLASSIFIER, **changed}.items() if k not in without}
    return wrong(title, "TreeEnsembleClassifier", status, said, outputs="y,z", **attributes)


def flat(title, status, said, *words):
    """Trees as ox embed lays them out."""
    trees = helper.make_tensor("t", T.INT64, [len(words)], [word - (word >> 63 << 64) for word in words])
    return wrong(title, "TreeEnsembleRegressor", status, said, n_targets=1, __trees=trees)


def pair(low, high):
    return low | (high & 0xffffffff) << 32


NAN = 0x7ff8 << 48


def flat_trees():
    where = "attribute '__trees': "
    yield wrong("laid out trees of floats", "TreeEnsembleRegressor", MODEL, where + "it is no list of int64", n_targets=1,
                __trees=numbers("t", [1.0] * 6))
    yield flat("laid out trees without nodes", MODEL, where + "3 words for 1 trees, 1 nodes and 0 votes", pair(1, 1), 0, 1)
    yield flat("laid out trees without roots", MODEL, where + "6 words for 0 trees, 1 nodes and 0 votes", pair(0, 1), 0, 1,
               NAN, 0, 0)
    yield flat("a laid out leaf that is none", MODEL, where + "node 0 leads elsewhere", pair(1, 1), 0, 1, 0, 0, 0)
    yield flat("a laid out node that leads back", MODEL, where + "node 1 leads elsewhere", pair(1, 3), 0, 1,
               0, pair(0, 1), 0, pair(0, 0), NAN, pair(0, 2), 0, 0, 0)
    yield flat("a laid out node of another feature", MODEL, where + "node 0 leads elsewhere", pair(1, 3), 0, 1,
               0, pair(1, 1), NAN, pair(0, 1), NAN, pair(0, 2), 0, 0, 0)
    yield flat("a laid out leaf beyond its votes", MODEL, where + "node 0 leads elsewhere", pair(1, 1), pair(1, -1), 1,
               NAN, 0, pair(0, 2), 0, 0)
    yield flat("a laid out vote for no target", MODEL, where + "vote 0 leads elsewhere", pair(1, 1), pair(1, -1), 1,
               NAN, 0, pair(0, 1), 0, pair(1, 0))
    yield flat("laid out trees of more features", SHAPE, "the trees read 4 features for 1 targets, but input 0 'x0' "
               "(float [2,3]) has 3", pair(1, 1), 0, 4, NAN, 0, 0)


def trees():
    yield regressor("no targets", MODEL, "attribute 'n_targets' is missing", without=["n_targets"])
    yield regressor("too few targets", MODEL, "attribute 'n_targets' is 0, expected 1 to 2147483647", n_targets=0)
    yield regressor("no nodes", MODEL, "attribute 'nodes_nodeids' has 0 elements, expected 1 to 268435454",
                    without=["nodes_nodeids"])
    yield regressor("lists of nodes that differ", MODEL,
                    "attribute 'nodes_values' has 2 elements, expected 3: one for each of 'nodes_nodeids'",
                    nodes_values=[0.0, 0.0])
    yield regressor("lists of votes that differ", MODEL,
                    "attribute 'target_weights' has 1 elements, expected 2: one for each of 'target_ids'",
                    target_weights=[1.0])
    yield regressor("values in both forms", MODEL,
                    "attributes 'nodes_values' and 'nodes_values_as_tensor' are both given",
                    nodes_values_as_tensor=numbers("v", [0.0] * 3, T.DOUBLE))
    yield regressor("an unknown mode", MODEL, "attribute 'nodes_modes': element 0: unknown value 'BRANCH_UP'",
                    nodes_modes=["BRANCH_UP", "LEAF", "LEAF"])
    yield regressor("an unknown aggregate", MODEL, "attribute 'aggregate_function': unknown value 'MEAN'",
                    aggregate_function="MEAN")
    yield regressor("an unknown transform", MODEL, "attribute 'post_transform': unknown value 'TANH'",
                    post_transform="TANH")
    yield regressor("a child that is not there", MODEL, "attribute 'nodes_truenodeids': tree 0 has no node 7",
                    nodes_truenodeids=[7, 0, 0])
    yield regressor("a child of another tree", MODEL, "attribute 'nodes_falsenodeids': tree 0 has no node 2",
                    nodes_treeids=[0, 0, 1])
    yield regressor("a child below all numbers", MODEL, "attribute 'nodes_falsenodeids': tree 0 has no node -1",
                    nodes_falsenodeids=[-1, 0, 0])
    yield regressor("branches that lead to each other", MODEL, "node 0 of the trees is among its own descendants",
                    nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], nodes_falsenodeids=[2, 2, 0])
    yield regressor("features that differ in number", MODEL,
                    "attribute 'nodes_featureids' has 4 elements, expected 3: one for each of 'nodes_nodeids'",
                    nodes_featureids=[0, 0, 0, 0])
    yield regressor("modes that differ in number", MODEL,
                    "attribute 'nodes_modes' has 2 elements, expected 3: one for each of 'nodes_nodeids'",
                    nodes_modes=["BRANCH_LEQ", "LEAF"])
    yield regressor("trees that differ in number", MODEL,
                    "attribute 'nodes_treeids' has 1 elements, expected 3: one for each of 'nodes_nodeids'",
                    nodes_treeids=[0])
    yield regressor("children that differ in number", MODEL,
                    "attribute 'nodes_falsenodeids' has 2 elements, expected 3: one for each of 'nodes_nodeids'",
                    nodes_falsenodeids=[2, 0])
    yield regressor("ways of missing values that differ in number", MODEL, "attribute 'nodes_missing_value_tracks_true' "
                    "has 1 elements, expected 3: one for each of 'nodes_nodeids'", nodes_missing_value_tracks_true=[1])
    yield regressor("no votes", MODEL, "attribute 'target_ids' has 0 elements, expected 1 to 268435454",
                    without=["target_ids"])
    yield regressor("nodes of votes that differ in number", MODEL,
                    "attribute 'target_nodeids' has 3 elements, expected 2: one for each of 'target_ids'",
                    target_nodeids=[1, 2, 2])
    yield regressor("a set of values in an older operator", MODEL,
                    "attribute 'nodes_modes': element 0: unknown value 'BRANCH_MEMBER'",
                    nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"])
    yield classifier("a vote for no class", MODEL, "attribute 'class_ids': element 1 is 3, out of range (0 to 2)",
                     class_ids=[0, 3])
    yield classifier("a class below all", MODEL, "attribute 'class_ids': element 0 is -1, out of range (0 to 2)",
                     class_ids=[-1, 2])
    yield classifier("no classes", MODEL,
                     "neither attribute 'classlabels_int64s' nor 'classlabels_strings' has elements",
                     without=["classlabels_int64s"])
    yield classifier("base values of other classes", MODEL,
                     "attribute 'base_values' has 2 elements, expected 3: one for each of the classes",
                     base_values=[0.0, 1.0])
    yield classifier("classes of another number of weights", MODEL,
                     "attribute 'class_weights' has 3 elements, expected 2: one for each of 'class_ids'",
                     class_weights=[1.0, 2.0, 3.0])
    yield regressor("a vote of no node", MODEL, "attribute 'target_nodeids': tree 0 has no node 9",
                    target_nodeids=[1, 9])
    yield regressor("a vote for no target", MODEL, "attribute 'target_ids': element 1 is 1, out of range (0 to 0)",
                    target_ids=[0, 1])
    yield regressor("a node that is there twice", MODEL, "node 1 of tree 0 is described twice",
                    nodes_nodeids=[0, 1, 1])
    yield regressor("a tree without an end", MODEL, "node 0 of the trees is among its own descendants",
                    nodes_truenodeids=[0, 0, 0])
    yield regressor("a feature that is not there", SHAPE, "attribute 'nodes_featureids': element 0 is 3, but input 0 "
                    "'x0' (float [2,3]) has 3 features", nodes_featureids=[3, 0, 0])
    yield regressor("base values of other targets", MODEL,
                    "attribute 'base_values' has 2 elements, expected 1: one for each of the targets",
                    base_values=[0.0, 1.0])
    yield ensemble("a root that is not there", MODEL, "attribute 'tree_roots': element 0 is 1, out of range (0 to 0)",
                   tree_roots=[1])
    yield ensemble("a leaf that is not there", MODEL,
                   "attribute 'nodes_falsenodeids': element 0 is 2, out of range (0 to 1)", nodes_falsenodeids=[2])
    yield ensemble("a branch to itself", MODEL, "node 0 of the trees is among its own descendants",
                   nodes_trueleafs=[0])
    yield ensemble("a branch that is not there", MODEL,
                   "attribute 'nodes_truenodeids': element 0 is 1, out of range (0 to 0)", nodes_truenodeids=[1],
                   nodes_trueleafs=[0])
    yield ensemble("leaves that differ in number", MODEL,
                   "attribute 'leaf_weights' has 1 elements, expected 2: one for each of 'leaf_targetids'",
                   leaf_weights=numbers("w", [1.0]))
    yield ensemble("splits that differ in number", MODEL,
                   "attribute 'nodes_splits' has 2 elements, expected 1: one for each of 'nodes_featureids'",
                   nodes_splits=numbers("s", [0.0, 1.0]))
    yield ensemble("kinds of children that differ in number", MODEL,
                   "attribute 'nodes_trueleafs' has 2 elements, expected 1: one for each of 'nodes_featureids'",
                   nodes_trueleafs=[1, 1])
    yield ensemble("a leaf for no target", MODEL, "attribute 'leaf_targetids': element 1 is 5, out of range (0 to 0)",
                   leaf_targetids=[0, 5])
    yield ensemble("a transform beyond the last", MODEL, "attribute 'post_transform' is 5, expected 0 to 4",
                   post_transform=5)
    yield ensemble("a mode beyond the last", MODEL, "attribute 'nodes_modes': element 0 is not a mode (0 to 6)",
                   nodes_modes=numbers("m", [7], T.UINT8))
    yield ensemble("an aggregate beyond the last", MODEL, "attribute 'aggregate_function' is 4, expected 0 to 3",
                   aggregate_function=4)
    yield ensemble("no set of values", MODEL, "attribute 'membership_values' has no set of values for node 0, which is "
                   "BRANCH_MEMBER", nodes_modes=numbers("m", [6], T.UINT8))
    yield ensemble("a set of values too many", MODEL,
                   "attribute 'membership_values' has more sets of values than there are BRANCH_MEMBER nodes",
                   membership_values=numbers("v", [1.0]))
    yield ensemble("splits of integers", MODEL, "attribute 'nodes_splits': a tensor of type int64 is not supported here",
                   nodes_splits=numbers("s", [0], T.INT64))


def models():
    yield wrong("no labels", "LinearClassifier", MODEL,
                "neither attribute 'classlabels_ints' nor 'classlabels_strings' has elements", outputs="y,z",
                coefficients=[1.0])
    yield wrong("labels of both kinds", "LinearClassifier", MODEL,
                "attributes 'classlabels_ints' and 'classlabels_strings' are both given", outputs="y,z",
                coefficients=[1.0], classlabels_ints=[1], classlabels_strings=["a"])
    yield wrong("too few coefficients", "LinearRegressor", MODEL,
                "attribute 'coefficients' has 2 elements, expected 3: one for each feature and each score",
                coefficients=[1.0, 2.0])
    yield wrong("no target", "LinearRegressor", MODEL, "attribute 'targets' is 0, expected at least 1",
                coefficients=[1.0] * 3, targets=0)
    yield wrong("no rows", "LinearRegressor", SHAPE,
                "input 0 'x0' (float [2,3,1]) must be a row [C] or rows [N,C]", inputs=[X.reshape(2, 3, 1)],
                coefficients=[1.0])
    yield wrong("too few support vectors", "SVMRegressor", MODEL,
                "attribute 'support_vectors' has 3 elements, expected 6: the features of each support vector",
                n_supports=2, coefficients=[1.0, 1.0], rho=[0.0], support_vectors=[1.0] * 3)
    yield wrong("support vectors less than none", "SVMRegressor", MODEL,
                "attribute 'n_supports' is -1, expected at least 0", n_supports=-1)
    yield wrong("no rho", "SVMRegressor", MODEL, "attribute 'rho' has no elements", coefficients=[1.0] * 3)
    yield wrong("a kernel without parameters", "SVMRegressor", MODEL,
                "attribute 'kernel_params' has 0 elements, expected 3: gamma, coef0 and degree", n_supports=1,
                kernel_type="RBF", coefficients=[1.0], rho=[0.0], support_vectors=[1.0] * 3)
    svm = dict(outputs="y,z", classlabels_ints=[0, 1], rho=[0.0], vectors_per_class=[1, 1], coefficients=[1.0] * 2,
               support_vectors=[1.0] * 6)
    yield wrong("a class without vectors", "SVMClassifier", MODEL,
                "attribute 'vectors_per_class' has 1 elements, expected 2: one for each class",
                **{**svm, "vectors_per_class": [2]})
    yield wrong("a negative number of vectors", "SVMClassifier", MODEL,
                "attribute 'vectors_per_class': -1 is out of range", **{**svm, "vectors_per_class": [-1, 3]})
    yield wrong("half of the probabilities", "SVMClassifier", MODEL,
                "attribute 'prob_a' has 1 elements, but 'prob_b' has 0", **svm, prob_a=[1.0])


def values():
    longs = np.array([[0, 5]], np.int64)
    yield wrong("a column that is not there", "ArrayFeatureExtractor", VALUE,
                "index 5 is out of range for the 3 columns of input 0 'x0' (float [2,3])", inputs=[X, longs])
    yield wrong("columns of another number", "Scaler", SHAPE,
                "attribute 'scale' has 2 elements, but input 0 'x0' (float [2,3]) has 3 columns", scale=[1.0, 2.0])
    yield wrong("nothing to impute", "Imputer", MODEL,
                "attribute 'imputed_value_floats' has no elements, but the input is of type float",
                imputed_value_int64s=[1])
    yield wrong("an imputed value that does not fit", "Imputer", MODEL,
                "attribute 'imputed_value_int64s': 4294967296 does not fit int32", inputs=[X.astype(np.int32)],
                imputed_value_int64s=[1 << 32])
    yield wrong("no category", "OneHotEncoder", VALUE,
                "element 0 of input 0 'x0' (float [2,3]) is none of the 2 categories", cats_int64s=[1, 2], zeros=0)
    yield wrong("categories of another type", "OneHotEncoder", SHAPE,
                "input 0 'x0' (float [2,3]): the categories are strings", cats_strings=["a"])
    yield wrong("rows of another number", "FeatureVectorizer", SHAPE,
                "input 0 'x0' (float [2,3]) and input 1 'x1' (float [3]) must have as many rows", inputs=[X, X[0]])
    yield wrong("columns of another number, joined", "FeatureVectorizer", SHAPE,
                "attribute 'inputdimensions' says 4 columns for input 0 'x0' (float [2,3])", inputdimensions=[4])
    yield wrong("keys without values", "LabelEncoder", MODEL, "there are 2 keys, but 1 values", 2,
                keys_floats=[1.0, 2.0], values_floats=[1.0])
    yield wrong("keys of two types", "LabelEncoder", MODEL,
                "2 attributes 'keys_...' are given, expected one of them", 2, keys_floats=[1.0], keys_int64s=[1],
                values_floats=[1.0])
    yield wrong("keys of another type than the input", "LabelEncoder", SHAPE,
                "input 0 'x0' (float [2,3]) is not of type int64, as the keys are", 2, keys_int64s=[1],
                values_floats=[1.0])
    yield wrong("a default of another type", "LabelEncoder", MODEL,
                "attribute 'default_tensor' is int64 [1], expected one element of type float", 4, keys_floats=[1.0],
                values_floats=[1.0], default_tensor=numbers("d", [1], T.INT64))
    yield wrong("keys of a type that has no order", "LabelEncoder", MODEL,
                "attribute 'keys_tensor': type uint8 is not supported here", 4, values_floats=[1.0],
                keys_tensor=numbers("k", [1], T.UINT8))


MISTAKES = [mistake for group in (flat_trees, trees, models, values) for mistake in group()]
