"""Model: calls, facts, options, memory, profiles, pickles."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import onnx
import oxrt
import pytest
from conftest import identity, make_model, node
from onnx import TensorProto

A = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_calls_by_place_and_by_name(add):
    model = oxrt.Model(add)
    for y in (model(A, 2 * A), model(A, b=2 * A), model(b=2 * A, a=A), model.run({"a": A, "b": 2 * A})[0]):
        np.testing.assert_array_equal(y, 3 * A)
    assert model.run({"a": A, "b": A}, []) == []
    np.testing.assert_array_equal(model.run({"a": A, "b": A}, ["y", "y"])[1], 2 * A)


def test_several_outputs_are_a_tuple():
    model = oxrt.Model(make_model([node("TopK", "x,k", "v,i")], [("x", 1, ["n"]), ("k", 7, [1])],
                                  [("v", 1, ["m"]), ("i", 7, ["m"])]))
    values, places = model(np.float32([1, 5, 3]), [2])
    np.testing.assert_array_equal(values, [5, 3])
    np.testing.assert_array_equal(places, [1, 2])
    assert places.dtype == np.int64
    np.testing.assert_array_equal(model.run({"x": np.float32([1, 5]), "k": [1]}, ["i"])[0], [1])


def test_sources(add):
    data = open(add, "rb").read()
    for source in (data, bytearray(data), memoryview(data), onnx.load(add), add, __import__("pathlib").Path(add)):
        np.testing.assert_array_equal(oxrt.Model(source)(A, A), 2 * A)
    for source in (3, None, [add]):
        with pytest.raises(TypeError):
            oxrt.Model(source)


def test_facts(add):
    model = oxrt.Model(add)
    assert model.metadata == {"classes": "cat,dog", "empty": ""}
    assert model.inputs[0] == ("a", "float", ("n", 3), False)
    assert model.outputs[0].name == "y"
    assert model.info["opsets"] == {"": 21} and model.info["node_count"] == 1
    assert [(use.name, use.version) for use in model.operators] == [("Add", 14)]
    assert add in repr(model) and "bytes" in repr(oxrt.Model(open(add, "rb").read()))


def test_outputs_own_their_memory(add):
    model = oxrt.Model(add)
    first = model(A, A)
    kept = first.copy()
    model(A + 1, A)
    np.testing.assert_array_equal(first, kept)
    first[:] = 7
    assert first.flags.writeable and first.flags.owndata
    del model
    assert (first == 7).all()
    np.testing.assert_array_equal(np.from_dlpack(first), first)


def test_an_output_that_is_an_input_is_a_copy():
    model = oxrt.Model(identity(TensorProto.FLOAT))
    x = np.arange(10, dtype=np.float32)[::-2]
    y = model(x)
    np.testing.assert_array_equal(y, x)
    y[:] = 0
    assert x[0] == 9


def test_options(add):
    expected = 3 * A
    for options in ({"threads": 2}, {"isa": "base"}, {"fuse": False}, {"integer": False}, {"check": True}, {"timeout": 100},
                    {"limits": {"bytes": 10 << 20, "depth": 3}}):
        np.testing.assert_array_equal(oxrt.Model(add, **options)(A, 2 * A), expected)
    with pytest.raises(oxrt.ArgumentError, match="isa"):
        oxrt.Model(add, isa="nothing")
    for options in ({"threads": -1}, {"threads": 257}, {"limits": {"weight": 1}}, {"timeout": -1}, {"timeout": "1"},
                    {"limits": {"depth": 1 << 40}}, {"limits": {"bytes": -1}}, {"limits": 3}, {"nothing": 1}):
        with pytest.raises((oxrt.ArgumentError, TypeError, OverflowError)):
            oxrt.Model(add, **options)
    with pytest.raises(oxrt.LimitError):
        oxrt.Model(add, limits={"tensor_bytes": 8})(A, A)
    with pytest.raises(oxrt.LimitError):
        oxrt.Model(add, limits={"file_bytes": 8})


def test_extra_outputs():
    proto = make_model([node("Neg", "x", "h"), node("Neg", "h", "y")], [("x", 1, [2])], [("y", 1, [2])])
    model = oxrt.Model(proto, extra_outputs=["h"])
    y, h = model(np.float32([1, 2]))
    np.testing.assert_array_equal(h, -y)
    np.testing.assert_array_equal(model.run({"x": np.float32([1, 2])}, ["h"])[0], h)
    assert [value.name for value in model.outputs] == ["y", "h"]
    for wrong in (["nothing"], [3]):
        with pytest.raises((oxrt.Error, TypeError)):
            oxrt.Model(proto, extra_outputs=wrong)


def test_memory_and_profile(add):
    model = oxrt.Model(add)
    model.prepare(A, A)
    assert model.memory["sessions"] == 1 and model.memory["arena_bytes"] >= 24
    steps = model.profile(A, b=A)
    assert [step.nodes[0][3] for step in steps] == ["Add"]
    assert steps[0].kind == "kernel" and steps[0].bytes_read == 48 and steps[0].duration_ns >= 0
    with pytest.raises(oxrt.ArgumentError):
        model.profile(A)
    np.testing.assert_array_equal(model(A, A), 2 * A)


def test_defaults_of_inputs():
    weight = onnx.numpy_helper.from_array(np.float32([10, 20]), "w")
    model = oxrt.Model(make_model([node("Add", "x,w", "y")], [("x", 1, [2]), ("w", 1, [2])], [("y", 1, [2])],
                                  initializers=[weight]))
    x = np.float32([1, 2])
    np.testing.assert_array_equal(model(x), [11, 22])
    np.testing.assert_array_equal(model(x, x), [2, 4])
    np.testing.assert_array_equal(model(x), [11, 22])


def test_pickle_and_copy(add):
    for source in (add, open(add, "rb").read()):
        model = oxrt.Model(source, threads=2, extra_outputs=[], limits={"nodes": 10})
        for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
            np.testing.assert_array_equal(twin(A, A), 2 * A)
            assert twin.source == model.source


def test_a_deleted_file_goes_on_until_it_is_loaded_again(add):
    model = oxrt.Model(add)
    pickled = pickle.dumps(model)
    os.remove(add)
    np.testing.assert_array_equal(model(A, A), 2 * A)
    with pytest.raises(oxrt.FileError, match="add.onnx"):
        pickle.loads(pickled)


def test_a_model_that_does_not_keep_its_word_warns():
    proto = make_model([node("Add", "x,x", "y")], [("x", 1, ["n"])], [("y", 1, [5])])
    with pytest.warns(oxrt.ModelWarning, match="y"):
        oxrt.Model(proto)(np.float32([1]))


def test_the_command(add):
    run = subprocess.run([sys.executable, "-m", "oxrt", "info", add], capture_output=True, text=True)
    assert run.returncode == 0 and "Add" in run.stdout
    run = subprocess.run([sys.executable, "-m", "oxrt", "run", "nothing.onnx"], capture_output=True, text=True)
    assert run.returncode != 0 and "nothing.onnx" in run.stderr


def test_numpy_is_loaded_when_it_is_needed(add):
    program = f"import sys, oxrt; oxrt.Model({add!r}).inputs; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
