"""restate.py: a node case of ONNX's newest suite as a model of another version of its operators.

A case keeps its data. What the other version says in other words is reworded: inputs that were attributes, attributes
that did not exist and have the value that was meant then, axes that could not be negative, types that had names. What
cannot be said there, or meant something else, gives no case.
"""

import onnx
from onnx import TensorProto, defs, helper

# Inputs that were attributes: by operator, the attribute of each input.
INPUTS = {
    "Clip": {1: "min", 2: "max"},
    "Dropout": {1: "ratio"},
    "Pad": {1: "pads", 2: "value"},
    "Reshape": {1: "shape"},
    "Slice": {1: "starts", 2: "ends", 3: "axes"},
    "Split": {1: "split"},
    "Squeeze": {1: "axes"},
    "TopK": {1: "k"},
    "Unsqueeze": {1: "axes"},
    "Upsample": {1: "scales"},
    **{f"Reduce{name}": {1: "axes"}
       for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")},
}
# Names that attributes had, by operator and version.
NAMES = {("Pad", 1): {"pads": "paddings"}}
# What an absent attribute meant where that was not its later default: by operator, before a version.
MEANT = {
    "RoiAlign": (16, {"coordinate_transformation_mode": b"output_half_pixel"}),
}
# Operators of two inputs that were of one shape unless the attribute broadcast said more.
EQUAL_SHAPES = {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", "Max", "Min", "Sum",
                "Mean", "PRelu"}
BROADCAST_SINCE = {"Max": 8, "Min": 8, "Sum": 8, "Mean": 8}
# Values of attributes that came with a version: by operator, (that version, attribute, values).
LATER = {
    "Pad": (19, "mode", [b"wrap"]),
    "ScatterElements": (18, "reduction", [b"max", b"min"]),
    "ScatterND": (18, "reduction", [b"max", b"min"]),
}
FLOATING = {TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE}
# Those that looked at their input as a matrix, before version 13: the same along the last axis alone.
COERCED = {"Softmax", "LogSoftmax", "Hardmax"}
MODES = {"linear": "bilinear", "cubic": "bicubic"}


class Unsayable(Exception):
    """The version has no words for this case."""


def dims_of(info):
    return [dim.dim_value for dim in info.type.tensor_type.shape.dim]


def given(node, name, default=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def put(node, name, value):
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))


def input_as_attribute(node, schema, values, constants):
    """Moves inputs, the last first, into attributes of the same meaning."""
    for index, name in sorted(INPUTS.get(node.op_type, {}).items(), reverse=True):
        attribute = NAMES.get((node.op_type, schema.since_version), {}).get(name, name)
        if len(node.input) <= index or attribute not in schema.attributes or len(schema.inputs) > index:
            continue
        source = node.input[index]
        if source:
            if source not in values:
                raise Unsayable(f"{name} is computed")
            value = values[source].reshape(-1).tolist()
            whole = schema.attributes[attribute].type in (defs.OpSchema.AttrType.INTS, defs.OpSchema.AttrType.FLOATS)
            if not value:
                raise Unsayable(f"{name} is empty")
            put(node, attribute, value if whole else value[0])
            constants.add(source)
        del node.input[index]


def drop_unknown(node, schema):
    """Attributes that the version lacks, if they say what it means anyway."""
    latest = defs.get_schema(node.op_type, node.domain)
    before, meant = MEANT.get(node.op_type, (0, {}))
    for name, attribute in latest.attributes.items():
        if name in schema.attributes:
            continue
        default = helper.get_attribute_value(attribute.default_value) if attribute.default_value.type else None
        wanted = meant.get(name, default) if schema.since_version < before else default
        if given(node, name, default) != wanted and not (name == "noop_with_empty_axes" and given(node, "axes")):
            raise Unsayable(f"{name} is {given(node, name, default)}")
        put(node, name, None)


def positive_axes(node, rank):
    for name in ("axis", "axes"):
        axes = given(node, name)
        if axes is None:
            continue
        put(node, name, axes % rank if isinstance(axes, int) else [axis % rank for axis in axes])


def refuse(node, since, infos, shapes):
    """What the version cannot say, or says of something else."""
    op = node.op_type
    if len(shapes) < len([name for name in node.input if name not in ("", "empty")]):
        raise Unsayable("an input is of unknown shape")
    if op in EQUAL_SHAPES and since < BROADCAST_SINCE.get(op, 7) and any(s != shapes[0] for s in shapes):
        raise Unsayable("the shapes differ")
    if op == "Gemm" and since < 11 and (len(shapes) < 3 or (since < 7 and len(shapes[2]) != 2)):
        raise Unsayable("C has to be given, as a matrix")
    if op == "DequantizeLinear" and since < 13 and shapes[1]:
        raise Unsayable("the scale is no scalar")
    first, name, later = LATER.get(op, (0, "", []))
    if since < first and given(node, name) in later:
        raise Unsayable(f"{name} is {given(node, name)}")
    if op == "Mod" and since < 13 and not given(node, "fmod"):
        if infos[node.input[0]].type.tensor_type.elem_type in FLOATING:
            raise Unsayable("floats need fmod")
    if op in COERCED and since < 13 and given(node, "axis", -1) % len(shapes[0]) != len(shapes[0]) - 1:
        raise Unsayable("not along the last axis")
    if op == "Dropout" and since < 12 and (len(node.input) > 2 or len(node.output) > 1):
        raise Unsayable("training_mode")


def reword(node, schema, shapes, values, constants):
    """Says it as the version does."""
    op, since = node.op_type, schema.since_version
    input_as_attribute(node, schema, values, constants)
    if op == "Slice" and since < 10 and len(node.input) > 1:
        if any(step != 1 for step in values.get(node.input[-1], [0])):
            raise Unsayable("steps")
        constants.add(node.input.pop())
    if op == "Cast" and since < 6:
        put(node, "to", TensorProto.DataType.Name(given(node, "to")))
    if op == "Gemm" and since < 7:
        put(node, "broadcast", 1)
    if op in ("BatchNormalization", "Dropout") and since < 7:
        put(node, "is_test", 1)
    if op == "GridSample" and since < 20:
        mode = given(node, "mode", b"linear").decode()
        put(node, "mode", MODES.get(mode, mode))
    if op in COERCED and since < 13:
        put(node, "axis", len(shapes[0]) - 1)
    if since < 11 and shapes:
        positive_axes(node, len(shapes[0]) + (op in ("Unsqueeze", "OneHot")))
    drop_unknown(node, schema)
    hint = schema.attributes.get("consumed_inputs")
    if hint and hint.required:
        put(node, "consumed_inputs", [0] * len(node.input))


def restate_node(node, version, infos, values, constants):
    try:
        schema = defs.get_schema(node.op_type, version, node.domain)
    except defs.SchemaError as error:
        raise Unsayable(str(error)) from error
    shapes = [dims_of(infos[name]) for name in node.input if name in infos]
    refuse(node, schema.since_version, infos, shapes)
    reword(node, schema, shapes, values, constants)
    unknown = {a.name for a in node.attribute} - set(schema.attributes)
    if unknown:
        raise Unsayable(f"no {sorted(unknown)}")
    if not schema.min_input <= len(node.input) <= schema.max_input:
        raise Unsayable("inputs")
    if not schema.min_output <= len(node.output) <= schema.max_output:
        raise Unsayable("outputs")


def bodies_of(nodes):
    """Their subgraphs."""
    for node in nodes:
        for attribute in node.attribute:
            for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield graph
                yield from bodies_of(graph.node)


def refuse_bodies(nodes, domain, version):
    """Subgraphs stay as they are: what broadcasts there was not possible before."""
    for graph in bodies_of(nodes):
        ranks = {i.name: len(dims_of(i)) for i in graph.input} | {t.name: len(t.dims) for t in graph.initializer}
        for node in graph.node:
            equal = node.op_type in EQUAL_SHAPES and version < BROADCAST_SINCE.get(node.op_type, 7)
            if node.domain == domain and equal and len({ranks[i] for i in node.input if i in ranks}) > 1:
                raise Unsayable(f"{node.op_type} broadcasts in a subgraph")


def give_empty(graph):
    """Resize had to have a region and scales before version 13, if only empty ones."""
    empty = helper.make_tensor("empty", TensorProto.FLOAT, [0], [])
    for node in graph.node:
        if node.op_type == "Resize":
            node.input.extend([""] * (3 - len(node.input)))
            node.input[1], node.input[2] = node.input[1] or "empty", node.input[2] or "empty"
            if "empty" in node.input and not graph.initializer:
                graph.initializer.append(empty)


def restate(model, values, domain, version):
    """(the model with `version` of `domain`, the indices of the inputs that it keeps), or raises Unsayable. values: the
    arrays of inputs by name."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    inferred = onnx.shape_inference.infer_shapes(model).graph
    infos = {info.name: info for info in (*inferred.input, *inferred.value_info)}
    for opset in model.opset_import:
        if opset.domain == domain:
            opset.version = version
    if version < 13:
        give_empty(model.graph)
    refuse_bodies(model.graph.node, domain, version)
    constants = set()
    for node in model.graph.node:
        if node.domain == domain:
            restate_node(node, version, infos, values, constants)
    used = {name for node in model.graph.node for name in node.input}
    kept = [i for i, info in enumerate(model.graph.input) if info.name in used or info.name not in constants]
    inputs = [model.graph.input[i] for i in kept]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    try:
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise Unsayable(str(error).strip().splitlines()[0]) from error
    return model, kept
