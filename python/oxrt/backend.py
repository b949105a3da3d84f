"""backend.py: ONNX's backend interface (onnx.backend.base) over Model. It needs the package onnx."""

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from . import _ox


class OxBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model):
        self._model = model
        self._names = [info.name for info in model.outputs]

    def run(self, inputs, **kwargs):
        """The outputs, as a tuple whose members have the outputs' names. Inputs are a list or a dict."""
        if not isinstance(inputs, dict):
            names = [info.name for info in self._model.inputs]
            if len(inputs) > len(names):
                raise _ox.ArgumentError(f"{len(inputs)} inputs were given, the model has {len(names)}")
            inputs = dict(zip(names, inputs))
        return namedtupledict("Outputs", self._names)(*self._model.run(inputs))


def _tensor_type(value, shape):
    dtype = np.asarray(value).dtype
    number = onnx.TensorProto.STRING if dtype.kind in "UO" else helper.np_dtype_to_tensor_dtype(dtype)
    return helper.make_tensor_type_proto(number, shape)


def _type_inside(value):
    """The type of what a list or a dict holds; items may differ in shape."""
    if isinstance(value, (dict, list, tuple)):
        return _type_of(value)
    return _tensor_type(value, None)


def _type_of(value):
    """The type of an array; of a list or dict, which is that of its first item; of None, an optional."""
    if value is None:
        return helper.make_optional_type_proto(_tensor_type(np.float32(0), None))
    if isinstance(value, dict):
        key, item = next(iter(value.items()), (0, np.float32(0)))
        return helper.make_map_type_proto(_tensor_type(key, None).tensor_type.elem_type,
                                          _type_inside(np.float32(item) if isinstance(item, float) else item))
    if isinstance(value, (list, tuple)):
        return helper.make_sequence_type_proto(_type_inside(value[0] if value else np.float32(0)))
    return _tensor_type(value, np.shape(value))


class OxBackend(Backend):
    """prepare, run_model and run_node of onnx.backend.base."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            _ox.Model(model)
        except _ox.Error:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        if not cls.supports_device(device):
            raise _ox.ArgumentError(f"the only device is CPU, not {device}")
        return OxBackendRep(_ox.Model(model, **kwargs))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node; the types of its inputs are those of the values, a list's that of its first item."""
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        given = [name for name in node.input if name]
        infos = [helper.make_value_info(name, _type_of(value)) for name, value in zip(given, inputs)]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], node.op_type or "node", infos, results)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        return cls.run_model(model, inputs, device, **kwargs)

    @classmethod
    def supports_device(cls, device):
        return Device(device).type == DeviceType.CPU


is_compatible = OxBackend.is_compatible
prepare = OxBackend.prepare
run_model = OxBackend.run_model
run_node = OxBackend.run_node
supports_device = OxBackend.supports_device
