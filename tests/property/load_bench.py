"""load_bench.py: loading a model with 100 MB of weights, against its two bars.

Warm, in one run: at least 20 times faster than an ONNX Runtime session with graph optimizations off, and less than
2 MB of private memory. Needs OX_LIBRARY (oxlib.py); onnxruntime for the first bar, nothing but Python for the second.
"""
import ctypes as C
import os
import sys
import tempfile
import time

import oxlib
import tally
from files import field, integer

RATIO, PRIVATE_BYTES = 20, 2 << 20
SIDE, LAYERS = 1024, 25  # 25 matrices of 4 MB


def value_info(name):
    shape = b"".join(field(1, integer(1, SIDE)) for _ in range(2))
    return field(1, name) + field(2, field(1, integer(1, 1) + field(2, shape)))


def write_model(path):
    """y = x + w0 + w1 + ...; odd name lengths leave the weights at odd addresses."""
    parts, last = [], b"x"
    for i in range(LAYERS):
        weight, result = b"w%d" % i, b"y%d" % i
        node = field(1, last) + field(1, weight) + field(2, result) + field(4, b"Add")
        tensor = integer(1, SIDE) * 2 + integer(2, 1) + field(8, weight) + field(9, os.urandom(SIDE * 4) * SIDE)
        parts += [field(1, node), field(5, tensor)]
        last = result
    parts += [field(2, b"g"), field(11, value_info(b"x")), field(12, value_info(last))]
    with open(path, "wb") as f:
        f.write(integer(1, 8) + field(8, integer(2, 14)) + field(7, b"".join(parts)))


def load(path):
    """Loads and frees; returns (seconds, private bytes while it is loaded)."""
    function = oxlib.library.ox_model_load_file
    function.argtypes = [C.c_char_p, C.c_void_p, C.POINTER(C.c_void_p), C.POINTER(oxlib.Error)]
    model, error = C.c_void_p(), oxlib.Error()
    before = private_bytes()
    start = time.perf_counter()
    oxlib.check(function(os.fsencode(path), None, C.byref(model), C.byref(error)), error)
    seconds = time.perf_counter() - start
    private = private_bytes() - before
    oxlib.library.ox_model_free(model)
    return seconds, private


def private_bytes():
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def best(function, times):
    return min(function() for _ in range(times))


def ort_seconds(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

    def once():
        start = time.perf_counter()
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return time.perf_counter() - start
    return best(once, 5)


def main():
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.onnx")
        write_model(path)
        _, private = load(path)
        print(f"private memory: {private / 1e6:.2f} MB, at most {PRIVATE_BYTES / 1e6:.2f} MB")
        passed, failed = passed + (private < PRIVATE_BYTES), failed + (private >= PRIVATE_BYTES)
        ours = best(lambda: load(path)[0], 20)
        print(f"load: {ours * 1e3:.3f} ms for {os.path.getsize(path) / 1e6:.0f} MB")
        try:
            theirs = ort_seconds(path)
            print(f"ONNX Runtime: {theirs * 1e3:.1f} ms, {theirs / ours:.0f} times as long; at least {RATIO}")
            passed, failed = passed + (theirs / ours >= RATIO), failed + (theirs / ours < RATIO)
        except ImportError:
            skipped += 1
    return tally.finish(passed, failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
