"""_type_helper.py: onnxruntime.transformers.io_binding_helper.TypeHelper, which optimum asks for types of outputs."""

import numpy as np

from . import _convert


class TypeHelper:
    """Types of a session's inputs and outputs, in the words of numpy and of torch."""

    @staticmethod
    def _type_of(args, name):
        for arg in args:
            if arg.name == name:
                return arg.type
        raise ValueError(f"there is no {name}, only {[arg.name for arg in args]}")

    @staticmethod
    def get_input_type(ort_session, name):
        return TypeHelper._type_of(ort_session.get_inputs(), name)

    @staticmethod
    def get_output_type(ort_session, name):
        return TypeHelper._type_of(ort_session.get_outputs(), name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type):
        """numpy's type of "tensor(float)" and the like."""
        if not (ort_type.startswith("tensor(") and ort_type.endswith(")")):
            raise ValueError(f"{ort_type} is no tensor")
        return _convert.dtype_of(ort_type[len("tensor("):-1]).type

    @staticmethod
    def ort_type_to_torch_type(ort_type):
        return TypeHelper.numpy_type_to_torch_type(TypeHelper.ort_type_to_numpy_type(ort_type))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type):
        import torch
        return torch.from_numpy(np.empty(0, numpy_type)).dtype

    @staticmethod
    def torch_type_to_numpy_type(torch_type):
        import torch
        return torch.empty(0, dtype=torch_type).numpy().dtype.type

    @staticmethod
    def get_io_numpy_type_map(ort_session):
        args = [*ort_session.get_inputs(), *ort_session.get_outputs()]
        return {arg.name: TypeHelper.ort_type_to_numpy_type(arg.type) for arg in args}
