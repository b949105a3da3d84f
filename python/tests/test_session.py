"""The session interface: what applications use of onnxruntime gives the same here, errors included."""

import json
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import onnxruntime
import oxrt
import pytest
from conftest import make_model, node

A = np.arange(6, dtype=np.float32).reshape(2, 3)
OURS, THEIRS = oxrt, onnxruntime


def both(path, **options):
    return [package.InferenceSession(path, providers=["CPUExecutionProvider"], **options) for package in (OURS, THEIRS)]


def outcome(work):
    """What a call gave, or the name of its exception's class and its status."""
    try:
        return work()
    except Exception as error:
        text = str(error).split(" : ")
        return type(error).__name__, text[1:3] if len(text) > 2 else str(error)


def test_runs(add):
    for feed in ({"a": A, "b": 2 * A}, {"a": A.tolist(), "b": A}):
        for names in (None, [], ["y"]):
            ours, theirs = (session.run(names, feed) for session in both(add))
            assert len(ours) == len(theirs) == 1
            np.testing.assert_array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("feed, names", [
    ({}, None), ({"z": A}, None), ({"a": A, "b": A, "z": A}, None), ({"a": A, "b": A}, ["z"]),
    ({"a": A.astype(np.float64), "b": A}, None), ({"a": A[0], "b": A}, None), ({"a": A[:, :2], "b": A}, None),
])
def test_mistakes_have_the_same_exceptions(add, feed, names):
    ours, theirs = (outcome(lambda: session.run(names, feed)) for session in both(add))
    assert ours == theirs


@pytest.mark.parametrize("source", ["nothing.onnx", b"abc", 3])
def test_mistakes_of_sessions(source):
    ours, theirs = (outcome(lambda: package.InferenceSession(source)) for package in (OURS, THEIRS))
    assert ours == theirs


def test_descriptions(add):
    ours, theirs = both(add)
    for method in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        assert ([(v.name, v.type, v.shape) for v in getattr(ours, method)()] ==
                [(v.name, v.type, v.shape) for v in getattr(theirs, method)()])
    assert ours.get_providers() == theirs.get_providers()
    assert ours.get_provider_options() == theirs.get_provider_options()
    for name in ("producer_name", "graph_name", "domain", "description", "version", "custom_metadata_map"):
        assert getattr(ours.get_modelmeta(), name) == getattr(theirs.get_modelmeta(), name)
    assert oxrt.get_device() == onnxruntime.get_device()
    assert "CPUExecutionProvider" in oxrt.get_available_providers()


def test_defaults_of_options():
    ours, theirs = oxrt.SessionOptions(), onnxruntime.SessionOptions()
    for name in oxrt.SessionOptions._defaults:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine == other or int(mine) == int(other)
    with pytest.raises(AttributeError):
        ours.intra_op_threads = 3
    for package in (OURS, THEIRS):
        options = package.SessionOptions()
        for name, value in (("intra_op_num_threads", "2"), ("graph_optimization_level", 99), ("enable_profiling", "yes"),
                            ("profile_file_prefix", 3)):
            with pytest.raises(TypeError):
                setattr(options, name, value)
        options.intra_op_num_threads = np.int64(2)
        assert options.intra_op_num_threads == 2
        with pytest.raises(RuntimeError):
            options.get_session_config_entry("nothing")
    ours.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert ours.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(oxrt.UnsupportedError):
        ours.register_custom_ops_library("custom.so")


def test_options_reach_the_model(add):
    options = oxrt.SessionOptions()
    options.intra_op_num_threads = 2
    options.graph_optimization_level = oxrt.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = oxrt.InferenceSession(add, options)
    np.testing.assert_array_equal(session.run(None, {"a": A, "b": A})[0], 2 * A)
    assert session.get_session_options() is options


def test_terminate(add):
    options = oxrt.RunOptions()
    session = oxrt.InferenceSession(add)
    session.run(None, {"a": A, "b": A}, options)
    options.terminate = True
    assert options.terminate
    with pytest.raises(oxrt.Error, match="cancelled"):
        session.run(None, {"a": A, "b": A}, options)
    options.terminate = False
    session.run(None, {"a": A, "b": A}, options)


def test_async(add):
    done, got = threading.Event(), []

    def callback(results, user_data, error):
        got.extend((results, user_data, error))
        done.set()

    oxrt.InferenceSession(add).run_async(None, {"a": A, "b": A}, callback, 5)
    assert done.wait(60)
    np.testing.assert_array_equal(got[0][0], 2 * A)
    assert got[1:] == [5, ""]


@pytest.mark.parametrize("package", [OURS, THEIRS])
def test_values_and_bindings(add, package):
    session = package.InferenceSession(add, providers=["CPUExecutionProvider"])
    value = package.OrtValue.ortvalue_from_numpy(A.copy())
    assert (value.shape(), value.data_type(), value.element_type(), value.device_name()) == ([2, 3], "tensor(float)", 1,
                                                                                             "cpu")
    assert value.is_tensor() and value.has_value() and not value.is_tensor_sequence()
    value.update_inplace(2 * A)
    np.testing.assert_array_equal(value.numpy(), 2 * A)
    result = session.run_with_ort_values(["y"], {"a": value, "b": value})[0]
    np.testing.assert_array_equal(result.numpy(), 4 * A)

    binding = session.io_binding()
    binding.bind_cpu_input("a", A)
    binding.bind_input("b", "cpu", 0, np.float32, A.shape, A.ctypes.data)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], 2 * A)
    target = np.zeros((2, 3), np.float32)
    binding.clear_binding_outputs()
    binding.bind_output("y", "cpu", 0, np.float32, [2, 3], target.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target, 2 * A)
    place = package.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.clear_binding_outputs()
    binding.bind_ortvalue_input("b", value)
    binding.bind_ortvalue_output("y", place)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(place.numpy(), 3 * A)


def test_bindings_that_do_not_fit(add):
    binding = oxrt.InferenceSession(add).io_binding()
    with pytest.raises(oxrt.Error):
        binding.bind_output("nothing")
    with pytest.raises(oxrt.Error):
        binding.bind_input("a", "cuda", 0, np.float32, [2, 3], 1)
    with pytest.raises(oxrt.Error):
        binding.bind_input("a", "cpu", 0, np.float32, [2, 3], 0)
    binding.bind_cpu_input("a", A)
    binding.bind_cpu_input("b", A)
    binding.bind_ortvalue_output("y", oxrt.OrtValue.ortvalue_from_shape_and_type([3, 3], np.float32))
    with pytest.raises(oxrt.Error, match="bound is memory"):
        binding._session.run_with_iobinding(binding)


def test_profiles(add, tmp_path):
    options = oxrt.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace_")
    session = oxrt.InferenceSession(add, options)
    session.run(None, {"a": A, "b": A})
    path = session.end_profiling()
    assert [event["args"]["op_name"] for event in json.load(open(path, encoding="utf-8"))] == ["Add"]


PROGRAM = """
import sys, oxrt
oxrt.install_as_onnxruntime()
import onnxruntime as ort, numpy as np
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, Fail
from onnxruntime.capi import _pybind_state
assert ort.InferenceSession is oxrt.InferenceSession and ort.__version__
session = ort.InferenceSession(sys.argv[1], providers=[("CUDAExecutionProvider", {}), "CPUExecutionProvider"])
try:
    session.run(None, {"a": np.zeros(3), "b": np.zeros(3)})
except InvalidArgument as error:
    print("INVALID_ARGUMENT" in str(error))
"""


def test_under_the_other_name(add):
    run = subprocess.run([sys.executable, "-c", PROGRAM, add], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "True\n"), run.stderr
    with pytest.raises(RuntimeError, match="already"):
        oxrt.install_as_onnxruntime()


def test_sessions_of_strings():
    proto = make_model([node("Identity", "x", "y")], [("x", 8, ["n"])], [("y", 8, ["n"])]).SerializeToString()
    ours, theirs = (session.run(None, {"x": np.array(["a", "\u00e9"], object)})[0] for session in both(proto))
    assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()
    assert os.path.exists(oxrt._ox.__file__)


def test_profiles_of_one_second_do_not_meet(add, tmp_path):
    options = oxrt.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace_")
    sessions = [oxrt.InferenceSession(add, options) for _ in range(20)]
    for session in sessions:
        session.run(None, {"a": A, "b": A})
    assert len({session.end_profiling() for session in sessions}) == 20 == len(list(tmp_path.glob("trace_*.json")))


def test_dimensions_by_name(add):
    """In descriptions, and in runs: another size is refused."""
    for package in (OURS, THEIRS):
        options = package.SessionOptions()
        options.add_free_dimension_override_by_name("n", 2)
        options.add_free_dimension_override_by_name("unknown", 5)
        session = package.InferenceSession(add, options, providers=["CPUExecutionProvider"])
        assert [arg.shape for arg in (*session.get_inputs(), *session.get_outputs())] == [[2, 3]] * 3
        np.testing.assert_array_equal(session.run(None, {"a": A, "b": A})[0], 2 * A)
        with pytest.raises(Exception, match="INVALID_ARGUMENT"):
            session.run(None, {"a": A[:1], "b": A[:1]})
    with pytest.raises(oxrt.ArgumentError):
        oxrt.SessionOptions().add_free_dimension_override_by_name("n", -1)


def test_options_that_are_not_done_say_so(add, tmp_path):
    options = oxrt.SessionOptions()
    for refused in (lambda: options.add_free_dimension_override_by_denotation("DATA_BATCH", 2),
                    lambda: options.add_session_config_entry("session.model_external_initializers_file_folder_path", "."),
                    lambda: options.add_initializer("w", None), lambda: options.add_external_initializers([], [])):
        with pytest.raises(oxrt.UnsupportedError):
            refused()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    with pytest.raises(oxrt.UnsupportedError, match="optimized.onnx"):
        oxrt.InferenceSession(add, options)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_sessions_are_pickled(add, as_bytes):
    options = oxrt.SessionOptions()
    options.add_free_dimension_override_by_name("n", 2)
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = oxrt.InferenceSession(open(add, "rb").read() if as_bytes else add, options)
    twin = pickle.loads(pickle.dumps(session))
    np.testing.assert_array_equal(twin.run(None, {"a": A, "b": A})[0], 2 * A)
    assert twin.get_inputs()[0].shape == [2, 3] and twin.get_session_options().intra_op_num_threads == 2
    assert twin.get_session_options().get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert twin._model_path == session._model_path == ("" if as_bytes else add)


def test_another_type_says_how_to_convert(add):
    with pytest.raises(oxrt.ShapeError, match=r"an array of float64; \.astype\(np\.float32\) converts it"):
        oxrt.Model(add)(A.astype(np.float64), A)


INSTALLED = """
import importlib.util, sys
import numpy as np, oxrt
oxrt.install_as_onnxruntime()
import onnxruntime
import onnxruntime.capi._pybind_state
from onnxruntime.transformers.io_binding_helper import TypeHelper
for name in ("onnxruntime", "onnxruntime.capi", "onnxruntime.capi.onnxruntime_pybind11_state", "onnxruntime.transformers",
             "onnxruntime.capi.onnxruntime_inference_collection", "onnxruntime.transformers.io_binding_helper"):
    assert importlib.util.find_spec(name).name == name
assert importlib.util.find_spec("onnxruntime.quantization") is None
onnxruntime.preload_dlls()
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
assert session._model_path == sys.argv[1]
assert TypeHelper.get_io_numpy_type_map(session) == {name: np.float32 for name in "aby"}
assert TypeHelper.get_output_type(session, "y") == "tensor(float)"
assert TypeHelper.ort_type_to_numpy_type("tensor(int64)") is np.int64
assert onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument.__mro__[1] is oxrt.ArgumentError
"""


def test_the_installed_name_can_be_looked_up(add):
    """What optimum and transformers ask of it."""
    subprocess.run([sys.executable, "-c", INSTALLED, add], check=True)
