"""addresses.py DIR: inputs at any address. ONNX's node cases in DIR run with their inputs as they are, and again at
addresses that are a multiple of nothing: the same bits, and under the sanitizers no load that relies on an alignment. A
model's weights lie so, where its file has them."""

import ctypes as C
import pathlib
import sys

import numpy as np
import oxlib
import tally
from alike import DRAWS

SHIFTS = (1, 2, 3)


def bytes_of(tensor):
    count = int(np.prod(tensor.dims[:tensor.rank], dtype=np.int64))
    return count * oxlib.library.ox_dtype_size(tensor.dtype)


def moved(tensor, shift):
    """The tensor `shift` bytes behind a multiple of 64, and what holds its memory; itself if it has strides or texts."""
    size = bytes_of(tensor)
    if tensor.strides or tensor.dtype == 8 or tensor.dtype > 28 or not size:
        return tensor, None
    room = np.empty(size + 128, np.uint8)
    at = (-room.ctypes.data) % 64 + shift
    room[at:at + size] = np.frombuffer(C.string_at(tensor.data, size), np.uint8)
    return oxlib.make_tensor(tensor.dtype, tensor.dims[:tensor.rank], None, room.ctypes.data + at), room


def draws(model):
    """Whether runs differ by themselves."""
    session = oxlib.Session(model)
    names = {op for op, _ in session.nodes()}
    session.close()
    return not names.isdisjoint(DRAWS)


def outcome(model, inputs):
    """The bits of the outputs that are packed tensors, or the error of the run."""
    session = oxlib.Session(model)
    try:
        for k, tensor in enumerate(inputs):
            session.set_input(k, tensor)
        session.run()
        outputs = []
        for k in range(oxlib.library.ox_model_output_count(model.handle)):
            try:
                tensor = session.output(k)
            except oxlib.OxError:
                continue  # it is no tensor
            if not tensor.strides and tensor.dtype != 8 and tensor.dtype <= 28:
                outputs.append(C.string_at(tensor.data, bytes_of(tensor)) if bytes_of(tensor) else b"")
        return outputs
    except oxlib.OxError as error:
        return str(error)
    finally:
        session.close()


def main():
    passed = failed = 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*/model.onnx")):
        data = path.parent / "test_data_set_0"
        files = sorted(data.glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
        try:
            inputs = [oxlib.read_tensor(p.read_bytes()) for p in files]
            model = oxlib.Model(path.read_bytes())
        except oxlib.OxError:
            continue  # inputs that are no tensors, operators of plug-ins
        if draws(model):
            model.close()
            continue
        wanted = outcome(model, inputs)
        for shift in SHIFTS:
            pairs = [moved(tensor, shift) for tensor in inputs]
            if outcome(model, [tensor for tensor, _ in pairs]) != wanted:
                print(f"{path.parent.name}: other results {shift} bytes on")
                failed += 1
                break
        else:
            passed += 1
        model.close()
    return tally.finish(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
