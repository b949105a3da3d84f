"""Makes the networks of the examples for devices, NAME/model.onnx beside this file, and samples that they have not seen,
NAME/samples/CLASS_NUMBER.*: a keyword spotter that takes sound, a detector of persons in small pictures, and an
autoencoder that finds what a machine's vibrations do not look like. All data are drawn here, each network is trained in
numpy, and onnxruntime quantizes it to 8 bits. Needs numpy, onnx and onnxruntime; takes about a minute. The same bytes
each time.
"""

import pathlib
import shutil
import tempfile
import wave

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

HERE = pathlib.Path(__file__).resolve().parent
OPSET = 17
RATE, LENGTH = 8000, 4000  # of sounds: in a second, and in all
FRAME, STEP, BANDS, COEFFICIENTS = 256, 128, 20, 10
SIDE = 24  # of pictures
BINS = 64  # of a machine's spectrum
SAMPLES = 8  # of each network, for devices


# ---- Data: whole numbers, and a class for each ----------------------------------------------------------------------


def draw_sound(random, kind):
    """Noise, and in it nothing, a tone that rises, one that falls, or two beeps."""
    time = np.arange(LENGTH) / RATE
    low, high = random.uniform(300, 600), random.uniform(1200, 2400)
    start, length = random.uniform(0, 0.15), random.uniform(0.25, 0.33)
    place = np.clip((time - start) / length, 0, 1)
    loud = ((time > start) & (time < start + length)) * random.uniform(3000, 9000)
    if kind == 1:
        pitch = low + (high - low) * place
    elif kind == 2:
        pitch = high + (low - high) * place
    else:
        pitch = np.full(LENGTH, (low + high) / 2)
        loud = loud * ((place < 0.35) | (place > 0.65)) * (kind == 3)
    sound = loud * np.sin(2 * np.pi * np.cumsum(pitch) / RATE) + random.normal(0, random.uniform(50, 500), LENGTH)
    return np.rint(np.clip(sound, -32767, 32767))


def draw_picture(random, kind):
    """Grey shapes on a grey ground, and of kind 1 a head above shoulders, too."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    picture = np.full((SIDE, SIDE), random.uniform(40, 200)) + random.uniform(-3, 3) * (x - SIDE / 2)
    for _ in range(int(random.integers(1, 4))):
        left, top, width, height = random.uniform(0, SIDE, 2).tolist() + random.uniform(3, 12, 2).tolist()
        picture[(abs(x - left) < width / 2) & (abs(y - top) < height / 2)] = random.uniform(0, 255)
    middle, top, size = random.uniform(8, 16), random.uniform(4, 8), random.uniform(2.2, 3.4)
    light = random.uniform(0, 255)
    if kind:
        shoulders = top + size * 1.3
        picture[(x - middle) ** 2 + (y - top) ** 2 < size**2] = light
        picture[(y > shoulders) & (abs(x - middle) < size * (0.9 + 0.35 * np.minimum(y - shoulders, 3)))] = light
    return np.rint(np.clip(picture + random.normal(0, 6, picture.shape), 0, 255))


def draw_spectrum(random, kind):
    """A machine's harmonics; of kind 1 with a tone that does not belong there, or without one that does."""
    bins = np.arange(BINS)
    base, loud = random.uniform(5.6, 6.4), random.uniform(0.8, 1.2)
    harmonics = [loud * np.exp(-n / 5) * np.exp(-(((bins - base * n) / 1.2) ** 2)) for n in range(1, 10)]
    if kind and random.random() < 0.5:
        harmonics[int(random.integers(0, 3))] *= 0
    elif kind:
        middle = base * (int(random.integers(1, 8)) + 0.5)
        harmonics.append(random.uniform(0.5, 0.9) * np.exp(-(((bins - middle) / 1.2) ** 2)))
    return np.rint(np.clip(1000 * (sum(harmonics) + random.normal(0, 0.02, BINS)), -1000, 4000))


def draw(draw_one, kinds, count, seed):
    random = np.random.default_rng(seed)
    labels = np.arange(count) % kinds
    return np.stack([draw_one(random, kind) for kind in labels]).astype(np.float32), labels


# ---- Layers ---------------------------------------------------------------------------------------------------------


class Conv:
    def __init__(self, random, cin, cout, stride):
        self.stride, self.w = stride, random.normal(0, np.sqrt(2 / (9 * cin)), (cout, cin, 3, 3))
        self.b = np.zeros(cout)

    def forward(self, x):
        self.shape = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        self.seen = windows[:, :, :: self.stride, :: self.stride]
        return np.einsum("nchwij,ocij->nohw", self.seen, self.w, optimize=True) + self.b[:, None, None]

    def backward(self, d):
        self.dw, self.db = np.einsum("nohw,nchwij->ocij", d, self.seen, optimize=True), d.sum((0, 2, 3))
        n, c, h, w = self.shape
        dx, rows, columns = np.zeros((n, c, h + 2, w + 2)), *d.shape[2:]
        for i in range(3):
            for j in range(3):
                part = np.einsum("nohw,oc->nchw", d, self.w[:, :, i, j], optimize=True)
                dx[:, :, i : i + self.stride * rows : self.stride, j : j + self.stride * columns : self.stride] += part
        return dx[:, :, 1:-1, 1:-1]

    def node(self, net, x):
        return net.add("Conv", [x, net.weight(self.w), net.weight(self.b)], kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                       strides=[self.stride] * 2)


class Dense:
    def __init__(self, random, fan_in, fan_out):
        self.w, self.b = random.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out)), np.zeros(fan_out)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, d):
        self.dw, self.db = self.x.T @ d, d.sum(0)
        return d @ self.w.T

    def node(self, net, x):
        return net.add("Gemm", [x, net.weight(self.w), net.weight(self.b)])


class Relu:
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, d):
        return d * self.on

    def node(self, net, x):
        return net.add("Relu", [x])


class Mean:
    """Over the pixels of a channel."""

    def forward(self, x):
        self.shape = x.shape
        return x.mean((2, 3))

    def backward(self, d):
        return np.broadcast_to(d[:, :, None, None], self.shape) / (self.shape[2] * self.shape[3])

    def node(self, net, x):
        return net.add("Flatten", [net.add("GlobalAveragePool", [x])])


def train(layers, x, target, loss, epochs, seed):
    """Adam; `loss` gives the gradient of a batch."""
    random = np.random.default_rng(seed)
    names = [(layer, name) for layer in layers for name in ("w", "b") if hasattr(layer, name)]
    moments = [[np.zeros_like(getattr(layer, name)) for _ in range(2)] for layer, name in names]
    step = 0
    for epoch in range(epochs):
        order = random.permutation(len(x))
        for at in range(0, len(x), 32):
            batch, step = order[at : at + 32], step + 1
            y = x[batch]
            for layer in layers:
                y = layer.forward(y)
            d = loss(y, target[batch])
            for layer in reversed(layers):
                d = layer.backward(d)
            for (layer, name), (first, second) in zip(names, moments):
                gradient = getattr(layer, "d" + name)
                first += 0.1 * (gradient - first)
                second += 0.001 * (gradient**2 - second)
                change = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
                setattr(layer, name, getattr(layer, name) - 0.003 * (1 - epoch / epochs) * change)


def of_classes(y, labels):
    p = np.exp(y - y.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), labels] -= 1
    return p / len(y)


def of_numbers(y, wanted):
    return 2 * (y - wanted) / len(y)


# ---- Models ---------------------------------------------------------------------------------------------------------


class Net:
    """A graph that is written node by node."""

    def __init__(self, name, shape):
        self.name, self.nodes, self.weights = name, [], []
        self.input = helper.make_tensor_value_info(f"{name}_in", TensorProto.FLOAT, shape)

    def weight(self, array, dtype=np.float32):
        name = f"{self.name}_w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def add(self, op, inputs, **attributes):
        name = f"{self.name}_v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def model(self, output, shape):
        out = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [self.input], [out], self.weights)
        made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(made)
        return made


def run(model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: row[None]})[0] for row in x])


def quantized(model, x):
    """The model in QDQ form, by what it gives for some rows."""

    class Rows(CalibrationDataReader):
        def __init__(self):
            self.rows = iter(x[:64])

        def get_next(self):
            row = next(self.rows, None)
            return None if row is None else {model.graph.input[0].name: row[None]}

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / name) for name in ("float.onnx", "int8.onnx")]
        onnx.save(model, paths[0])
        quantize_static(*paths, Rows(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8,
                        weight_type=QuantType.QInt8, per_channel=True)
        return onnx.load(paths[1])


def joined(first, second):
    both = onnx.compose.merge_models(first, second, [(first.graph.output[0].name, second.graph.input[0].name)])
    both.ir_version = 8
    return both


def spectra_of_sound():
    """Sound as numbers of 16 bits to coefficients: short spectra, their energies in bands as the ear has them, and of
    the logarithms the first numbers of a cosine transform."""
    net = Net("mfcc", [1, LENGTH])
    column = net.add("Unsqueeze", [net.add("Mul", ["mfcc_in", net.weight(1 / 32768)]), net.weight([2], np.int64)])
    window = net.weight(np.hanning(FRAME + 1)[:-1])
    spectrum = net.add("STFT", [column, net.weight(STEP, np.int64), window, net.weight(FRAME, np.int64)])
    power = net.add("ReduceSumSquare", [spectrum], axes=[3], keepdims=0)
    mel = net.add("MelWeightMatrix", [net.weight(BANDS, np.int64), net.weight(FRAME, np.int64), net.weight(RATE, np.int64),
                                      net.weight(100), net.weight(RATE / 2)])
    bands = net.add("Log", [net.add("Add", [net.add("MatMul", [power, mel]), net.weight(1e-3)])])
    at = np.arange(BANDS)
    cosines = np.stack([np.cos(np.pi / BANDS * (at + 0.5) * k) for k in range(COEFFICIENTS)], 1) / BANDS
    scaled = net.add("Mul", [net.add("MatMul", [bands, net.weight(cosines)]), net.weight([0.2] + [1.0] * (COEFFICIENTS - 1))])
    frames = (LENGTH - FRAME) // STEP + 1
    net.nodes.append(helper.make_node("Reshape", [scaled, net.weight([1, 1, frames, COEFFICIENTS], np.int64)], ["mfcc_out"]))
    return net.model("mfcc_out", [1, 1, frames, COEFFICIENTS])


def network(name, shape, layers, outputs):
    net = Net(name, shape)
    value = f"{name}_in"
    for layer in layers:
        value = layer.node(net, value)
    return net.model(value, [1, outputs])


def convolutions(random, channels, classes):
    return [Conv(random, 1, channels, 2), Relu(), Conv(random, channels, 2 * channels, 2), Relu(),
            Conv(random, 2 * channels, 2 * channels, 1), Relu(), Mean(), Dense(random, 2 * channels, classes)]


def spotter(random):
    front = spectra_of_sound()
    x, labels = draw(draw_sound, 4, 1200, 1)
    features = run(front, x)
    layers = convolutions(random, 8, 4)
    train(layers, features, labels, of_classes, 25, 2)
    float_net = network("net", list(features[:1].shape), layers, 4)
    return joined(front, quantized(float_net, features)), joined(front, float_net), draw(draw_sound, 4, 400, 3)


def scaled_input(shape, factor, offset):
    """Numbers as they come, brought near 1."""
    net = Net("input", shape)
    moved = net.add("Sub", ["input_in", net.weight(offset)])
    net.nodes.append(helper.make_node("Mul", [moved, net.weight(factor)], ["input_out"]))
    return net.model("input_out", shape)


def person(random):
    front = scaled_input([1, 1, SIDE, SIDE], 1 / 64, 128)
    x, labels = draw(draw_picture, 2, 3000, 4)
    x = run(front, x[:, None])
    layers = convolutions(random, 8, 2)
    train(layers, x, labels, of_classes, 25, 5)
    float_net = network("net", [1, 1, SIDE, SIDE], layers, 2)
    pictures, kinds = draw(draw_picture, 2, 400, 6)
    return joined(front, quantized(float_net, x)), joined(front, float_net), (pictures[:, None], kinds)


def judge(limit):
    """What the autoencoder gives, and what it was given, to two numbers: the larger one is the class."""
    net = Net("judge", [1, BINS])
    error = net.add("Sub", ["judge_in", "judge_given"])
    mean = net.add("ReduceMean", [net.add("Mul", [error, error])], axes=[1], keepdims=1)
    net.nodes.append(helper.make_node("Mul", [net.add("Sub", [mean, net.weight(limit)]), net.weight([[-1, 1]])],
                                      ["judge_out"]))
    return net, helper.make_tensor_value_info("judge_out", TensorProto.FLOAT, [1, 2])


def with_judge(front, net, limit):
    both = joined(front, net)
    last, output = judge(limit)
    both.graph.node.extend(last.nodes)
    both.graph.initializer.extend(last.weights)
    for node in both.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = {"judge_in": net.graph.output[0].name, "judge_given": "input_out"}.get(name, name)
    del both.graph.output[:]
    both.graph.output.append(output)
    return both


def anomaly(random):
    front = scaled_input([1, BINS], 1 / 500, 200)
    x = run(front, draw(draw_spectrum, 1, 2000, 7)[0])
    sizes = [BINS, 32, 4, 32, BINS]
    layers = [Dense(random, a, b) for a, b in zip(sizes, sizes[1:])]
    layers = [part for layer in layers for part in (layer, Relu())][:-1]
    train(layers, x, x, of_numbers, 60, 8)
    float_net = network("net", [1, BINS], layers, BINS)
    small = quantized(float_net, x)
    models = []
    for net in (small, float_net):
        errors = ((run(net, x[:500]) - x[:500]) ** 2).mean(1)
        models.append(with_judge(front, net, np.quantile(errors, 0.98) * 1.2))
    return models[0], models[1], draw(draw_spectrum, 2, 400, 9)


# ---- Files ----------------------------------------------------------------------------------------------------------


def write_sample(path, numbers):
    if numbers.size == LENGTH:
        with wave.open(str(path) + ".wav", "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", None))
            file.writeframes(numbers.astype("<i2").tobytes())
        return
    is_picture = numbers.size == SIDE * SIDE
    head = f"P2\n{SIDE} {SIDE}\n255\n" if is_picture else ""
    rows = "\n".join(" ".join(str(int(number)) for number in row) for row in numbers.reshape(-1, SIDE if is_picture else 16))
    path.with_suffix(".pgm" if is_picture else ".txt").write_text(f"{head}{rows}\n")


def main():
    for make in (spotter, person, anomaly):
        folder = HERE / make.__name__
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "samples").mkdir(parents=True)
        model, float_model, (x, labels) = make(np.random.default_rng(10))
        onnx.save(model, folder / "model.onnx")
        right = [float((run(each, x).argmax(1) == labels).mean()) for each in (model, float_model)]
        print(f"{make.__name__}: {100 * right[0]:.1f} % of {len(x)} right, {100 * right[1]:.1f} % in floats")
        for i in range(SAMPLES):
            write_sample(folder / "samples" / f"{labels[i]}_{i}", x[i])


if __name__ == "__main__":
    main()
