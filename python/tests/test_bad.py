"""Mistakes: each ends with an exception that names what is wrong, and leaves the model usable."""

import numpy as np
import oxrt
import pytest
from conftest import make_model, node

A = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("call, kind, text", [
    (lambda m: m(), oxrt.ArgumentError, "input a was not given"),
    (lambda m: m(A), oxrt.ArgumentError, "input b was not given"),
    (lambda m: m(A, A, A), oxrt.ArgumentError, "3 inputs"),
    (lambda m: m(A, c=A), oxrt.ArgumentError, "no input 'c', only"),
    (lambda m: m(A, a=A), oxrt.ArgumentError, "given twice"),
    (lambda m: m(A, A[0]), oxrt.ShapeError, "b"),
    (lambda m: m(A, A[:, :2]), oxrt.ShapeError, "b"),
    (lambda m: m(A, A[:1]), oxrt.Error, ""),
    (lambda m: m.run({"a": A, "b": A}, ["z"]), oxrt.ArgumentError, "no output 'z', only"),
    (lambda m: m.run({"a": A, "b": A}, [3]), oxrt.ArgumentError, "no output 3"),
    (lambda m: m.run({"a": A, "b": A}, 3), TypeError, ""),
    (lambda m: m.run({"a": A, "b": A}, "y"), TypeError, "must be a list"),
    (lambda m: m.run([A, A]), TypeError, "dict"),
    (lambda m: m.run({3: A}), oxrt.ArgumentError, "no input 3"),
    (lambda m: m.run({"a": A, "b": A}, None, 3), TypeError, "Flag"),
    (lambda m: m.run(), TypeError, "arguments"),
])
def test_calls(add, call, kind, text):
    model = oxrt.Model(add)
    if text == "":
        kind = (kind, TypeError) if kind is not TypeError else kind
    try:
        call(model)
    except kind as error:
        assert text in str(error)
    else:
        assert text == "" and kind is not TypeError  # a row that repeats broadcasts
    np.testing.assert_array_equal(model(A, A), 2 * A)


def test_models(tmp_path):
    with pytest.raises(oxrt.ModelError):
        oxrt.Model(b"no model")
    with pytest.raises(oxrt.FileError, match="nothing.onnx") as caught:
        oxrt.Model("nothing.onnx")
    assert isinstance(caught.value, OSError) and caught.value.status
    with pytest.raises(oxrt.FileError):
        oxrt.Model(str(tmp_path))
    unknown = make_model([node("Nonsense", "x", "y", domain="there")], [("x", 1, [1])], [("y", 1, [1])])
    unknown.opset_import.add(domain="there", version=1)
    with pytest.raises(oxrt.UnsupportedError, match="Nonsense"):
        oxrt.Model(unknown)
    with pytest.raises(ValueError):
        oxrt.Model("a\0b")
    with pytest.raises(oxrt.Error):
        oxrt.Model(b"")


def test_every_truncation(add):
    data = open(add, "rb").read()
    for size in range(len(data)):
        try:
            oxrt.Model(data[:size])
        except oxrt.Error:
            pass


def test_data_that_is_refused():
    model = oxrt.Model(make_model([node("Div", "a,b", "y")], [("a", 6, ["n"]), ("b", 6, ["n"])], [("y", 6, ["n"])]))
    with pytest.raises(oxrt.DataError, match="Div"):
        model(np.int32([1]), np.int32([0]))
    model = oxrt.Model(make_model([node("Gather", "x,i", "y")], [("x", 1, ["n"]), ("i", 7, ["m"])], [("y", 1, ["m"])]))
    with pytest.raises(oxrt.Error, match="5"):
        model(np.ones(3, np.float32), np.int64([5]))
    assert model(np.ones(3, np.float32), np.int64([2])) == 1


class Hostile:
    """An object that changes the call's own dict, and fails."""

    def __init__(self, feed):
        self.feed = feed

    def __array__(self, *unused, **named):
        self.feed.clear()
        raise RuntimeError("no array")


def test_objects_that_misbehave(add):
    model = oxrt.Model(add)
    feed = {"a": A}
    feed["b"] = Hostile(feed)
    with pytest.raises(RuntimeError, match="no array"):
        model.run(feed)
    np.testing.assert_array_equal(model(A, A), 2 * A)


def test_changing_indices_crash_nothing():
    """Another thread writes into the indices that a run has checked."""
    import threading
    model = oxrt.Model(make_model([node("Gather", "x,i", "y")], [("x", 1, ["n"]), ("i", 7, ["m"])], [("y", 1, ["m"])]))
    x, indices, stop = np.ones(10, np.float32), np.zeros(100000, np.int64), []

    def change():
        while not stop:
            indices[:] = 1 << 40
            indices[:] = 3

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(200):
        try:
            model(x, indices)
        except oxrt.Error:
            pass
    stop.append(True)
    thread.join()
