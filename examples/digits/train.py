"""Trains the model of the digits example and writes model.onnx, images/*.pgm and expected.tsv beside this file.

The data are scikit-learn's 1,797 scans of handwritten digits, 8x8 pixels, brought from 0...16 to the 0...255 of picture
files. A quarter is held out: it is neither trained on nor used to choose anything. Needs numpy, scikit-learn and onnx;
takes about ten seconds.
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).resolve().parent
SEED = 7
EPOCHS = 60
BATCH = 32
LEVELS = np.array([64, 192], np.float32).reshape(2, 1, 1)  # grey levels that the two planes are centred on
SPREAD = np.array([64, 64], np.float32).reshape(2, 1, 1)


def patches(x, size, stride):
    """[n, c, h, w] as [n, c, size, size, rows, columns], a view."""
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return view[:, :, ::stride, ::stride].transpose(0, 1, 4, 5, 2, 3)


class Conv:
    def __init__(self, random, cin, cout, stride):
        self.stride = stride
        self.w = random.normal(0, np.sqrt(2 / (cin * 9)), (cout, cin, 3, 3))
        self.b = np.zeros(cout)

    def forward(self, x):
        self.shape = x.shape
        self.cols = patches(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), 3, self.stride)
        return np.einsum("ncijrs,ocij->nors", self.cols, self.w, optimize=True) + self.b[:, None, None]

    def backward(self, dy):
        self.dw = np.einsum("nors,ncijrs->ocij", dy, self.cols, optimize=True)
        self.db = dy.sum((0, 2, 3))
        n, c, h, w = self.shape
        dx = np.zeros((n, c, h + 2, w + 2))
        dcols = np.einsum("nors,ocij->ncijrs", dy, self.w, optimize=True)
        rows, columns = dy.shape[2:]
        s = self.stride
        for i in range(3):
            for j in range(3):
                dx[:, :, i : i + s * rows : s, j : j + s * columns : s] += dcols[:, :, i, j]
        return dx[:, :, 1:-1, 1:-1]

    params = ("w", "b")


class PRelu:
    def __init__(self, *shape):
        self.slope = np.full(shape, 0.25)

    def forward(self, x):
        self.x = x
        return np.where(x < 0, x * self.slope, x)

    def backward(self, dy):
        d = np.where(self.x < 0, dy * self.x, 0).sum(0)
        axes = tuple(i for i in range(d.ndim) if self.slope.shape[i] == 1)
        self.dslope = d.sum(axes, keepdims=True)
        return np.where(self.x < 0, dy * self.slope, dy)

    params = ("slope",)


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)

    params = ()


class Linear:
    def __init__(self, random, nin, nout):
        self.w = random.normal(0, np.sqrt(2 / nin), (nin, nout))
        self.b = np.zeros(nout)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, dy):
        self.dw = self.x.T @ dy
        self.db = dy.sum(0)
        return dy @ self.w.T

    params = ("w", "b")


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def planes(images):
    """What the model's Expand, Sub and Div do: the picture twice, around two grey levels."""
    return (np.repeat(images[:, None], 2, 1) - LEVELS) / SPREAD


def shifted(images, random):
    """Every picture moved by at most one pixel each way."""
    out = np.zeros_like(images)
    for i, (dy, dx) in enumerate(random.integers(-1, 2, (len(images), 2))):
        out[i] = np.roll(images[i], (dy, dx), (0, 1))
        if dy:
            out[i, 0 if dy > 0 else -1] = 0
        if dx:
            out[i, :, 0 if dx > 0 else -1] = 0
    return out


def train(images, labels):
    """Adam on the cross entropy, the step falling to zero along a cosine."""
    random = np.random.default_rng(SEED)
    net = [Conv(random, 2, 16, 1), PRelu(16, 1, 1), Conv(random, 16, 24, 2), PRelu(24, 1, 1), Flatten()]
    net += [Linear(random, 24 * 4 * 4, 40), PRelu(40), Linear(random, 40, 10)]
    moments = [[np.zeros_like(getattr(layer, p)) for _ in range(2)] for layer in net for p in layer.params]
    step, steps = 0, EPOCHS * (len(images) // BATCH)
    for epoch in range(EPOCHS):
        order = random.permutation(len(images))
        moved = planes(shifted(images, random))
        loss = 0.0
        for start in range(0, len(images) - BATCH + 1, BATCH):
            pick = order[start : start + BATCH]
            x = moved[pick]
            for layer in net:
                x = layer.forward(x)
            p = softmax(x)
            loss -= np.log(p[np.arange(BATCH), labels[pick]] + 1e-12).sum()
            p[np.arange(BATCH), labels[pick]] -= 1
            grad = p / BATCH
            for layer in reversed(net):
                grad = layer.backward(grad)
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
            slots = iter(moments)
            for layer in net:
                for name in layer.params:
                    m, v = next(slots)
                    value, g = getattr(layer, name), getattr(layer, "d" + name)
                    m += 0.1 * (g - m)
                    v += 0.01 * (g * g - v)
                    value -= rate * (m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8) + 1e-4 * value)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: mean loss {loss / len(images):.4f}")
    return net


def export(net, path):
    """The trained layers as an ONNX model: image [batch,1,8,8] to probability [batch,10]."""
    conv1, act1, conv2, act2, _, hidden, act3, last = net
    weights = {
        "planes": np.array([1, 2, 1, 1], np.int64),
        "levels": LEVELS,
        "spread": SPREAD,
        "conv1.weight": conv1.w,
        "conv1.bias": conv1.b,
        "conv1.slope": act1.slope,
        "conv2.weight": conv2.w,
        "conv2.bias": conv2.b,
        "conv2.slope": act2.slope,
        "hidden.weight": hidden.w,
        "hidden.bias": hidden.b,
        "hidden.slope": act3.slope,
        "digit.weight": last.w,
        "digit.bias": last.b,
    }
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Expand", ["image", "planes"], ["repeated"]),
        helper.make_node("Sub", ["repeated", "levels"], ["centred"]),
        helper.make_node("Div", ["centred", "spread"], ["scaled"]),
        helper.make_node("Conv", ["scaled", "conv1.weight", "conv1.bias"], ["conv1"], **pads),
        helper.make_node("PRelu", ["conv1", "conv1.slope"], ["act1"]),
        helper.make_node("Conv", ["act1", "conv2.weight", "conv2.bias"], ["conv2"], strides=[2, 2], **pads),
        helper.make_node("PRelu", ["conv2", "conv2.slope"], ["act2"]),
        helper.make_node("Flatten", ["act2"], ["flat"]),
        helper.make_node("Gemm", ["flat", "hidden.weight", "hidden.bias"], ["hidden"]),
        helper.make_node("PRelu", ["hidden", "hidden.slope"], ["act3"]),
        helper.make_node("Gemm", ["act3", "digit.weight"], ["products"]),
        helper.make_node("Add", ["products", "digit.bias"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probability"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(w if w.dtype == np.int64 else w.astype(np.float32), n) for n, w in weights.items()],
    )
    model = helper.make_model(
        graph, producer_name="examples/digits/train.py", ir_version=8, opset_imports=[helper.make_opsetid("", 17)]
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return model


def write_samples(run, images, labels, indices):
    """A dozen held-out pictures that the model gets right, one of each digit and two more, and what it says of them."""
    right = np.flatnonzero(run(images).argmax(1) == labels).tolist()
    chosen = [next(i for i in right if labels[i] == digit) for digit in range(10)]
    chosen += [i for i in right if i not in chosen][:2]
    folder = HERE / "images"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.pgm"):
        old.unlink()
    rows = []
    for i in chosen:
        name = f"{labels[i]}_{indices[i]:04d}.pgm"
        pixels = "\n".join(" ".join(f"{int(p):3d}" for p in row) for row in images[i])
        (folder / name).write_text(f"P2\n8 8\n255\n{pixels}\n")
        rows.append(name + "\t" + "\t".join(f"{p:.7f}" for p in run(images[i : i + 1])[0]))
    header = "image\t" + "\t".join(f"p{digit}" for digit in range(10))
    (HERE / "expected.tsv").write_text("\n".join([header] + sorted(rows)) + "\n")


def main():
    data = load_digits()
    images = np.rint(data.images * (255 / 16)).astype(np.float32)
    indices = np.arange(len(images))
    train_i, test_i = train_test_split(indices, test_size=0.25, random_state=SEED, stratify=data.target)
    net = train(images[train_i], data.target[train_i])
    path = HERE / "model.onnx"
    evaluator = ReferenceEvaluator(export(net, path))

    def run(batch):
        return evaluator.run(None, {"image": batch[:, None].astype(np.float32)})[0]

    for what, pick in (("training", train_i), ("held-out", test_i)):
        right = int((run(images[pick]).argmax(1) == data.target[pick]).sum())
        print(f"{what}: {right} of {len(pick)} right, {100 * right / len(pick):.2f} %")
    print(f"{path.name}: {path.stat().st_size} bytes")
    write_samples(run, images[test_i], data.target[test_i], test_i)


if __name__ == "__main__":
    main()
