"""build.py: short ways to write models for mistakes.py, most of them wrong."""

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

DTYPES = {"float": T.FLOAT, "double": T.DOUBLE, "float16": T.FLOAT16, "int16": T.INT16, "int32": T.INT32,
          "int64": T.INT64, "uint8": T.UINT8, "int8": T.INT8, "bool": T.BOOL, "string": T.STRING}


def values(text):
    """"x float 2 3, y int64" as a list of ValueInfoProto; a dimension may be a name, and no shape is "?"."""
    made = []
    for entry in filter(None, text.split(",")):
        name, dtype, *dims = entry.split()
        shape = None if dims == ["?"] else [int(d) if d.lstrip("-").isdigit() else d for d in dims]
        made.append(helper.make_tensor_value_info(name, DTYPES[dtype], shape))
    return made


def node(text, **attributes):
    """"Add a,b y" as a node with the name n; "" among the names is an omitted input."""
    op, inputs, outputs = (text + " ").split(" ")[:3]
    domain, _, op = op.rpartition(".")
    inputs = inputs.split(",") if inputs else []
    return helper.make_node(op, inputs, outputs.split(",") if outputs else [], name="n", domain=domain, **attributes)


def constant(name, array):
    return numpy_helper.from_array(np.array(array), name)


def graph(nodes, inputs="", outputs="y float ?", initializers=()):
    return helper.make_graph([nodes] if isinstance(nodes, onnx.NodeProto) else nodes, "g", values(inputs),
                             values(outputs), initializers)


def model(nodes, inputs="", outputs="y float ?", initializers=(), opset=17, ir=8, **rest):
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in rest.pop("domains", [])]
    return helper.make_model(graph(nodes, inputs, outputs, initializers), opset_imports=opsets, ir_version=ir, **rest)


def edited(made, edit):
    """The model after edit(model): for what the helpers would refuse."""
    edit(made)
    return made


def tensor(name="w", dtype=T.FLOAT, dims=(2,), **fields):
    """A TensorProto field by field."""
    made = T(name=name, data_type=dtype, dims=dims)
    for field, value in fields.items():
        if isinstance(value, (list, tuple)):
            getattr(made, field).extend(value)
        else:
            setattr(made, field, value)
    return made


def external(location, dims=(2,), **keys):
    made = tensor(dims=dims, data_location=T.EXTERNAL)
    for key, value in {"location": location, **keys}.items():
        made.external_data.add(key=key, value=str(value))
    return made


def field(number, content):
    """A message inside another, as bytes: the package onnx refuses what nests too deep."""
    size, length = len(content), b""
    while size > 127:
        size, length = size >> 7, length + bytes([size & 127 | 128])
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def nested(depth, inner):
    """The bytes of a model of If nodes in each other, `depth` deep; inner is the graph that they end in."""
    then = inner.SerializeToString()
    for _ in range(depth):
        attribute = onnx.AttributeProto(name="then_branch", type=onnx.AttributeProto.GRAPH).SerializeToString()
        made = node("If c r", else_branch=inner).SerializeToString() + field(5, attribute + field(6, then))
        then = field(1, made) + graph([], outputs="r float ?").SerializeToString()
    opset = helper.make_opsetid("", 17).SerializeToString()
    given = values("c bool")[0].SerializeToString()
    return onnx.ModelProto(ir_version=8).SerializeToString() + field(7, then + field(11, given)) + field(8, opset)
