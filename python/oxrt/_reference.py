"""_reference.py: the interface of onnx.reference.ReferenceEvaluator over Model."""

import os

from . import _ox


def _to_model(proto, opsets):
    """A ModelProto of a graph, a function or a node."""
    import onnx
    from onnx import helper
    imports = [helper.make_opsetid(domain, version) for domain, version in (opsets or {}).items()]
    if isinstance(proto, onnx.ModelProto):
        return proto
    if isinstance(proto, onnx.NodeProto):
        proto = _to_graph(proto.name or "node", [proto], proto.input, proto.output)
    elif isinstance(proto, onnx.FunctionProto):
        imports = imports or list(proto.opset_import)
        if proto.attribute or proto.attribute_proto:
            raise _ox.UnsupportedError(f"function {proto.name} has attributes, which only a call of it gives")
        proto = _to_graph(proto.name, proto.node, proto.input, proto.output)
    elif not isinstance(proto, onnx.GraphProto):
        raise TypeError(f"a model is a path, bytes or a proto of onnx, not {type(proto)}")
    return helper.make_model(proto, opset_imports=imports or None)


def _to_graph(name, nodes, inputs, outputs):
    from onnx import helper, ValueInfoProto
    return helper.make_graph(nodes, name, [ValueInfoProto(name=i) for i in inputs if i],
                             [ValueInfoProto(name=o) for o in outputs if o])


class ReferenceEvaluator:
    """Runs a model, graph, function or node of onnx with ox, for programs written for onnx.reference.

    Inputs of graphs need their types stated; operators of the caller's (new_ops) are not taken."""

    def __init__(self, proto, opsets=None, functions=None, verbose=0, new_ops=None, optimized=True):
        if new_ops:
            raise _ox.UnsupportedError("new_ops: ox takes no operators written in Python")
        if functions:
            raise _ox.UnsupportedError("functions: put them into the model")
        if hasattr(proto, "read"):
            proto = proto.read()
        self._source = proto if isinstance(proto, (str, bytes, os.PathLike)) else _to_model(
            proto, opsets).SerializeToString()
        self.proto_ = proto
        self._model = _ox.Model(self._source)
        self._whole = None

    @property
    def input_names(self):
        return [info.name for info in self._model.inputs if not info.optional]

    @property
    def output_names(self):
        return [info.name for info in self._model.outputs]

    @property
    def input_types(self):
        return [info.type for info in self._model.inputs if not info.optional]

    @property
    def output_types(self):
        return [info.type for info in self._model.outputs]

    @property
    def opsets(self):
        return dict(self._model.info["opsets"])

    def run(self, output_names, feed_inputs, attributes=None, intermediate=False):
        """A list of outputs; with intermediate=True a dict of all values by name."""
        if attributes:
            raise _ox.UnsupportedError("attributes of a run: ox has those of the model only")
        if not intermediate:
            return self._model.run(feed_inputs, output_names)
        model = self._with_all_values()
        names = [info.name for info in model.outputs]
        return {**feed_inputs, **dict(zip(names, model.run(feed_inputs)))}

    def _with_all_values(self):
        if self._whole is None:
            import onnx
            proto = onnx.load(self._source) if not isinstance(self._source, bytes) else onnx.load_from_string(
                self._source)
            known = {*self.output_names, ""}
            inner = dict.fromkeys(name for node in proto.graph.node for name in node.output if name not in known)
            self._whole = _ox.Model(self._source, extra_outputs=list(inner))
        return self._whole
