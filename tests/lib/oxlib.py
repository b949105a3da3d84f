"""oxlib.py: ox.h for Python through ctypes, as much of it as the tests need. OX_LIBRARY names the shared library."""

import ctypes as C
import functools
import os

(OK, ARGUMENT, FILE, MODEL, UNSUPPORTED, SHAPE, VALUE, LIMIT, MEMORY, CANCELLED, CHECK) = range(11)
CHECKED = "OX_CHECK" in os.environ  # every session checks its runs, whatever its options say


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("text", C.c_char * 512)]


class Tensor(C.Structure):
    _fields_ = [
        ("dtype", C.c_int),
        ("rank", C.c_int),
        ("dims", C.POINTER(C.c_int64)),
        ("strides", C.POINTER(C.c_int64)),
        ("data", C.c_void_p),
    ]


class Allocator(C.Structure):
    _fields_ = [
        ("resize", C.CFUNCTYPE(C.c_void_p, C.c_void_p, C.c_void_p, C.c_size_t, C.c_size_t)),
        ("context", C.c_void_p),
    ]


class Fixed(C.Structure):
    _fields_ = [("buffer", C.c_void_p), ("size", C.c_size_t), ("peak", C.c_size_t), ("first", C.c_void_p)]


class Limits(C.Structure):
    _fields_ = [
        ("bytes", C.c_size_t),
        ("tensor_bytes", C.c_size_t),
        ("file_bytes", C.c_size_t),
        ("nodes", C.c_size_t),
        ("depth", C.c_int),
        ("cancel", C.c_void_p),
        ("cancel_context", C.c_void_p),
        ("plans", C.c_size_t),
        ("reserved", C.c_size_t * 3),
    ]


class Options(C.Structure):
    _fields_ = [
        ("allocator", C.POINTER(Allocator)),
        ("limits", Limits),
        ("isa", C.c_char_p),
        ("threads", C.c_int),
        ("no_fuse", C.c_bool),
        ("no_winograd", C.c_bool),
        ("no_integer", C.c_bool),
        ("check", C.c_bool),
        ("operators", C.c_void_p),
        ("operator_count", C.c_size_t),
        ("external_data", C.c_void_p),
        ("external_context", C.c_void_p),
        ("warn", C.CFUNCTYPE(None, C.c_void_p, C.c_char_p)),
        ("warn_context", C.c_void_p),
        ("extra_outputs", C.c_void_p),
        ("extra_output_count", C.c_size_t),
        ("float16_sums", C.c_bool),
        ("reserved_flags", C.c_uint8 * (C.sizeof(C.c_size_t) - 1)),
        ("reserved", C.c_size_t * 7),
    ]


# Memory for an output: context, index, what it is, bytes.
OutputFunction = C.CFUNCTYPE(C.c_void_p, C.c_void_p, C.c_size_t, C.POINTER(Tensor), C.c_size_t)


class MemoryInfo(C.Structure):
    _fields_ = [("arena_bytes", C.c_size_t), ("plan_bytes", C.c_size_t), ("weight_bytes", C.c_size_t)]


class NodeInfo(C.Structure):
    _fields_ = [
        ("depth", C.c_int),
        ("name", C.c_char_p),
        ("domain", C.c_char_p),
        ("op", C.c_char_p),
        ("version", C.c_int64),
        ("supported", C.c_bool),
        ("input_count", C.c_size_t),
        ("output_count", C.c_size_t),
        ("algorithm", C.c_char_p),
        ("node", C.c_void_p),
        ("graph", C.c_void_p),
        ("frame", C.c_void_p),
    ]


NodeFunction = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(NodeInfo))


class OxError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


PATH = os.environ.get("OX_LIBRARY", "build/libox.so")


def load_library(path=None):
    library = C.CDLL(path or PATH)
    pointer, size = C.c_void_p, C.c_size_t
    tensor, error, out = C.POINTER(Tensor), C.POINTER(Error), C.POINTER(C.c_void_p)
    options = C.POINTER(Options)
    for name, result, arguments in [
        ("ox_dtype_bits", C.c_int, [C.c_int]),
        ("ox_dtype_size", size, [C.c_int]),
        ("ox_fixed_allocator", Allocator, [C.POINTER(Fixed), pointer, size]),
        ("ox_tensor_from_proto", C.c_int, [pointer, size, options, C.POINTER(tensor), pointer, error]),
        ("ox_model_load_memory", C.c_int, [pointer, size, options, out, error]),
        ("ox_model_load_file", C.c_int, [C.c_char_p, options, out, error]),
        ("ox_model_free", None, [pointer]),
        ("ox_model_visit", None, [pointer, pointer, NodeFunction, pointer]),
        ("ox_model_input_count", size, [pointer]),
        ("ox_model_output_count", size, [pointer]),
        ("ox_session_create", C.c_int, [pointer, options, out, error]),
        ("ox_session_free", None, [pointer]),
        ("ox_session_set_input", C.c_int, [pointer, size, tensor, error]),
        ("ox_session_prepare", C.c_int, [pointer, error]),
        ("ox_session_set_outputs", C.c_int, [pointer, pointer, pointer, error]),
        ("ox_session_run", C.c_int, [pointer, error]),
        ("ox_session_output", C.c_int, [pointer, size, tensor, error]),
        ("ox_session_memory", None, [pointer, C.POINTER(MemoryInfo)]),
    ]:
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


library = load_library()


def builds():
    """The names of the builds of the loops that the library has: those that an error lists."""
    error, handle = Error(), C.c_void_p()
    library.ox_model_load_memory(b"", 0, C.byref(Options(isa=b"?")), C.byref(handle), error)
    return [name.encode() for name in error.text.decode().partition(":")[2].split()[:-1]]


def check(status, error):
    if status != OK:
        raise OxError(status, error.text.decode(errors="replace"))


class Model:
    """A model from bytes, which stay alive with it."""

    def __init__(self, data, options=None):
        self.data = (C.c_char * len(data)).from_buffer_copy(data)
        self.options = options
        self.handle = C.c_void_p()
        error = Error()
        check(library.ox_model_load_memory(self.data, len(data), options, C.byref(self.handle), error), error)

    def close(self):
        library.ox_model_free(self.handle)


class ModelFile:
    """A model from a file."""

    def __init__(self, path, options=None):
        self.handle = C.c_void_p()
        error = Error()
        check(library.ox_model_load_file(os.fsencode(path), options, C.byref(self.handle), error), error)

    def close(self):
        library.ox_model_free(self.handle)


class Session:
    watch = None  # called with each session and the status of its run

    def __init__(self, model, options=None):
        self.model = model
        self.options = options
        self.handle = C.c_void_p()
        self.error = Error()
        self.inputs = {}
        if CHECKED:
            options = options or Options()
            options.check = True
        check(library.ox_session_create(model.handle, options, C.byref(self.handle), self.error), self.error)

    def set_input(self, index, tensor):
        self.inputs[index] = tensor
        check(library.ox_session_set_input(self.handle, index, tensor, self.error), self.error)

    def run(self, watched=True):
        status = library.ox_session_run(self.handle, self.error)
        if Session.watch and watched:
            Session.watch(self, status)
        check(status, self.error)

    def prepare(self):
        check(library.ox_session_prepare(self.handle, self.error), self.error)

    def set_outputs(self, function):
        """Has outputs written where an OutputFunction says, which the caller keeps; None ends that."""
        address = None if function is None else C.cast(function, C.c_void_p)
        check(library.ox_session_set_outputs(self.handle, address, None, self.error), self.error)

    def output(self, index):
        tensor = Tensor()
        check(library.ox_session_output(self.handle, index, tensor, self.error), self.error)
        return tensor

    def nodes(self):
        """(operator, name) of each node, in the order of a run."""
        found = []
        visit = NodeFunction(lambda _, node: found.append((node.contents.op.decode(), node.contents.name.decode())))
        library.ox_model_visit(self.model.handle, self.handle, visit, None)
        return found

    def algorithms(self):
        """How each node is computed that says so."""
        found = []
        visit = NodeFunction(lambda _, node: found.append(node.contents.algorithm.decode()))
        library.ox_model_visit(self.model.handle, self.handle, visit, None)
        return [text for text in found if text]

    def memory(self):
        info = MemoryInfo()
        library.ox_session_memory(self.handle, info)
        return info

    def close(self):
        library.ox_session_free(self.handle)


def read_tensor(data):
    """The tensor of a serialized TensorProto; it lives as long as the program."""
    result, error = C.POINTER(Tensor)(), Error()
    check(library.ox_tensor_from_proto(data, len(data), None, C.byref(result), None, error), error)
    return result.contents


@functools.lru_cache(4096)
def int64s(numbers):
    return (C.c_int64 * len(numbers))(*numbers)


def make_tensor(dtype, dims, strides, address):
    return Tensor(dtype, len(dims), int64s(tuple(dims)), strides and int64s(tuple(strides)), address)
