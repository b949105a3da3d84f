"""errors.py [--show]: every mistake of mistakes.py and the files *_mistakes.py gets the status and the text that it
should; --show prints them."""

import ctypes as C
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import control_mistakes
import fused_mistakes
import gradient_mistakes
import mistakes
import mistakes_networks
import mistakes_numbers
import ml_mistakes
import model_mistakes
import oxlib
import tally
import twin_mistakes

MISTAKES = [mistake for part in (model_mistakes, mistakes, mistakes_networks, mistakes_numbers, ml_mistakes,
                                 control_mistakes, fused_mistakes, gradient_mistakes, twin_mistakes)
            for mistake in part.MISTAKES]


class FileModel(oxlib.Model):
    """A model that is loaded by its path."""

    def __init__(self, path, options):
        self.handle, error = C.c_void_p(), oxlib.Error()
        load = oxlib.library.ox_model_load_file
        load.argtypes = [C.c_char_p, C.POINTER(oxlib.Options), C.POINTER(C.c_void_p), C.POINTER(oxlib.Error)]
        oxlib.check(load(str(path).encode(), options, C.byref(self.handle), error), error)


def load(subject, folder, options):
    if callable(subject):
        return FileModel(subject(folder), options)
    return oxlib.Model(subject if isinstance(subject, bytes) else subject.SerializeToString(), options)


def as_tensor(array):
    dtype = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return oxlib.make_tensor(dtype, array.shape, array.strides, array.ctypes.data)


def outcome(mistake, folder):
    """(status, text) of the first error on the way to a result."""
    options = oxlib.Options(**mistake.options)
    session = model = None
    try:
        model = load(mistake.subject, folder, options)
        session = oxlib.Session(model, options)
        for index, array in enumerate(mistake.inputs):
            session.set_input(index, as_tensor(array))
        session.run()
        return oxlib.OK, ""
    except oxlib.OxError as error:
        return error.status, str(error)
    finally:
        if session:
            session.close()
        if model:
            model.close()


def problem(mistake, status, text):
    if status != mistake.status:
        return f"status {status}, not {mistake.status}"
    if not text.endswith(mistake.said):
        return f"does not end with {mistake.said!r}"
    if f": {mistake.place}" not in text:
        return f"does not name {mistake.place!r}"
    if not all(c.isprintable() for c in text):
        return "is not printable"
    return None


def main():
    failed = 0
    for mistake in MISTAKES:
        with tempfile.TemporaryDirectory() as folder:
            status, text = outcome(mistake, pathlib.Path(folder))
            text = text.replace(folder, "FOLDER")
        if "--show" in sys.argv:
            print(f"{mistake.title}: {text}")
        trouble = problem(mistake, status, text)
        if trouble:
            failed += 1
            print(f"{mistake.title}: {trouble}\n    {text}")
    return tally.finish(len(MISTAKES) - failed, failed)


if __name__ == "__main__":
    sys.exit(main())
