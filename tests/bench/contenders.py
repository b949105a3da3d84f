"""contenders.py: everything that `make bench` measures, behind one interface.

A contender is made for one case with its inputs, and has `batch(count)`: the nanoseconds that `count` runs took. Making
one raises Missing where it cannot run the case. Outputs are written to memory that stays the same from run to run;
`outputs()`, where there is such a function, gives them as arrays.
"""

import ctypes as C
import math
import os
from concurrent.futures import ThreadPoolExecutor

import arrays
import bars
import engines
import ggml
import numpy as np
import onnxruntime as ort
import oxlib
import report
from contender import Missing, batch_of, first_line

COPY_BYTES = 64 << 20
PEAK_WORK = 1 << 25
RTEN_LACKS = ("float16", "bfloat16", "double", "int64")


class BlasProduct(C.Structure):
    """bench_product of timer.c."""
    _fields_ = [("sgemm", C.c_void_p), ("dgemm", C.c_void_p),
                *((name, C.c_int) for name in ("trans_a", "trans_b", "m", "n", "k")), ("batch", C.c_int64),
                ("a_at", C.POINTER(C.c_int64)), ("b_at", C.POINTER(C.c_int64)),
                *((name, C.c_void_p) for name in ("a", "b", "c"))]


class Settings:
    """What all cases have in common: the table, the thread count, the timing helper and the peers that there are."""

    def __init__(self, arguments):
        self.table, self.threads = arguments.table, arguments.threads
        self.timer = C.CDLL(arguments.timer)
        pointer = C.c_void_p
        self.timer.bench_session.restype = C.c_int64
        self.timer.bench_session.argtypes = [pointer, pointer, C.c_int64, C.POINTER(oxlib.Error)]
        self.timer.bench_peer.restype = C.c_int64
        self.timer.bench_peer.argtypes = [pointer, pointer, C.c_int64]
        self.timer.bench_blas.restype = C.c_int64
        self.timer.bench_blas.argtypes = [C.POINTER(BlasProduct), C.c_int64]
        self.timer.bench_handover.restype = C.c_int64
        self.timer.bench_read.argtypes = [pointer, C.c_int64]
        self.peers = load_peers(arguments.peers, self.threads) if arguments.peers else None
        self.packages = arguments.packages
        self.ggml = ggml.Library(arguments.ggml) if arguments.ggml else None
        self.blas = load_blas(self.threads)
        self.copy_from, self.copy_to = (np.ones(COPY_BYTES, np.uint8) for _ in range(2))

    def copy(self):
        np.copyto(self.copy_to, self.copy_from)

    def is_near(self):
        """Whether what one thread writes is soon with the other."""
        return self.threads == 1 or self.timer.bench_handover() < bars.NEAR_NS


def load_peers(path, threads):
    os.environ["RTEN_NUM_THREADS"] = str(threads)
    library = C.CDLL(path)
    library.peer_load.restype = C.c_void_p
    library.peer_load.argtypes = [C.c_char_p, C.c_char_p, C.POINTER(oxlib.Tensor), C.c_size_t, C.c_size_t, C.c_char_p,
                                  C.c_size_t]
    library.peer_output.restype = C.c_ssize_t
    library.peer_output.argtypes = [C.c_void_p, C.c_size_t, C.c_void_p, C.c_size_t]
    library.peer_free.restype = None
    library.peer_free.argtypes = [C.c_void_p]
    return library


def load_blas(threads):
    """Debian's OpenBLAS, None where it is not installed."""
    try:
        library = C.CDLL("libopenblas.so.0")
    except OSError:
        return None
    library.openblas_set_num_threads(threads)
    library.openblas_get_config.restype = C.c_char_p
    return library


class Ox:
    """ox itself, or on fewer threads than the others: what more of them gain."""

    def __init__(self, settings, case, model, inputs, out, threads=None):
        self.settings, self.session = settings, None
        try:
            self.model = oxlib.Model(model, oxlib.Options(**case.options))
            self.session = oxlib.Session(self.model, oxlib.Options(threads=threads or settings.threads))
            for i, ((_, type_name, _), array) in enumerate(zip(case.inputs, inputs)):
                self.session.set_input(i, arrays.to_tensor(array, type_name))
            self.session.run()
        except oxlib.OxError as error:
            self.close()
            raise Missing(str(error)) from error
        self.run_address = C.cast(oxlib.library.ox_session_run, C.c_void_p)

    def batch(self, count):
        ns = self.settings.timer.bench_session(self.run_address, self.session.handle, count, self.session.error)
        oxlib.check(oxlib.OK if ns >= 0 else self.session.error.status, self.session.error)
        return ns

    def outputs(self):
        count = oxlib.library.ox_model_output_count(self.model.handle)
        return [arrays.from_tensor(self.session.output(i))[1] for i in range(count)]

    def close(self):
        if self.session:
            self.session.close()
        if hasattr(self, "model"):
            self.model.close()


class Ort:
    """ONNX Runtime with its default optimizations, inputs and output bound in advance; where the dims of outputs are not
    known before, it takes their memory itself."""

    def __init__(self, settings, case, model, inputs, out):
        options = ort.SessionOptions()
        options.intra_op_num_threads = settings.threads
        options.log_severity_level = 4
        try:
            session = ort.InferenceSession(model, options, ["CPUExecutionProvider"])
            binding = session.io_binding()
            for (name, _, _), array in zip(case.inputs, inputs):
                binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
            if out.size:
                binding.bind_ortvalue_output(case.out[0], ort.OrtValue.ortvalue_from_numpy(out))
            else:
                for value in session.get_outputs():
                    binding.bind_output(value.name)
            session.run_with_iobinding(binding)
        except Exception as error:
            raise Missing(first_line(error)) from error
        self.out, self.binding, self.batch = out, binding, batch_of(lambda: session.run_with_iobinding(binding))

    def outputs(self):
        return [self.out] if self.out.size else [value.numpy() for value in self.binding.get_outputs()]

    def close(self):
        self.batch = self.binding = None


class Numpy:
    def __init__(self, settings, case, model, inputs, out):
        if case.numpy is None:
            raise Missing("not one numpy function")
        function = case.numpy
        self.out, self.batch = out, batch_of(lambda: function(out, *inputs))

    def outputs(self):
        return [self.out]

    def close(self):
        self.batch = None


class Peer:
    """rten or tract, through the library of tests/bench/peers."""

    def __init__(self, settings, case, model, inputs, out, engine):
        if engine == "rten" and case.group != "networks" and any(value[1] in RTEN_LACKS
                                                                 for value in [*case.inputs, case.out]):
            raise Missing("rten has no such type and computes it in another one")
        self.settings = settings
        path, reason = os.path.join(settings.model_dir, "model.onnx"), C.create_string_buffer(400)
        with open(path, "wb") as file:
            file.write(model)
        tensors = [arrays.to_tensor(a, t) for (_, t, _), a in zip(case.inputs, inputs)]
        self.handle = settings.peers.peer_load(engine.encode(), path.encode(), (oxlib.Tensor * len(tensors))(*tensors),
                                               len(tensors), settings.threads, reason, len(reason))
        if not self.handle:
            raise Missing(first_line(reason.value.decode(errors="replace")))

    def batch(self, count):
        ns = self.settings.timer.bench_peer(C.cast(self.settings.peers.peer_run, C.c_void_p), self.handle, count)
        if ns < 0:
            raise RuntimeError("a peer failed in a later run")
        return ns

    def floats(self, index, count):
        """Output number `index`, None unless it is of that many floats."""
        result = np.zeros(count, np.float32)
        return result if self.settings.peers.peer_output(self.handle, index, result.ctypes.data, count) == count else None

    def close(self):
        self.settings.peers.peer_free(self.handle)


class OpenBlas:
    """cblas_sgemm or cblas_dgemm: the product alone, without what the model does before and after it."""

    def __init__(self, settings, case, model, inputs, out):
        name = {"float": "sgemm", "double": "dgemm"}.get(case.work and case.type)
        if not settings.blas or not name:
            raise Missing("no product in a type that BLAS has" if settings.blas else "OpenBLAS is not installed")
        self.settings, self.out, self.arrays = settings, out, inputs
        shared = not case.batches[1]  # then all rows of a are one matrix
        rows, batch = (math.prod(case.batch) * case.m, []) if shared else (case.m, case.batch)
        at = [matrix_numbers([] if shared else dims, batch) for dims in case.batches]
        self.product = BlasProduct(trans_a=case.transposed[0], trans_b=case.transposed[1], m=rows, n=case.n, k=case.k,
                                   batch=math.prod(batch), a_at=at[0], b_at=at[1], a=inputs[0].ctypes.data,
                                   b=inputs[1].ctypes.data, c=out.ctypes.data)
        setattr(self.product, name, C.cast(getattr(settings.blas, f"cblas_{name}"), C.c_void_p))
        if len(inputs) == 2:
            self.outputs = lambda: [out]

    def batch(self, count):
        return self.settings.timer.bench_blas(self.product, count)

    def close(self):
        self.arrays = None


def matrix_numbers(dims, batch):
    """Which matrix of an operand with these batch dimensions each product of the batch reads."""
    numbers = np.broadcast_to(np.arange(math.prod(dims)).reshape(dims), batch).reshape(-1).tolist()
    return (C.c_int64 * len(numbers))(*numbers)


class Memcpy:
    """The yardstick of all elementwise cases: 64 MiB read and written."""

    def __init__(self, settings, case, model, inputs, out):
        if case.work:
            raise Missing("a product")
        self.batch = batch_of(settings.copy)

    def close(self):
        self.batch = None


class Memset:
    """The yardstick of Expand: the output filled with a byte."""

    def __init__(self, settings, case, model, inputs, out):
        if case.group != "expand":
            raise Missing("not a fill")
        self.batch = batch_of(lambda: C.memset(out.ctypes.data, 1, out.nbytes))

    def close(self):
        self.batch = None


class Peak:
    """The yardstick of products: PEAK_WORK multiply-adds of floats (doubles for doubles) out of registers for each
    thread."""

    def __init__(self, settings, case, model, inputs, out):
        if not case.work:
            raise Missing("not a product")
        function = getattr(settings.timer, "bench_multiply_f64" if case.type == "double" else "bench_multiply_f32")
        function.restype = C.c_double
        self.threads = ThreadPoolExecutor(settings.threads)
        self.batch = batch_of(lambda: list(self.threads.map(function, [C.c_int64(PEAK_WORK)] * settings.threads)))

    def close(self):
        self.threads.shutdown()


class Read:
    """The yardstick of products with a vector: 64 MiB read by one thread."""

    def __init__(self, settings, case, model, inputs, out):
        if case.group != "vector":
            raise Missing("not a product with a vector")
        source = settings.copy_from
        self.batch = batch_of(lambda: settings.timer.bench_read(source.ctypes.data, source.nbytes))

    def close(self):
        self.batch = None


def others(settings):
    """What PEERS=1 brings, as far as it is here."""
    found = [("openvino", engines.OpenVino, {}), ("mnn", engines.Mnn, {})] if settings.packages else []
    found += [("rten", Peer, {"engine": "rten"}), ("tract", Peer, {"engine": "tract"})] if settings.peers else []
    return found + ([("ggml", ggml.Ggml, {})] if settings.ggml else [])


def make(settings, case, model, inputs):
    """({name: contender}, {name: why it is missing}) in the order in which they take turns."""
    kinds = [("ox", Ox, {}), ("ort", Ort, {}), ("numpy", Numpy, {}), ("openblas", OpenBlas, {}),
             ("memcpy", Memcpy, {}), ("memset", Memset, {}), ("peak", Peak, {}), ("read", Read, {})]
    kinds[4:4] = [kind for kind in others(settings) if kind[0] in report.TABLES[settings.table].peers]
    if settings.threads > 1 and case.group == "networks":
        kinds[1:1] = [("one", Ox, {"threads": 1})]
    present, missing = {}, {}
    for name, kind, options in kinds:
        try:
            present[name] = kind(settings, case, model, inputs, case.output_array(), **options)
        except Missing as reason:
            missing[name] = str(reason)
    return present, missing
