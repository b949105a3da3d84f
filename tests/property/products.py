"""products.py [--seed N] [--cases N] [--op NAME]: matrix products of ox against numpy.

Every version and type of the operators; sizes of 0 to 130 and more, all transposes, all shapes of C, batches of many
dimensions; operands with any strides, some of them initializers, which ox may arrange beforehand; each build of the
loops. What rounding may do is bounded (product_cases.py). One, two and three threads must give the same bits, and so
must a product with elementwise nodes behind it, fused or one by one.
"""


import arrays
import numpy as np
import oxlib
import passes
import product_cases
import trials
import values
from broadcast import element_type, make_constant, read_schemas, report, run_session, same_result
from onnx import helper
from values import pick

TAILS = [["Relu"], ["PRelu"], ["Add"], ["Add", "Relu"], ["Sigmoid"], ["Mul", "Add", "PRelu"], ["Neg", "Abs"]]
TAILS_OF_INTEGERS = [["Add"], ["Mul", "Add"], ["PRelu"]]
ISAS = [None, b"base", b"v3", b"v4"]


class Model:
    """The case as a model, with some operands as initializers and perhaps elementwise nodes behind it."""

    TAILED = ("float", "double", "float16", "bfloat16", "int32", "int64", "uint32", "uint64")  # the types of PRelu

    def __init__(self, rng, case):
        self.rng, self.case = rng, case
        self.kind = element_type(case.out_type)
        names = ["" if x is None else f"in{i}" for i, x in enumerate(case.operands)]
        self.constants, self.inputs = [], []
        for name, type_name, array in zip(names, case.types, case.operands):
            if name and rng.random() < 0.4:
                self.constants.append(make_constant(name, type_name, array))
            elif name:
                self.inputs.append((name, type_name, array))
        out = "y" if not self.wants_tail() else "t0"
        self.nodes = [helper.make_node(case.op, names, [out], **case.attributes)]
        self.tail = out != "y"
        if self.tail:
            self.add_tail()

    def wants_tail(self):
        return self.case.opset >= 16 and self.case.out_type in self.TAILED and self.rng.random() < 0.3

    def add_tail(self):
        dims = self.case.exact.shape
        tails = TAILS if product_cases.is_float(self.case.out_type) else TAILS_OF_INTEGERS
        ops = pick(self.rng, tails)
        for i, op in enumerate(ops):
            made = "y" if i == len(ops) - 1 else f"t{i + 1}"
            operands = [f"t{i}"]
            if op in ("Add", "Mul", "PRelu"):
                operands.append(f"e{i}")
                array = values.random_values(self.rng, self.case.out_type, values.operand_dims(self.rng, dims), True)
                self.inputs.append((operands[1], self.case.out_type, array))
            self.nodes.append(helper.make_node(op, operands, [made]))

    def serialize(self, outputs=("y",)):
        inputs = [helper.make_tensor_value_info(name, element_type(t), None) for name, t, _ in self.inputs]
        outs = [helper.make_tensor_value_info(name, self.kind, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "graph", inputs, outs, self.constants)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", self.case.opset)]
                                 ).SerializeToString()

    def tensors(self):
        return [arrays.to_tensor(values.lay_out(self.rng, np.asarray(x)), t) for _, t, x in self.inputs]


def run_model(data, tensors, options):
    """[the result of each of the options], errors among them."""
    results, model = [], oxlib.Model(data)
    try:
        for option in options:
            session = oxlib.Session(model, option)
            results.append(run_session(session, tensors))
            results.append(run_session(session, tensors))
            session.close()
    finally:
        model.close()
    return results


def problem(rng, case):
    """What is wrong with the results of a case, None if nothing is."""
    model, isa = Model(rng, case), pick(rng, ISAS)
    data, tensors = model.serialize(), model.tensors()
    ways = {"one thread": oxlib.Options(isa=isa), "two threads": oxlib.Options(isa=isa, threads=2),
            "three threads": oxlib.Options(isa=isa, threads=3),
            "nodes one by one": oxlib.Options(isa=isa, no_fuse=True)}
    with np.errstate(all="ignore"):
        first, *others = run_model(data, tensors, ways.values())
        if isinstance(first, oxlib.OxError):
            return f"status {first.status}: {first}"
        for i, other in enumerate(others):
            if not same_result(first, other):
                return f"{list(ways)[(i + 1) // 2]} give other bits than one thread, isa {isa}{'' if i else ', run 2'}"
        if model.tail:
            stored, = run_model(model.serialize(("y", "t0")), tensors, [oxlib.Options(isa=isa)])[:1]
            return None if same_result(first, stored) else f"differs when the product is an output too, isa {isa}"
        return judge(case, *first)


def judge(case, type_name, array):
    if type_name != case.out_type:
        return f"type {type_name} instead of {case.out_type}"
    if array.shape != case.exact.shape:
        return f"shape {list(array.shape)} instead of {list(case.exact.shape)}"
    index = product_cases.wrong_element(case, array)
    if index is None:
        return None
    bound = "" if case.bound is None else f", which may be off by {case.bound[index]:.3g}"
    return f"at {list(index)}: {array[index]!r} instead of {case.exact[index]!r}{bound}"


def weights_stay_as_they_lie(type_name):
    """True if a session without limits does not lay weights out once, for all of its runs."""
    dims, kind = [70, 70], arrays.DTYPES[type_name][1]
    a, b = np.ones(dims, kind), np.ones(dims, kind)
    inputs = [helper.make_tensor_value_info("a", element_type(type_name), dims)]
    node = helper.make_node("MatMul" if type_name == "int32" else "MatMulInteger", ["a", "b"], ["y"])
    out = helper.make_tensor_value_info("y", element_type("int32"), dims)
    graph = helper.make_graph([node], "graph", inputs, [out], [make_constant("b", type_name, b)])
    model = oxlib.Model(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]
                                          ).SerializeToString())
    session = oxlib.Session(model)
    session.set_input(0, arrays.to_tensor(a, type_name))
    session.run()
    laid_out = session.memory().weight_bytes
    session.close()
    model.close()
    return laid_out < b.nbytes


def main():
    options, rng = trials.begin(2500, "--op")
    rows = [row for row in read_schemas(product_cases.DRAWERS) if options.op in (None, row[0])]
    passed, failures = 0, []
    for turn in range(options.cases):
        case = product_cases.draw(rng, rows[turn % len(rows)])
        try:
            text = problem(rng, case)
        except oxlib.OxError as error:
            text = f"status {error.status}: {error}"
        if text:
            failures.append((case.op, f"{case.describe()}: {text}"))
        else:
            passed += 1
    # A build with a BLAS reads weights of floats as they lie.
    failures += [("weights", f"{t}: not laid out") for t in ("int32", "uint8") if weights_stay_as_they_lie(t)]
    report(failures)
    print(f"{passed} passed, {len(failures)} failed, 0 skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
