"""models.py DIR: writes models that a library for devices refuses: nodes out of order, external data."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "hostile"))
from files import GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_NODE, GRAPH_OUTPUT  # noqa: E402
from files import MODEL_GRAPH, MODEL_OPSET, NODE_INPUT, NODE_OP_TYPE, NODE_OUTPUT, field, integer  # noqa: E402

FLOAT = 1
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_EXTERNAL, TENSOR_LOCATION = 1, 2, 8, 13, 14


def add(a, b, to):
    names = field(NODE_INPUT, a) + field(NODE_INPUT, b) + field(NODE_OUTPUT, to)
    return field(GRAPH_NODE, names + field(NODE_OP_TYPE, b"Add"))


def value(number, name):
    return field(number, field(1, name) + field(2, field(1, integer(1, FLOAT))))


def model(graph):
    ends = value(GRAPH_INPUT, b"x") + value(GRAPH_OUTPUT, b"y")
    return integer(1, 8) + field(MODEL_OPSET, integer(2, 14)) + field(MODEL_GRAPH, graph + ends)


def outside(name):
    place = field(TENSOR_EXTERNAL, field(1, b"location") + field(2, b"weights"))
    content = integer(TENSOR_DIMS, 1) + integer(TENSOR_TYPE, FLOAT) + field(TENSOR_NAME, name)
    return field(GRAPH_INITIALIZER, content + place + integer(TENSOR_LOCATION, 1))


MODELS = {
    "unsorted": model(add(b"t", b"x", b"y") + add(b"x", b"x", b"t")),
    "external": model(add(b"x", b"w", b"y") + outside(b"w")),
}

for name, content in MODELS.items():
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(content)
