"""Memory of outputs: used again when no program holds it, the caller's on request, and never shared by accident."""

import gc
import threading

import numpy as np
import oxrt
import pytest
from conftest import make_model, node
from onnx import TensorProto

LARGE = (64, 1024)
X = np.arange(LARGE[0] * LARGE[1], dtype=np.float32).reshape(LARGE)


def small_and_large(**options):
    """y = x + x, and the sum of it."""
    return oxrt.Model(make_model([node("Add", "x,x", "y"), node("ReduceSum", "y", "s", keepdims=0)],
                                 [("x", TensorProto.FLOAT, ["n", "m"])],
                                 [("y", TensorProto.FLOAT, None), ("s", TensorProto.FLOAT, None)]), **options)


def address(array):
    return array.__array_interface__["data"][0]


def aligned(shape, dtype=np.float32, shift=0):
    """An array that begins `shift` bytes behind a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -address(memory) % 64 + shift
    return memory[start:start + size].view(dtype).reshape(shape)


def test_memory_is_used_again():
    model = small_and_large()
    y, s = model(X)
    place = address(y)
    assert place % 64 == 0 and y.flags.c_contiguous and y.flags.writeable
    np.testing.assert_array_equal(y, 2 * X)
    del y
    for _ in range(3):
        y, s = model(X)
        assert address(y) == place
        del y


@pytest.mark.parametrize("hold", [lambda y: y, lambda y: y[3], lambda y: y.T, memoryview, lambda y: y.reshape(-1),
                                  lambda y: [y], lambda y: np.asarray(y)[:, ::2]])
def test_memory_that_is_held_stays(hold):
    """By the array, a view of it, a buffer: nothing of it changes."""
    model = small_and_large()
    y, _ = model(X)
    held = hold(y)
    before = np.array(held if not isinstance(held, list) else held[0])
    del y
    gc.collect()
    for turn in range(3):
        other, _ = model(X + turn)
        np.testing.assert_array_equal(other, 2 * (X + turn))
        assert not np.shares_memory(other, np.asarray(held if not isinstance(held, list) else held[0]))
        del other
    np.testing.assert_array_equal(np.asarray(held if not isinstance(held, list) else held[0]), before)


def test_outputs_as_inputs():
    """An output that goes back in is not written to."""
    model = small_and_large()
    y = X
    for turn in range(5):
        y = model(y)[0]
        np.testing.assert_array_equal(y, X * 2.0 ** (turn + 1))


def test_shapes_that_change():
    model = small_and_large()
    for n in (64, 80, 64, 1, 0, 128, 64):
        x = np.full((n, 1024), n, np.float32)
        y, s = model(x)
        np.testing.assert_array_equal(y, 2 * x)
        assert s == 2 * 1024 * n * n
        del y


def test_threads_have_memory_of_their_own():
    model = small_and_large()
    wrong = []

    def work(number):
        x = np.full(LARGE, number, np.float32)
        for _ in range(50):
            y, _ = model(x)
            if not (y == 2 * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("shape", [LARGE, (2, 3)])
@pytest.mark.parametrize("shift", [0, 4, 1])
def test_run_into(shape, shift):
    model = small_and_large()
    x = X.reshape(-1)[:int(np.prod(shape))].reshape(shape)
    y, s = aligned(shape, shift=shift), np.zeros((), np.float32)
    for turn in range(2):
        got = model.run_into({"x": x + turn}, {"y": y, "s": s})
        assert got[0] is y and got[1] is s
        np.testing.assert_array_equal(y, 2 * (x + turn))
        assert s == model(x + turn)[1]
    (mixed, other) = model.run({"x": x}, ["s", "y"], None, {"y": y})
    assert other is y and mixed.shape == () and mixed is not s
    np.testing.assert_array_equal(model(x)[0], 2 * x)


@pytest.mark.parametrize("shape, dtype", [(7, "float32"), ((3, 0, 2), np.int64), ((), np.float64), ([5, 3], bool)])
def test_empty(shape, dtype):
    for _ in range(8):
        made = oxrt.empty(shape, dtype)
        assert address(made) % 64 == 0 or not made.size
        assert made.shape == np.empty(shape).shape and made.dtype == dtype and made.flags.c_contiguous
        made[...] = 1
    with pytest.raises((TypeError, ValueError)):
        oxrt.empty(3, object)
    assert oxrt.empty(3).dtype == np.float32


def test_run_into_strided_and_shared_memory():
    model = small_and_large()
    wide = np.zeros((64, 2048), np.float32)
    model.run_into({"x": X}, {"y": wide[:, ::2]})
    np.testing.assert_array_equal(wide[:, ::2], 2 * X)
    assert not wide[:, 1::2].any()
    swapped = np.zeros(LARGE, ">f4")
    model.run_into({"x": X}, {"y": swapped})
    np.testing.assert_array_equal(swapped, 2 * X)
    shared = aligned((128, 1024))
    shared[:] = 3
    model.run_into({"x": shared[32:96]}, {"y": shared[:64]})
    assert (shared[:64] == 6).all() and (shared[96:] == 3).all()


def test_strings():
    """Strings become objects of Python, which the memory of a run has no room for, however many there are."""
    model = oxrt.Model(make_model([node("Concat", "x,x", "y", axis=0)], [("x", TensorProto.STRING, ["n"])],
                                  [("y", TensorProto.STRING, None)]))
    for count in (5000, 3, 0, 3):
        x = np.array([f"text {i}" for i in range(count)], object)
        y = np.empty(2 * count, object)
        assert model(x).tolist() == x.tolist() * 2
        assert model.run_into({"x": x}, {"y": y})[0] is y and y.tolist() == x.tolist() * 2


def test_run_into_what_does_not_fit():
    model = small_and_large()
    y = np.zeros(LARGE, np.float32)
    for wrong, error in (({"y": np.zeros((64, 1023), np.float32)}, oxrt.ShapeError), ({"z": y}, oxrt.ArgumentError),
                         ({"y": np.zeros(LARGE)}, oxrt.ShapeError), ({"y": [1.0]}, TypeError),
                         ({"y": y, "s": y[0, 0:1].reshape(())}, oxrt.ArgumentError)):
        with pytest.raises(error):
            model.run_into({"x": X}, wrong)
    y.flags.writeable = False
    with pytest.raises(TypeError):
        model.run_into({"x": X}, {"y": y})
    for arguments in ((), ({},), ({}, []), ({"x": X}, {}, None, None)):
        with pytest.raises(TypeError):
            model.run_into(*arguments)
    np.testing.assert_array_equal(model(X)[0], 2 * X)


def test_outputs_that_are_inputs_and_constants():
    one = np.ones(LARGE, np.float32)
    import onnx.numpy_helper
    model = oxrt.Model(make_model([node("Identity", "x", "y"), node("Identity", "w", "c")],
                                  [("x", TensorProto.FLOAT, ["n", "m"])],
                                  [("y", TensorProto.FLOAT, None), ("c", TensorProto.FLOAT, None)],
                                  initializers=[onnx.numpy_helper.from_array(one, "w")]))
    x = X.copy()
    y, c = model(x)
    assert not np.shares_memory(y, x)
    c[:] = 5
    np.testing.assert_array_equal(model(x)[1], one)
    into = aligned(LARGE)
    model.run_into({"x": x}, {"y": into})
    np.testing.assert_array_equal(into, x)
