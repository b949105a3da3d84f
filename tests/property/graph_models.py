"""graph_models.py: random graphs as the bytes of models. A graph is written many times, with other outputs, and a node
of it by itself as often: so what a message is made of is kept, and put together here."""

import functools

import arrays
import graph_held
import numpy as np
from onnx import TensorProto, helper, numpy_helper

# Numbers of the fields of ModelProto, GraphProto and ValueInfoProto.
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 11, 12
INFO_NAME, INFO_TYPE = 1, 2


BYTES = [bytes([number]) for number in range(128)]


def varint(number):
    if number < 128:
        return BYTES[number]
    low = []
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    return bytes(low + [number])


def field(number, data):
    """A field of bytes in a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor_of(name, array, type_name):
    if type_name == "string":
        return helper.make_tensor(name, TensorProto.STRING, array.shape, list(arrays.texts_of(array).reshape(-1)))
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def info_of(name, type_name):
    """Without a type while that is unknown."""
    if type_name is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_value_info(name, graph_held.type_proto(type_name))


@functools.lru_cache(None)
def type_bytes(type_name):
    return field(INFO_TYPE, graph_held.type_proto(type_name).SerializeToString())


@functools.lru_cache(1 << 14)
def info_bytes(number, name, type_name):
    """The field of a graph that states an input or an output."""
    return field(number, field(INFO_NAME, name.encode()) + (type_bytes(type_name) if type_name else b""))


def node_proto(node, types):
    attributes = {}
    for key, value in node.attributes.items():
        if hasattr(value, "nodes"):
            made = [node_proto(inner, types) for inner in value.nodes]
            value = helper.make_graph(made, key, [info_of(name, types[name]) for name in value.inputs],
                                      [info_of(name, types[name]) for name in value.outputs])
        attributes[key] = value
    domain, _, op = node.op.rpartition(".")
    return helper.make_node(op, node.inputs, node.outputs, f"make_{node.outputs[0]}", domain=domain, **attributes)


def node_bytes(node, types):
    """The field of a graph. Types of what subgraphs take and give are part of it."""
    key = ("bytes", *[types[name] for name in node.stated()])
    if key not in node.kept:
        node.kept[key] = field(GRAPH_NODE, node_proto(node, types).SerializeToString())
    return node.kept[key]


@functools.lru_cache(None)
def frame_bytes(version):
    """A model without a graph."""
    opsets = [helper.make_opsetid("", version), helper.make_opsetid("ai.onnx.ml", 3)]
    whole = helper.make_model(helper.make_graph([], "", [], []), ir_version=13, opset_imports=opsets)
    whole.ClearField("graph")
    return whole.SerializeToString()


NAME = field(2, b"graph")


def model_bytes(opset, nodes, types, inputs, constants, outputs):
    """`inputs` and `outputs` are names, `constants` are arrays by name."""
    graph = [NAME]
    graph += [node_bytes(node, types) for node in nodes]
    graph += [info_bytes(GRAPH_INPUT, name, types[name]) for name in inputs]
    graph += [info_bytes(GRAPH_OUTPUT, name, types.get(name)) for name in outputs]
    graph += [constant if isinstance(constant, bytes) else constant_bytes(name, constant, types[name])
              for name, constant in constants.items()]
    return frame_bytes(opset) + field(MODEL_GRAPH, b"".join(graph))


def constant_bytes(name, array, type_name):
    return field(GRAPH_INITIALIZER, tensor_of(name, array, type_name).SerializeToString())
