"""oxrt: ONNX models in Python, run by ox.

    import numpy as np, oxrt
    model = oxrt.Model("model.onnx")
    y = model(np.zeros((1, 3), np.float32))

`Model` is all there is to it. `InferenceSession`, `SessionOptions`, `OrtValue` and the like have the interface of ONNX
Runtime, and `install_as_onnxruntime()` puts them under that name; `ReferenceEvaluator` has that of
onnx.reference, and the module `oxrt.backend` that of onnx.backend.base.
"""

from ._ox import (ArgumentError, CancelledError, CheckError, DataError, Error, FileError, Flag, LimitError, Model,
                  ModelError, ModelWarning, OperatorUse, OutOfMemoryError, ShapeError, Step, UnsupportedError,
                  ValueInfo, __version__)

# Loading a model takes a fraction of a millisecond; what not every program needs is imported when it is asked for.
_SESSION = ("InferenceSession", "SessionOptions", "RunOptions", "OrtValue", "IOBinding", "NodeArg", "ModelMetadata",
            "OrtDevice", "SparseTensor", "GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder",
            "get_available_providers", "get_all_providers", "get_device", "set_default_logger_severity",
            "set_default_logger_verbosity", "set_seed", "disable_telemetry_events", "enable_telemetry_events",
            "get_build_info", "get_version_string", "install_as_onnxruntime", "preload_dlls")
_LATE = {**{name: "_session" for name in _SESSION}, "ReferenceEvaluator": "_reference", "empty": "_memory",
         "backend": None}

__all__ = ["ArgumentError", "CancelledError", "CheckError", "DataError", "Error", "FileError", "Flag", "LimitError",
           "Model", "ModelError", "ModelWarning", "OperatorUse", "OutOfMemoryError", "ShapeError", "Step", "UnsupportedError",
           "ValueInfo", "ReferenceEvaluator", "empty", *_SESSION]


def __getattr__(name):
    if name not in _LATE:
        raise AttributeError(f"module 'oxrt' has no attribute '{name}'")
    from importlib import import_module
    if name == "backend":
        return import_module(".backend", __name__)
    value = getattr(import_module("." + _LATE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_LATE))
