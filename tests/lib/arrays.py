"""arrays.py: numpy arrays as tensors of ox and back. A string is the (pointer, length) pair that ox uses."""

import ctypes as C
import faulthandler
import itertools
import math
import mmap
import weakref

import ml_dtypes
import numpy as np
import oxlib

DTYPES = {
    "float": (1, np.dtype(np.float32)),
    "uint8": (2, np.dtype(np.uint8)),
    "int8": (3, np.dtype(np.int8)),
    "uint16": (4, np.dtype(np.uint16)),
    "int16": (5, np.dtype(np.int16)),
    "int32": (6, np.dtype(np.int32)),
    "int64": (7, np.dtype(np.int64)),
    "string": (8, np.dtype([("data", np.uint64), ("size", np.uint64)])),
    "bool": (9, np.dtype(np.bool_)),
    "float16": (10, np.dtype(np.float16)),
    "double": (11, np.dtype(np.float64)),
    "uint32": (12, np.dtype(np.uint32)),
    "uint64": (13, np.dtype(np.uint64)),
    "complex64": (14, np.dtype(np.complex64)),
    "complex128": (15, np.dtype(np.complex128)),
    "bfloat16": (16, np.dtype(ml_dtypes.bfloat16)),
    "float8e4m3fn": (17, np.dtype(ml_dtypes.float8_e4m3fn)),
    "float8e4m3fnuz": (18, np.dtype(ml_dtypes.float8_e4m3fnuz)),
    "float8e5m2": (19, np.dtype(ml_dtypes.float8_e5m2)),
    "float8e5m2fnuz": (20, np.dtype(ml_dtypes.float8_e5m2fnuz)),
    "uint4": (21, np.dtype(ml_dtypes.uint4)),
    "int4": (22, np.dtype(ml_dtypes.int4)),
    "float4e2m1": (23, np.dtype(ml_dtypes.float4_e2m1fn)),
    "float8e8m0": (24, np.dtype(ml_dtypes.float8_e8m0fnu)),
    "uint2": (25, np.dtype(ml_dtypes.uint2)),
    "int2": (26, np.dtype(ml_dtypes.int2)),
    "float6e2m3": (27, np.dtype(ml_dtypes.float6_e2m3fn)),
    "float6e3m2": (28, np.dtype(ml_dtypes.float6_e3m2fn)),
}
BY_NUMBER = {number: (name, dtype) for name, (number, dtype) in DTYPES.items()}

# The strings of all tests: pointers into buffers that live as long as the program.
TEXTS = [b"", b"a", b"ox", "\u00e9\u00df".encode(), b"with\0nul", b"a longer text that no small buffer holds" * 3]
TEXT_BUFFERS = [C.create_string_buffer(text, len(text) + 1) for text in TEXTS]
TEXT_PAIRS = np.array([(C.addressof(b), len(t)) for b, t in zip(TEXT_BUFFERS, TEXTS)], DTYPES["string"][1])


INTERNED = {text: tuple(pair) for text, pair in zip(TEXTS, TEXT_PAIRS.tolist())}


def pairs_of(texts):
    """An array of bytes as a string array, whose texts live as long as the program."""
    flat = []
    for text in texts.reshape(-1):
        if text not in INTERNED:
            TEXT_BUFFERS.append(C.create_string_buffer(text, len(text) + 1))
            INTERNED[text] = (C.addressof(TEXT_BUFFERS[-1]), len(text))
        flat.append(INTERNED[text])
    return np.array(flat, DTYPES["string"][1]).reshape(texts.shape)


def texts_of(array):
    """A string array as an object array of bytes."""
    flat = [C.string_at(int(p), int(n)) if n else b"" for p, n in array.reshape(-1).tolist()]
    result = np.empty(len(flat), object)
    result[:] = flat
    return result.reshape(array.shape)


def to_tensor(array, type_name):
    """The array, with the strides it has (omitted if it is packed), without a copy."""
    strides = None if array.flags.c_contiguous else array.strides
    tensor = oxlib.make_tensor(DTYPES[type_name][0], array.shape, strides, array.ctypes.data)
    tensor.keep = array
    return tensor


PROTECT = C.CDLL(None).mprotect
PROTECT.argtypes = [C.c_void_p, C.c_size_t, C.c_int]
TURNS = itertools.count()
faulthandler.enable()


def extent(dims, strides):
    """How many bytes the elements reach before the first one, and how many behind its start the last one begins."""
    reach = [s * (d - 1) for s, d in zip(strides, dims)]
    return -sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)


def guarded(pages):
    """So many bytes in front of a page that cannot be read. What nothing shows any more is used again."""
    free = GUARDED.setdefault(pages, [])
    if free:
        mapping = free.pop()
    else:
        mapping = mmap.mmap(-1, pages + mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if PROTECT(np.frombuffer(mapping, np.uint8).ctypes.data + pages, mmap.PAGESIZE, 0) != 0:
            raise OSError("mprotect")
    memory = np.frombuffer(mapping, np.uint8)
    if pages <= MOST_KEPT:
        reference = weakref.ref(memory, give_back)
        SHOWN[id(reference)] = reference, free, mapping
    return memory


def give_back(reference):
    _, free, mapping = SHOWN.pop(id(reference))
    free.append(mapping)


GUARDED, SHOWN = {}, {}
MOST_KEPT = 16 * mmap.PAGESIZE


def at_end(array):
    """A copy, with the same strides, behind whose last byte nothing can be read."""
    before, behind = extent(array.shape, array.strides)
    size = before + behind + array.itemsize
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = guarded(pages)
    C.memmove(memory.ctypes.data + pages - size, array.ctypes.data - before, size)
    return np.ndarray(array.shape, array.dtype, memory, pages - size + before, array.strides)


def to_input(array, type_name):
    """The same; every second time of a copy, behind which nothing can be read."""
    if array.size and next(TURNS) % 2:
        array = at_end(array)
    return to_tensor(array, type_name)


def from_tensor(tensor):
    """(type name, array): a copy of what the tensor shows."""
    name, dtype = BY_NUMBER[tensor.dtype]
    dims = tuple(tensor.dims[:tensor.rank])
    if 0 in dims:
        return name, np.empty(dims, dtype)
    if not tensor.strides:
        raw = C.string_at(tensor.data, math.prod(dims) * dtype.itemsize)
        return name, np.frombuffer(raw, dtype).reshape(dims)
    strides = tuple(tensor.strides[:tensor.rank])
    before, behind = extent(dims, strides)
    raw = np.frombuffer(C.string_at(tensor.data - before, before + behind + dtype.itemsize), np.uint8)
    return name, np.ndarray(dims, dtype, raw, before, strides).copy()
