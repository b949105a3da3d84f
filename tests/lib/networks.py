"""networks.py: the networks that `make models` fetches, each with inputs that mean something to it.

The files of the light networks say only how large their weights are. `model()` draws these at random: a network of
equal weights gives equal numbers, whatever is wrong with it.
"""

import glob
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = os.environ.get("OX_MODELS", "build/models")
NOISE = 1000003  # a prime, so that hardly two rows of weights are the same
IR_VERSION = 8  # from 4 on, initializers need not be inputs
ANY_SIZE = ["densenet121", "squeezenet"]
LIGHT = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512"]
TEXTS = ["HELLO", "ONE CAT", "ION"]

# Seven rows of five columns of each letter.
LETTERS = {
    "A": "01110 10001 10001 11111 10001 10001 10001", "C": "01111 10000 10000 10000 10000 10000 01111",
    "E": "11111 10000 10000 11110 10000 10000 11111", "H": "10001 10001 10001 11111 10001 10001 10001",
    "I": "11111 00100 00100 00100 00100 00100 11111", "L": "10000 10000 10000 10000 10000 10000 11111",
    "N": "10001 11001 11001 10101 10011 10011 10001", "O": "01110 10001 10001 10001 10001 10001 01110",
    "T": "11111 00100 00100 00100 00100 00100 00100", " ": "00000 00000 00000 00000 00000 00000 00000",
}


def write(picture, text, top, left, size):
    """Writes a line into [3, height, width], in ink of its own, each dot of a letter `size` pixels wide."""
    for letter in text:
        dots = np.array([[dot == "1" for dot in row] for row in LETTERS[letter].split()])
        stamp = np.kron(dots, np.ones((size, size), bool))
        part = picture[:, top:top + stamp.shape[0], left:left + stamp.shape[1]]
        part[:, stamp[:part.shape[1], :part.shape[2]]] = 0.1
        left += 6 * size


def paper(height, width, seed):
    """Paper that is darker on one side, [3, height, width] from 0 to 1."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    light = 0.95 - 0.2 * x / width - 0.05 * np.sin(y * (seed + 1) / 17)
    return np.stack([light, light * 0.98, light * 0.9]).astype(np.float32)


def page(height, width, seed):
    """A page with a line of text every 70 pixels, as a detector of text wants it."""
    picture = paper(height, width, seed)
    for row, top in enumerate(range(20, height - 30, 70)):
        write(picture, TEXTS[(row + seed) % 3], top, 16 + 9 * row, 4)
    return (picture - 0.45) / 0.225


def strip(height, width, seed):
    """One line of text, as a reader wants it."""
    picture = paper(height, width, seed)
    write(picture, TEXTS[seed % 3], height // 8, 8, height // 9)
    return (picture - 0.5) / 0.5


def scene(height, width, seed):
    """A disc and a bar before a gradient."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    picture = np.stack([x / width, y / height, 1 - x / width])
    picture[:, (x - width * 0.4) ** 2 + (y - height * 0.5) ** 2 < (height * 0.3) ** 2] = [[0.9], [0.2], [0.1 * seed]]
    picture[:, (abs(x - y + 20 * seed) < 12)] = [[0.1], [0.8], [0.3]]
    return ((picture - 0.45) / 0.225).astype(np.float32)


def voice(rate, count, seed):
    """A vowel of a voice: the overtones of 120 Hz, loud where a mouth that says "a" resounds, in a little noise."""
    time = np.arange(count) / rate
    hertz = np.arange(1, 26) * 120.0
    loud = sum(np.exp(-((hertz - formant) / 150) ** 2) for formant in (700, 1150, 2500))
    sound = (loud[:, None] * np.sin(2 * np.pi * hertz[:, None] * time + seed)).sum(0)
    return (0.2 * sound + 0.002 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def pictures(draw, batch, height, width):
    return np.stack([draw(height, width, seed) for seed in range(batch)])


def text_bytes(batch):
    """What magika reads of a file: 1,024 bytes of its beginning and of its end, 256 where there are none."""
    source = b'#include <stdio.h>\n\nint main(void) {\n    puts("hi");\n}\n' * 30
    rows = [np.frombuffer(source[seed:seed + 1024] * 2, np.uint8).astype(np.int32) for seed in range(batch)]
    if batch > 1:
        rows[1][200:1800] = 256
    return np.stack(rows)


def steps(batch, rate):
    """A step of silero's model: a 32nd of a second's samples, with the eighth part of the step before."""
    count = rate * 9 // 250
    sound = np.stack([voice(rate, count, seed) for seed in range(batch)])
    return {"input": sound, "state": np.zeros((2, batch, 128), np.float32), "sr": np.array(rate, np.int64)}


class Network:
    """A network: its name, where its file is, and its inputs, which `draw` makes of a size, whose first number is that
    of the batch. `sizes` has them as functions without arguments."""

    def __init__(self, name, pattern, draw, *sizes):
        self.name, self.pattern, self.draw = name, pattern, draw
        self.sizes = [lambda size=size: draw(*size) for size in sizes]
        self.smallest = min(sizes, key=lambda size: size[1:])

    def batch(self, count):
        """The smallest inputs in a batch of that many."""
        return self.draw(count, *self.smallest[1:])

    def path(self):
        """None where it has not been fetched."""
        found = sorted(glob.glob(os.path.join(FOLDER, self.pattern)))
        return found[-1] if found else None

    def model(self):
        with open(self.path(), "rb") as file:
            return file.read()


class Classifier(Network):
    """A network of pictures with a Softmax at its end."""

    def model(self):
        model = onnx.load(self.path())
        show_scores(model.graph)
        return model.SerializeToString()


class Light(Network):
    """A network without weights, whose file takes one image of 224x224; the model takes several, and where a global pool
    is at its end images of other sizes."""

    def __init__(self, name):
        super().__init__(name, f"onnx/backend/test/data/light/light_{name}.onnx",
                         lambda *size: {self.input_name(): pictures(scene, *size)},
                         (1, 224, 224), (1, 128, 96) if name in ANY_SIZE else (2, 224, 224))

    def input_name(self):
        graph = onnx.load(self.path()).graph
        return next(value.name for value in graph.input if len(value.type.tensor_type.shape.dim) == 4 and
                    value.type.tensor_type.shape.dim[1].dim_value == 3)

    def model(self):
        return with_weights(onnx.load(self.path()), self.input_name()).SerializeToString()


def drawn(noise, role, dims):
    """Weights of this role: a kernel keeps the size of what goes through it, the rest is what training makes of it."""
    if role == "kernel":
        values = noise * np.float32((2 / max(1, np.prod(dims[1:]))) ** 0.5)
    elif role == "spread":
        values = 0.8 + 0.2 * np.abs(noise)
    else:
        values = 0.1 * noise + (role == "scale")
    return np.resize(values, dims)


def roles(graph):
    """{value: what it is to the node that reads it}"""
    places = {"Conv": ["kernel", "bias"], "Gemm": ["kernel", "bias"], "Mul": ["scale"],
              "BatchNormalization": ["scale", "bias", "bias", "spread"]}
    return {name: role for node in graph.node for name, role in zip(node.input[1:], places.get(node.op_type, []))}


def reshapes(graph):
    """The shapes that Reshape nodes read."""
    return {node.input[1] for node in graph.node if node.op_type == "Reshape"}


def for_any_batch(shape):
    """A shape for one image as one for any number of them."""
    dims = numpy_helper.to_array(shape)
    return numpy_helper.from_array(np.array([-1 if dims[0] == 1 else dims[0], *dims[1:]]), shape.name)


def show_scores(graph):
    """What the Softmax at the end of a network makes probabilities of becomes an output, too: a sure network has few that
    are not 0 or 1."""
    if graph.node[-1].op_type == "Softmax":
        graph.output.append(helper.make_tensor_value_info(graph.node[-1].input[0], TensorProto.FLOAT, None))


def with_weights(model, input_name):
    """The network with weights in place of the constants that say how large they are."""
    graph = model.graph
    noise = np.random.default_rng(len(graph.node)).standard_normal(NOISE, np.float32)
    known = {tensor.name: tensor for tensor in graph.initializer}
    made = {node.output[0]: numpy_helper.to_array(known[node.input[0]]).tolist() for node in graph.node
            if node.op_type == "ConstantOfShape"}
    made |= {name: list(tensor.dims) for name, tensor in known.items() if tensor.data_type == TensorProto.FLOAT}
    role = roles(graph)
    kept = [node for node in graph.node if node.output[0] not in made]
    read = {name for node in kept for name in node.input}
    tensors = [numpy_helper.from_array(drawn(noise, role.get(name, "bias"), dims), name) for name, dims in made.items()
               if name in read]
    tensors += [tensor for name, tensor in known.items() if name in read and name not in made]
    tensors = [for_any_batch(tensor) if tensor.name in reshapes(graph) else tensor for tensor in tensors]
    inputs = [helper.make_tensor_value_info(input_name, TensorProto.FLOAT, ["N", 3, "H", "W"])]
    for field, values in ((graph.node, kept), (graph.initializer, tensors), (graph.input, inputs)):
        del field[:]
        field.extend(values)
    show_scores(graph)
    graph.output[0].type.tensor_type.ClearField("shape")
    model.ir_version = IR_VERSION
    return model


OCR = "rapidocr_onnxruntime/models/"
NETWORKS = [
    Network("magika", "magika/models/*/model.onnx", lambda count: {"bytes": text_bytes(count)}, (1,), (3,)),
    Network("rapidocr det", OCR + "*det_infer.onnx", lambda *size: {"x": pictures(page, *size)}, (1, 320, 320),
            (2, 160, 224)),
    Network("rapidocr rec", OCR + "*rec_infer.onnx", lambda *size: {"x": pictures(strip, *size)}, (1, 48, 320),
            (3, 48, 168)),
    Network("rapidocr cls", OCR + "*cls_infer.onnx", lambda *size: {"x": pictures(strip, *size)}, (1, 48, 192),
            (5, 48, 192)),
    Network("silero", "silero_vad/data/silero_vad.onnx", steps, (1, 16000), (3, 8000)),
    Classifier("efficientnet", "efficientnet_lite0.onnx", lambda *size: {"image": pictures(scene, *size)}, (1, 224, 224),
               (3, 224, 224)),
    *(Light(name) for name in LIGHT),
]
