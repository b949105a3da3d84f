"""gradients.py: Gradient against differences of what ox itself computes, in double: each operator with a rule by
itself, and random graphs of them, with values read twice, gradients at other points than the named tensors, nodes out of order,
and all of it in a function or a branch."""

import sys

import arrays
import nodes
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper, numpy_helper

TRAINING = "ai.onnx.preview.training"
STEP = 1e-5
BOUNDS = {"double": 1e-5, "float": 2e-3, "float16": 6e-2}


def ints(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def dims(rng, rank=None):
    return [int(d) for d in rng.integers(1, 4, int(rng.integers(0, 4)) if rank is None else rank)]


def real(low=-2.0, high=2.0):
    return lambda rng, shape: rng.uniform(low, high, shape)


def apart(rng, shape):
    """Numbers away from 0 and from integers, where functions bend."""
    return rng.choice([-1.0, 1.0], shape) * (rng.integers(0, 3, shape) + rng.uniform(0.2, 0.8, shape))


def off_halves(rng, shape):
    """Numbers away from 0.5, 1.5 and so on, where Round jumps."""
    return rng.integers(-3, 4, shape) + rng.uniform(-0.3, 0.3, shape)


# Numbers that are drawn away from where functions bend or jump stay away from there when they are multiplied by this.
ELSEWHERE = 0.9375

UNARY = {
    "Abs": apart, "Acos": real(-.9, .9), "Acosh": real(1.1, 3), "Asin": real(-.9, .9), "Asinh": real(), "Atan": real(),
    "Atanh": real(-.9, .9), "Ceil": apart, "Cos": real(), "Cosh": real(), "Elu": apart, "Erf": real(), "Exp": real(),
    "Floor": apart, "Identity": real(), "LeakyRelu": apart, "Log": real(.2, 3), "Neg": real(), "Reciprocal": apart,
    "Relu": apart, "Round": off_halves, "Sigmoid": real(), "Sign": apart, "Sin": real(), "Sinh": real(),
    "Softplus": real(), "Softsign": real(), "Sqrt": real(.2, 3), "Tan": real(-1, 1), "Tanh": real()}


class Drawn:
    """Nodes, the values of their inputs by name, constants, and the output y."""

    def __init__(self, made, values, constants=(), opset=21, y="y"):
        self.made, self.values, self.constants, self.opset, self.y = made, values, list(constants), opset, y


def node(op, inputs, y="y", **attributes):
    return helper.make_node(op, inputs.split(), [y], **attributes)


def unary(rng):
    op = str(rng.choice(list(UNARY)))
    attributes = {"alpha": 0.5} if op in ("Elu", "LeakyRelu") and rng.random() < 0.5 else {}
    return Drawn([node(op, "a", **attributes)], {"a": UNARY[op](rng, dims(rng))}, opset=int(rng.choice([13, 22])))


def broadcast(rng, count):
    whole = dims(rng)
    shapes = []
    for _ in range(count):
        shape = [d if rng.random() < 0.7 else 1 for d in whole]
        shapes.append(shape[int(rng.integers(0, len(shape) + 1)):] if rng.random() < 0.4 else shape)
    return shapes


def binary(rng):
    op = str(rng.choice(["Add", "Sub", "Mul", "Div", "Pow"]))
    left, right = broadcast(rng, 2)
    a = real(.3, 2)(rng, left) if op == "Pow" else real()(rng, left)
    return Drawn([node(op, "a b")], {"a": a, "b": apart(rng, right)}, opset=int(rng.choice([7, 13, 15])))


def many(rng):
    names = [f"x{k}" for k in range(int(rng.integers(1, 5)))]
    values = {name: real()(rng, shape) for name, shape in zip(names, broadcast(rng, len(names)))}
    return Drawn([node(str(rng.choice(["Sum", "Mean"])), " ".join(names))], values, opset=int(rng.choice([8, 13])))


def where(rng):
    shapes = broadcast(rng, 3)
    condition = numpy_helper.from_array(rng.random(shapes[0]) < 0.5, "c")
    return Drawn([node("Where", "c a b")], {"a": real()(rng, shapes[1]), "b": real()(rng, shapes[2])}, [condition])


def slope(rng):
    shape = dims(rng)
    return Drawn([node("PRelu", "a b")], {"a": apart(rng, shape),
                                          "b": real()(rng, [d if rng.random() < .5 else 1 for d in shape])})


def clip(rng):
    bounds = [numpy_helper.from_array(np.array(v), n) for n, v in (("low", -1.1), ("high", 0.9))]
    return Drawn([node("Clip", "a low high")], {"a": apart(rng, dims(rng)) + 0.05}, bounds, opset=13)


def matmul(rng):
    m, k, n = (int(d) for d in rng.integers(1, 4, 3))
    left, right = broadcast(rng, 2)
    left, right = left[-2:] + [m, k], right[-2:] + [k, n]
    return Drawn([node("MatMul", "a b")], {"a": real()(rng, [k] if rng.random() < .25 else left),
                                           "b": real()(rng, [k] if rng.random() < .25 else right)})


def gemm(rng):
    m, k, n = (int(d) for d in rng.integers(1, 4, 3))
    flags = {name: int(rng.integers(0, 2)) for name in ("transA", "transB")}
    values = {"a": real()(rng, (k, m) if flags["transA"] else (m, k)),
              "b": real()(rng, (n, k) if flags["transB"] else (k, n))}
    if rng.random() < .6:
        values["c"] = real()(rng, [(m, n), (1, n), (n,), (m, 1), ()][int(rng.integers(0, 5))])
    factors = {"alpha": .5, "beta": 2.} if rng.random() < .5 else {}
    return Drawn([node("Gemm", " ".join(values), **flags, **factors)], values, opset=13)


def reduced(rng):
    op = "Reduce" + str(rng.choice(["Sum", "Mean", "SumSquare", "L1", "L2", "LogSum", "LogSumExp"]))
    shape = dims(rng)
    axes = [int(a) - len(shape) * int(rng.integers(0, 2)) for a in
            rng.permutation(len(shape))[:int(rng.integers(0, len(shape) + 1))]]
    opset = int(rng.choice([11, 18]))
    values = {"a": real(.2, 2)(rng, shape) if op == "ReduceLogSum" else apart(rng, shape)}
    attributes = {"keepdims": int(rng.integers(0, 2))}
    if opset == 11 and axes:
        return Drawn([node(op, "a", axes=axes, **attributes)], values, opset=11)
    if opset == 11 or rng.random() < .2:
        return Drawn([node(op, "a", **attributes)], values, opset=opset)
    attributes |= {"noop_with_empty_axes": int(rng.integers(0, 2))} if op == "ReduceSum" else {}
    return Drawn([node(op, "a axes", **attributes)], values, [ints("axes", axes)], opset=18)


def softmax(rng):
    shape = dims(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(-len(shape), len(shape)))
    return Drawn([node(str(rng.choice(["Softmax", "LogSoftmax"])), "a", axis=axis)], {"a": real()(rng, shape)})


def shaped(rng):
    shape = dims(rng, 3)
    perm = [int(p) for p in rng.permutation(3)]
    kind = int(rng.integers(0, 7))
    made, constants = [
        (node("Transpose", "a", perm=perm), []), (node("Transpose", "a"), []),
        (node("Reshape", "a s"), [ints("s", [-1, shape[0]])]), (node("Flatten", "a", axis=2), []),
        (node("Unsqueeze", "a s"), [ints("s", [0, -1])]), (node("Squeeze", "a s"), [ints("s", [1])]),
        (node("Expand", "a s"), [ints("s", [2, 1, shape[1], 1])])][kind]
    shape[1] = 1 if kind == 5 else shape[1]
    return Drawn([made], {"a": real()(rng, shape)}, constants)


def parts(rng):
    shape = dims(rng, 2)
    axis = int(rng.integers(-2, 2))
    values = {}
    for k in range(int(rng.integers(1, 4))):
        size = shape.copy()
        size[axis] = int(rng.integers(1, 4))
        values[f"x{k}"] = real()(rng, size)
    return Drawn([node("Concat", " ".join(values), axis=axis)], values)


def split(rng):
    names = ["p", "q", "r"]
    made = helper.make_node("Split", ["a", "s"], names, axis=1)
    used = [str(n) for n in rng.permutation(names)[:int(rng.integers(1, 4))]]
    tail = [node("ReduceSum", f"{name}", f"{name}_sum", keepdims=0) for name in used]
    return Drawn([made, *tail, node("Sum", " ".join(f"{name}_sum" for name in used))],
                 {"a": real()(rng, [2, 6])}, [ints("s", [1, 3, 2])])


def picked(rng):
    a = real()(rng, [3, 4])
    kind = int(rng.integers(0, 7))
    made, constants = [
        (node("Slice", "a s e x t"), [ints("s", [-1]), ints("e", [-9]), ints("x", [1]), ints("t", [-2])]),
        (node("Gather", "a s", axis=1), [ints("s", [[0, 3], [3, -1]])]),
        (node("GatherElements", "a s", axis=0), [ints("s", [[0, 2, 2, -1]])]),
        (node("GatherND", "a s"), [ints("s", [[0, 1], [0, 1], [2, 3]])]),
        (node("Tile", "a s"), [ints("s", [2, 1])]),
        (node("Compress", "a s", axis=0), [numpy_helper.from_array(np.array([True, False, True]), "s")]),
        (node("SpaceToDepth", "a", blocksize=2), [])][kind]
    return Drawn([made], {"a": real()(rng, [1, 1, 2, 4]) if kind == 6 else a}, constants)


def einsum(rng):
    equation, left, right = [("ij,jk->ik", (2, 3), (3, 2)), ("bij, bjk -> bik", (2, 2, 3), (2, 3, 2)),
                             ("...i,...i->...", (2, 1, 3), (2, 3)), ("i,j->ji", (2,), (3,))][int(rng.integers(0, 4))]
    return Drawn([node("Einsum", "a b", equation=equation)], {"a": real()(rng, left), "b": real()(rng, right)})


def scattered(rng):
    made = node("ScatterElements", "a i b", axis=1, **{"reduction": "add"} if rng.random() < 0.5 else {})
    return Drawn([made], {"a": real()(rng, [2, 4]), "b": real()(rng, [2, 2])}, [ints("i", [[0, 3], [2, -3]])])


def cast(rng):
    made = [node("Cast", "a", "b", to=TensorProto.DOUBLE), node("CastLike", "b a", "c"), node("Mul", "c c", "d"),
            node("Cast", "a", "n", to=TensorProto.INT64), node("CastLike", "n a", "e"), node("Add", "d e")]
    return Drawn(made, {"a": apart(rng, dims(rng))})


def chain(rng):
    """A graph of smooth operators in which values are read more than once."""
    shape = dims(rng, 2)
    values = {name: real(.3, 1.5)(rng, shape) for name in ("a", "b", "c")}
    known, made = ["a", "b", "c"], []
    for k in range(int(rng.integers(1, 9))):
        one, two = (str(n) for n in rng.choice(known[-4:], 2))
        op = str(rng.choice(["Add", "Sub", "Mul", "Tanh", "Sigmoid", "Sin", "Identity", "Softplus", "Softmax"]))
        made.append(node(op, f"{one} {two}" if op in ("Add", "Sub", "Mul") else one, f"v{k}"))
        known.append(f"v{k}")
    made.append(node("Sum", " ".join(known)))
    return Drawn(made, values)


def twice(rng):
    """A gradient, which is differentiated again."""
    inner = (chain, chain, matmul, softmax, picked, reduced, gemm)[int(rng.integers(0, 7))](rng)
    inner.made[-1].output[0] = "v"
    names = [str(n) for n in rng.permutation(list(inner.values))]
    xs = names[:int(rng.integers(1, len(names) + 1))]
    made = helper.make_node("Gradient", xs, [f"d_{n}" for n in xs], domain=TRAINING, xs=xs, y="v")
    inner.made += [made, *(node("ReduceSum", f"d_{n}", f"q_{n}", keepdims=0) for n in xs),
                   *(node("ReduceSumSquare", n, f"r_{n}", keepdims=0) for n in names),
                   node("Sum", " ".join([*(f"q_{n}" for n in xs), *(f"r_{n}" for n in names)]), "d"),
                   node("Mul", "d d")]
    return inner


KINDS = [unary, unary, unary, binary, binary, many, where, slope, clip, matmul, matmul, gemm, reduced, reduced, softmax,
         shaped, shaped, parts, split, picked, einsum, scattered, cast, chain, chain, chain, twice, twice]


# ---- Models and what they should give ------------------------------------------------------------------------------

def coarse(values):
    """Numbers that every type has."""
    return np.array(np.array(values, np.float16), np.float64)


def converted(tensor, kind):
    array = numpy_helper.to_array(tensor)
    return array if array.dtype != np.float64 else array.astype(arrays.DTYPES[kind][1])


def weighted(drawn, kind, weights):
    """Nodes and constants for the sum of y, weighted: total."""
    made = [*drawn.made, node("Mul", f"{drawn.y} w", "weighed"), node("ReduceSum", "weighed", "total", keepdims=0)]
    kept = [numpy_helper.from_array(converted(t, kind), t.name) for t in drawn.constants]
    return made, [*kept, numpy_helper.from_array(weights.astype(arrays.DTYPES[kind][1]), "w")]


def forward(drawn, outputs, weights=None):
    made, kept = (drawn.made, drawn.constants) if weights is None else weighted(drawn, "double", weights)
    ends = dict.fromkeys(drawn.values, "double")
    return nodes.model_around(made, ends, dict.fromkeys(outputs, "double"), drawn.opset, kept, [TRAINING])


def differences(drawn, at, weights, wanted):
    """Central differences of total by each element of the wanted inputs."""
    model = oxlib.Model(forward(drawn, ["total"], weights))
    session = oxlib.Session(model)

    def value(name, i, step):
        moved = {k: v.copy() for k, v in at.items()}
        moved[name].reshape(-1)[i] += step
        for k, key in enumerate(drawn.values):
            session.set_input(k, arrays.to_input(moved[key], "double"))
        session.run()
        return float(arrays.from_tensor(session.output(0))[1])
    found = []
    for name in wanted:
        slopes = [(value(name, i, STEP) - value(name, i, -STEP)) / (2 * STEP) for i in range(at[name].size)]
        found.append(np.array(slopes).reshape(at[name].shape))
    session.close()
    model.close()
    return found


def in_function(made, kept, names, results):
    body = [helper.make_node("Constant", [], [t.name], value=t) for t in kept] + made
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(TRAINING, 1)]
    function = helper.make_function("own", "f", names, results, body, sets)
    return [helper.make_node("f", names, results, domain="own")], function


def in_branch(made, kept, kind, results):
    ends = [helper.make_tensor_value_info(f"{r}_in", nodes.kind_of(kind), None) for r in results]
    tail = [node("Identity", r, f"{r}_in") for r in results]
    branch = helper.make_graph([*made, *tail], "branch", [], ends, kept)
    yes = numpy_helper.from_array(np.array(True), "yes")
    outputs = [f"{r}_out" for r in results]
    return [helper.make_node("If", ["yes"], outputs, then_branch=branch, else_branch=branch)], [yes]


def case(rng, turn):
    drawn = KINDS[turn % len(KINDS)](rng)
    kind = str(rng.choice(["double", "double", "float", "float16"]))
    drawn.values = {k: coarse(v) for k, v in drawn.values.items()}
    y = nodes.run(forward(drawn, [drawn.y]), [(v, "double") for v in drawn.values.values()])[0]
    weights = coarse(rng.uniform(-1, 1, y.shape))
    names = list(drawn.values)
    xs = [str(n) for n in rng.permutation(names)[:int(rng.integers(1, len(names) + 1))]]
    zs = [n for n in names if n not in xs and rng.random() < 0.7]
    at, given, extra = dict(drawn.values), {n: n for n in names}, {}
    for name in xs + zs:  # other values than those of the named tensors
        if rng.random() < 0.2:
            given[name] = name + "_other"
            at[name] = extra[given[name]] = coarse(drawn.values[name] * ELSEWHERE)
    made, kept = weighted(drawn, kind, weights)
    outputs = ["" if len(xs) > 1 and rng.random() < 0.1 else f"g_{n}" for n in xs]
    attributes = {"xs": xs, "y": "total"} | ({"zs": zs} if zs else {})
    made.append(helper.make_node("Gradient", [given[n] for n in xs + zs], outputs, domain=TRAINING, name="g",
                                 **attributes))
    results = [r for r in outputs if r] or ["total"]
    data, functions = None, []
    form = rng.random()
    inputs = {**drawn.values, **extra}
    if form < 0.15:
        made = [made[i] for i in rng.permutation(len(made))]
    elif form < 0.25 and drawn.opset == 21:
        made, function = in_function(made, kept, list(inputs), results)
        functions, kept = [function], []
    elif form < 0.35:
        made, kept = in_branch(made, kept, kind, results)
        results = [f"{r}_out" for r in results]
    ends, results_made = ([helper.make_tensor_value_info(n, nodes.kind_of(kind), None) for n in names]
                          for names in (inputs, results))
    graph = helper.make_graph(made, "graph", ends, results_made, kept)
    sets = [helper.make_opsetid("", drawn.opset), helper.make_opsetid(TRAINING, 1), helper.make_opsetid("own", 1)]
    data = helper.make_model(graph, ir_version=10, opset_imports=sets, functions=functions).SerializeToString()
    feeds = [(np.array(v, arrays.DTYPES[kind][1]), kind) for v in inputs.values()]
    title = f"{[n.op_type for n in drawn.made]} {[(k, v.shape) for k, v in drawn.values.items()]} {kind} {form:.2f}"
    try:
        with np.errstate(all="ignore"):
            got = nodes.run(data, feeds)
    except oxlib.OxError as error:
        return f"{title}: {error}"
    right = differences(drawn, at, weights, [n for n, r in zip(xs, outputs) if r])
    for name, one, exact in zip(results, got, right):
        scale = max(1.0, float(np.abs(exact).max(initial=0)))
        if one.shape != exact.shape:
            return f"{title}: {name} has shape {one.shape}, not {exact.shape}"
        if not np.allclose(one.astype(np.float64), exact, rtol=BOUNDS[kind], atol=BOUNDS[kind] * scale):
            return f"{title}: {name} is {one.tolist()}, not {exact.tolist()}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(case, 1200))
