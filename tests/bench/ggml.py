"""ggml.py: the library under llama.cpp, as a contender of `make bench TABLE=nbits PEERS=1`."""

import ctypes as C
import os

import numpy as np
import onnx
from contender import Missing, batch_of
from onnx import numpy_helper

FLOAT, Q4_0 = 0, 2  # ggml_type
BLOCK, BLOCK_BYTES = 32, 18
MOST_THREADS = 512
MEMORY = 1 << 20  # of descriptions of tensors and graphs


class InitParams(C.Structure):
    """ggml_init_params"""
    _fields_ = [("size", C.c_size_t), ("buffer", C.c_void_p), ("no_alloc", C.c_bool)]


class ThreadpoolParams(C.Structure):
    """ggml_threadpool_params"""
    _fields_ = [("mask", C.c_bool * MOST_THREADS), ("threads", C.c_int), ("priority", C.c_int), ("poll", C.c_uint32),
                ("strict", C.c_bool), ("paused", C.c_bool)]


POINTER, SIZE, LONG = C.c_void_p, C.c_size_t, C.c_int64
FUNCTIONS = {  # name: (result, arguments)
    "ggml_init": (POINTER, [InitParams]), "ggml_free": (None, [POINTER]), "ggml_version": (C.c_char_p, []),
    "ggml_new_tensor_2d": (POINTER, [POINTER, C.c_int, LONG, LONG]), "ggml_mul_mat": (POINTER, [POINTER] * 3),
    "ggml_new_graph": (POINTER, [POINTER]), "ggml_build_forward_expand": (None, [POINTER] * 2),
    "ggml_backend_cpu_init": (POINTER, []), "ggml_backend_free": (None, [POINTER]), "ggml_backend_cpu_reg": (POINTER, []),
    "ggml_backend_cpu_set_n_threads": (None, [POINTER, C.c_int]),
    "ggml_threadpool_params_default": (ThreadpoolParams, [C.c_int]),
    "ggml_threadpool_new": (POINTER, [C.POINTER(ThreadpoolParams)]), "ggml_threadpool_free": (None, [POINTER]),
    "ggml_threadpool_pause": (None, [POINTER]), "ggml_threadpool_resume": (None, [POINTER]),
    "ggml_backend_cpu_set_threadpool": (None, [POINTER] * 2), "ggml_backend_get_device": (POINTER, [POINTER]),
    "ggml_backend_reg_get_proc_address": (POINTER, [POINTER, C.c_char_p]),
    "ggml_backend_alloc_ctx_tensors": (POINTER, [POINTER] * 2),
    "ggml_backend_alloc_ctx_tensors_from_buft": (POINTER, [POINTER] * 2), "ggml_backend_buffer_free": (None, [POINTER]),
    "ggml_backend_tensor_set": (None, [POINTER, POINTER, SIZE, SIZE]),
    "ggml_backend_tensor_get": (None, [POINTER, POINTER, SIZE, SIZE]),
    "ggml_backend_graph_compute": (C.c_int, [POINTER] * 2)}


class Library:
    """Its functions, whichever of its files they are in."""

    def __init__(self, path):
        folder = os.path.dirname(path)
        files = [C.CDLL(os.path.join(folder, f"libggml{part}.so"), C.RTLD_GLOBAL) for part in ("-base", "-cpu", "")]
        for name, (result, arguments) in FUNCTIONS.items():
            function = next(getattr(file, name) for file in files if hasattr(file, name))
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("ggml_"), function)
        self.name = self.version().decode()

    def layouts(self, backend):
        """The types of buffers in which weights are laid out as kernels want them, the best first."""
        address = self.backend_reg_get_proc_address(self.backend_cpu_reg(), b"ggml_backend_dev_get_extra_bufts")
        found = C.CFUNCTYPE(C.POINTER(POINTER), POINTER)(address)(self.backend_get_device(backend))
        index = 0
        while found and found[index]:
            yield found[index]
            index += 1


def blocks_of(model):
    """(N, K, bytes of Q4_0) of a model of one MatMulNBits."""
    graph = onnx.load_from_string(model).graph
    if graph.node[0].op_type != "MatMulNBits":
        raise Missing("its weights are those of MatMulNBits")
    node, fixed = graph.node[0], {value.name: numpy_helper.to_array(value) for value in graph.initializer}
    attributes = {a.name: a.i for a in node.attribute}
    if attributes["block_size"] != BLOCK or "zeros" in fixed or attributes["accuracy_level"] != 4:
        raise Missing("blocks of 32 without zero points, computed in bytes, are what it has")
    n, k = attributes["N"], attributes["K"]
    packed = fixed["b"].reshape(-1, BLOCK // 2)
    numbers = np.empty((len(packed), BLOCK), np.uint8)
    numbers[:, ::2], numbers[:, 1::2] = packed & 15, packed >> 4
    blocks = np.empty((len(packed), BLOCK_BYTES), np.uint8)
    blocks[:, :2] = fixed["scales"].astype(np.float16).reshape(-1, 1).view(np.uint8)
    blocks[:, 2:] = numbers[:, :BLOCK // 2] | numbers[:, BLOCK // 2:] << 4
    return n, k, blocks


class Ggml:
    """Weights of 4 bits with a scale of 16 bits for each block (Q4_0), laid out for its kernels."""

    def __init__(self, settings, case, model, inputs, out):
        n, k, blocks = blocks_of(model)
        self.library = ggml = settings.ggml
        rows = inputs[0].shape[0]
        self.backend = ggml.backend_cpu_init()
        ggml.backend_cpu_set_n_threads(self.backend, settings.threads)
        self.pool = ggml.threadpool_new(ggml.threadpool_params_default(settings.threads))
        ggml.backend_cpu_set_threadpool(self.backend, self.pool)
        self.contexts = [ggml.init(InitParams(MEMORY, None, True)) for _ in range(2)]
        weights = ggml.new_tensor_2d(self.contexts[0], Q4_0, k, n)
        self.buffers = [next(filter(None, (ggml.backend_alloc_ctx_tensors_from_buft(self.contexts[0], layout)
                                           for layout in ggml.layouts(self.backend))), None)
                        or ggml.backend_alloc_ctx_tensors(self.contexts[0], self.backend)]
        a = ggml.new_tensor_2d(self.contexts[1], FLOAT, k, rows)
        self.result = ggml.mul_mat(self.contexts[1], weights, a)
        graph = ggml.new_graph(self.contexts[1])
        ggml.build_forward_expand(graph, self.result)
        self.buffers.append(ggml.backend_alloc_ctx_tensors(self.contexts[1], self.backend))
        ggml.backend_tensor_set(weights, blocks.ctypes.data, 0, blocks.nbytes)
        ggml.backend_tensor_set(a, inputs[0].ctypes.data, 0, inputs[0].nbytes)
        self.out, backend = out, self.backend
        self.turn = batch_of(lambda: ggml.backend_graph_compute(backend, graph))
        self.batch(1)

    def batch(self, count):
        """Its threads go on asking for work after a call: in the turns of others they rest. The first call wakes them."""
        self.library.threadpool_resume(self.pool)
        self.turn(1)
        time = self.turn(count)
        self.library.threadpool_pause(self.pool)
        return time

    def outputs(self):
        self.library.backend_tensor_get(self.result, self.out.ctypes.data, 0, self.out.nbytes)
        return [self.out]

    def close(self):
        for buffer in self.buffers:
            self.library.backend_buffer_free(buffer)
        for context in self.contexts:
            self.library.free(context)
        self.library.backend_free(self.backend)
        self.library.threadpool_free(self.pool)
