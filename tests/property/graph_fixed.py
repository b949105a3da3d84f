"""graph_fixed.py: random graphs in one fixed buffer: what ox says that a graph takes is enough in a buffer that begins
anywhere, and gives the same there."""

import ctypes

import arrays
import graph_run
import numpy as np
import oxlib
from graph_held import Held

ROOM = 1 << 25
BEGINS = 64  # bytes after which a buffer lies as before

buffer = np.zeros(ROOM + 4096, np.uint8)
start = -(-buffer.ctypes.data // 4096) * 4096


def run(data, case, isa, begin, size):
    """(status, bytes of the first output, peak) of a run in `size` bytes."""
    fixed = oxlib.Fixed()
    allocator = oxlib.library.ox_fixed_allocator(ctypes.byref(fixed), start + begin, size)
    options = oxlib.Options(isa=isa.encode(), allocator=ctypes.pointer(allocator))
    try:
        model = oxlib.Model(data, options)
        try:
            session = oxlib.Session(model, options)
            try:
                case.inputs_by("packed").run(session)
                result = arrays.from_tensor(session.output(0))[1]
                return 0, result.tobytes() if not result.dtype.hasobject and not result.dtype.names else b"", fixed.peak
            finally:
                session.close()
        finally:
            model.close()
    except oxlib.OxError as error:
        return error.status, b"", fixed.peak


def examine(rng, case, isa):
    """None, or what is wrong with the graph in a buffer. Graphs that do not fit, and inputs that are no tensors, pass."""
    last = case.made()[-1]
    if any(isinstance(value, Held) for value in case.inputs.values()) or "(" in case.types[last]:
        return None
    data = graph_run.model_of(case, (last,))
    status, wanted, peak = run(data, case, isa, 0, ROOM)
    if status:
        return None
    for begin in [int(b) for b in rng.permutation(BEGINS)[:6]]:
        status, result, again = run(data, case, isa, begin, peak)
        if status or again != peak or result != wanted:
            return f"{peak} bytes from byte {begin} on: status {status}, {again} bytes in use"
    return None
