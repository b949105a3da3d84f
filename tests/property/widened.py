"""widened.py [--seed N] [--cases N]: random networks of floats of 16 bits under ox_options.float16_sums, against the same
networks written in floats, bit for bit: initializers are widened, inputs and results of 16 bits that a node's attribute asks
for are cast to float, outputs are cast back. Convolutions and encoders, and behind them what has a type of its own: Cast,
Constant, ConstantOfShape, RandomNormal, branches and loops that capture, functions, outputs that are inputs or
initializers. Then what the option refuses."""

import re
import sys

import arrays
import ml_dtypes
import numpy as np
import onnx
import oxlib
import saved
import tally
import trials
from onnx import TensorProto, helper, numpy_helper

SHORT = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}
TYPE_NAMES = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16", TensorProto.FLOAT: "float"}
KINDS = {np.dtype(np.float32): "float", np.dtype(np.float16): "float16", np.dtype(bool): "bool", np.dtype(np.int8): "int8"}


def tensor(array, kind, name=""):
    """A tensor of 16 bits, or the floats that its elements are."""
    short = np.asarray(array).astype(SHORT[kind])
    return helper.make_tensor(name, kind, short.shape, short.view(np.uint16).tobytes(), raw=True)


def as_floats(proto):
    kind = SHORT.get(proto.data_type)
    if not kind:
        return proto
    values = np.frombuffer(proto.raw_data, kind).reshape(proto.dims).astype(np.float32)
    return numpy_helper.from_array(values, proto.name)


# ---- Networks of 16 bits ----------------------------------------------------------------------------------------------

def info(name, kind, rank):
    return helper.make_tensor_value_info(name, kind, [None] * rank)


def branches(g, x, kind, rank):
    """If, whose branches read x, a value of their own and an initializer of the graph around them."""
    shared = g.keep(np.float32(g.rng.normal()))
    which = g.node("Greater", [g.node("ReduceMax", [x], keepdims=0), shared])
    bodies = []
    for op in ("Mul", "Add"):
        nodes = [helper.make_node(op, [x, "own"], ["h"]), helper.make_node("Sub", ["h", shared], ["out"])]
        bodies.append(helper.make_graph(nodes, "branch", [], [info("out", kind, rank)], [tensor(g.rng.normal(), kind, "own")]))
    return g.node("If", [which], then_branch=bodies[0], else_branch=bodies[1])


def rounds(g, x, kind, rank):
    """Loop with a state, which it also stacks."""
    factor = g.keep(np.float32(g.rng.uniform(0.5, 1.5)))
    nodes = [helper.make_node("Mul", ["state", factor], ["h"]), helper.make_node("Cast", ["h"], ["rounded"], to=kind),
             helper.make_node("Identity", ["going"], ["goes_on"]), helper.make_node("Identity", ["h"], ["stacked"])]
    ends = [info("i", TensorProto.INT64, 0), info("going", TensorProto.BOOL, 0), info("state", kind, rank)]
    results = [info("goes_on", TensorProto.BOOL, 0), info("rounded", kind, rank), info("stacked", kind, rank)]
    body = helper.make_graph(nodes, "body", ends, results)
    count = g.keep(np.array(g.number(0, 3)))
    name, all_of_them = g.name(), g.name() + "_stacked"
    g.nodes.append(helper.make_node("Loop", [count, "", x], [name, all_of_them], name + "_node", body=body))
    return g.node("Add", [name, g.node("ReduceSum", [all_of_them, g.keep(np.array([0]))], keepdims=0)])


def decorated(g, x, kind, rank):
    """What the network's result goes through, which has types of its own."""
    way = str(g.rng.choice(["cast", "constant", "fill", "random", "branches", "rounds", "function", "shape", "none"]))
    one = tensor([g.rng.normal()], kind)
    if way == "cast":
        return g.node("Cast", [g.node("Cast", [x], to=int(g.rng.choice([TensorProto.INT32, TensorProto.DOUBLE, kind])))], to=kind)
    if way == "constant":
        return g.node("Mul", [x, g.node("Constant", [], value=one)])
    if way == "fill":
        return g.node("Add", [x, g.node("ConstantOfShape", [g.node("Shape", [x])], value=one)])
    if way == "random":
        return g.node("Add", [x, g.node("RandomNormal", [], shape=[1], seed=float(g.number(0, 99)), dtype=kind)])
    if way == "branches":
        return branches(g, x, kind, rank)
    if way == "rounds":
        return rounds(g, x, kind, rank)
    if way == "function":
        return g.node("Shifted", [x], domain="own")
    return g.node("Mul", [x, g.node("Cast", [g.node("Size", [x])], to=kind)]) if way == "shape" else x


def function(kind, value):
    nodes = [helper.make_node("Constant", [], ["c"], value=tensor(value, kind)), helper.make_node("Add", ["a", "c"], ["s"]),
             helper.make_node("Tanh", ["s"], ["b"])]
    return helper.make_function("own", "Shifted", ["a"], ["b"], nodes, [helper.make_opsetid("", 17)])


def draw(rng, turn):
    """A model of 16 bits, and its inputs."""
    kind = int(rng.choice(list(SHORT)))
    g = saved.Network(rng)
    conv = turn % 3
    x = saved.convolutional(g) if conv else saved.encoder(g)
    model = onnx.ModelProto.FromString(g.model([x]))
    rank = run(model, g.inputs, threads=1)[0].ndim
    for _ in range(g.number(0, 3)):
        x = decorated(g, x, kind, rank)
    outputs = {x: rank}
    if g.chance(0.3):
        outputs[next(iter(g.inputs))] = None
    if g.chance(0.3):
        outputs[g.kept[0].name] = None
    if g.chance(0.3):
        outputs[g.nodes[len(g.nodes) // 2].output[0]] = None
    kept = [tensor(numpy_helper.to_array(t), kind, t.name) if t.data_type == TensorProto.FLOAT and not is_scales(g, t.name)
            else t for t in g.kept]
    graph = helper.make_graph(g.nodes, "graph", [helper.make_tensor_value_info(name, kind, None) for name in g.inputs],
                              [helper.make_tensor_value_info(name, kind_of(g, kept, name, kind), None) for name in outputs], kept)
    if g.chance(0.2):  # as files of old versions: initializers are inputs, too
        graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in kept[:3])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, ir_version=10, opset_imports=imports, functions=[function(kind, rng.normal())])
    return model, {name: value.astype(SHORT[kind]) for name, value in g.inputs.items()}


def is_scales(g, name):
    """Resize's scales are floats."""
    return any(node.op_type == "Resize" and name in node.input[2:] for node in g.nodes)


def kind_of(g, kept, name, kind):
    """The type of an output: that of an initializer, of a node that gives another type, or of floats."""
    types = {t.name: t.data_type for t in kept}
    node = next((node for node in g.nodes if name in node.output), None)
    if node and node.op_type in ("Shape", "Size"):
        return TensorProto.INT64
    if node and node.op_type == "Greater":
        return TensorProto.BOOL
    if node and node.op_type == "Cast":
        return next(a.i for a in node.attribute if a.name == "to")
    return types.get(name, kind)


# ---- The same in floats -----------------------------------------------------------------------------------------------

class Floats:
    def __init__(self):
        self.count = 0

    def attributes(self, node):
        """Whether one of them asks for 16 bits; what they hold becomes floats."""
        asks = False
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                attribute.t.CopyFrom(as_floats(attribute.t))
            elif attribute.type == onnx.AttributeProto.GRAPH:
                self.graph(attribute.g)
            elif attribute.name in ("to", "dtype") and attribute.i in SHORT:
                asks = True
        return asks

    def cast(self, source, target, kind):
        return helper.make_node("Cast", [source], [target], to=kind)

    def nodes(self, nodes):
        written = []
        for node in nodes:
            written.append(node)
            if self.attributes(node):
                self.count += 1
                wanted, node.output[0] = node.output[0], f"rounded_{self.count}"
                written.append(self.cast(node.output[0], wanted, TensorProto.FLOAT))
        return written

    def graph(self, graph):
        nodes = self.nodes(list(graph.node))
        del graph.node[:]
        graph.node.extend(nodes)
        for t in graph.initializer:
            t.CopyFrom(as_floats(t))
        for value in [*graph.input, *graph.output, *graph.value_info]:
            if value.type.tensor_type.elem_type in SHORT:
                value.type.tensor_type.elem_type = TensorProto.FLOAT


def in_floats(model):
    """The same model in floats; types of its outputs are left to who compares."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    floats = Floats()
    floats.graph(made.graph)
    for function_ in made.functions:
        nodes = floats.nodes(list(function_.node))
        del function_.node[:]
        function_.node.extend(nodes)
    return made


def run(model, inputs, load=None, **options):
    handle = oxlib.Model(model.SerializeToString(), load)
    try:
        session = oxlib.Session(handle, oxlib.Options(**options))
        try:
            for i, value in enumerate(model.graph.input):
                if value.name in inputs:
                    kind = KINDS.get(inputs[value.name].dtype, "bfloat16")
                    session.set_input(i, arrays.to_input(inputs[value.name], kind))
            session.run()
            return [arrays.from_tensor(session.output(k))[1].copy()
                    for k in range(oxlib.library.ox_model_output_count(handle.handle))]
        finally:
            session.close()
    finally:
        handle.close()


def narrowed(found, value):
    kind = SHORT.get(value.type.tensor_type.elem_type)
    with np.errstate(over="ignore"):
        return found.astype(kind) if kind else found


def same(a, b):
    with np.errstate(invalid="ignore"):
        nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64)) if a.dtype.kind in "fV" else False
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    size = np.uint16 if a.dtype.itemsize == 2 else np.uint8
    return bool(np.all((np.ascontiguousarray(a).view(size).reshape(a.shape) == np.ascontiguousarray(b).view(size).reshape(b.shape))
                       | nan)) if a.dtype.itemsize == 2 else a.tobytes() == b.tobytes()


def case(rng, turn):
    model, inputs = draw(rng, turn)
    sums = oxlib.Options(float16_sums=True)
    options = [{"threads": 1}, {"threads": 3}, {"threads": 1, "no_fuse": True}, {"threads": 1, "check": True}][turn % 4]
    try:
        found = run(model, inputs, sums, **options)
        right = run(in_floats(model), {name: value.astype(np.float32) for name, value in inputs.items()}, None, **options)
    except oxlib.OxError as error:
        return f"{turn}: {error}"
    for value, got, wanted in zip(model.graph.output, found, right, strict=True):
        if not same(got, narrowed(wanted, value)):
            return f"{turn}: output {value.name} differs: {[n.op_type for n in model.graph.node]}"
    return None


# ---- What is refused --------------------------------------------------------------------------------------------------

def refusals():
    half = TensorProto.FLOAT16
    stated, open_ = helper.make_tensor_value_info("x", half, [2]), helper.make_empty_tensor_value_info("x")
    y = helper.make_tensor_value_info("y", half, None)
    items = helper.make_tensor_sequence_value_info("y", half, None)
    bits = helper.make_tensor_value_info("y", TensorProto.INT16, None)
    node = helper.make_node
    for nodes, ends, text in (
            ([node("Neg", ["x"], ["y"])], (open_, y), "does not state the type of its input 'x'"),
            ([node("Neg", ["x"], ["y"])], (stated, helper.make_empty_tensor_value_info("y")), "the type of its output 'y'"),
            ([node("SequenceConstruct", ["x"], ["y"])], (stated, items), "output 'y' is of type seq(tensor(float16))"),
            ([node("SequenceEmpty", [], ["s"], "a", dtype=half), node("SequenceInsert", ["s", "x"], ["t"]),
              node("SequenceAt", ["t", "k"], ["y"])], (stated, y), "node 'a' (SequenceEmpty) has an output of 16-bit floats"),
            ([node("BitCast", ["x"], ["y"], "b", to=TensorProto.INT16)], (stated, bits), "node 'b' (BitCast) reads bits")):
        graph = helper.make_graph(nodes, "graph", [ends[0]], [ends[1]], [numpy_helper.from_array(np.array(0), "k")])
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 26 if len(nodes) == 1 and
                                                                                        nodes[0].op_type == "BitCast" else 17)])
        try:
            oxlib.Model(model.SerializeToString(), oxlib.Options(float16_sums=True)).close()
            tally.check(text, False, "is loaded")
        except oxlib.OxError as error:
            tally.check(text, text in str(error), str(error))


def mixed():
    """Graphs that mix types: the errors of a session without the option, which floats in place of 16 bits would hide."""
    half, single = TensorProto.FLOAT16, TensorProto.FLOAT
    node = helper.make_node
    def ends(kinds):
        return [helper.make_tensor_value_info(name, kind, [2]) for name, kind in kinds.items()]
    body = helper.make_graph([node("Mul", ["i", "x"], ["t"], "in the branch")], "body", [], ends({"t": single}))
    same = "must have the same type: Cast one of them"
    for title, nodes, inputs, y, text in (
            ("an input", [node("Add", ["x", "z"], ["y"])], {"x": half, "z": single}, half, same),
            ("types of 16 bits", [node("Add", ["x", "z"], ["y"])], {"x": half, "z": TensorProto.BFLOAT16}, half, same),
            ("an initializer", [node("Mul", ["x", "h"], ["y"])], {"x": single}, single, same),
            ("a constant", [node("Constant", [], ["c"], value=tensor([1], half)), node("Sub", ["x", "c"], ["y"])],
             {"x": single}, single, same),
            ("a cast", [node("Cast", ["x"], ["c"], to=half), node("Div", ["c", "x"], ["y"])], {"x": single}, single, same),
            ("a result of other nodes", [node("Exp", ["x"], ["a"]), node("Neg", ["z"], ["b"]), node("Concat", ["a", "b"], ["y"], axis=0)],
             {"x": half, "z": single}, half, "must have the same type"),
            ("a branch", [node("If", ["b"], ["y"], then_branch=body, else_branch=body)], {"x": half, "i": single, "b": TensorProto.BOOL},
             single, same),
            ("an output", [node("Neg", ["x"], ["y"])], {"x": single}, half, "is of type float, but the model states float16"),
            ("an output of floats", [node("Neg", ["x"], ["y"])], {"x": half}, single, "is of type float16, but the model states float")):
        graph = helper.make_graph(nodes, "graph", ends(inputs), ends({"y": y}), [tensor([1], half, "h")])
        for value in graph.input:
            if value.name == "b":
                del value.type.tensor_type.shape.dim[:]
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
        types = {**SHORT, single: np.float32, TensorProto.BOOL: bool}
        given = {name: np.ones([2] if name != "b" else [], types[kind]) for name, kind in inputs.items()}
        said = []
        for load in (None, oxlib.Options(float16_sums=True)):
            try:
                run(model, given, load, threads=1)
                said.append("runs")
            except oxlib.OxError as error:
                said.append(str(error))
        tally.check(f"mixed: {title}", text in said[0] and said[0] == re.sub("#[0-9]'", "'", said[1]), said)


def stated():
    """Values that go where others take the place of their nodes: the model states another type of them than they have there."""
    half, single = TensorProto.FLOAT16, TensorProto.FLOAT
    for title, scale, kind, text in (
            ("a half that is a float", single, half, "'d', is of type float, but the model states float16"),
            ("a float that is a half", half, single, "'d', is of type float16, but the model states float"),
            ("a half", half, half, None), ("a float", single, single, None)):
        nodes = [helper.make_node("DequantizeLinear", ["x", "s"], ["d"]), helper.make_node("Relu", ["d"], ["r"]),
                 helper.make_node("QuantizeLinear", ["r", "s", "z"], ["y"])]
        values = [helper.make_tensor_value_info(name, TensorProto.INT8, [2]) for name in "xy"]
        scales = tensor(0.5, half, "s") if scale == half else numpy_helper.from_array(np.array(0.5, np.float32), "s")
        graph = helper.make_graph(nodes, "graph", values[:1], values[1:], [scales, numpy_helper.from_array(np.array(3, np.int8), "z")],
                                  value_info=[helper.make_tensor_value_info(name, kind, [2]) for name in "dr"])
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
        try:
            run(model, {"x": np.ones(2, np.int8)}, oxlib.Options(float16_sums=True), threads=1)
            said = None
        except oxlib.OxError as error:
            said = str(error)
        tally.check(f"stated: {title}", said is None if text is None else text in (said or ""), said)


def main():
    asked = trials.parse(120)  # a loaded model has no place for constants in place of inputs
    rng = np.random.default_rng(asked.seed)
    failures = [text for text in (case(rng, turn) for turn in range(asked.cases)) if text]
    for text in failures[:25]:
        print(text)
    refusals()
    mixed()
    stated()
    passed = asked.cases - len(failures)
    return tally.finish(passed + tally.counts[True], len(failures))


if __name__ == "__main__":
    sys.exit(main())
