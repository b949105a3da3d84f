"""trees.py: ensembles of decision trees, which `make bench` measures, for one row and for a thousand. The trees are
full, with random features, thresholds and votes; a row takes a random way through each of them."""

import numpy as np
from models import TYPES, Case, aligned, onnx_type
from onnx import helper

CASES = []
COLUMNS = 30


class Trees(Case):
    """`votes` is how many classes a leaf votes for; 1 is a regressor."""

    def __init__(self, name, group, rows, count, depth, votes=1):
        super().__init__(f"{name}, {rows:,} row{'s' if rows > 1 else ''}", group, [f"x: float {rows} {COLUMNS}"], [],
                         f"y: float {rows} {votes}")
        self.count, self.depth, self.votes = count, depth, votes

    def arrays(self):
        rng = np.random.default_rng(sum(self.name.encode()))
        x = aligned(self.inputs[0][2], TYPES["float"])
        x[...] = rng.standard_normal(x.shape)
        return [x]

    def model(self, arrays):
        node = self.classifier() if self.votes > 1 else self.regressor()
        name, type_name, dims = self.inputs[0]
        values = [helper.make_tensor_value_info(name, onnx_type(type_name), dims)]
        out = [helper.make_tensor_value_info(self.out[0], onnx_type(self.out[1]), self.out[2])]
        graph = helper.make_graph([node], "bench", values, out)
        imports = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 18)]
        return helper.make_model(graph, ir_version=8, opset_imports=imports).SerializeToString()

    def regressor(self):
        attributes = self.attributes("target")
        return helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **attributes)

    def classifier(self):
        attributes = self.attributes("class")
        return helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "y"], domain="ai.onnx.ml",
                                classlabels_int64s=list(range(self.votes)), **attributes)

    def attributes(self, prefix):
        """The children of node i of a tree are 2i + 1 and 2i + 2."""
        rng = np.random.default_rng(self.count * 100 + self.depth)
        branches = (1 << self.depth) - 1
        nodes = 2 * branches + 1
        number, is_branch = np.tile(np.arange(nodes), self.count), np.tile(np.arange(nodes) < branches, self.count)
        tree = np.repeat(np.arange(self.count), nodes)
        leaves = np.repeat(np.flatnonzero(~is_branch), self.votes)
        weights = rng.random(len(leaves)) / self.count
        result = {"nodes_treeids": tree, "nodes_nodeids": number,
                  "nodes_featureids": rng.integers(0, COLUMNS, len(tree)) * is_branch,
                  "nodes_values": rng.standard_normal(len(tree)) * 0.7 * is_branch,
                  "nodes_truenodeids": (2 * number + 1) * is_branch, "nodes_falsenodeids": (2 * number + 2) * is_branch,
                  f"{prefix}_treeids": tree[leaves], f"{prefix}_nodeids": number[leaves],
                  f"{prefix}_ids": np.tile(np.arange(self.votes), len(leaves) // self.votes),
                  f"{prefix}_weights": weights}
        result = {key: array.tolist() for key, array in result.items()}
        result["nodes_modes"] = ["BRANCH_LEQ" if branch else "LEAF" for branch in is_branch]
        return result


for rows in (1, 1000):
    CASES.append(Trees("forest of 100, depth 8, 3 classes", "forest", rows, 100, 8, votes=3))
    CASES.append(Trees("forest of 100, depth 8", "forest", rows, 100, 8))
    CASES.append(Trees("boosted 500, depth 6", "boosted", rows, 500, 6))
