"""_status.py: the exceptions of ONNX Runtime, each also a subclass of oxrt.Error."""

import contextlib

from . import _ox


class Fail(_ox.Error):
    """FAIL"""


class InvalidArgument(_ox.ArgumentError):
    """INVALID_ARGUMENT"""


class NoSuchFile(_ox.FileError):
    """NO_SUCHFILE"""


class NoModel(_ox.Error):
    """NO_MODEL"""


class EngineError(_ox.Error):
    """ENGINE_ERROR"""


class RuntimeException(_ox.Error):
    """RUNTIME_EXCEPTION"""


class InvalidProtobuf(_ox.ModelError):
    """INVALID_PROTOBUF"""


class ModelLoaded(_ox.Error):
    """MODEL_LOADED"""


class NotImplemented(_ox.UnsupportedError):
    """NOT_IMPLEMENTED"""


class InvalidGraph(_ox.ModelError):
    """INVALID_GRAPH"""


class EPFail(_ox.Error):
    """EP_FAIL"""


class ModelLoadCanceled(_ox.CancelledError):
    """MODEL_LOAD_CANCELED"""


class ModelRequiresCompilation(_ox.Error):
    """MODEL_REQUIRES_COMPILATION"""


class NotFound(_ox.Error):
    """NOT_FOUND"""


_NUMBERS = {Fail: 1, InvalidArgument: 2, NoSuchFile: 3, NoModel: 4, EngineError: 5, RuntimeException: 6,
            InvalidProtobuf: 7, ModelLoaded: 8, NotImplemented: 9, InvalidGraph: 10, EPFail: 11,
            ModelLoadCanceled: 12, ModelRequiresCompilation: 13, NotFound: 14}
_CLASSES = {_ox.ArgumentError: InvalidArgument, _ox.ShapeError: InvalidArgument, _ox.FileError: NoSuchFile,
            _ox.UnsupportedError: NotImplemented, _ox.DataError: RuntimeException, _ox.LimitError: RuntimeException,
            _ox.OutOfMemoryError: RuntimeException, _ox.CancelledError: Fail, _ox.CheckError: Fail}


def of(error):
    """The runtime's exception for one of oxrt, with the library's text behind the runtime's head."""
    if isinstance(error, _ox.ModelError):
        kind = InvalidProtobuf if "not an ONNX model" in str(error) else InvalidGraph
    else:
        kind = _CLASSES.get(type(error), Fail)
    return kind(f"[ONNXRuntimeError] : {_NUMBERS[kind]} : {kind.__doc__} : {error}")


@contextlib.contextmanager
def translate():
    """Exceptions of oxrt become the runtime's."""
    try:
        yield
    except _ox.Error as error:
        raise of(error) from None


# What onnxruntime.capi.onnxruntime_pybind11_state has.
CLASSES_BY_NAME = {kind.__name__: kind for kind in _NUMBERS}
