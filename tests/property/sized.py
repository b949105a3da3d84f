"""sized.py: constants that nodes make of the shape of an input. A model sees one length after the other, in one session and
in a new session each.

What was computed for one length must not serve another one: neither in other sessions, nor in subgraphs that read it.
"""

import arrays
import numpy as np
import onnx.parser
import oxlib

ROWS, COLUMNS = 40, 24

# Rows of a weight, as many as x has; nodes make a constant of them when a plan is made.
ROWS_OF_A_WEIGHT = """
    some = Slice(table, zero, n)
    picked = {}
    y = Add(x, picked)"""

# A subgraph reads numbers that are made of the length.
IN_A_BRANCH = """
    one = Cast<to=1>(n)
    both = Mul(one, two)
    added = If(yes) <then_branch = a () => (float[1] p) { p = Add(both, one) },
                     else_branch = b () => (float[1] q) { q = Neg(both) }>
    y = Add(x, added)"""
IN_A_LOOP = """
    one = Cast<to=1>(n)
    added = Loop(three, yes, two) <body = a (int64 i, bool go_on, float[1] v) => (bool goes_on, float[1] w) {
        goes_on = Identity(go_on)
        square = Mul(one, one)
        w = Add(v, square) }>
    y = Add(x, added)"""

# Nodes, and what is added to x [n, COLUMNS].
FORMS = [
    (ROWS_OF_A_WEIGHT.format("Neg(some)"), lambda table, n: -table[:n]),
    (ROWS_OF_A_WEIGHT.format("Mul(some, two)"), lambda table, n: 2 * table[:n]),
    (ROWS_OF_A_WEIGHT.format("Identity(some)"), lambda table, n: table[:n]),
    (ROWS_OF_A_WEIGHT.format("Gather<axis=0>(table, back)").replace("some =", "back = Slice(order, zero, n)\n    some ="),
     lambda table, n: table[::-1][:n]),
    (ROWS_OF_A_WEIGHT.format("MatMul(some, square)"), lambda table, n: 3 * table[:n]),
    (IN_A_BRANCH, lambda table, n: 3 * n),
    (IN_A_LOOP, lambda table, n: 2 + 3 * n * n),
]


def build(form, table):
    """The model: y = x + what the form adds, for x [n, COLUMNS]."""
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    sized (float[N,{COLUMNS}] x, bool yes) => (float[N,{COLUMNS}] y)
    <int64[1] zero = {{0}}, int64[1] first = {{1}}, float[1] two = {{2}}, int64 three = {{3}}>
    {{
    shape = Shape(x)
    n = Slice(shape, zero, first)
    {form}
    }}"""
    model = onnx.parser.parse_model(text)
    for name, array in (("table", table), ("order", np.arange(ROWS, dtype=np.int64)[::-1].copy()),
                        ("square", 3 * np.eye(COLUMNS, dtype=np.float32))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model.SerializeToString()


def problem(session, table, added, n):
    x = np.arange(n * COLUMNS, dtype=np.float32).reshape(n, COLUMNS)
    session.set_input(0, arrays.to_input(x, "float"))
    session.set_input(1, arrays.to_input(np.array(True), "bool"))
    session.run()
    got = arrays.from_tensor(session.output(0))[1]
    return None if np.array_equal(got, x + added(table, n)) else f"for {n} rows y begins {got[0, :4]}"


def run(rng, cases, harness):
    """Adds the cases to harness.passed and harness.failures."""
    for case in range(cases):
        form, added = FORMS[case % len(FORMS)]
        table = rng.integers(-99, 99, (ROWS, COLUMNS)).astype(np.float32)
        model = oxlib.Model(build(form, table))
        lasting, wrong = oxlib.Session(model), None
        for n in rng.integers(1, ROWS + 1, 5):
            session = oxlib.Session(model, oxlib.Options(no_fuse=bool(rng.integers(2))))
            for each in (session, lasting):
                wrong = wrong or problem(each, table, added, n)
            session.close()
        lasting.close()
        model.close()
        if wrong:
            harness.failures.append(("sized", f"{form}: {wrong}"))
        else:
            harness.passed += 1
