"""graph_held.py: sequences, optionals and maps in random graphs: as Python's lists, as protobuf messages, in sessions
of ox, and what operators make of them, by Python's own lists."""

import ctypes as C
import dataclasses

import arrays
import numpy as np
import onnx
import oxlib
from onnx import TensorProto, helper
from results import library, pointer

library.ox_value_type.restype = C.c_char_p
library.ox_value_type.argtypes = [pointer, C.c_char_p]
TYPE_TEXT = 256
KINDS = {"seq": 2, "optional": 3, "map": 4}  # of ox_kind


@dataclasses.dataclass
class Held:
    """A value that is no tensor. `type` is as ox writes it; items are arrays or such values, none or one in an
    optional; a map has keys, an array."""
    type: str
    items: list
    keys: object = None


def is_held(type_name):
    return type_name is not None and "(" in type_name


def inner_type(type_name):
    """What is in a sequence or an optional, and the values of a map: the plain name where that is a tensor."""
    inner = type_name[type_name.index("(") + 1:-1]
    if type_name.startswith("map("):
        inner = inner[inner.index(",") + 1:]
    return inner[len("tensor("):-1] if inner.startswith("tensor(") else inner


def around(kind, type_name):
    return f"{kind}({type_name if is_held(type_name) else f'tensor({type_name})'})"


def agree(a, b):
    """Whether two types are one; an input without items, which is handed on, does not tell what it would hold."""
    return a == b or a[:a.index("(")] == b[:b.index("(")] and "undefined" in a + b


def key_type(type_name):
    return type_name[len("map("):type_name.index(",")]


def leaves(value):
    """All arrays in a value."""
    if not isinstance(value, Held):
        return [value]
    return [leaf for item in value.items for leaf in leaves(item)] + ([] if value.keys is None else [value.keys])


def size_of(value):
    return sum(leaf.size for leaf in leaves(value))


def mapped(value, change):
    """The same with other data: `change` of every tensor; keys stay."""
    if not isinstance(value, Held):
        return change(value)
    return Held(value.type, [mapped(item, change) for item in value.items], value.keys)


# ---- Messages ---------------------------------------------------------------------------------------------------


def type_proto(type_name):
    if not is_held(type_name):
        return helper.make_tensor_type_proto(arrays.DTYPES[type_name][0], None)
    inner = type_proto(inner_type(type_name))
    if type_name.startswith("map("):
        return helper.make_map_type_proto(arrays.DTYPES[key_type(type_name)][0], inner)
    return (helper.make_sequence_type_proto if type_name.startswith("seq(") else helper.make_optional_type_proto)(inner)


def tensor_proto(array, type_name):
    if type_name == "string":
        return helper.make_tensor("", TensorProto.STRING, array.shape, list(arrays.texts_of(array).reshape(-1)))
    return onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), "")


def message_of(value, type_name):
    """A TensorProto, SequenceProto, OptionalProto or MapProto."""
    if not is_held(type_name):
        return tensor_proto(value, type_name)
    inner = inner_type(type_name)
    items = [message_of(item, inner) for item in value.items]
    if type_name.startswith("optional("):
        return filled(onnx.OptionalProto, inner, items[0] if items else None)
    listed = filled(onnx.SequenceProto, inner, items)
    if type_name.startswith("seq("):
        return listed
    whole = onnx.MapProto(key_type=arrays.DTYPES[key_type(type_name)][0], values=listed)
    if key_type(type_name) == "string":
        whole.string_keys.extend(arrays.texts_of(value.keys).tolist())
    else:
        whole.keys.extend(value.keys.tolist())
    return whole


def filled(proto, inner, given):
    """A SequenceProto of a list of messages, or an OptionalProto of one or None."""
    kind = {"seq": "sequence", "map": "map", "optional": "optional"}.get(inner.partition("(")[0], "tensor")
    made = proto(elem_type=getattr(proto, kind.upper()))
    if proto is onnx.SequenceProto:
        getattr(made, f"{kind}_values").extend(given)
    elif given is not None:
        getattr(made, f"{kind}_value").CopyFrom(given)
    return made


# ---- Sessions ---------------------------------------------------------------------------------------------------


class Value:
    """A value of ox, which is freed with this."""

    def __init__(self, value, type_name):
        self.handle, error = pointer(), oxlib.Error()
        data = message_of(value, type_name).SerializeToString()
        kind = KINDS[type_name[:type_name.index("(")]]
        status = library.ox_value_from_proto(kind, data, len(data), None, C.byref(self.handle), None, C.byref(error))
        oxlib.check(status, error)

    def __del__(self):
        library.ox_value_free(self.handle)


TEXT = C.create_string_buffer(TYPE_TEXT)


def read(value):
    """(type, value) of a value of ox; copies of all tensors."""
    type_name = library.ox_value_type(value, TEXT).decode()
    if type_name.startswith("tensor("):
        return take(library.ox_value_tensor(value).contents)
    items = [read(library.ox_value_item(value, i))[1] for i in range(library.ox_value_count(value))]
    keys = take(library.ox_value_keys(value).contents)[1] if type_name.startswith("map(") else None
    return type_name, Held(type_name, items, keys)


def take(tensor):
    """(type name, array) of a tensor, which outlives the session."""
    name, array = arrays.from_tensor(tensor)
    return name, arrays.pairs_of(arrays.texts_of(array)) if name == "string" else array


MADE, INSIDE = oxlib.Tensor(), pointer()
MADE_AT, INSIDE_AT = C.byref(MADE), C.byref(INSIDE)


def output(session, index):
    """(type, value) of an output of any kind."""
    oxlib.check(library.ox_session_output_value(session.handle, index, INSIDE_AT, session.error), session.error)
    if INSIDE:
        return read(INSIDE)
    oxlib.check(library.ox_session_output(session.handle, index, MADE_AT, session.error), session.error)
    return take(MADE)


# ---- Operators --------------------------------------------------------------------------------------------------


def position(at, count):
    return int(at) + (count if at < 0 else 0)


def insert(x, item, at=None):
    k = len(x.items) if at is None else position(at, len(x.items))
    return Held(x.type, [*x.items[:k], item, *x.items[k:]])


def erase(x, at=None):
    k = len(x.items) - 1 if at is None else position(at, len(x.items))
    return Held(x.type, [*x.items[:k], *x.items[k + 1:]])


def split(x, types, parts=None, axis=0, keepdims=1):
    size = x.shape[axis]
    if parts is None:
        lengths = [1] * size
    elif parts.ndim:
        lengths = parts.tolist()
    else:
        part = int(parts)
        lengths = [part] * (size // part) + ([size % part] if size % part else [])
    ends = np.cumsum(lengths, dtype=np.int64)
    pieces = [np.take(x, range(int(end) - n, int(end)), axis) for end, n in zip(ends, lengths)]
    squeezes = parts is None and not keepdims
    return Held(around("seq", types[0]), [np.squeeze(p, axis) if squeezes else p for p in pieces])


def concat(x, axis, new_axis=0):
    return np.stack(x.items, axis) if new_axis else np.concatenate(x.items, axis)


def cast_map(x, cast_to="TO_FLOAT", map_form="DENSE", max_map=1):
    """Of numbers to numbers, and texts to texts."""
    kind = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": arrays.DTYPES["string"][1]}[cast_to]
    entries = dict(sorted(zip(x.keys.tolist(), x.items)))
    if map_form == "DENSE":
        return np.array([item.astype(kind)[()] for item in entries.values()], kind).reshape(1, -1)
    made = np.zeros((1, max_map), kind)
    for key, item in entries.items():
        made[0, key] = item.astype(kind)[()]
    return made


def dict_vectorizer(x, **vocabulary):
    (words,) = vocabulary.values()
    keys = arrays.texts_of(x.keys).tolist() if x.keys.dtype.names else x.keys.tolist()
    entries = dict(zip(keys, x.items))
    zero = np.zeros((), arrays.DTYPES[inner_type(x.type)][1])
    return np.array([entries.get(w.encode() if isinstance(w, str) else w, zero)[()] for w in words], zero.dtype)


def zip_map(x, **labels):
    ((name, keys),) = labels.items()
    texts = name.endswith("strings")
    made = arrays.pairs_of(np.array([k.encode() for k in keys], object)) if texts else np.array(keys, np.int64)
    inner = f"map({'string' if texts else 'int64'},tensor(float))"
    return Held(around("seq", inner), [Held(inner, [np.asarray(n) for n in row], made)
                                       for row in x.reshape(-1, x.shape[-1])])


def optional(types, held=None, type=None):
    return Held(around("optional", types[0]), [held]) if held is not None else None


# By operator: a function of the operands, their types and the attributes.
OPERATORS = {
    "SequenceConstruct": lambda x, types: Held(around("seq", types[0]), list(x)),
    "SequenceEmpty": lambda x, types, dtype=1: Held(around("seq", arrays.BY_NUMBER[dtype][0]), []),
    "SequenceInsert": lambda x, types: insert(*x), "SequenceErase": lambda x, types: erase(*x),
    "SequenceAt": lambda x, types: x[0].items[position(x[1], len(x[0].items))],
    "SequenceLength": lambda x, types: np.array(len(x[0].items), np.int64),
    "SplitToSequence": lambda x, types, **how: split(x[0], types, *x[1:], **how),
    "ConcatFromSequence": lambda x, types, **how: concat(x[0], **how),
    "Optional": lambda x, types, **how: optional(types, *x, **how),
    "OptionalHasElement": lambda x, types: np.array(bool(x and not (isinstance(x[0], Held) and
                                                                    types[0].startswith("optional(") and
                                                                    not x[0].items))),
    "OptionalGetElement": lambda x, types: x[0].items[0] if types[0].startswith("optional(") else x[0],
    "Identity": lambda x, types: x[0],
    "ai.onnx.ml.CastMap": lambda x, types, **how: cast_map(x[0], **how),
    "ai.onnx.ml.DictVectorizer": lambda x, types, **how: dict_vectorizer(x[0], **how),
    "ai.onnx.ml.ZipMap": lambda x, types, **how: zip_map(x[0], **how),
}


def expected(node, known, types):
    """The output of an operator on such values; None where it cannot be told."""
    names = [name for name in node.inputs if name]
    return OPERATORS[node.op]([known[n] for n in names], [types[n] for n in names], **node.attributes)
