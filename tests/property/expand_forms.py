"""expand_forms.py [--seed N] [--cases N]: what frameworks call broadcasting, in StaticUnsqueeze and StaticExpand.

Each form is a function from its own arguments to what numpy gives, and to the target shape and the axes of the input in
it. These are computed in three ways, which must agree to the bit: StaticExpand with axes_mapping, StaticUnsqueeze
nodes and StaticExpand without it, and ONNX's Unsqueeze and Expand. Arguments that a framework refuses must be refused.
"""

import sys

import arrays
import numpy as np
import oxlib
import trials
import values
from onnx import AttributeProto, TensorProto, helper, numpy_helper

TYPES = ["float", "float16", "bfloat16"]
DOMAIN = "onednn.graph"


# ---- The forms: (array, ...) -> (expected, target shape, axes of the input in it) --------------------------------


def last_axes(array, shape):
    return list(range(len(shape) - array.ndim, len(shape)))


def torch_expand(array, sizes):
    """torch.Tensor.expand: -1 keeps a dimension, new ones come first."""
    new = len(sizes) - array.ndim
    shape = [array.shape[i - new] if size == -1 and i >= new else size for i, size in enumerate(sizes)]
    return np.broadcast_to(array, shape), shape, last_axes(array, shape)


def tf_broadcast_to(array, shape):
    return np.broadcast_to(array, shape), shape, last_axes(array, shape)


def openvino_numpy(array, shape):
    """Broadcast-3, mode numpy: the input alone is repeated."""
    return np.broadcast_to(array, shape), shape, last_axes(array, shape)


def openvino_bidirectional(array, shape):
    """Broadcast-3, mode bidirectional: the target's ones are repeated too."""
    both = list(np.broadcast_shapes(array.shape, tuple(shape)))
    return np.broadcast_to(array, both), both, last_axes(array, both)


def openvino_explicit(array, shape, axes):
    """Broadcast-3, mode explicit: axis i of the input is axis axes[i] of the result."""
    if len(set(axes)) != array.ndim or any(not 0 <= a < len(shape) for a in axes):
        raise ValueError("axes_mapping")
    placed = [1] * len(shape)
    for length, axis in zip(array.shape, axes):
        placed[axis] = length
    return np.broadcast_to(array.reshape(placed), shape), shape, axes


# ---- Models ------------------------------------------------------------------------------------------------------


def missing_axes(shape, axes):
    return [axis for axis in range(len(shape)) if axis not in axes]


def own_node(op, source, result, **attributes):
    node = helper.make_node(op, [source], [result], domain=DOMAIN)
    for name, value in attributes.items():
        kind = AttributeProto.INT if isinstance(value, int) else AttributeProto.INTS
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return node


def with_mapping(shape, axes):
    return [own_node("StaticExpand", "x", "y", target_shape=shape, axes_mapping=axes)], []


def with_unsqueeze(shape, axes):
    nodes, source = [], "x"
    for axis in missing_axes(shape, axes):
        nodes.append(own_node("StaticUnsqueeze", source, f"u{axis}", dim=axis))
        source = f"u{axis}"
    return nodes + [own_node("StaticExpand", source, "y", target_shape=shape)], []


def with_onnx(shape, axes):
    constants = [numpy_helper.from_array(np.array(missing_axes(shape, axes), np.int64), "axes"),
                 numpy_helper.from_array(np.array(shape, np.int64), "shape")]
    nodes = [helper.make_node("Unsqueeze", ["x", "axes"], ["u"]), helper.make_node("Expand", ["u", "shape"], ["y"])]
    return nodes, constants


def run(nodes, constants, array, type_name):
    kind = TensorProto.DataType.Value(type_name.upper())
    values_of = [helper.make_tensor_value_info(name, kind, None) for name in "xy"]
    graph = helper.make_graph(nodes, "graph", values_of[:1], values_of[1:], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    model = oxlib.Model(helper.make_model(graph, ir_version=10, opset_imports=opsets).SerializeToString())
    try:
        session = oxlib.Session(model)
        try:
            session.set_input(0, arrays.to_input(array, type_name))
            session.run()
            return arrays.from_tensor(session.output(0))[1]
        finally:
            session.close()
    finally:
        model.close()


WAYS = {"axes_mapping": with_mapping, "StaticUnsqueeze": with_unsqueeze, "Unsqueeze and Expand": with_onnx}


# ---- Cases -------------------------------------------------------------------------------------------------------


def draw_source(rng, shape, type_name):
    """An array that broadcasts to the shape by its last axes, with strides of any kind."""
    shape = shape[int(rng.integers(0, len(shape) + 1)):]
    shape = [1 if rng.random() < 0.4 else length for length in shape]
    return values.lay_out(rng, values.random_values(rng, type_name, shape))


def draw_shape(rng):
    return [int(rng.choice([0, 1, 2, 3, 5], p=[0.04, 0.16, 0.3, 0.3, 0.2])) for _ in range(int(rng.integers(0, 6)))]


def draw_torch(rng, type_name):
    shape = draw_shape(rng)
    array = draw_source(rng, shape, type_name)
    new = len(shape) - array.ndim
    sizes = [-1 if i >= new and rng.random() < 0.5 else length for i, length in enumerate(shape)]
    return torch_expand, (array, sizes)


def draw_numpy(form):
    def draw(rng, type_name):
        shape = draw_shape(rng)
        return form, (draw_source(rng, shape, type_name), shape)
    return draw


def draw_bidirectional(rng, type_name):
    shape = draw_shape(rng)
    array = draw_source(rng, shape, type_name)
    target = [1 if rng.random() < 0.4 else length for length in shape[int(rng.integers(0, len(shape) + 1)):]]
    return openvino_bidirectional, (array, target)


def draw_explicit(rng, type_name):
    shape = draw_shape(rng)
    count = int(rng.integers(0, len(shape) + 1))
    axes = sorted(int(a) for a in rng.choice(len(shape), count, replace=False)) if count else []
    dims = [1 if rng.random() < 0.4 else shape[axis] for axis in axes]
    return openvino_explicit, (values.lay_out(rng, values.random_values(rng, type_name, dims)), shape, axes)


DRAWERS = [draw_torch, draw_numpy(tf_broadcast_to), draw_numpy(openvino_numpy), draw_bidirectional, draw_explicit]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()


def check_form(rng, form, arguments, type_name):
    """None, or what is wrong."""
    array = arguments[0]
    expected, shape, axes = form(*arguments)
    for name, way in WAYS.items():
        got = run(*way(shape, axes), array, type_name)
        if not same(got, expected):
            return f"by {name}: {got.shape}, expected {expected.shape}, or other elements"
    return check_refused(rng, array, shape, axes, type_name)


def check_expand_dims(rng, type_name):
    """tf.expand_dims and torch.unsqueeze: every axis of [-rank - 1, rank], and one more at each end."""
    array = draw_source(rng, draw_shape(rng), type_name)
    for axis in range(-array.ndim - 2, array.ndim + 2):
        try:
            got = run([own_node("StaticUnsqueeze", "x", "y", dim=axis)], [], array, type_name)
        except oxlib.OxError as error:
            if -array.ndim - 1 <= axis <= array.ndim or "attribute 'dim'" not in str(error):
                return f"expand_dims of {array.shape} at {axis}: {error}"
            continue
        if not -array.ndim - 1 <= axis <= array.ndim or not same(got, np.expand_dims(array, axis)):
            return f"expand_dims of {array.shape} at {axis} gives {got.shape}"
    return None


def check_refused(rng, array, shape, axes, type_name):
    """A length that is neither the input's nor one that it could be repeated to."""
    fixed = [i for i, length in enumerate(array.shape) if length != 1]
    if not fixed:
        return None
    i = fixed[int(rng.integers(0, len(fixed)))]
    shape = list(shape)
    shape[axes[i]] = array.shape[i] + 2
    for name, way in WAYS.items():
        try:
            run(*way(shape, axes), array, type_name)
            return f"by {name}: {array.shape} to {shape} at {axes} is not refused"
        except oxlib.OxError as error:
            if error.status != oxlib.SHAPE or (way is not with_onnx and "attribute 'target_shape'" not in str(error)):
                return f"by {name}: {error}"
    return None


def case(rng, turn):
    type_name = TYPES[turn % len(TYPES)]
    if turn % 6 == 5:
        return check_expand_dims(rng, type_name)
    form, arguments = DRAWERS[turn % 6](rng, type_name)
    what = f"{form.__name__} {type_name} {arguments[0].shape} {arguments[1:]}"
    try:
        wrong = check_form(rng, form, arguments, type_name)
    except oxlib.OxError as error:
        wrong = str(error)
    return wrong and f"{what}: {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 600))
