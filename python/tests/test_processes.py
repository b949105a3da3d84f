"""Threads, forks, signals, and interpreters that end."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import oxrt
import pytest
from conftest import make_model, node

SLOW = make_model([node("Tan", "x", "t0")] + [node("Tan", f"t{i}", f"t{i + 1}") for i in range(60)] +
                  [node("ReduceSum", "t60", "y", keepdims=0)], [("x", 1, ["n"])], [("y", 1, [])])


def product(size):
    return make_model([node("MatMul", "a,b", "c"), node("Relu", "c", "y")],
                      [("a", 1, ["n", size]), ("b", 1, [size, size])], [("y", 1, ["n", size])])


@pytest.mark.parametrize("threads", [0, 2])
def test_one_model_many_threads(threads):
    model = oxrt.Model(product(32), threads=threads)
    rng = np.random.default_rng(1)
    b = rng.standard_normal((32, 32)).astype(np.float32)
    cases = [rng.standard_normal((n, 32)).astype(np.float32) for n in range(1, 9)]
    expected = [model(a, b) for a in cases]
    failures = []

    def work(turn):
        for i in range(300):
            at = (i * 7 + turn) % len(cases)
            if not np.array_equal(model(cases[at], b), expected[at]):
                failures.append(at)

    workers = [threading.Thread(target=work, args=(turn,)) for turn in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    assert 1 <= model.memory["sessions"] <= 8


def turns_meanwhile(work):
    """How often another thread had its turn between the first and the last tenth of work()."""
    turns, done = [], threading.Event()

    def count():
        while not done.is_set():
            turns.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    time.sleep(0.01)
    begin = time.perf_counter()
    work()
    end = time.perf_counter()
    done.set()
    thread.join()
    edge = (end - begin) / 10
    return sum(begin + edge < turn < end - edge for turn in turns)


@pytest.mark.parametrize("what", ["load", "prepare", "run"])
def test_other_threads_run_meanwhile(what):
    chain = [node("Tan", f"t{i}", f"t{i + 1}") for i in range(10000)]
    long = make_model(chain, [("t0", 1, ["n"])], [("t10000", 1, ["n"])]).SerializeToString()
    slow, x = oxrt.Model(SLOW), np.ones(1 << 20, np.float32)
    work = {"load": lambda: oxrt.Model(long), "prepare": lambda: oxrt.Model(long).prepare(x[:9]), "run": lambda: slow(x)}
    assert turns_meanwhile(work[what]) >= 2


def test_a_flag_ends_a_run():
    model = oxrt.Model(SLOW)
    flag = oxrt.Flag()
    timer = threading.Timer(0.05, lambda: setattr(flag, "value", True))
    timer.start()
    with pytest.raises(oxrt.CancelledError):
        while True:
            model.run({"x": np.ones(1 << 22, np.float32)}, None, flag)
    assert flag.value is True
    assert model(np.zeros(1, np.float32)) == 0


def test_a_run_that_takes_too_long_ends():
    model = oxrt.Model(SLOW, timeout=0.05)
    with pytest.raises(oxrt.CancelledError, match="51 ms"):
        model(np.ones(1 << 25, np.float32))
    assert model(np.zeros(1, np.float32)) == 0


def test_ctrl_c_ends_a_run():
    model = oxrt.Model(SLOW)
    # Whoever started the tests in the background may have had the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                model(np.ones(1 << 22, np.float32))
    finally:
        signal.signal(signal.SIGINT, before)
    assert model(np.zeros(1, np.float32)) == 0


def in_child(work):
    """The child's status: 0 where work() is true."""
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "the child hangs"


@pytest.mark.parametrize("threads", [0, 3])
def test_forks(threads):
    model = oxrt.Model(product(64), threads=threads)
    a, b = np.ones((256, 64), np.float32), np.ones((64, 64), np.float32)
    expected = model(a, b)
    assert in_child(lambda: np.array_equal(model(a, b), expected)) == 0
    assert np.array_equal(model(a, b), expected)


def test_a_fork_while_another_thread_runs():
    model = oxrt.Model(SLOW, threads=2)
    x = np.ones(1 << 21, np.float32)
    small = np.zeros(1, np.float32)
    thread = threading.Thread(target=lambda: model(x))
    thread.start()
    time.sleep(0.02)
    status = in_child(lambda: model(small) == 0 and model(small) == 0)
    thread.join()
    assert status == 0


PROGRAM = """
import sys, threading, numpy as np, oxrt
model = oxrt.Model(sys.stdin.buffer.read(), threads=2)
x = np.ones(1 << 22, np.float32)
def work():
    while True:
        model(x)
threading.Thread(target=work, daemon=True).start()
kept = [model, model(np.zeros(1, np.float32))]
sys.modules["kept"] = kept
import time; time.sleep(0.05)
print("end")
"""


def test_an_interpreter_that_ends_during_a_run():
    run = subprocess.run([sys.executable, "-c", PROGRAM], input=SLOW.SerializeToString(), capture_output=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout == b"end\n"


MANY_CALLS = """
import resource, sys, numpy as np, oxrt
model = oxrt.Model(sys.stdin.buffer.read())
a, b = np.ones((64, 32), np.float32), np.ones((32, 32), np.float32)
references = sys.getrefcount(a)
def peak_after(calls):
    for _ in range(calls):
        model(a, b)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = peak_after(1000)
print(peak_after(20000) - start, sys.getrefcount(a) - references)
"""


def test_many_calls_keep_no_memory():
    # A process of its own, where no earlier peak hides a leak; a sanitizer would keep what is freed, to find its use.
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1")
    run = subprocess.run([sys.executable, "-c", MANY_CALLS], input=product(32).SerializeToString(), capture_output=True,
                         env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    kilobytes, references = map(int, run.stdout.split())
    assert kilobytes < 4 << 10
    assert references == 0
