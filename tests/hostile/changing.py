"""changing.py WATCH --nodes DIR: inputs that another thread changes during a run.

The promise is a result or an error, and nothing that reaches beyond memory: what is used as an address, a count or a
bound is read once. Threads that race would find that by chance; here an input holds other bytes behind a chosen number of
accesses, for good or for one access (watch.c, the shared library WATCH). The models are ONNX's node cases and what
tests of tests/property draw of operators that have no such case: for each input of each, indices far away, zeros, ones,
NaN, or elements in another order. Each case runs in a process of its own, so that one that ends it is named. Needs the
Python package onnx.
"""

import argparse
import contextlib
import ctypes as C
import importlib
import os
import pathlib
import random
import signal
import sys
import threading
import time

import numpy as np
import oxlib
import tally

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "property"))

MOST_BYTES = 2048  # of an input
LEAST_CASES = 800
# Tests of what has no node cases, or few.
DRAWN = ["ml", "texts", "regions", "picks", "images", "attentions", "heads", "experts", "recurrent", "fused", "transposed", "suppressions",
         "quantized", "signals", "deforms", "integer_convs", "lines", "maps"]
SECONDS = 300 if "OX_SANITIZED" in os.environ else 60
RUN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)
INTEGERS = {2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.uint8, 12: np.uint32,
            13: np.uint64}
FLOATS = {1: np.float32, 10: np.float16, 11: np.float64}


class Text(C.Structure):
    _fields_ = [("data", C.c_void_p), ("size", C.c_size_t)]


def load_watch(path):
    watch = C.CDLL(path)
    watch.watch_works.restype = C.c_bool
    watch.watch_map.restype, watch.watch_map.argtypes = C.c_void_p, [C.c_size_t]
    watch.watch_unmap.argtypes = [C.c_void_p, C.c_size_t]
    watch.watch_run.restype = C.c_long
    watch.watch_run.argtypes = [C.c_void_p, C.c_void_p, C.c_void_p, C.c_void_p, C.c_size_t, C.c_char_p, C.c_long,
                                C.c_int, C.POINTER(C.c_int)]
    return watch


def others(dtype, raw, rng):
    """What the input may hold instead."""
    if dtype in INTEGERS:
        kind = np.dtype(INTEGERS[dtype])
        held = np.frombuffer(raw, kind)
        far = 1 << min(40, 8 * kind.itemsize - 2)
        yield np.full_like(held, far).tobytes()
        if kind.kind == "i":
            yield np.full_like(held, -far).tobytes()
        yield np.zeros_like(held).tobytes()
        yield np.ones_like(held).tobytes() if (held != 1).any() else np.full_like(held, 2).tobytes()
    elif dtype in FLOATS:
        held = np.frombuffer(raw, FLOATS[dtype])
        with np.errstate(all="ignore"):
            for number in (np.nan, 3e38, -3e38):
                yield np.full_like(held, number).tobytes()
    else:
        yield bytes(b ^ 0xff for b in raw)
        yield bytes(len(raw))
        return
    shuffled = held.copy()
    rng.shuffle(shuffled)
    yield shuffled.tobytes()


def moments(count, rng, most):
    """Some of the numbers of accesses behind which the input changes."""
    every = range(1, count)
    return every if count <= most else sorted({1, 2, 3, count - 1, *rng.sample(every, most - 4)})


class Attack:
    """An input of a case at memory that changes."""

    def __init__(self, watch, model, inputs, options, index, most):
        self.watch, self.model, self.inputs, self.options, self.index = watch, model, inputs, options, index
        self.most, self.seconds = most
        self.run = C.cast(oxlib.library.ox_session_run, C.c_void_p)

    def open(self):
        tensor = self.inputs[self.index]
        count = int(np.prod(tensor.dims[:tensor.rank], dtype=np.int64))
        if tensor.strides or not count:
            return False
        self.changed = oxlib.make_tensor(tensor.dtype, tensor.dims[:tensor.rank], None, tensor.data)
        self.size = count * oxlib.library.ox_dtype_size(tensor.dtype)
        if tensor.dtype == 8:
            return self.open_texts(count)
        if tensor.dtype > 28 or self.size > MOST_BYTES:
            return False
        self.raw = C.string_at(tensor.data, self.size)
        self.end = self.watch.watch_map(self.size)
        self.changed.data = self.at = self.end - self.size
        return True

    def open_texts(self, count):
        """The bytes of texts change, not where they lie."""
        texts = C.cast(self.changed.data, C.POINTER(Text))
        self.raw = b"".join(C.string_at(texts[i].data, texts[i].size) if texts[i].size else b"" for i in range(count))
        self.size = len(self.raw)
        if not 0 < self.size <= MOST_BYTES:
            return False
        self.end = self.watch.watch_map(self.size)
        self.at = at = self.end - self.size
        self.moved = (Text * count)()
        for i in range(count):
            self.moved[i].data, self.moved[i].size = at, texts[i].size
            at += texts[i].size
        self.changed.data = C.addressof(self.moved)
        return True

    def once(self, session, other, change, back=0):
        C.memmove(self.at, self.raw, self.size)
        status = C.c_int()
        error = C.cast(C.pointer(session.error), C.c_void_p)
        return self.watch.watch_run(self.run, session.handle, error, self.at, self.size, other, change,
                                    back, C.byref(status))

    def session(self):
        options = oxlib.Options()
        options.limits.bytes, options.limits.tensor_bytes = 1 << 26, 1 << 22
        session = oxlib.Session(self.model, options)
        for k, tensor in self.inputs.items():
            session.set_input(k, self.changed if k == self.index else tensor)
        return session

    def go(self, rng, say):
        session = self.session()
        counts = [self.once(session, self.raw, 1 << 60) for _ in range(2)]
        session.close()
        runs, end = 0, time.monotonic() + self.seconds
        for which, other in enumerate(dict.fromkeys(others(self.inputs[self.index].dtype, self.raw, rng))):
            if other == self.raw:
                continue
            for planned in (False, True):
                for change in moments(counts[planned], rng, self.most):
                    say(f"input {self.index}, change {which} behind access {change} of {counts[planned]} of "
                        f"{'a later' if planned else 'the first'} run")
                    session = self.session()
                    if planned:
                        C.memmove(self.at, self.raw, self.size)
                        oxlib.library.ox_session_run(session.handle, session.error)
                    for back in (0, 1):
                        self.once(session, other, change, back)
                    session.close()
                    runs += 2
                    if time.monotonic() > end:
                        return runs
        return runs


def wait_for_threads():
    """Returns when all other threads sleep: a child of fork never gets a lock that one of them holds, as the address
    sanitizer's allocator does where a thread starts."""
    own = str(threading.get_native_id())
    end = time.monotonic() + 10
    while time.monotonic() < end:
        states = []
        for task in pathlib.Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                if task.name != own:
                    states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
        if all(state == "S" for state in states):
            return
        time.sleep(0.001)


class Cases:
    def __init__(self, watch, options):
        self.watch, self.options = watch, options
        self.seen, self.passed, self.failed, self.runs = {}, 0, 0, 0

    def attack(self, name, model, inputs, options=None):
        """Everything that can be done to a case, in a process of its own."""
        sys.stdout.flush()
        wait_for_threads()
        ends = os.pipe()
        child = os.fork()
        if not child:
            self.child(name, model, inputs, options, ends[1])
        os.close(ends[1])
        text = b""
        while part := os.read(ends[0], 65536):
            text = (text + part)[-4000:]
        os.close(ends[0])
        status = os.waitpid(child, 0)[1]
        last = text.decode().split("\n")
        if status:
            self.failed += 1
            print(f"{name}: {last[-2] if len(last) > 1 else ''}: status {status}", flush=True)
        else:
            self.passed += 1
            self.runs += int(last[-2])

    def child(self, name, model, inputs, options, pipe):
        signal.alarm(SECONDS)
        rng = random.Random(f"{self.options.seed} {name}")
        runs = 0

        def say(text):
            os.write(pipe, text.encode() + b"\n")

        for index in list(inputs):
            attack = Attack(self.watch, model, inputs, options, index, (self.options.moments, self.options.seconds))
            if attack.open():
                runs += attack.go(rng, say)
        say(str(runs))
        os._exit(0)

    def wants(self, name, session_nodes, inputs):
        """False for the same operators with inputs of the same types, again and again."""
        key = tuple(session_nodes), tuple(t.dtype for t in inputs.values())
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key] <= self.options.most and (not self.options.only or self.options.only in name)


def node_cases(cases, folder):
    for path in sorted(folder.glob("*/model.onnx")):
        if path.stat().st_size > 100000:
            continue
        try:
            inputs = [oxlib.read_tensor(p.read_bytes()) for p in
                      sorted((path.parent / "test_data_set_0").glob("input_*.pb"),
                             key=lambda p: int(p.stem.split("_")[1]))]
            model = oxlib.Model(path.read_bytes())
            session = oxlib.Session(model)
            given = dict(enumerate(inputs))
            for k, tensor in given.items():
                session.set_input(k, tensor)
            session.run()
            names = [op for op, _ in session.nodes()]
            session.close()
        except oxlib.OxError:
            continue
        if cases.wants(path.parent.name, names, given):
            cases.attack(path.parent.name, model, given)


def case_of(module):
    """The function of a test of tests/property that draws a case and checks it, called with a generator and a number."""
    module = importlib.import_module(module)
    check = getattr(module, "check", None) or module.case
    return lambda rng, turn: check(*[rng, turn][:check.__code__.co_argcount])


def drawn_cases(cases, module):
    """What the property test of that name runs."""
    plain = oxlib.Session.run

    def run(session):
        names = [op for op, _ in session.nodes()]
        if cases.wants(module, names, session.inputs):
            cases.attack(f"{module}: {' '.join(names)[:60]}", session.model, dict(session.inputs))
        plain(session)

    oxlib.Session.run = run
    check = case_of(module)
    rng = np.random.default_rng(cases.options.seed)
    try:
        for turn in range(cases.options.cases):
            check(rng, turn)
    finally:
        oxlib.Session.run = plain


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("watch")
    parser.add_argument("--nodes", required=True, type=pathlib.Path)
    parser.add_argument("--draw", nargs="*", default=DRAWN, help="tests of tests/property")
    parser.add_argument("--cases", type=int, default=60, help="that each of them draws")
    parser.add_argument("--most", type=int, default=2, help="cases of an operator with the same types")
    parser.add_argument("--moments", type=int, default=8, help="for each input and each change of it")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each input")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("OX_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--only", default="", help="cases with this in their names")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    watch = load_watch(options.watch)
    if not watch.watch_works():
        print("skipped: accesses are counted on x86-64 with Linux alone")
        return tally.finish(0, 0, LEAST_CASES)
    cases = Cases(watch, options)
    node_cases(cases, options.nodes)
    for module in options.draw:
        drawn_cases(cases, module)
    if not options.only and options.draw and cases.passed + cases.failed < LEAST_CASES:
        cases.failed += 1
        print(f"only {cases.passed} cases, {LEAST_CASES} are wanted")
    print(f"{cases.runs} runs")
    return tally.finish(cases.passed, cases.failed)


if __name__ == "__main__":
    sys.exit(main())
