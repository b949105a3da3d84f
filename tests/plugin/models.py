"""models.py: writes the models of run.sh into the current directory: the domain onednn.graph, and ONNX beside it."""

from onnx import AttributeProto, TensorProto, helper, numpy_helper, save
import numpy as np


def node(op, inputs, output, **lists):
    made = helper.make_node(op, inputs, [output], domain="onednn.graph")
    for name, value in lists.items():
        kind = AttributeProto.INTS if isinstance(value, list) else AttributeProto.INT
        made.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return made


def write(name, nodes, shape, constants=(), version=1):
    """The nodes give e out of x; a reduction that takes any strides reads it."""
    nodes = [*nodes, helper.make_node("ReduceMax", ["e"], ["y"], keepdims=0)]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
              helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, name, values[:1], values[1:],
                              [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in constants])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("onednn.graph", version)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), f"{name}.onnx")


def main():
    write("mapped", [node("StaticExpand", ["x"], "e", target_shape=[2, 3, 4, 5], axes_mapping=[1, 2])], [3, 4])
    write("pair", [node("StaticUnsqueeze", ["x"], "u", dim=0), node("StaticExpand", ["u"], "e", target_shape=[9, 3, 4])],
          [3, 4])
    write("onnx", [helper.make_node("Unsqueeze", ["x", "axes"], ["u"]), helper.make_node("Expand", ["u", "shape"], ["e"])],
          [3, 4], [("axes", [0]), ("shape", [9, 3, 4])])
    write("outside", [node("StaticUnsqueeze", ["x"], "e", dim=3)], [3, 4])
    write("newer", [node("StaticUnsqueeze", ["x"], "e", dim=0)], [3, 4], version=2)


main()
