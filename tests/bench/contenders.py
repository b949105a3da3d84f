"""contenders.py: everything that `make bench` measures, behind one interface.

A contender is made for one case with its inputs, and has `batch(count)`: the nanoseconds that `count` runs took. Making
one raises Missing where it cannot run the case. Outputs are written to memory that stays the same from run to run.
"""

import ctypes as C
import os
import time

import arrays
import numpy as np
import onnxruntime as ort
import oxlib

COPY_BYTES = 64 << 20
RTEN_LACKS = ("float16", "bfloat16", "int64")


class Missing(Exception):
    """The contender has no such operator or type."""


def batch_of(function):
    def batch(count):
        start = time.perf_counter_ns()
        for _ in range(count):
            function()
        return time.perf_counter_ns() - start
    return batch


class Settings:
    """What all cases have in common: the thread count, the timing helper and, if it was built, the peers' library."""

    def __init__(self, threads, timer, peers):
        self.threads = threads
        self.timer = C.CDLL(timer)
        pointer = C.c_void_p
        self.timer.bench_session.restype = C.c_int64
        self.timer.bench_session.argtypes = [pointer, pointer, C.c_int64, C.POINTER(oxlib.Error)]
        self.timer.bench_peer.restype = C.c_int64
        self.timer.bench_peer.argtypes = [pointer, pointer, C.c_int64]
        self.ox_options = oxlib.Options()
        self.ox_threads = threads if hasattr(oxlib.Options, "threads") else 1
        if self.ox_threads > 1:
            self.ox_options.threads = threads
        self.peers = load_peers(peers, threads) if peers else None
        self.copy_from, self.copy_to = (np.ones(COPY_BYTES, np.uint8) for _ in range(2))


def load_peers(path, threads):
    os.environ["RTEN_NUM_THREADS"] = str(threads)
    library = C.CDLL(path)
    library.peer_load.restype = C.c_void_p
    library.peer_load.argtypes = [C.c_char_p, C.c_char_p, C.POINTER(oxlib.Tensor), C.c_size_t, C.c_char_p, C.c_size_t]
    library.peer_free.restype = None
    library.peer_free.argtypes = [C.c_void_p]
    return library


class Ox:
    def __init__(self, settings, case, model, inputs, out):
        self.settings, self.session = settings, None
        try:
            self.model = oxlib.Model(model)
            self.session = oxlib.Session(self.model, settings.ox_options)
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

    def output(self):
        return arrays.from_tensor(self.session.output(0))[1]

    def close(self):
        if self.session:
            self.session.close()
        if hasattr(self, "model"):
            self.model.close()


class Ort:
    """ONNX Runtime with its default optimizations, inputs and output bound in advance."""

    def __init__(self, settings, case, model, inputs, out):
        options = ort.SessionOptions()
        options.intra_op_num_threads = settings.threads
        options.log_severity_level = 4
        self.spins = settings.threads > 1
        try:
            session = ort.InferenceSession(model, options, ["CPUExecutionProvider"])
            binding = session.io_binding()
            for (name, _, _), array in zip(case.inputs, inputs):
                binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
            binding.bind_ortvalue_output(case.out[0], ort.OrtValue.ortvalue_from_numpy(out))
            session.run_with_iobinding(binding)
        except Exception as error:
            raise Missing(first_line(error)) from error
        self.out, self.batch_runs = out, batch_of(lambda: session.run_with_iobinding(binding))

    def batch(self, count):
        ns = self.batch_runs(count)
        if self.spins:
            time.sleep(0.01)  # its idle threads keep the processors busy for a while, which the next one would pay for
        return ns

    def output(self):
        return self.out

    def close(self):
        self.batch_runs = None


class Numpy:
    def __init__(self, settings, case, model, inputs, out):
        if case.numpy is None:
            raise Missing("not one numpy function")
        function = case.numpy
        self.out, self.batch = out, batch_of(lambda: function(out, *inputs))

    def output(self):
        return self.out

    def close(self):
        self.batch = None


class Peer:
    """rten or tract, through the library of tests/bench/peers."""

    def __init__(self, settings, case, model, inputs, out, engine):
        if engine == "rten" and case.out[1] in RTEN_LACKS:
            raise Missing("rten has no such type and computes it in another one")
        self.settings = settings
        path, reason = os.path.join(settings.model_dir, "model.onnx"), C.create_string_buffer(400)
        with open(path, "wb") as file:
            file.write(model)
        tensors = [arrays.to_tensor(a, t) for (_, t, _), a in zip(case.inputs, inputs)]
        self.handle = settings.peers.peer_load(engine.encode(), path.encode(), (oxlib.Tensor * len(tensors))(*tensors),
                                               len(tensors), reason, len(reason))
        if not self.handle:
            raise Missing(first_line(reason.value.decode(errors="replace")))

    def batch(self, count):
        ns = self.settings.timer.bench_peer(C.cast(self.settings.peers.peer_run, C.c_void_p), self.handle, count)
        if ns < 0:
            raise RuntimeError("a peer failed in a later run")
        return ns

    def close(self):
        self.settings.peers.peer_free(self.handle)


class Memcpy:
    """The yardstick of all cases: 64 MiB read and written."""

    def __init__(self, settings, case, model, inputs, out):
        self.batch = batch_of(lambda: np.copyto(settings.copy_to, settings.copy_from))

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


def first_line(text):
    lines = str(text).strip().splitlines()
    return lines[0][:200] if lines else "no reason given"


def make(settings, case, model, inputs):
    """({name: contender}, {name: why it is missing}) in the order in which they take turns."""
    kinds = [("ox", Ox, {}), ("ort", Ort, {}), ("numpy", Numpy, {}), ("memcpy", Memcpy, {}), ("memset", Memset, {})]
    if settings.peers:
        kinds[3:3] = [("rten", Peer, {"engine": "rten"}), ("tract", Peer, {"engine": "tract"})]
    present, missing = {}, {}
    for name, kind, options in kinds:
        try:
            present[name] = kind(settings, case, model, inputs, case.output_array(), **options)
        except Missing as reason:
            missing[name] = str(reason)
    return present, missing
