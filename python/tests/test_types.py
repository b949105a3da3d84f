"""Arrays of every element type, text, and what becomes an array."""

import ml_dtypes
import numpy as np
import oxrt
import pytest
from conftest import identity
from onnx import TensorProto, helper

NAMES = ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64",
         "INT64", "BOOL", "COMPLEX64", "COMPLEX128", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
         "UINT4", "INT4", "FLOAT4E2M1"]


@pytest.mark.parametrize("name", NAMES)
def test_types(name):
    number = getattr(TensorProto, name)
    dtype = helper.tensor_dtype_to_np_dtype(number)
    model = oxrt.Model(identity(number, ["n", "m"]))
    for shape in ((2, 3), (70, 100), (0, 3)):
        x = np.resize(np.array([0, 1, 1, 0, 1], np.float32), shape).astype(dtype)
        for view in (x, x[::-1], x[:, ::2], np.asfortranarray(x)):
            y = model(view)
            assert y.dtype == dtype
            np.testing.assert_array_equal(y.view(np.uint8), np.ascontiguousarray(view).view(np.uint8))


def test_bits_that_mean_nothing():
    bits = np.arange(256, dtype=np.uint8)
    for number in (TensorProto.INT4, TensorProto.UINT4):
        x = bits.view(helper.tensor_dtype_to_np_dtype(number))
        np.testing.assert_array_equal(oxrt.Model(identity(number))(x).astype(int), x.astype(int))
    y = oxrt.Model(identity(TensorProto.BOOL))(bits.view(np.bool_))
    np.testing.assert_array_equal(y.view(np.uint8), bits != 0)


def test_other_orders_of_bytes():
    model = oxrt.Model(identity(TensorProto.INT32))
    x = np.arange(2000, dtype=">i4")
    np.testing.assert_array_equal(model(x), x)
    np.testing.assert_array_equal(oxrt.Model(identity(TensorProto.DOUBLE))(x.astype(">f8")), x)


def test_read_only_and_unaligned_arrays():
    model = oxrt.Model(identity(TensorProto.FLOAT))
    memory = np.zeros(8001, np.uint8)
    x = memory[1:].view(np.float32)
    x[:] = np.arange(2000)
    x.flags.writeable = False
    np.testing.assert_array_equal(model(x), x)


def test_text():
    model = oxrt.Model(identity(TensorProto.STRING, ["n", "m"]))
    texts = [["", "a"], ["\u00e9\u00df\U0001f600", "with\0nul"], ["long " * 1000, "z"]]
    for x in (np.array(texts, object), texts, np.array(texts), np.array([[t.encode() for t in r] for r in texts], object)):
        y = model(x)
        assert y.dtype == object and y.tolist() == texts
    assert model(np.array(texts, object).T[::-1]).tolist() == np.array(texts, object).T[::-1].tolist()
    for wrong in ([[1, 2]], np.array([["a", None]]), np.array([["\ud800"]], object), np.array([[b"a", 3.5]], object)):
        with pytest.raises(oxrt.Error, match="input x"):
            model(wrong)


def test_bytes_that_are_no_text():
    model = oxrt.Model(identity(TensorProto.STRING))
    (text,) = model(np.array([b"\xff\x00a"], object))
    assert text.encode(errors="surrogateescape") == b"\xff\x00a"


def test_what_becomes_an_array():
    model = oxrt.Model(identity(TensorProto.FLOAT))
    for x in ([1, 2], [1.0, 2.0], (1, 2), memoryview(np.float32([1, 2])), [np.float32(1), 2], [True, False], []):
        np.testing.assert_array_equal(model(x), np.float32(x))
    scalar = oxrt.Model(identity(TensorProto.INT64, []))
    assert scalar(3) == 3 and scalar(np.int64(3)).shape == ()


class Foreign:
    """An array of a library that numpy reads by DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack():
    model = oxrt.Model(identity(TensorProto.FLOAT))
    x = np.arange(5000, dtype=np.float32)
    np.testing.assert_array_equal(np.from_dlpack(model(Foreign(x))), x)
    with pytest.raises(oxrt.ShapeError, match="float64"):
        model(Foreign(x.astype(np.float64)))


@pytest.mark.parametrize("dtype, given", [
    (TensorProto.FLOAT, np.float64([1])), (TensorProto.FLOAT, np.int32([1])), (TensorProto.INT64, [1.5]),
    (TensorProto.INT8, [300]), (TensorProto.UINT8, [-1]), (TensorProto.INT64, [2 ** 70]), (TensorProto.BOOL, [2]),
    (TensorProto.FLOAT, [[1], [2, 3]]), (TensorProto.FLOAT, ["a"]), (TensorProto.FLOAT, None),
    (TensorProto.FLOAT, object()), (TensorProto.FLOAT, np.array(["a"])), (TensorProto.FLOAT, {"a": 1}),
    (TensorProto.FLOAT, np.array([1], "M8[s]")), (TensorProto.FLOAT, np.zeros(1, [("a", "f4")])),
    (TensorProto.INT64, [None]), (TensorProto.DOUBLE, np.longdouble([1])), (TensorProto.FLOAT16, [1j]),
    (TensorProto.FLOAT, ml_dtypes.bfloat16(1)), (TensorProto.INT4, [9]),
])
def test_what_does_not(dtype, given):
    with pytest.raises(oxrt.ShapeError, match="input x"):
        oxrt.Model(identity(dtype))(given)
