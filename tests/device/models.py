"""models.py DIR: writes models for libraries for devices: three that are refused, for nodes out of order, external data
and a type, those that views.c and strided.c run, and three quantized networks."""
import os
import struct
import sys

from files import GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_NODE, GRAPH_OUTPUT
from files import MODEL_GRAPH, MODEL_OPSET, NODE_ATTRIBUTE, NODE_INPUT, NODE_OP_TYPE, NODE_OUTPUT
from files import field, integer

FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL, TENSOR_LOCATION = 1, 2, 8, 9, 13, 14


def node(op, a, b, to, more=b"", c=b""):
    names = field(NODE_INPUT, a) + field(NODE_INPUT, b) + (field(NODE_INPUT, c) if c else b"") + field(NODE_OUTPUT, to)
    return field(GRAPH_NODE, names + field(NODE_OP_TYPE, op) + more)


def value(number, name, dtype=FLOAT, dims=None):
    shape = field(2, b"".join(field(1, integer(1, dim)) for dim in dims)) if dims else b""
    return field(number, field(1, name) + field(2, field(1, integer(1, dtype) + shape)))


def model(graph, dims=None, opset=14):
    """A model with the input x, the output y, and what else is in the graph before them."""
    ends = value(GRAPH_INPUT, b"x", dims=dims) + value(GRAPH_OUTPUT, b"y", dims=dims)
    return integer(1, 8) + field(MODEL_OPSET, integer(2, opset)) + field(MODEL_GRAPH, graph + ends)


def tensor(name, dtype, form, numbers, dims=None):
    head = b"".join(integer(TENSOR_DIMS, dim) for dim in dims or [len(numbers)]) + integer(TENSOR_TYPE, dtype) + field(TENSOR_NAME, name)
    return field(GRAPH_INITIALIZER, head + field(TENSOR_RAW, struct.pack(f"<{len(numbers)}{form}", *numbers)))


def outside(name):
    place = field(TENSOR_EXTERNAL, field(1, b"location") + field(2, b"weights"))
    content = integer(TENSOR_DIMS, 1) + integer(TENSOR_TYPE, FLOAT) + field(TENSOR_NAME, name)
    return field(GRAPH_INITIALIZER, content + place + integer(TENSOR_LOCATION, 1))


def views():
    """Expand has no attribute; one that is there all the same does not matter."""
    unknown = field(NODE_ATTRIBUTE, field(1, b"unknown") + integer(3, 1) + integer(20, 2))
    nodes = node(b"Expand", b"w", b"pair", b"k", unknown) + node(b"Expand", b"x", b"s", b"t")
    nodes += node(b"Expand", b"t", b"two", b"y")
    lists = tensor(b"pair", INT64, "q", [3, 2]) + tensor(b"two", INT64, "q", [2, 1, 1, 1])
    return nodes + lists + tensor(b"w", FLOAT, "f", [5, 7]) + value(GRAPH_INPUT, b"s", INT64) + value(GRAPH_OUTPUT, b"k")


def quantized():
    """A network as quantizers write it: its bias is 32-bit integers with a zero point, which are computed in doubles."""
    nodes = node(b"QuantizeLinear", b"x", b"s", b"xq", c=b"z") + node(b"DequantizeLinear", b"xq", b"s", b"xd", c=b"z")
    nodes += node(b"DequantizeLinear", b"wq", b"s", b"w", c=b"z") + node(b"DequantizeLinear", b"bq", b"s", b"b", c=b"bz")
    nodes += node(b"Mul", b"xd", b"w", b"m") + node(b"Add", b"m", b"b", b"y")
    return nodes + tensor(b"s", FLOAT, "f", [0.5]) + tensor(b"z", INT8, "b", [2]) + tensor(b"wq", INT8, "b", [1, -7, 3, 4]) + \
        tensor(b"bq", INT32, "i", [4, 8, -12, 16]) + tensor(b"bz", INT32, "i", [4])


def precise():
    """QuantizeLinear that computes in doubles."""
    doubles = field(NODE_ATTRIBUTE, field(1, b"precision") + integer(3, 11) + integer(20, 2))
    nodes = node(b"QuantizeLinear", b"x", b"s", b"q", doubles, b"z") + node(b"DequantizeLinear", b"q", b"s", b"y", c=b"z")
    return nodes + tensor(b"s", FLOAT, "f", [0.5]) + tensor(b"z", INT8, "b", [2])


def rewritten():
    """A product between quantizations, which is of integers once it is loaded; its inputs are -1, 0, 1 and 2 steps."""
    nodes = node(b"QuantizeLinear", b"x", b"s", b"xq", c=b"z") + node(b"DequantizeLinear", b"xq", b"s", b"xd", c=b"z")
    nodes += node(b"Add", b"xd", b"c", b"a")
    nodes += node(b"QuantizeLinear", b"a", b"s", b"aq", c=b"z") + node(b"DequantizeLinear", b"aq", b"s", b"ad", c=b"z")
    nodes += node(b"Reshape", b"ad", b"row", b"r") + node(b"QuantizeLinear", b"r", b"s", b"rq", c=b"z")
    nodes += node(b"DequantizeLinear", b"rq", b"s", b"rd", c=b"z") + node(b"DequantizeLinear", b"wq", b"s", b"wf", c=b"wz")
    nodes += node(b"MatMul", b"rd", b"wf", b"m") + node(b"QuantizeLinear", b"m", b"t", b"mq", c=b"z")
    nodes += node(b"DequantizeLinear", b"mq", b"t", b"md", c=b"z") + node(b"Reshape", b"md", b"four", b"y")
    content = nodes + tensor(b"s", FLOAT, "f", [0.5]) + tensor(b"t", FLOAT, "f", [0.25]) + tensor(b"z", INT8, "b", [2])
    content += tensor(b"wz", INT8, "b", [0]) + tensor(b"c", FLOAT, "f", [-0.5, 0, 0.5, 1])
    content += tensor(b"wq", INT8, "b", [1, -2, 3, 4, 5, -6, 7, 8, 0, 1, 1, 0, 2, 2, -1, -1], [4, 4])
    return content + tensor(b"row", INT64, "q", [1, 4]) + tensor(b"four", INT64, "q", [4])


MODELS = {
    "unsorted": model(node(b"Add", b"t", b"x", b"y") + node(b"Add", b"x", b"x", b"t")),
    "external": model(node(b"Add", b"x", b"w", b"y") + outside(b"w")),
    "integers": model(node(b"Add", b"n", b"n", b"y") + value(GRAPH_INPUT, b"n", INT32)),
    "views": model(views()),
    "strided": model(field(GRAPH_NODE, field(NODE_INPUT, b"x") + field(NODE_OUTPUT, b"y") + field(NODE_OP_TYPE, b"Flatten"))),
    "quantized": model(quantized(), [4]),
    "precise": model(precise(), opset=23),
    "rewritten": model(rewritten(), [4]),
}

for name, content in MODELS.items():
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(content)
