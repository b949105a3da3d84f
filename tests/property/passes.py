"""passes.py: a chain of elementwise nodes gives bit for bit what its nodes give one by one.

A random graph of elementwise nodes runs three times: with its last value as the only output, so that nodes may be
computed together; so too, but with the option no_fuse; and with every value as an output, so that each is stored.
A share of the graphs runs on large operands, and once more with two threads.
"""

import arrays
import numpy as np
import oxlib
import values
from onnx import TensorProto, helper

BINARY = ["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"]
UNARY = ["Neg", "Abs", "Relu", "Identity"]
FLOAT_ONLY = ["Div", "Sigmoid", "Tanh", "Exp", "Sqrt", "Floor", "Reciprocal", "LeakyRelu", "PRelu"]
TYPES = ["float", "double", "float16", "bfloat16", "int32"]


def random_graph(rng, type_name):
    """([node], [name of every value a node makes]) over the inputs in0 to in2 and a condition."""
    ops = BINARY + UNARY + ["Where"]
    if type_name == "int32":
        ops = [op for op in ops if op not in ("Sum", "Mean")]
    else:
        ops = ops + FLOAT_ONLY
    known, nodes = ["in0", "in1", "in2"], []
    for i in range(int(rng.integers(2, 9))):
        op = ops[int(rng.integers(0, len(ops)))]
        # Recent values are preferred, so that chains get long.
        picked = [known[-1 - min(int(rng.geometric(0.5)) - 1, len(known) - 1)] for _ in range(2)]
        count = 2 if op in BINARY + ["Div", "PRelu"] else 1
        inputs = ["condition", *picked] if op == "Where" else picked[:count]
        if op == "PRelu":
            inputs[1] = "slope"
        known.append(f"v{i}")
        nodes.append(helper.make_node(op, inputs, [known[-1]], name=f"node{i}"))
    return nodes, known[3:]


def build(nodes, type_name, outputs):
    kind = TensorProto.DataType.Value(type_name.upper())
    inputs = [helper.make_tensor_value_info(f"in{i}", kind, None) for i in range(3)]
    inputs.append(helper.make_tensor_value_info("condition", TensorProto.BOOL, None))
    inputs.append(helper.make_tensor_value_info("slope", kind, None))
    wanted = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    graph = helper.make_graph(nodes, "graph", inputs, wanted)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    return model.SerializeToString()


def run_model(data, type_name, operands, index, options=None):
    model = oxlib.Model(data, options)
    try:
        session = oxlib.Session(model, options)
        try:
            for i, array in enumerate(operands):
                name = "bool" if i == 3 else type_name
                session.set_input(i, arrays.to_tensor(array, name))
            session.run()
            return arrays.from_tensor(session.output(index))[1]
        finally:
            session.close()
    finally:
        model.close()


def draw_operands(rng, type_name, large):
    dims = values.large_dims(rng) if large else values.output_dims(rng, 20000)
    shapes = [values.operand_dims(rng, dims) for _ in range(4)]
    types = [type_name] * 3 + ["bool"]
    operands = [values.lay_out(rng, values.random_values(rng, t, s)) for t, s in zip(types, shapes)]
    return operands + [values.random_values(rng, type_name, [])]


def one_nan(array):
    """The array with every NaN the same: which of two NaN an operation passes on depends on the compiler's loops."""
    return np.where(array != array, np.array(np.nan, array.dtype), array) if array.dtype.kind in "fV" else array


def same_bits(a, b):
    return a.shape == b.shape and np.array_equal(np.ascontiguousarray(a).reshape(-1).view(np.uint8),
                                                 np.ascontiguousarray(b).reshape(-1).view(np.uint8))


def run(rng, cases, harness):
    """Adds the cases to harness.passed and harness.failures."""
    for _ in range(cases):
        type_name = TYPES[int(rng.integers(0, len(TYPES)))]
        nodes, made = random_graph(rng, type_name)
        large = bool(rng.random() < 0.1)
        operands = draw_operands(rng, type_name, large)
        text = " ".join(f"{n.output[0]}={n.op_type}({','.join(n.input)})" for n in nodes)
        where = f"pass {type_name} {[list(x.shape) for x in operands]} {text}"
        try:
            alone = build(nodes, type_name, made[-1:])
            fused = run_model(alone, type_name, operands, 0)
            unfused = run_model(alone, type_name, operands, 0, oxlib.Options(no_fuse=True))
            stored = run_model(build(nodes, type_name, made), type_name, operands, len(made) - 1)
            split = run_model(alone, type_name, operands, 0, oxlib.Options(threads=2)) if large else fused
        except oxlib.OxError as error:
            harness.failures.append(("pass", f"{where}: status {error.status}: {error}"))
            continue
        if not same_bits(one_nan(fused), one_nan(unfused)):
            harness.failures.append(("pass", f"{where}: differs from the nodes one by one"))
        elif not same_bits(one_nan(fused), one_nan(split)):
            harness.failures.append(("pass", f"{where}: differs with two threads"))
        elif not same_bits(one_nan(fused), one_nan(stored)):
            harness.failures.append(("pass", f"{where}: differs when every value is an output"))
        else:
            harness.passed += 1
