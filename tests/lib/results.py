"""results.py: what a session takes and gives as numpy arrays and Python's dictionaries, and whether two results agree.
"""

import ctypes as C

import arrays
import numpy as np
import onnx
import oxlib
from onnx import TensorProto, helper

SEQUENCE, MAP = 2, 4
library, pointer = oxlib.library, C.c_void_p
for function, result, arguments in [
        ("ox_value_count", C.c_size_t, [pointer]), ("ox_value_item", pointer, [pointer, C.c_size_t]),
        ("ox_value_kind", C.c_int, [pointer]), ("ox_value_tensor", C.POINTER(oxlib.Tensor), [pointer]),
        ("ox_value_keys", C.POINTER(oxlib.Tensor), [pointer]),
        ("ox_value_from_proto", C.c_int, [C.c_int, C.c_char_p, C.c_size_t, pointer, C.POINTER(pointer), pointer,
                                          C.POINTER(oxlib.Error)]), ("ox_value_free", None, [pointer]),
        ("ox_session_set_value", C.c_int, [pointer, C.c_size_t, pointer, C.POINTER(oxlib.Error)]),
        ("ox_session_output_value", C.c_int, [pointer, C.c_size_t, C.POINTER(pointer), C.POINTER(oxlib.Error)])]:
    getattr(library, function).restype = result
    getattr(library, function).argtypes = arguments


def map_value(entries, key_type, value_type):
    """A map, which the caller frees, out of a dictionary."""
    proto = onnx.MapProto(name="m", key_type=key_type)
    if key_type == TensorProto.STRING:
        proto.string_keys.extend(k.encode() for k in entries)
    else:
        proto.keys.extend(entries)
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    for item in entries.values():
        proto.values.tensor_values.append(helper.make_tensor("", value_type, [], [item]))
    data, value, error = proto.SerializeToString(), pointer(), oxlib.Error()
    oxlib.check(library.ox_value_from_proto(MAP, data, len(data), None, C.byref(value), None, C.byref(error)), error)
    return value


def set_value(session, index, value):
    oxlib.check(library.ox_session_set_value(session.handle, index, value, session.error), session.error)


def plain(tensor):
    """A list of Python's values."""
    array = arrays.from_tensor(tensor)[1]
    texts = array.dtype.names
    return [t.decode() for t in arrays.texts_of(array).reshape(-1)] if texts else array.reshape(-1).tolist()


def dictionary(value):
    items = [plain(library.ox_value_tensor(library.ox_value_item(value, i)).contents)[0]
             for i in range(library.ox_value_count(value))]
    return dict(zip(plain(library.ox_value_keys(value).contents), items))


def dictionaries(session, index):
    """The sequence of maps that an output is, None where it is a tensor."""
    value = pointer()
    oxlib.check(library.ox_session_output_value(session.handle, index, C.byref(value), session.error), session.error)
    if not value:
        return None
    assert library.ox_value_kind(value) == SEQUENCE
    return [dictionary(library.ox_value_item(value, i)) for i in range(library.ox_value_count(value))]


def output_array(session, index):
    """A copy of an output that is a tensor; strings are bytes."""
    name, array = arrays.from_tensor(session.output(index))
    return arrays.texts_of(array) if name == "string" else array.copy()


def as_texts(array):
    """Strings as bytes."""
    flat = [text.encode() if isinstance(text, str) else text for text in array.reshape(-1).tolist()]
    result = np.empty(len(flat), object)
    result[:] = flat
    return result.reshape(array.shape)


def differs(got, wanted, tolerance):
    """What tells two arrays apart, None if they agree."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if got.dtype == object or got.dtype.kind in "iub":
        same = got == wanted
    else:
        same = np.isclose(got.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance / 10,
                          equal_nan=True)
    if np.all(same):
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"element {at} is {got[at]}, not {wanted[at]}"
