"""products.py [--seed N] [--cases N] [--op NAME]: matrix products of ox against numpy.

Every version and type of the operators; sizes of 0 to 130 and more, all transposes, all shapes of C, batches of many
dimensions; operands with any strides, some of them initializers, which ox may arrange beforehand; each build of the
loops. What rounding may do is bounded (product_cases.py). One, two and three threads must give the same bits, and so
must packed copies of the operands, but where ox.h excepts that: floating types with one row or one column.
epilogues.py has products with elementwise nodes behind them.
"""


import arrays
import numpy as np
import oxlib
import passes
import product_cases
import tally
import trials
import values
from broadcast import element_type, make_constant, read_schemas, report, run_session, same_result
from onnx import helper
from values import pick

ISAS = [None, *oxlib.builds()]


class Model:
    """The case as a model, with some operands as initializers."""

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
        self.nodes = [helper.make_node(case.op, names, ["y"], **case.attributes)]

    def serialize(self):
        inputs = [helper.make_tensor_value_info(name, element_type(t), None) for name, t, _ in self.inputs]
        out = helper.make_tensor_value_info("y", self.kind, None)
        graph = helper.make_graph(self.nodes, "graph", inputs, [out], self.constants)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", self.case.opset)]
                                 ).SerializeToString()

    def packed(self):
        return [arrays.to_input(np.ascontiguousarray(x).reshape(np.shape(x)), t) for _, t, x in self.inputs]

    def tensors(self):
        return [arrays.to_input(values.lay_out(self.rng, np.asarray(x)), t) for _, t, x in self.inputs]


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


def depends_on_strides(case):
    """True for the products of which ox.h says that their last bits may depend on how the operands lie."""
    m_or_n = case.exact.shape[-2:] if min(np.ndim(x) for x in case.operands[:2]) > 1 else (1,)
    return 1 in m_or_n and case.out_type in ("float", "double", "float16", "bfloat16")


def strides_problem(model, data, case, isa, first):
    """What packed copies of the operands, of which `first` is the result, give in another way; None for nothing."""
    packed = run_model(data, model.packed(), [oxlib.Options(isa=isa)])[0]
    if isinstance(packed, oxlib.OxError):
        return f"packed: status {packed.status}: {packed}"
    if depends_on_strides(case):
        return judge(case, *packed)
    return None if same_result(first, packed) else f"packed operands give other bits than strided ones, isa {isa}"


def problem(rng, case):
    """What is wrong with the results of a case, None if nothing is."""
    model, isa = Model(rng, case), pick(rng, ISAS)
    data, tensors = model.serialize(), model.tensors()
    ways = {"one thread": oxlib.Options(isa=isa), "two threads": oxlib.Options(isa=isa, threads=2),
            "three threads": oxlib.Options(isa=isa, threads=3)}
    with np.errstate(all="ignore"):
        first, *others = run_model(data, tensors, ways.values())
        if isinstance(first, oxlib.OxError):
            return f"status {first.status}: {first}"
        for i, other in enumerate(others):
            if not same_result(first, other):
                return f"{list(ways)[(i + 1) // 2]} give other bits than one thread, isa {isa}{'' if i else ', run 2'}"
        return judge(case, *first) or strides_problem(model, data, case, isa, first)


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
    session.set_input(0, arrays.to_input(a, type_name))
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
    failures += [("weights", f"{t}: not laid out") for t in ("int32", "uint8") if weights_stay_as_they_lie(t)]
    report(failures)
    return tally.finish(passed, len(failures))


if __name__ == "__main__":
    raise SystemExit(main())
