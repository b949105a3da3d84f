"""forest.py FILE [TREES]: trains a random forest of scikit-learn on its handwritten digits, for score.py --model FILE."""

import sys

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier


def main():
    path, trees = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    pixels, labels = load_digits(return_X_y=True)
    pixels = np.float32(pixels * 255 / 16)
    forest = RandomForestClassifier(trees, random_state=0).fit(pixels[::2], labels[::2])
    print(f"{forest.score(pixels[1::2], labels[1::2]):.3f} of the digits that it has not seen are right")
    proto = to_onnx(forest, initial_types=[("image", FloatTensorType([None, pixels.shape[1]]))],
                    options={"zipmap": False}, target_opset={"": 18, "ai.onnx.ml": 3})
    with open(path, "wb") as file:
        file.write(proto.SerializeToString())


if __name__ == "__main__":
    main()
