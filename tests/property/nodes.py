"""nodes.py: models of one node or a few, run by ox."""

import arrays
import numpy as np
import oxlib
from onnx import TensorProto, helper


def kind_of(type_name):
    return TensorProto.DataType.Value(type_name.upper())


def model_around(nodes, inputs, outputs, opset, kept=(), domains=()):
    """The bytes of a model of these nodes. inputs, outputs: type names by name, None for a type that is not stated."""
    def info(name, kind):
        return helper.make_tensor_value_info(name, kind_of(kind), None) if kind else \
            helper.make_empty_tensor_value_info(name)
    graph = helper.make_graph(nodes, "graph", [info(*i) for i in inputs.items()], [info(*o) for o in outputs.items()],
                              list(kept))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, ir_version=10, opset_imports=imports).SerializeToString()


def model_of(op, opset, inputs, outputs, constants=(), **attributes):
    """The bytes of a model of one node. inputs: type names by name, in the order of the node; "" is omitted."""
    node = helper.make_node(op, [name if kind else "" for name, kind in inputs.items()], list(outputs), **attributes)
    given = {name: kind for name, kind in inputs.items() if kind and name not in constants}
    stored = [helper.make_tensor(name, kind_of(inputs[name]), value.shape, value.ravel().tolist())
              for name, value in dict(constants).items()]
    return model_around([node], given, outputs, opset, stored, [attributes["domain"]] if "domain" in attributes else [])


def kept(array):
    """A copy that outlives the session, which owns the bytes of strings."""
    return arrays.pairs_of(arrays.texts_of(array)) if array.dtype.names else array.copy()


def runs(data, feeds, count, **options):
    """The outputs of each of some runs of one session, for a list of (array, type name)."""
    model = oxlib.Model(data)
    try:
        session = oxlib.Session(model, oxlib.Options(**options))
        try:
            for i, (array, type_name) in enumerate(feeds):
                session.set_input(i, arrays.to_input(array, type_name))
            found = []
            for _ in range(count):
                session.run()
                outputs = range(oxlib.library.ox_model_output_count(model.handle))
                found.append([kept(arrays.from_tensor(session.output(k))[1]) for k in outputs])
            return found
        finally:
            session.close()
    finally:
        model.close()


def run(data, feeds, threads=1, **options):
    """The outputs of one run."""
    return runs(data, feeds, 1, threads=threads, **options)[0]


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
