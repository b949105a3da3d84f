"""Trains the random forest of the tests on boards, and writes forest.onnx and forest_rows.inc, rows that it has not
seen, beside this file. The data are scikit-learn's 178 wines of three kinds, of which a fifth is held out. Needs what
`make trained` installs.
"""

import pathlib

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).resolve().parent


def main():
    data = load_wine()
    x = data.data.astype(np.float32)
    train, test, kinds, wanted = train_test_split(x, data.target, test_size=0.2, random_state=0)
    forest = RandomForestClassifier(n_estimators=10, max_depth=5, random_state=0).fit(train, kinds)
    model = to_onnx(forest, train[:1], options={"zipmap": False}, target_opset={"": 18, "ai.onnx.ml": 3})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    (HERE / "forest.onnx").write_bytes(model.SerializeToString())
    lines = ["    {" + ", ".join(f"{x}f" for x in row.astype(str)) + "}," for row in test]
    head = "/* Written by forest.py: wines that the forest has not seen. */\nstatic const float rows[][13] = {\n"
    (HERE / "forest_rows.inc").write_text(head + "\n".join(lines) + "\n};\n")
    print(f"{forest.score(test, wanted):.3f} of {len(test)} right")


if __name__ == "__main__":
    main()
