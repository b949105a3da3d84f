"""ReferenceEvaluator gives what onnx.reference gives."""

import io

import numpy as np
import onnx
import oxrt
import pytest
from conftest import make_model, node
from onnx import helper
from onnx.reference import ReferenceEvaluator

PROTO = make_model([node("Mul", "a,a", "h"), node("Sub", "h,b", "y")], [("a", 1, ["n"]), ("b", 1, ["n"])],
                   [("y", 1, ["n"])])
FEED = {"a": np.float32([1, 2, 3]), "b": np.float32([0, 1, 2])}


@pytest.mark.parametrize("make", [lambda p: p, lambda p: p.SerializeToString(), lambda p: p.graph,
                                  lambda p: io.BytesIO(p.SerializeToString())])
def test_runs(make):
    ours, theirs = oxrt.ReferenceEvaluator(make(PROTO)), ReferenceEvaluator(PROTO)
    assert ours.input_names == theirs.input_names and ours.output_names == theirs.output_names
    np.testing.assert_array_equal(ours.run(None, FEED)[0], theirs.run(None, FEED)[0])


def test_intermediate_values():
    ours = oxrt.ReferenceEvaluator(PROTO).run(None, FEED, intermediate=True)
    theirs = ReferenceEvaluator(PROTO).run(None, FEED, intermediate=True)
    assert {"a", "b", "h", "y"} <= ours.keys() & theirs.keys()
    for name in ("a", "b", "h", "y"):
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_what_is_refused():
    for options in ({"new_ops": [object]}, {"functions": [object]}):
        with pytest.raises(oxrt.UnsupportedError):
            oxrt.ReferenceEvaluator(PROTO, **options)
    with pytest.raises(TypeError):
        oxrt.ReferenceEvaluator(3)
    assert oxrt.ReferenceEvaluator(PROTO).opsets == {"": 21}


def test_backend():
    from oxrt import backend
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
    (y,) = backend.run_model(PROTO, list(FEED.values()))
    np.testing.assert_array_equal(y, FEED["a"] ** 2 - FEED["b"])
    assert backend.prepare(PROTO).run(FEED).y.shape == (3,)
    (z,) = backend.run_node(helper.make_node("Neg", ["x"], ["y"]), [FEED["a"]])
    np.testing.assert_array_equal(z, -FEED["a"])
    assert backend.is_compatible(PROTO) and not backend.is_compatible(onnx.ModelProto())
    with pytest.raises(oxrt.ArgumentError):
        backend.prepare(PROTO, "CUDA")
    with pytest.raises(oxrt.ArgumentError):
        backend.prepare(PROTO).run([FEED["a"]] * 3)
