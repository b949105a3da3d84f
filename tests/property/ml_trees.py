"""ml_trees.py: random ensembles of trees, as far as the specification leaves no doubt what they mean or onnxruntime does
what it says."""

import numpy as np
from ml_case import TRANSFORMS, Case, draw_rows, draw_type, labels, pick, weights
from onnx import TensorProto, helper

COMPARISONS = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Forest:
    """Trees as nested tuples: (feature, mode, value, missing, yes, no), or a list of votes (target, weight)."""

    def __init__(self, rng, columns, targets, modes, votes, single):
        self.rng, self.columns, self.targets, self.modes, self.votes = rng, columns, targets, modes, votes
        self.all_vote = targets == 1 or rng.random() < 0.5
        self.mode = pick(rng, modes) if single else None
        depth = pick(rng, [0, 1, 3, 6])
        self.trees = [self.draw(depth) for _ in range(pick(rng, [1, 2, 7, 30]))]

    def draw(self, depth):
        if depth == 0 or self.rng.random() < 0.15:
            return self.draw_votes()
        mode = self.mode or pick(self.rng, self.modes)
        value = float(self.rng.integers(-4, 5)) / 2
        children = [self.draw(depth - 1) for _ in range(2)]
        return (int(self.rng.integers(0, self.columns)), mode, value, int(self.rng.random() < 0.5), *children)

    def draw_votes(self):
        count = 1 if self.votes == 1 else int(self.rng.integers(1, self.votes + 1))
        count = self.targets if self.all_vote and self.votes > 1 else count
        targets = self.rng.permutation(self.targets)[:count]
        return [(int(t), float(w)) for t, w in zip(targets, weights(self.rng, count))]


def classic(rng, forest, prefix):
    """The attributes of the older operators: nodes are numbered as they are found, in some trees from another number
    on, and votes come in any order."""
    nodes, votes = [], []

    def add(tree, number, node):
        at = len(nodes)
        nodes.append(None)
        if isinstance(node, list):
            nodes[at] = (tree, at - number, 0, "LEAF", 0.0, 0, 0, 0)
            votes.extend((tree, at - number, target, weight) for target, weight in node)
            return at - number
        feature, mode, value, missing, yes, no = node
        yes, no = add(tree, number, yes), add(tree, number, no)
        nodes[at] = (tree, at - number, feature, mode, value, missing, yes, no)
        return at - number

    for tree, root in enumerate(forest.trees):
        add(tree, len(nodes), root)
    votes = [votes[i] for i in rng.permutation(len(votes))]
    names = ["treeids", "nodeids", "featureids", "modes", "values", "missing_value_tracks_true", "truenodeids",
             "falsenodeids"]
    result = {f"nodes_{name}": list(column) for name, column in zip(names, zip(*nodes))}
    if rng.random() < 0.3:
        del result["nodes_missing_value_tracks_true"]
    result.update({f"{prefix}_{name}": list(column)
                   for name, column in zip(["treeids", "nodeids", "ids", "weights"], zip(*votes))})
    return result


def as_tensors(attributes, names):
    """Attributes of floats as tensors of doubles."""
    result = dict(attributes)
    for name in names:
        if name in result:
            values = result.pop(name)
            result[f"{name}_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)
    return result


def with_doubles(rng, version, type_name, attributes, votes):
    if version < 3 or type_name != "double":
        return attributes
    return as_tensors(attributes, ["nodes_values", votes, "base_values"])


def regressor(rng):
    version, type_name = pick(rng, [1, 3]), draw_type(rng, ["float", "double"])
    x = draw_rows(rng, type_name)
    targets = int(rng.integers(1, 4))
    forest = Forest(rng, x.shape[1], targets, COMPARISONS, 1 if targets == 1 else 3, rng.random() < 0.5)
    attributes = classic(rng, forest, "target")
    attributes["n_targets"] = targets
    attributes["aggregate_function"] = pick(rng, ["SUM", "AVERAGE", "MIN", "MAX"])
    attributes["post_transform"] = "NONE" if targets == 1 else pick(rng, TRANSFORMS)
    if forest.all_vote and rng.random() < 0.4:  # onnxruntime adds none where there are no votes
        attributes["base_values"] = weights(rng, targets).tolist()
    attributes = with_doubles(rng, version, type_name, attributes, "target_weights")
    return Case("TreeEnsembleRegressor", version, [(type_name, x)], attributes)


def classifier(rng):
    version, type_name = pick(rng, [1, 3]), draw_type(rng)
    x = draw_rows(rng, type_name)
    count = pick(rng, [2, 3, 5])
    forest = Forest(rng, x.shape[1], 1 if count == 2 else count, COMPARISONS, 1 if count == 2 else 3,
                    rng.random() < 0.5)
    attributes = classic(rng, forest, "class")
    attributes["post_transform"] = pick(rng, TRANSFORMS)
    base = 1 if count == 2 else count
    if count == 2 and rng.random() < 0.3:
        attributes["class_ids"] = [1] * len(attributes["class_ids"])
        base = 0
    if rng.random() < 0.5:
        attributes["class_weights"] = np.abs(attributes["class_weights"]).tolist()
    if base and rng.random() < 0.4:
        attributes["base_values"] = weights(rng, base).tolist()
    attributes.update(labels(rng, count))
    attributes = with_doubles(rng, version, type_name, attributes, "class_weights")
    return Case("TreeEnsembleClassifier", version, [(type_name, x)], attributes, 2)


def flatten(forest):
    """The attributes of TreeEnsemble."""
    nodes, leaves, roots, sets = [], [], [], []

    def add(node):
        if isinstance(node, list):
            leaves.append(node[0])
            return len(leaves) - 1, 1
        feature, mode, value, missing, yes, no = node
        at = len(nodes)
        nodes.append(None)
        if mode == 6:
            sets.append((at, sorted({value, value + 1, value - 1.5})[:1 + at % 3]))
        nodes[at] = (feature, mode, value, missing, *add(yes), *add(no))
        return at, 0

    for root in forest.trees:
        if isinstance(root, list):  # a branch whose children are the same leaf
            leaves.append(root[0])
            roots.append(len(nodes))
            nodes.append((0, 0, 0.0, 0, len(leaves) - 1, 1, len(leaves) - 1, 1))
        else:
            roots.append(add(root)[0])
    return nodes, leaves, roots, [values for _, values in sorted(sets)]


def ensemble(rng):
    type_name = draw_type(rng, ["float", "double", "float16"])
    x = draw_rows(rng, type_name)
    targets = int(rng.integers(1, 4))
    forest = Forest(rng, x.shape[1], targets, [0, 1, 2, 3, 4, 5] if rng.random() < 0.5 else [0, 4, 6], 1, rng.random() < 0.5)
    nodes, leaves, roots, sets = flatten(forest)
    number = TensorProto.DataType.Value(type_name.upper())
    tensor = lambda name, values, kind=number: helper.make_tensor(name, kind, [len(values)], values)
    columns = [list(column) for column in zip(*nodes)]
    how, transform = int(rng.integers(0, 4)), pick(rng, [0, 1, 2, 3])
    attributes = dict(tree_roots=roots, n_targets=targets, nodes_featureids=columns[0],
                      nodes_modes=tensor("m", columns[1], TensorProto.UINT8), nodes_splits=tensor("s", columns[2]),
                      nodes_truenodeids=columns[4], nodes_trueleafs=columns[5], nodes_falsenodeids=columns[6],
                      nodes_falseleafs=columns[7], leaf_targetids=[t for t, _ in leaves],
                      leaf_weights=tensor("w", [w for _, w in leaves]), aggregate_function=how,
                      post_transform=transform)
    if rng.random() < 0.6:
        attributes["nodes_missing_value_tracks_true"] = columns[3]
    else:
        columns[3] = [0] * len(nodes)
    if sets:
        attributes["membership_values"] = tensor("v", [v for s in sets for v in (*s, np.nan)])
    scores = walk_all(x, nodes, leaves, roots, sets, columns[3], targets, how)
    result = transformed(scores, transform).astype(x.dtype)
    return Case("TreeEnsemble", 5, [(type_name, x)], attributes, expected=[result],
                tolerance=2e-3 if type_name == "float16" else 1e-5)


def holds(x, mode, value, members, missing):
    if np.isnan(x):
        return bool(missing) or mode == 5
    return [x <= value, x < value, x >= value, x > value, x == value, x != value, x in members][mode]


def walk_all(x, nodes, leaves, roots, sets, missing, targets, how):
    """What the specification says, node by node."""
    of, turn = {}, iter(sets)
    for at, node in enumerate(nodes):
        of[at] = next(turn) if node[1] == 6 else []
    scores = np.zeros((len(x), targets))
    for row, score in zip(x, scores):
        votes = [[] for _ in range(targets)]
        for at in roots:
            leaf = False
            while not leaf:
                feature, mode, value, _, *children = nodes[at]
                yes = holds(float(row[feature]), mode, value, of[at], missing[at])
                at, leaf = children[:2] if yes else children[2:]
            votes[leaves[at][0]].append(leaves[at][1])
        for k, vote in enumerate(votes):
            total = {0: sum, 1: sum, 2: min, 3: max}[how](vote) if vote else 0
            score[k] = total / len(roots) if how == 0 else total
    return scores


def transformed(scores, transform):
    if transform == 2:
        return 1 / (1 + np.exp(-scores))
    if transform in (1, 3):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        if transform == 3:
            powers[scores == 0] = 0
        with np.errstate(invalid="ignore"):
            return powers / powers.sum(axis=1, keepdims=True)
    return scores


DRAWERS = {"TreeEnsemble": ensemble, "TreeEnsembleRegressor": regressor, "TreeEnsembleClassifier": classifier}
