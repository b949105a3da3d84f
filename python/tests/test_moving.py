"""docs/onnxruntime.md: each of its sentences is a test of this file, which the page names behind it."""

import importlib.util
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import oxrt
import pytest
from conftest import make_model, node
from onnx import TensorProto, helper, numpy_helper

PAGE = Path(__file__).resolve().parents[2] / "docs/onnxruntime.md"
FLOAT, INT32, INT64, STRING = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.STRING
A = np.arange(6, dtype=np.float32).reshape(2, 3)
RANDOM = np.random.default_rng(28)
CPU = ["CPUExecutionProvider"]


def test_each_sentence_names_its_test():
    text = re.sub(r"^```.*?^```$|^#.*?$", "", PAGE.read_text(), flags=re.M | re.S)
    body = text.partition("name the tests.")[2]
    pieces = re.split(r"<!-- (test_\w+) -->", body)
    assert not pieces[-1].strip(), f"a sentence without a test: {pieces[-1]}"
    tests = {name for name, thing in globals().items() if name.startswith("test_") and callable(thing)}
    for sentence, name in zip(pieces[::2], pieces[1::2]):
        sentence = " ".join(sentence.split()).removeprefix("- ")
        assert sentence.endswith(".") and not re.search(r"\.\s+[A-Z]", sentence), f"not one sentence: {sentence}"
        assert name in tests, f"no test {name}: {sentence}"
    assert tests - set(pieces[1::2]) == {"test_each_sentence_names_its_test"}


# ---- Models --------------------------------------------------------------------------------------------------------------


def both(model, options=None):
    """Sessions of the same model: ours and theirs. `options` makes those of a package."""
    model = model.SerializeToString() if hasattr(model, "SerializeToString") else model
    return [package.InferenceSession(model, options and options(package), providers=CPU) for package in (oxrt, onnxruntime)]


def weights(name, *shape):
    return numpy_helper.from_array(RANDOM.standard_normal(shape).astype(np.float32) / 4, name)


def network(opset=17):
    """Two products with activations, as perceptrons have them."""
    return make_model([node("MatMul", "x,v", "p"), node("Add", "p,b", "s"), node("Relu", "s", "r"), node("MatMul", "r,w", "q"),
                       node("Softmax", "q", "y")], [("x", FLOAT, ["n", 64])], [("y", FLOAT, ["n", 16])], opset=opset,
                      initializers=[weights("v", 64, 32), weights("b", 32), weights("w", 32, 16)])


def rows(count=5, width=64):
    return RANDOM.standard_normal((count, width)).astype(np.float32)


def program(text, *arguments, status=0):
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def outcome(work):
    try:
        return work()
    except Exception as error:
        return type(error).__name__, str(error).split(" : ")[1:3]


# ---- One line --------------------------------------------------------------------------------------------------------------

INSTALL = "import sys, oxrt\noxrt.install_as_onnxruntime()\nimport onnxruntime\n"


def test_installed(add):
    assert program(INSTALL + "print(onnxruntime.InferenceSession is oxrt.InferenceSession)\n"
                   "print(onnxruntime.InferenceSession(sys.argv[1]).get_providers())", add) == f"True\n{CPU}\n"


def test_installed_too_late():
    program("import onnxruntime, oxrt\ntry:\n oxrt.install_as_onnxruntime()\nexcept RuntimeError:\n sys = 1\nelse:\n raise SystemExit(3)")


def test_found():
    program(INSTALL + "import importlib.util\nassert importlib.util.find_spec('onnxruntime').name == 'onnxruntime'")


def test_same_class(add):
    np.testing.assert_array_equal(oxrt.InferenceSession(add).run(None, {"a": A, "b": A})[0], 2 * A)


# ---- What is the same -------------------------------------------------------------------------------------------------------


def test_sources(add):
    for source in (add, Path(add), Path(add).read_bytes()):
        ours, theirs = both(source)
        np.testing.assert_array_equal(*(session.run(None, {"a": A, "b": A})[0] for session in (ours, theirs)))


def test_run(add):
    for session in both(add):
        for names in (None, ["y"]):
            result = session.run(names, {"a": A, "b": A})
            assert isinstance(result, list) and isinstance(result[0], np.ndarray) and result[0].tolist() == (2 * A).tolist()


def test_descriptions(add):
    ours, theirs = both(add)
    for method in ("get_inputs", "get_outputs"):
        assert ([(v.name, v.type, v.shape) for v in getattr(ours, method)()] ==
                [(v.name, v.type, v.shape) for v in getattr(theirs, method)()])
    for name in ("producer_name", "graph_name", "domain", "description", "version", "custom_metadata_map"):
        assert getattr(ours.get_modelmeta(), name) == getattr(theirs.get_modelmeta(), name)


def test_mistakes(add):
    feeds = [{}, {"z": A}, {"a": A, "b": A.astype(np.float64)}, {"a": A[0], "b": A}, {"a": A[:, :2], "b": A}]
    for feed in feeds:
        ours, theirs = (outcome(lambda: session.run(None, feed)) for session in both(add))
        assert ours == theirs
    for source in ("nothing.onnx", b"abc"):
        ours, theirs = (outcome(lambda: package.InferenceSession(source)) for package in (oxrt, onnxruntime))
        assert ours == theirs


def test_threads():
    session, x = both(network())[0], [rows() for _ in range(40)]
    alone = [session.run(None, {"x": one})[0] for one in x]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: session.run(None, {"x": one})[0], x))
    for one, other in zip(alone, together):
        np.testing.assert_array_equal(one, other)


def test_values():
    parse = onnx.parser.parse_model
    insert = parse('<ir_version: 9, opset_import: ["": 18]> g (seq(float[n]) s, float[n] x) => (seq(float[n]) o) { o = SequenceInsert(s, x) }')
    for session in both(insert):
        (found,) = session.run(None, {"s": [A[0]], "x": A[1]})
        assert isinstance(found, list) and [item.tolist() for item in found] == A.tolist()
    zipmap = helper.make_model(helper.make_graph(
        [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b", "c"])], "g",
        [helper.make_tensor_value_info("x", FLOAT, [2, 3])],
        [helper.make_value_info("y", helper.make_sequence_type_proto(helper.make_map_type_proto(STRING, helper.make_tensor_type_proto(FLOAT, []))))]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)
    ours, theirs = (session.run(None, {"x": A})[0] for session in both(zipmap))
    assert ours == theirs == [{"a": 0.0, "b": 1.0, "c": 2.0}, {"a": 3.0, "b": 4.0, "c": 5.0}]
    texts = make_model([node("Identity", "x", "y")], [("x", STRING, ["n"])], [("y", STRING, ["n"])])
    for session in both(texts):
        found = session.run(None, {"x": np.array(["a", "b"], object)})[0]
        assert found.dtype == object and found.tolist() == ["a", "b"]


def test_other_ways_to_run(add):
    for package, session in zip((oxrt, onnxruntime), both(add)):
        value = package.OrtValue.ortvalue_from_numpy(A)
        assert session.run_with_ort_values(["y"], {"a": value, "b": value})[0].numpy().tolist() == (2 * A).tolist()
        binding = session.io_binding()
        for name in "ab":
            binding.bind_cpu_input(name, A)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0].tolist() == (2 * A).tolist()
        done, got = threading.Event(), []
        session.run_async(None, {"a": A, "b": A}, lambda results, data, error: (got.append((results, data, error)), done.set()), 5)
        assert done.wait(60) and got[0][0][0].tolist() == (2 * A).tolist() and got[0][1:] == (5, "")


def test_terminate(add):
    for package, session in zip((oxrt, onnxruntime), both(add)):
        options = package.RunOptions()
        options.terminate = True
        with pytest.raises(Exception):
            session.run(None, {"a": A, "b": A}, options)


def test_number_of_threads():
    """A run on three threads leaves two more in the process."""
    text = ("import os, sys, numpy as np, oxrt\noptions = oxrt.SessionOptions()\noptions.intra_op_num_threads = int(sys.argv[2])\n"
            "session = oxrt.InferenceSession(sys.argv[1], options)\nbefore = len(os.listdir('/proc/self/task'))\n"
            "session = oxrt.InferenceSession(sys.argv[1], options)\nx = np.zeros((4096, 64), np.float32)\nsession.run(None, {'x': x})\n"
            "print(len(os.listdir('/proc/self/task')))")
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"threads-{os.getpid()}.onnx")
    onnx.save(network(), path)
    try:
        counts = [int(program("import numpy\n" + text, path, threads)) for threads in (1, 3)]
    finally:
        os.remove(path)
    assert counts[1] - counts[0] >= 2


def test_profiling(add, tmp_path):
    for package in (oxrt, onnxruntime):
        options = package.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(tmp_path / package.__name__)
        session = package.InferenceSession(add, options, providers=CPU)
        session.run(None, {"a": A, "b": A})
        events = json.loads(Path(session.end_profiling()).read_text())
        assert any(event["ph"] == "X" and event["args"].get("op_name") == "Add" for event in events)


def test_dimension_by_name(add):
    def fixed(package):
        options = package.SessionOptions()
        options.add_free_dimension_override_by_name("n", 2)
        return options
    for session in both(add, fixed):
        assert session.get_inputs()[0].shape == [2, 3]
        with pytest.raises(Exception, match="INVALID_ARGUMENT"):
            session.run(None, {"a": A[:1], "b": A[:1]})


def test_external_data(tmp_path):
    model = network()
    expected = both(model)[0].run(None, {"x": np.ones((1, 64), np.float32)})[0]
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    for session in both(str(tmp_path / "model.onnx")):
        np.testing.assert_allclose(session.run(None, {"x": np.ones((1, 64), np.float32)})[0], expected, rtol=1e-5)


def microsoft(nodes, inputs, outputs, **more):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


def test_fused_operators():
    def own(op, inputs, **attributes):
        return helper.make_node(op, inputs.split(","), ["y"], domain="com.microsoft", **attributes)
    two, one = [("x", FLOAT, [4, 64]), ("z", FLOAT, [4, 64])], [("x", FLOAT, [4, 64])]
    for made, inputs in ((own("FusedMatMul", "x,z", transB=1, alpha=0.5), two), (own("Gelu", "x"), one), (own("QuickGelu", "x"), one),
                         (own("BiasGelu", "x,b"), one), (own("SkipLayerNormalization", "x3,z3,b"), None)):
        if inputs is None:
            inputs = [("x3", FLOAT, [1, 4, 64]), ("z3", FLOAT, [1, 4, 64])]
        model = microsoft([made], inputs, [("y", FLOAT, None)], initializer=[weights("b", 64)] if "b" in made.input else [])
        feed = {name: RANDOM.standard_normal(shape).astype(np.float32) for name, _, shape in inputs}
        ours, theirs = (session.run(None, feed)[0] for session in both(model))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_saved_models(tmp_path):
    model, x = network(), rows()
    levels = onnxruntime.GraphOptimizationLevel
    for level in (levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_EXTENDED, levels.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(tmp_path / f"{int(level)}.onnx")
        expected = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=CPU).run(None, {"x": x})[0]
        np.testing.assert_allclose(oxrt.InferenceSession(options.optimized_model_filepath).run(None, {"x": x})[0], expected, rtol=1e-4,
                                   atol=1e-6)


def test_quantized_models(tmp_path):
    quantization = pytest.importorskip("onnxruntime.quantization")
    onnx.save(network(), tmp_path / "float.onnx")
    quantization.quantize_dynamic(tmp_path / "float.onnx", tmp_path / "quantized.onnx")
    ours, theirs = (session.run(None, {"x": np.ones((2, 64), np.float32)})[0] for session in both(str(tmp_path / "quantized.onnx")))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


# ---- What differs -----------------------------------------------------------------------------------------------------------


def test_rounding():
    x = rows(200)
    ours, theirs = (session.run(None, {"x": x})[0] for session in both(network()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_same_bits():
    def threads(count):
        options = oxrt.SessionOptions()
        options.intra_op_num_threads = count
        return options
    model, x = network().SerializeToString(), rows(3000)
    found = [oxrt.InferenceSession(model, threads(count)).run(None, {"x": x})[0] for count in (1, 2, 3)]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_one_step():
    scale, zero = (numpy_helper.from_array(np.array(value), name) for name, value in (("s", np.float32(0.05)), ("z", np.uint8(128))))
    model = make_model([node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "d"), node("Sigmoid", "d", "e"),
                        node("QuantizeLinear", "e,s,z", "y")], [("x", FLOAT, ["n"])], [("y", TensorProto.UINT8, ["n"])],
                       initializers=[scale, zero], opset=17)
    x = np.linspace(-8, 8, 3001, dtype=np.float32)
    ours, theirs = (session.run(None, {"x": x})[0].astype(int) for session in both(model))
    assert np.abs(ours - theirs).max() <= 1


def test_outputs_stay(add):
    session = oxrt.InferenceSession(add)
    first = session.run(None, {"a": A, "b": A})[0]
    session.run(None, {"a": 7 * A, "b": A})
    np.testing.assert_array_equal(first, 2 * A)


def test_smallest_integer(tmp_path):
    model = make_model([node("Div", "a,b", "y")], [("a", INT32, [1]), ("b", INT32, [1])], [("y", INT32, [1])])
    onnx.save(model, tmp_path / "div.onnx")
    low = np.array([-2**31], np.int32)
    assert oxrt.InferenceSession(str(tmp_path / "div.onnx")).run(None, {"a": low, "b": -np.ones(1, np.int32)})[0] == low
    text = ("import sys, numpy as np, onnxruntime\nsession = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\n"
            "session.run(None, {'a': np.array([-2**31], np.int32), 'b': -np.ones(1, np.int32)})")
    done = subprocess.run([sys.executable, "-c", text, str(tmp_path / "div.onnx")], capture_output=True)
    assert done.returncode  # SIGFPE, which sanitizers turn into a status


def test_one_provider(add):
    assert oxrt.InferenceSession(add).get_providers() == CPU == oxrt.get_available_providers()


def test_other_providers(add, capfd):
    session = oxrt.InferenceSession(add, providers=[("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"])
    assert session.get_providers() == CPU and capfd.readouterr() == ("", "")


def test_other_devices(add):
    with pytest.raises(oxrt.Error, match="cpu"):
        oxrt.InferenceSession(add).io_binding().bind_input("a", "cuda", 0, np.float32, [2, 3], 1)
    with pytest.raises(oxrt.Error, match="cpu"):
        oxrt.OrtValue.ortvalue_from_numpy(A, "cuda", 0)


def test_refused_options(add, tmp_path):
    def saves():
        options = oxrt.SessionOptions()
        options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
        oxrt.InferenceSession(add, options)
    options = oxrt.SessionOptions()
    refused = [saves, lambda: options.add_initializer("w", None), lambda: options.add_external_initializers([], []),
               lambda: options.register_custom_ops_library("custom.so"),
               lambda: options.add_free_dimension_override_by_denotation("DATA_BATCH", 2),
               lambda: options.add_session_config_entry("session.model_external_initializers_file_folder_path", ".")]
    for work in refused:
        with pytest.raises(oxrt.UnsupportedError) as raised:
            work()
        assert type(raised.value).__name__ == "NotImplemented"


def test_options_without_effect(add):
    options = oxrt.SessionOptions()
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.execution_mode = oxrt.ExecutionMode.ORT_PARALLEL
    options.log_severity_level = 0
    np.testing.assert_array_equal(oxrt.InferenceSession(add, options).run(None, {"a": A, "b": A})[0], 2 * A)


def test_levels(tmp_path):
    model = make_model([node("Neg", "x", "a"), node("Abs", "a", "b"), node("Exp", "b", "y")], [("x", FLOAT, [8])], [("y", FLOAT, [8])])
    counts = []
    for level in oxrt.GraphOptimizationLevel:
        options = oxrt.SessionOptions()
        options.graph_optimization_level = level
        options.enable_profiling = True
        options.profile_file_prefix = str(tmp_path / level.name)
        session = oxrt.InferenceSession(model.SerializeToString(), options)
        session.run(None, {"x": np.ones(8, np.float32)})
        counts.append(len(json.loads(Path(session.end_profiling()).read_text())))
    assert counts == [3] + [1] * (len(counts) - 1)


def test_misspelt_option():
    with pytest.raises(AttributeError):
        oxrt.SessionOptions().intra_op_threads = 2


def test_check_entry(add, monkeypatch):
    given = []
    model = oxrt._ox.Model
    from oxrt import _session
    monkeypatch.setattr(_session._ox, "Model", lambda *args, **more: given.append(more["check"]) or model(*args, **more))
    for value in ("0", "1"):
        options = oxrt.SessionOptions()
        options.add_session_config_entry("ox.check", value)
        np.testing.assert_array_equal(oxrt.InferenceSession(add, options).run(None, {"a": A, "b": A})[0], 2 * A)
    assert given == [False, True]


def test_missing_operators():
    made = [helper.make_node(op, ["x"], [out], domain="com.example") for op, out in (("Frobnicate", "a"), ("Defenestrate", "y"))]
    model = helper.make_model(helper.make_graph(made, "g", [helper.make_tensor_value_info("x", FLOAT, [1])],
                                                [helper.make_tensor_value_info("y", FLOAT, [1])]),
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)], ir_version=8)
    with pytest.raises(oxrt.UnsupportedError, match="(?s)Defenestrate.*Frobnicate") as raised:
        oxrt.InferenceSession(model.SerializeToString())
    assert type(raised.value).__name__ == "NotImplemented"


def test_broken_rules():
    x, y, w = [("x", FLOAT, [3])], [("y", FLOAT, None)], weights("w", 3)
    models = [make_model([node("Add", "x,w", "y")], [*x, ("w", FLOAT, [4])], y, initializers=[w]),
              make_model([node("Concat", "x,x", "y")], x, y), make_model([node("Relu", "x,x", "y")], x, y),
              make_model([node("Softmax", "x", "y", axis=0.0)], x, y),
              make_model([node("Neg", "x", "y"), node("Relu", "x", "y")], x, y)]
    classes = []
    for model in models:
        for package in (oxrt, onnxruntime):
            with pytest.raises(Exception) as raised:
                package.InferenceSession(model.SerializeToString(), providers=CPU)
            classes.append(type(raised.value).__name__)
    assert classes[::2] != classes[1::2]


def test_ort_format(add, tmp_path):
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(add, options, providers=CPU)
    with pytest.raises(oxrt.ModelError):
        oxrt.InferenceSession(options.optimized_model_filepath)


def test_pickle(add):
    twin = pickle.loads(pickle.dumps(oxrt.InferenceSession(add)))
    np.testing.assert_array_equal(twin.run(None, {"a": A, "b": A})[0], 2 * A)


def test_wrong_type(add):
    with pytest.raises(oxrt.Error, match=r"INVALID_ARGUMENT.*\.astype\(np\.float32\)") as raised:
        oxrt.InferenceSession(add).run(None, {"a": A.astype(np.float64), "b": A})
    assert type(raised.value).__name__ == "InvalidArgument"


def test_no_quantization():
    program(INSTALL + "import importlib.util\nassert importlib.util.find_spec('onnxruntime.quantization') is None")


def test_no_training():
    program(INSTALL + "import importlib.util\nassert importlib.util.find_spec('onnxruntime.training') is None")


def test_plugins():
    assert "plugins" in inspect.signature(oxrt.Model).parameters
    with pytest.raises(oxrt.Error, match="nothing.so"):
        oxrt.Model(network(), plugins=["nothing.so"])
