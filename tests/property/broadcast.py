"""broadcast.py [--seed N] [--cases N] [--op NAME]: ox against numpy on random broadcasting problems.

Every version and element type that ONNX's schemas give for the broadcasting operators; shapes of rank 0 to 8 with
zeros and ones; inputs with any strides and alignment, as initializers, twice the same; several shapes through one
session, a share of them also through one with two threads, which must give the same bits; shapes that do not fit and
divisions by zero, which must be errors of the right kind. Then passes.py, reductions.py, dynamic.py and sized.py.
"""

import sys

import arrays
import draw
import dynamic
import numpy as np
import onnx
import oxlib
import passes
import reductions
import reference
import sized
import tally
import trials
import values
from onnx import TensorProto, helper
from values import pick

DRAWERS = {
    "Pow": draw.draw_pow, "Where": draw.draw_where, "PRelu": draw.draw_prelu, "Gemm": draw.draw_gemm,
    "MatMul": draw.draw_matmul, "BitShift": draw.draw_shift, "Clip": draw.draw_clip, "Expand": draw.draw_expand,
    "Max": draw.draw_variadic, "Min": draw.draw_variadic, "Sum": draw.draw_variadic, "Mean": draw.draw_variadic,
}
BINARY = ["Add", "Sub", "Mul", "Div", "Mod", "And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual",
          "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor"]
LEGACY = ["Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"]
COMPARISONS = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]


def read_schemas(ops):
    """[(op, since, until, types by the name of their set, names of attributes)] of every version of the operators."""
    rows = []
    for op in ops:
        history = [s for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""]
        history.sort(key=lambda s: s.since_version)
        ends = [s.since_version - 1 for s in history[1:]] + [onnx.defs.onnx_opset_version()]
        for schema, end in zip(history, ends):
            types = {c.type_param_str: [t[len("tensor("):-1] for t in c.allowed_type_strs]
                     for c in schema.type_constraints}
            rows.append((op, schema.since_version, end, types, set(schema.attributes)))
    return rows


class Scenario:
    """An operator in a version with types and attributes, and the model made of it."""

    def __init__(self, rng, row):
        self.op, self.since, until, types, names = row
        self.opset = int(rng.integers(self.since, until + 1))
        self.alias = False
        main = pick(rng, types["T"])
        self.types = self.choose_types(rng, main, types)
        self.attributes = self.choose_attributes(rng, names)
        self.given = [bool(rng.random() < 0.7) for _ in range(2)]
        self.draw = self.choose_drawer(rng)
        self.dtypes = [arrays.DTYPES[t][1] for t in self.types]
        self.output_type = "bool" if self.op in COMPARISONS else self.types[1] if self.op == "Where" else self.types[0]

    def choose_types(self, rng, main, types):
        if self.op in ("Max", "Min", "Sum", "Mean"):
            return [main] * int(rng.integers(1, 6))
        if self.op == "Where":
            return ["bool", main, main]
        if self.op == "Expand":
            return [main, "int64"]
        if self.op == "Clip":
            return [main] * (1 if self.since < 11 else 3)
        if self.op == "Gemm":
            return [main] * (2 if self.since >= 11 and rng.random() < 0.3 else 3)
        if self.op == "Pow" and "T1" in types:
            return [main, pick(rng, types["T1"])]
        return [main, main]

    def choose_attributes(self, rng, names):
        result = {}
        if "consumed_inputs" in names and rng.random() < 0.3:
            result["consumed_inputs"] = [0] * len(self.types)
        if self.op == "Gemm":
            numbers = [1.0, 2.0] if self.dtypes_are_integers() else [1.0, 2.0, 0.5, -1.0]
            result.update({"alpha": pick(rng, numbers), "beta": pick(rng, numbers)})
            result.update({"transA": int(rng.integers(0, 2)), "transB": int(rng.integers(0, 2))})
        elif self.op == "Mod":
            result["fmod"] = int(rng.integers(0, 2))
            if not self.dtypes_are_integers() and self.since < 28:
                result["fmod"] = 1
        elif self.op == "BitShift":
            result["direction"] = pick(rng, ["LEFT", "RIGHT"])
        elif self.op == "Clip" and self.since < 11:
            result.update({n: v for n, v in (("min", -3.0), ("max", 4.5)) if rng.random() < 0.7})
        if "broadcast" in names:
            result["broadcast"] = int(rng.random() < 0.8)
            if "axis" in names and result["broadcast"] and rng.random() < 0.5:
                result["axis"] = int(rng.integers(0, 4))
        return result

    def dtypes_are_integers(self):
        return arrays.DTYPES[self.types[0]][1].kind in "iu"

    def choose_drawer(self, rng):
        if self.op in LEGACY and self.since < 7:
            return draw.draw_legacy
        if self.op in BINARY and rng.random() < 0.04:
            self.alias = True
            self.types = self.types[:1]
            return draw.draw_alias
        return DRAWERS.get(self.op, draw.draw_binary)

    def build(self, rng, operands, stated):
        """The serialized model. stated: the inputs have the shapes and some of the values of these operands."""
        names = ["" if x is None else f"in{i}" for i, x in enumerate(operands)]
        inputs, constants = [], []
        for name, type_name, array in zip(names, self.types, operands):
            if name and stated and rng.random() < 0.3 and array.size < 1000:
                constants.append(make_constant(name, type_name, array))
            elif name:
                inputs.append(helper.make_tensor_value_info(name, element_type(type_name),
                                                            stated_dims(rng, name, array, stated)))
        node = helper.make_node(self.op, names * 2 if self.alias else names, ["out"], name="node", **self.attributes)
        output = helper.make_tensor_value_info("out", element_type(self.output_type), None)
        graph = helper.make_graph([node], "graph", inputs, [output], constants)
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", self.opset)])
        given = {info.name for info in inputs}
        return model.SerializeToString(), [i for i, name in enumerate(names) if name in given]

    def describe(self, operands):
        shapes = ", ".join("-" if x is None else f"{t}{list(x.shape)}" for t, x in zip(self.types, operands))
        return f"{self.op} opset {self.opset} {self.attributes or ''} on {shapes}"


def element_type(type_name):
    return TensorProto.DataType.Value(type_name.upper())


def make_constant(name, type_name, array):
    if type_name == "string":
        return helper.make_tensor(name, TensorProto.STRING, array.shape, arrays.texts_of(array).reshape(-1).tolist())
    return onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def stated_dims(rng, name, array, stated):
    kind = rng.random()
    if kind < 0.3:
        return None
    if not stated:
        return None
    return [d if kind < 0.7 else f"{name}_{i}" for i, d in enumerate(array.shape)]


class Harness:
    def __init__(self, rng):
        self.rng = rng
        self.passed, self.failures = 0, []

    def scenario(self, row):
        """One to three cases through one session; the first once more at the end."""
        scenario = Scenario(self.rng, row)
        stated = self.rng.random() < 0.5
        drawn = [scenario.draw(self.rng, scenario) for _ in range(1 if stated else 3)]
        if not stated:
            drawn.append(drawn[0])
        data, places = scenario.build(self.rng, drawn[0][0], stated)
        model, sessions = None, []
        try:
            try:
                model = oxlib.Model(data)
                sessions.append(oxlib.Session(model))
                if self.rng.random() < 0.1 or any(is_large(expected) for _, expected in drawn):
                    sessions.append(oxlib.Session(model, oxlib.Options(threads=2)))
            except oxlib.OxError as error:
                self.judge(scenario, *drawn[0], error)
                return
            for operands, expected in drawn:
                self.case(scenario, sessions, places, operands, expected)
        finally:
            for session in sessions:
                session.close()
            if model:
                model.close()

    def case(self, scenario, sessions, places, operands, expected):
        inputs = [arrays.to_input(values.lay_out(self.rng, np.asarray(operands[place])), scenario.types[place])
                  for place in places]
        results = [run_session(session, inputs) for session in sessions]
        if len(results) == 1 or same_result(*results):
            self.judge(scenario, operands, expected, results[0])
        else:
            self.failures.append((scenario.op, f"{scenario.describe(operands)}: differs with two threads"))

    def judge(self, scenario, operands, expected, result):
        problem = self.problem(scenario, operands, expected, result)
        if problem:
            self.failures.append((scenario.op, f"{scenario.describe(operands)}: {problem}"))
        else:
            self.passed += 1

    def problem(self, scenario, operands, expected, result):
        if isinstance(result, oxlib.OxError):
            if isinstance(expected, int) and result.status == expected:
                return None
            return f"status {result.status}: {result}"
        if isinstance(expected, int):
            return f"gave a result instead of status {expected}"
        type_name, array = result
        if type_name != scenario.output_type:
            return f"type {type_name} instead of {scenario.output_type}"
        if array.shape != expected.shape:
            return f"shape {list(array.shape)} instead of {list(expected.shape)}"
        scale = sum_of_sizes(operands) if scenario.op == "Mean" else 0
        with np.errstate(all="ignore"):
            index = reference.difference(scenario.op, type_name, expected, array, scale)
        return None if index is None else f"at {list(index)}: {array[index]!r} instead of {expected[index]!r}"


def run_session(session, inputs):
    """(type name, array) of the output, or the error."""
    try:
        for index, tensor in enumerate(inputs):
            session.set_input(index, tensor)
        session.run()
        return arrays.from_tensor(session.output(0))
    except oxlib.OxError as error:
        return error


def is_large(expected):
    return not isinstance(expected, int) and expected.size >= 30000


def same_result(one, other):
    if isinstance(one, oxlib.OxError) or isinstance(other, oxlib.OxError):
        return str(one) == str(other)
    (type_name, a), (other_name, b) = one, other
    if type_name != "string":
        a, b = passes.one_nan(a), passes.one_nan(b)
    return type_name == other_name and passes.same_bits(a, b)


def sum_of_sizes(operands):
    total = 0
    for operand in operands:
        total = total + np.abs(operand.astype(np.float64))
    return total


def report(failures):
    for _, text in failures[:25]:
        print(text)
    ops = {}
    for op, _ in failures:
        ops[op] = ops.get(op, 0) + 1
    if ops:
        print("failures by operator:", ", ".join(f"{op} {n}" for op, n in sorted(ops.items())))


def main():
    options, rng = trials.begin(6000, "--op")
    harness = Harness(rng)
    rows = [row for row in read_schemas([*BINARY, *DRAWERS]) if options.op in (None, row[0])]
    turn = 0
    while harness.passed + len(harness.failures) < options.cases:
        harness.scenario(rows[turn % len(rows)])
        turn += 1
    if options.op is None:
        passes.run(rng, options.cases // 10, harness)
        reductions.run(rng, options.cases // 10, harness)
        dynamic.run(rng, options.cases // 50, harness)
        sized.run(rng, options.cases // 100, harness)
    report(harness.failures)
    return tally.finish(harness.passed, len(harness.failures))


if __name__ == "__main__":
    sys.exit(main())
