"""nodes.py: one node as a model of its own, run by ox."""

import arrays
import numpy as np
import oxlib
from onnx import TensorProto, helper

def kind_of(type_name):
    return TensorProto.DataType.Value(type_name.upper())


def model_of(op, opset, inputs, outputs, constants=(), **attributes):
    """The bytes of a model of one node. inputs: type names by name, in the order of the node; "" is omitted."""
    info = helper.make_tensor_value_info
    node = helper.make_node(op, [name if kind else "" for name, kind in inputs.items()], list(outputs), **attributes)
    given = [info(name, kind_of(kind), None) for name, kind in inputs.items() if kind and name not in constants]
    kept = [helper.make_tensor(name, kind_of(inputs[name]), value.shape, value.ravel().tolist())
            for name, value in dict(constants).items()]
    graph = helper.make_graph([node], "graph", given, [info(k, kind_of(v), None) for k, v in outputs.items()], kept)
    imports = [helper.make_opsetid("", opset)]
    if "domain" in attributes:
        imports.append(helper.make_opsetid(attributes["domain"], 1))
    return helper.make_model(graph, ir_version=10, opset_imports=imports).SerializeToString()


def kept(array):
    """A copy that outlives the session, which owns the bytes of strings."""
    return arrays.pairs_of(arrays.texts_of(array)) if array.dtype.names else array.copy()


def run(data, feeds, threads=1):
    """The outputs of a model for a list of (array, type name)."""
    model = oxlib.Model(data)
    session = oxlib.Session(model, oxlib.Options(threads=threads))
    try:
        for i, (array, type_name) in enumerate(feeds):
            session.set_input(i, arrays.to_input(array, type_name))
        session.run()
        count = oxlib.library.ox_model_output_count(model.handle)
        return [kept(arrays.from_tensor(session.output(k))[1]) for k in range(count)]
    finally:
        session.close()
        model.close()


def same(got, wanted, tolerance=0.0):
    """Whether two arrays have one shape, and equal elements or near ones; NaN is NaN."""
    wanted = np.asarray(wanted)
    if got.shape != wanted.shape:
        return False
    if got.dtype.names:
        return np.array_equal(arrays.texts_of(got), arrays.texts_of(wanted))
    if not tolerance:
        return got.tobytes() == np.ascontiguousarray(wanted).astype(got.dtype, copy=False).tobytes()
    left, right = (a.astype(np.complex128) for a in (got, wanted))
    return np.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
