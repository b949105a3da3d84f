"""hostile.py --ox PATH --data DIR [--seed N]: bytes that no honest writer made, through the command and the library.

Through the command: each file of files.py within a second of processor time and 64 MB of address space beyond what
the command itself takes, with exit status 0 or 1, never a signal, and at most two lines of error text. Through the
library: every truncation of three models and random byte changes, in a buffer of 64 MB that must be whole again
afterwards, and once more with malloc for the sanitizers. Needs no Python packages.
"""

import argparse
import ctypes as C
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import files
import oxlib

SANITIZED = "OX_SANITIZED" in os.environ
# Sanitizers cost time, and reserve terabytes of addresses; builds that are not optimised are slow, too.
SECONDS = 20 if SANITIZED or "OX_SLOW" in os.environ else 1
BYTES = 64 << 20
DIGITS = pathlib.Path(__file__).parent.parent.parent / "examples" / "digits"
MODELS = ["pytorch-converted/test_Conv2d", "pytorch-operator/test_operator_reduced_mean", "node/test_if",
          "simple/test_expand_shape_model1", "node/test_softmax_axis_0_expanded"]
BLACK = (C.c_float * 64)()


class Tally:
    def __init__(self):
        self.passed = self.failed = self.shown = 0

    def count(self, name, problem):
        if not problem:
            self.passed += 1
            return
        self.failed += 1
        if self.shown < 20:
            self.shown += 1
            print(f"{name}: {problem}")


def limit_child():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 1, SECONDS + 1))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES + (8 << 20), BYTES + (8 << 20)))


def run_command(arguments):
    """(status, standard error, processor seconds)"""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    environment["ASAN_OPTIONS"] = "allocator_may_return_null=1"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=60, preexec_fn=limit_child, env=environment,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, b"", 60
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.returncode, done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_problem(arguments):
    status, text, seconds = run_command(arguments)
    if status not in (0, 1):
        return f"exit status {status}: {text[-300:].decode(errors='replace')}"
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if status == 1 and not 1 <= len(text.splitlines()) <= 2:
        return f"{len(text.splitlines())} lines of error text: {text[:200]!r}"
    return None


def through_command(ox, tally):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for name, data in files.all_files():
            with open(path, "wb") as file:
                file.write(data)
            tally.count(f"ox info, {name}", command_problem([ox, "info", path]))
            tally.count(f"ox run, {name}", command_problem([ox, "run", path, "-i", "x=[1,2]"]))


class Arena:
    """Options with an allocator over one buffer; whole() tells if everything was given back."""

    def __init__(self, size):
        self.memory = C.create_string_buffer(size)
        self.fixed = oxlib.Fixed()
        self.allocator = oxlib.library.ox_fixed_allocator(C.byref(self.fixed), self.memory, size)
        self.options = oxlib.Options(C.pointer(self.allocator))
        self.most = size - 4096

    def whole(self):
        block = self.allocator.resize(self.allocator.context, None, 0, self.most)
        if block:
            self.allocator.resize(self.allocator.context, block, self.most, 0)
        return bool(block)


def load_and_run(data, inputs, options):
    """(loaded, error): how far ox gets with the bytes; error is None if it runs."""
    try:
        model = oxlib.Model(data, options)
    except oxlib.OxError as error:
        return False, error
    try:
        session = oxlib.Session(model, options)
        try:
            for index, tensor in enumerate(inputs):
                session.set_input(index, tensor)
            session.run()
        finally:
            session.close()
    except oxlib.OxError as error:
        return True, error
    finally:
        model.close()
    return True, None


def library_problem(data, inputs, arena):
    begin = time.process_time()
    loaded, error = load_and_run(data, inputs, arena.options)
    seconds = time.process_time() - begin
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if error and not str(error):
        return f"status {error.status} without a text"
    if error and not loaded and error.status == oxlib.MEMORY:
        return f"wants more than {BYTES} bytes to load: {error}"
    if not arena.whole():
        return "leaks"
    if SANITIZED:
        load_and_run(data, inputs, None)
    return None


def inputs_of(folder):
    """What the model is run on: the inputs of its first data set, a black image for the digits."""
    if folder == DIGITS:
        return [oxlib.make_tensor(1, [1, 1, 8, 8], None, C.addressof(BLACK))]
    paths = sorted(folder.glob("test_data_set_0/input_*.pb"))
    return [oxlib.read_tensor(path.read_bytes()) for path in paths]


def through_library(folders, rng, tally):
    arena = Arena(BYTES)
    for folder in folders:
        data, inputs = (folder / "model.onnx").read_bytes(), inputs_of(folder)
        # The sanitizers are slow: of a large file they see every 31st truncation.
        sizes = range(0, len(data), 31 if SANITIZED and len(data) > 4096 else 1)
        cut = ((f"cut to {size} bytes", library_problem(data[:size], inputs, arena)) for size in sizes)
        tally.count(f"{folder.name}, {len(sizes)} truncations", first_problem(cut))
        changed = ((f"change {turn}", library_problem(change(data, rng), inputs, arena)) for turn in range(500))
        tally.count(f"{folder.name}, 500 random changes", first_problem(changed))


def first_problem(results):
    return next((f"{name}: {problem}" for name, problem in results if problem), None)


def change(data, rng):
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(data))] = rng.choice([rng.randrange(256), 0, 0xFF, 0x80, 0x7F])
    return bytes(changed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ox", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("OX_SEED", time.time_ns() % 1000000)))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    tally = Tally()
    through_command(options.ox, tally)
    folders = [options.data / name for name in MODELS]
    present = [folder for folder in folders if folder.is_dir()]
    if len(present) < len(folders):
        print("skipped: truncations of some models: the package libonnx-testdata is not installed")
    through_library([*present, DIGITS], random.Random(options.seed), tally)
    print(f"{tally.passed} passed, {tally.failed} failed, {len(folders) - len(present)} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
