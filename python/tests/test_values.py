"""Values that are no tensors: lists, None and dicts."""

import collections
import gc
import threading
import types

import numpy as np
import onnx
import onnx.parser
import oxrt
import pytest
from onnx import TensorProto, helper
from oxrt import backend

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
TEXTS = helper.make_tensor_type_proto(TensorProto.STRING, None)
SEQUENCE = helper.make_sequence_type_proto(FLOATS)
MAP = helper.make_map_type_proto(TensorProto.STRING, FLOATS)
A, B = np.float32([1, 2]), np.float32([[3]])


def model_of(nodes, inputs, outputs):
    """Nodes as (operator, inputs, outputs, attributes); inputs and outputs are types by name."""
    made = []
    for op, given, results, attributes in nodes:
        domain = "ai.onnx.ml" if op in ("ZipMap", "DictVectorizer") else ""
        made.append(helper.make_node(op, given.split(), results.split(), domain=domain, **attributes))
    infos = [[helper.make_value_info(name, proto) for name, proto in values.items()] for values in (inputs, outputs)]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(helper.make_graph(made, "g", *infos), opset_imports=opsets, ir_version=9)


def identity(proto):
    return model_of([("Identity", "x", "y", {})], {"x": proto}, {"y": proto})


INSERT = model_of([("SequenceInsert", "s x", "o", {}), ("SequenceLength", "o", "n", {})], {"s": SEQUENCE, "x": FLOATS},
                  {"o": SEQUENCE, "n": helper.make_tensor_type_proto(TensorProto.INT64, [])})
ZIP = model_of([("ZipMap", "x", "z", {"classlabels_strings": ["a", "b"]})],
               {"x": helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 2])},
               {"z": helper.make_sequence_type_proto(MAP)})
LOOK_UP = model_of([("DictVectorizer", "x", "z", {"string_vocabulary": ["a", "b", "c"]})], {"x": MAP}, {"z": FLOATS})


def same(got, wanted):
    """Lists of equal arrays."""
    return len(got) == len(wanted) and all(
        g.dtype == np.asarray(w).dtype and np.array_equal(g, w) for g, w in zip(got, wanted))


def test_sequences():
    model = oxrt.Model(INSERT)
    assert [(value.name, value.type, value.shape) for value in model.inputs] == [("s", "seq(tensor(float))", None),
                                                                               ("x", "float", None)]
    assert [value.type for value in model.outputs] == ["seq(tensor(float))", "int64"]
    for given in ([A, B], (A, B), [A[::-1][::-1], B.astype(">f4")], [[1.0, 2.0], [[3]]]):
        values, count = model(given, B)
        assert isinstance(values, list) and same(values, [A, B, B]) and count == 3
    values, count = model.run({"s": [], "x": A})
    assert same(values, [A]) and count == 1


def test_items_are_copies():
    model, given = oxrt.Model(identity(SEQUENCE)), [A.copy()]
    (got,) = model(given)
    got[0] = 9
    assert given[0][0] == 1
    given[0][0] = 8
    assert got[0] == 9 and same(model([B]), [B])
    assert got.flags.owndata and got.flags.writeable


def test_texts():
    model = oxrt.Model(identity(helper.make_sequence_type_proto(TEXTS)))
    got = model([["ox", "\u00e9"], np.array(["bull"], object)])
    assert [item.tolist() for item in got] == [["ox", "\u00e9"], ["bull"]]


def test_maps():
    assert oxrt.Model(ZIP)(np.float32([[1, 2], [3, 4]])) == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]
    model = oxrt.Model(LOOK_UP)
    assert model.inputs[0].type == "map(string,tensor(float))"
    for given in ({"a": 1.5, "c": 2}, collections.OrderedDict(c=np.float32(2), a=1.5), types.MappingProxyType(
            {"c": 2.0, "a": 1.5}), {"a": 1.5, b"c": 2}):
        assert model(given).tolist() == [1.5, 0, 2]
    assert model({}).tolist() == [0, 0, 0]
    numbers = oxrt.Model(identity(helper.make_map_type_proto(TensorProto.INT64, TEXTS)))
    assert numbers({7: "ox", -2: "cow"}) == {7: "ox", -2: "cow"}


def test_optionals():
    optional = helper.make_optional_type_proto
    model = oxrt.Model(model_of([("OptionalHasElement", "x", "z", {}), ("Identity", "x", "y", {})],
                                {"x": optional(FLOATS)},
                                {"z": helper.make_tensor_type_proto(TensorProto.BOOL, None), "y": optional(FLOATS)}))
    assert model.inputs[0].type == "optional(tensor(float))"
    has, value = model(None)
    assert not has and value is None
    has, value = model(A)
    assert has and same([value], [A])
    nested = oxrt.Model(identity(optional(SEQUENCE)))
    assert nested(None) is None and nested([]) == [] and same(nested([A, B]), [A, B])


@pytest.mark.parametrize("proto, given, text", [
    (INSERT, 3, "input s: the model wants seq(tensor(float)), not <class 'int'>"),
    (INSERT, np.zeros(3, np.float32), "seq(tensor(float)), not <class 'numpy.ndarray'>"),
    (INSERT, {"a": 1}, "seq(tensor(float)), not <class 'dict'>"),
    (INSERT, None, "seq(tensor(float)), not <class 'NoneType'>"),
    (INSERT, "text", "seq(tensor(float)), not <class 'str'>"),
    (INSERT, [A, ["a"]], "input s[1]: the model wants float"),
    (INSERT, [np.int32([1])], "input s[0]: the model wants float, not an array of int32"),
    (INSERT, [[A, B]], "input s[0]"),
    (LOOK_UP, [1], "the model wants map(string,tensor(float)), not <class 'list'>"),
    (LOOK_UP, {1: 2.0}, "input x: keys: the model wants string"),
    (LOOK_UP, {"a": 1, 2: 3}, "input x: keys: element 1 is no str and no bytes: 2"),
    (LOOK_UP, {"a": "b"}, "input x[0]: the model wants float"),
    (LOOK_UP, {"a": [1, 2]}, "should be one element"),
])
def test_mistakes(proto, given, text):
    model = oxrt.Model(proto)
    others = [B] if proto is INSERT else []
    with pytest.raises(oxrt.ShapeError) as caught:
        model(given, *others)
    assert text in str(caught.value)
    right = [A] if proto is INSERT else {"a": 1}
    model(right, *others)


class Changing(list):
    """A list whose items change the list."""

    def __iter__(self):
        raise ValueError("no items")


class Clearing:
    def __init__(self, owner):
        self.owner = owner

    def __array__(self, dtype=None, copy=None):
        self.owner.clear()
        return A


def test_lists_that_change():
    model = oxrt.Model(INSERT)
    with pytest.raises(ValueError, match="no items"):
        model(Changing([A]), B)
    given = []
    given.extend([Clearing(given), B])
    assert model(given, B)[1] == 3 and given == []


def test_memory():
    """References and memory are given back."""
    model, item = oxrt.Model(INSERT), np.ones(1 << 18, np.float32)
    before = item.__sizeof__(), len(gc.get_referrers(item))
    for _ in range(2000):  # 6 GB if they stayed
        model([item, item], B)
    assert (item.__sizeof__(), len(gc.get_referrers(item))) == before


def test_threads():
    model, wrong = oxrt.Model(INSERT), []

    def work(number):
        for i in range(300):
            wanted = [np.full(k + 1, number, np.float32) for k in range(i % 4)]
            if not same(model(wanted, A)[0], [*wanted, A]):
                wrong.append((number, i))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sessions():
    session = oxrt.InferenceSession(INSERT.SerializeToString())
    assert [argument.type for argument in session.get_inputs()] == ["seq(tensor(float))", "tensor(float)"]
    values, count = session.run(None, {"s": [A], "x": B})
    assert same(values, [A, B]) and count == 2
    kept, number = session.run_with_ort_values(None, {"s": oxrt.OrtValue([A]), "x": oxrt.OrtValue(B)})
    assert kept.is_tensor_sequence() and not kept.is_tensor() and kept.has_value()
    assert kept.data_type() == "seq(tensor(float))" and number.data_type() == "tensor(int64)"
    with pytest.raises(Exception, match=r"seq\(tensor\(float\)\) is no array"):
        kept.numpy()
    again = session.run_with_ort_values(["n"], {"s": kept, "x": oxrt.OrtValue(A)})
    assert again[0].numpy() == 3
    binding = session.io_binding()
    binding.bind_ortvalue_input("s", kept)
    binding.bind_cpu_input("x", A)
    binding.bind_output("o")
    session.run_with_iobinding(binding)
    assert same(binding.copy_outputs_to_cpu()[0], [A, B, A])


def test_zip_map_as_onnxruntime_gives_it():
    runtime = pytest.importorskip("onnxruntime")
    x = np.float32([[1, 2], [3, 4]])
    wanted = runtime.InferenceSession(ZIP.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    got = oxrt.InferenceSession(ZIP.SerializeToString()).run(None, {"x": x})
    assert got == wanted and type(got[0][0]["a"]) is type(wanted[0][0]["a"])


def test_evaluator_and_backend():
    assert same(oxrt.ReferenceEvaluator(INSERT).run(None, {"s": [A], "x": B})[0], [A, B])
    node = helper.make_node("SequenceInsert", ["s", "x"], ["o"])
    assert same(backend.run_node(node, [[A], B], opset_version=18).o, [A, B])
    at = helper.make_node("SequenceAt", ["s", "i"], ["o"])
    texts = [np.array(["ox"], object), np.array(["cow", "bull"], object)]
    assert backend.run_node(at, [texts, np.int64(1)], opset_version=18).o.tolist() == ["cow", "bull"]
    has = helper.make_node("OptionalHasElement", ["x"], ["y"])
    assert not backend.run_node(has, [None], opset_version=18).y
    look = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b"])
    assert backend.run_node(look, [{"b": 2.0}], opset_version=1).y.tolist() == [0, 2]


def test_loops_that_carry_optionals():
    """A round reads an optional, and gives what is to be in it."""
    model = oxrt.Model(onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 17]>
    g (int64 m, optional(float[n]) o) => (float[n] y) <bool c = {1}, float[2] one = {1, 1}> {
      y = Loop (m, c, o) <body = round (int64 i, bool c_in, optional(float[n]) p) => (bool c_out, float[n] w) {
        c_out = Identity (c_in)
        has = OptionalHasElement (p)
        v = If (has) <then_branch = t () => (float[n] a) { a = OptionalGetElement (p) },
                      else_branch = e () => (float[n] b) { b = Identity (one) }>
        w = Add (v, one)
      }>
    }"""))
    for rounds in (1, 2, 50):
        assert model(rounds, None).tolist() == [rounds + 1] * 2
        assert model(rounds, A).tolist() == [rounds + 1, rounds + 2]
