"""body_eval.py: what graphs with Loop, Scan and If give, by the words of the specification and numpy."""

import numpy as np
from onnx import helper, numpy_helper

PLAIN = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum, "Neg": np.negative,
    "Abs": np.abs, "Identity": lambda x: x, "Transpose": np.transpose, "Less": np.less, "And": np.logical_and,
    "Not": np.logical_not, "Equal": np.equal,
}


def attributes_of(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def evaluate(node, inputs, scope):
    rest = attributes_of(node)
    if node.op_type in PLAIN:
        return [np.asarray(PLAIN[node.op_type](*inputs))]
    if node.op_type == "ReduceSum":
        return [np.asarray(np.sum(inputs[0], dtype=inputs[0].dtype))]
    if node.op_type == "Concat":
        return [np.concatenate(inputs, rest["axis"])]
    if node.op_type == "Reshape":
        return [inputs[0].reshape(inputs[1])]
    if node.op_type == "Slice":
        return [inputs[0][int(inputs[1][0]):int(inputs[2][0])]]
    if node.op_type == "Gather":
        return [np.asarray(inputs[0][inputs[1]])]
    return {"If": choose, "Loop": loop, "Scan": scan}[node.op_type](rest, inputs, scope, len(node.output))


def run(graph, scope):
    """Every value of a graph; `scope` are the values around it and its inputs."""
    scope = dict(scope)
    for tensor in graph.initializer:
        scope[tensor.name] = numpy_helper.to_array(tensor)
    with np.errstate(all="ignore"):
        for node in graph.node:
            inputs = [scope[name] if name else None for name in node.input]
            scope.update(zip(node.output, evaluate(node, inputs, scope)))
    return scope


def outputs_of(graph, scope, inputs):
    made = run(graph, {**scope, **{port.name: value for port, value in zip(graph.input, inputs)}})
    return [made[port.name] for port in graph.output]


def choose(rest, inputs, scope, _):
    return outputs_of(rest["then_branch" if inputs[0].item() else "else_branch"], scope, [])


def stacked(graph, place, slices, axis=0):
    """Without a slice, as the body states it: all dimensions of these models are fixed."""
    if slices:
        return np.stack(slices, axis)
    tensor = graph.output[place].type.tensor_type
    dims = [d.dim_value for d in tensor.shape.dim]
    dims.insert(axis % (len(dims) + 1), 0)
    return np.zeros(dims, helper.tensor_dtype_to_np_dtype(tensor.elem_type))


def loop(rest, inputs, scope, nout):
    body, trips, condition = rest["body"], inputs[0], inputs[1]
    carried, slices = list(inputs[2:]), [[] for _ in range(nout - len(inputs) + 2)]
    going, turn = condition is None or bool(condition.item()), 0
    while (trips is None or turn < trips.item()) and (condition is None or going):
        made = outputs_of(body, scope, [np.array(turn), np.array(going), *carried])
        going, carried = bool(made[0].item()), made[1:len(carried) + 1]
        for kept, value in zip(slices, made[len(carried) + 1:]):
            kept.append(value)
        turn += 1
    return carried + [stacked(body, 1 + len(carried) + i, s) for i, s in enumerate(slices)]


def scan(rest, inputs, scope, nout):
    body, count = rest["body"], rest["num_scan_inputs"]
    state, scanned = list(inputs[:-count]), inputs[-count:]
    listed = lambda name, size: list(rest.get(name, [0] * size))
    slices = [[] for _ in range(nout - len(state))]
    rows = [np.moveaxis(x, axis, 0)[::-1 if back else 1] for x, axis, back in
            zip(scanned, listed("scan_input_axes", count), listed("scan_input_directions", count))]
    for turn in range(rows[0].shape[0]):
        made = outputs_of(body, scope, [*state, *(np.asarray(row[turn]) for row in rows)])
        state = made[:len(state)]
        for kept, value in zip(slices, made[len(state):]):
            kept.append(value)
    axes, backward = listed("scan_output_axes", len(slices)), listed("scan_output_directions", len(slices))
    return state + [stacked(body, len(state) + i, s[::-1] if back else s, axis)
                    for i, (s, axis, back) in enumerate(zip(slices, axes, backward))]


def scan_batch(rest, inputs, nout):
    """Scan 8: `inputs` begin with the lengths, or None."""
    body, count = rest["body"], rest["num_scan_inputs"]
    state, scanned = inputs[1:-count], inputs[-count:]
    batch, length = scanned[0].shape[:2]
    lengths = inputs[0] if inputs[0] is not None else [length] * batch
    back = rest.get("directions", [0] * count)
    finals, slices = [], [[] for _ in range(nout - len(state))]
    for b in range(batch):
        rows = [x[b, :lengths[b]][::-1 if way else 1] for x, way in zip(scanned, back)]
        given = [np.asarray(s[b]) for s in state] + rows
        axes = {"body": body, "num_scan_inputs": count}
        made = scan(axes, given, {}, nout)
        finals.append(made[:len(state)])
        for kept, value in zip(slices, made[len(state):]):
            kept.append(np.concatenate([value, np.zeros((length - len(value), *value.shape[1:]), value.dtype)]))
    return [np.stack(f) for f in zip(*finals)] + [np.stack(s) for s in slices]
