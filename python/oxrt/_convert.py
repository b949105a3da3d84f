"""_convert.py: arrays of a model's type from whatever else a caller gives. The module _ox calls to_array and
keys_and_values."""

import numpy as np

from ._ox import ShapeError, UnsupportedError

# Python's numbers may become a type of their own kind or of a later one: never a float an integer, which would round.
_KINDS = "biufcV"
_NAMES = {
    "float": np.float32, "double": np.float64, "float16": np.float16,
    "uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16,
    "uint32": np.uint32, "int32": np.int32, "uint64": np.uint64, "int64": np.int64,
    "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128, "string": np.object_,
}
_FOREIGN = {
    "bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn", "float6e2m3": "float6_e2m3fn", "float6e3m2": "float6_e3m2fn",
    "uint4": "uint4", "int4": "int4", "uint2": "uint2", "int2": "int2",
}


def dtype_of(name):
    """numpy's dtype of an element type, by ONNX's name of it."""
    if name in _NAMES:
        return np.dtype(_NAMES[name])
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, _FOREIGN[name]))
    except (ImportError, AttributeError):
        raise UnsupportedError(f"numpy has no type {name} by itself: install the package ml_dtypes") from None


def name_of(dtype):
    """ONNX's name of a numpy dtype, None if it has none."""
    dtype = np.dtype(dtype)
    if dtype.kind in "USOT":
        return "string"
    for name in (*_NAMES, *_FOREIGN):
        try:
            if dtype_of(name) == dtype.newbyteorder("="):
                return name
        except UnsupportedError:
            continue
    return None


def _spelled(dtype):
    """How a program writes the dtype."""
    return f"np.{dtype.name}" if hasattr(np, dtype.name) else f"ml_dtypes.{dtype.name}"


def _refuse(given, wanted, name):
    raise ShapeError(f"input {name}: the model wants {wanted}, not {given}")


def _from_array(array, wanted, name):
    if wanted == "string" and array.dtype.kind in "UST":
        return array.astype(object)
    dtype = dtype_of(wanted)
    if array.dtype.newbyteorder("=") != dtype:
        _refuse(f"an array of {array.dtype}; .astype({_spelled(dtype)}) converts it", wanted, name)
    return array.astype(dtype)


def _from_numbers(given, wanted, name):
    """An array from Python's numbers, lists and the like."""
    try:
        array = np.asarray(given)
        if array.size == 0:
            return array.astype(dtype_of(wanted))
        if wanted == "string" or array.dtype.kind in "USO":
            return _from_array(array, wanted, name)
        if wanted not in _FOREIGN and _KINDS.index(array.dtype.kind) > _KINDS.index(dtype_of(wanted).kind):
            _refuse(f"numbers of {array.dtype}", wanted, name)
        made = np.asarray(given, dtype=dtype_of(wanted))
    except OverflowError as error:
        raise ShapeError(f"input {name}: a number that {wanted} cannot hold: {error}") from None
    except (TypeError, ValueError) as error:
        if isinstance(error, ShapeError):
            raise
        raise ShapeError(f"input {name}: no array of {wanted}: {error}") from None
    if array.dtype.kind in "iu" and "int" in wanted and not np.array_equal(made.astype(array.dtype), array):
        _refuse("numbers beyond its range", wanted, name)
    return made


def to_array(given, wanted, name):
    """An array of the element type `wanted` with the elements of `given`; ShapeError if that would change them."""
    if isinstance(given, (np.ndarray, np.generic)):
        return _from_array(np.asarray(given), wanted, name)
    if hasattr(given, "__dlpack__"):
        try:
            array = np.from_dlpack(given)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ShapeError(f"input {name}: no array by DLPack: {error}") from None
        return array if array.dtype == dtype_of(wanted) else _from_array(array, wanted, name)
    if hasattr(given, "__array__") or isinstance(given, memoryview):
        array = np.asarray(given)
        return array if array.dtype == dtype_of(wanted) else _from_array(array, wanted, name)
    return _from_numbers(given, wanted, name)


def keys_and_values(pairs):
    """Keys and values of a mapping as two lists. Keys that are texts are objects, so that none becomes one."""
    keys = [key for key, _ in pairs]
    if any(isinstance(key, (str, bytes)) for key in keys):
        texts = np.empty(len(keys), object)
        texts[:] = keys
        keys = texts
    return keys, [value for _, value in pairs]
