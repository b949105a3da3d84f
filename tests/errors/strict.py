"""strict.py OX NODE VERSIONS: what a specification does not allow is an error, for every operator and version of it.

The table: of each operator and version that ox has, by ONNX's schemas, or ONNX Runtime's of its own: an attribute that it does not have, one of
another kind, one that is missing; inputs and outputs too few and too many. Each is refused when the model is loaded,
with a text that says so.

Types: node cases of one node (those of NODE and VERSIONS), which pass, with one input in a type that no version of the
operator takes, or an output that the model says to be of another type. Each is an error, and never a result.
"""

import collections
import pathlib
import sys
import warnings

import arrays
import numpy as np
import onnx
import oxlib
import tally
from onnx import AttributeProto, defs, helper, numpy_helper

KINDS = {defs.OpSchema.AttrType.INT: "text", defs.OpSchema.AttrType.FLOAT: [1], defs.OpSchema.AttrType.STRING: 1}
VARIADIC = defs.OpSchema.FormalParameterOption.Variadic
MANY = 2**31 - 1
LATER = {"DynamicQuantizeLSTM"} # what it lacks behind optional inputs is found when a session plans
HISTORY = collections.defaultdict(list)
for known in defs.get_all_schemas_with_history():
    HISTORY[known.domain, known.name].append(known)
results = [0, 0]


def judge(is_right, text):
    results[not is_right] += 1
    if not is_right and results[1] <= 25:
        print(text)


# ---- The table --------------------------------------------------------------------------------------------------


def kind_of(attribute):
    """ONNX Runtime has types of its own, with the same numbers."""
    return defs.OpSchema.AttrType(int(attribute.type.value))


def right_value(attribute):
    """One of the kind of an attribute."""
    kind = kind_of(attribute)
    kinds = defs.OpSchema.AttrType
    graph = helper.make_graph([], "g", [], [])
    tensor = helper.make_tensor("t", 1, [1], [1.0])
    return {kinds.INT: 1, kinds.FLOAT: 1.0, kinds.STRING: "x", kinds.INTS: [1], kinds.FLOATS: [1.0], kinds.STRINGS: ["x"],
            kinds.TENSOR: tensor, kinds.GRAPH: graph, kinds.TENSORS: [tensor],
            kinds.TYPE_PROTO: helper.make_tensor_type_proto(1, [])}.get(kind)


def model_of(schema, inputs, outputs, attributes):
    names, results = [f"x{i}" for i in range(inputs)], [f"y{i}" for i in range(outputs)]
    node = helper.make_node(schema.name, names, results, domain=schema.domain)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, 1, None) for n in names],
                              [helper.make_empty_tensor_value_info(n) for n in results])
    imports = [helper.make_opsetid(schema.domain, schema.since_version)]
    return helper.make_model(graph, ir_version=10, opset_imports=imports)


def refusal(model):
    """The text of the error that loading ends with; "" if it does not."""
    try:
        oxlib.Model(model.SerializeToString()).close()
    except oxlib.OxError as error:
        return str(error)
    return ""


def refused(schema, what, said, inputs, outputs, attributes):
    text = refusal(model_of(schema, inputs, outputs, attributes))
    judge(said in text, f"{schema.domain}.{schema.name}-{schema.since_version} {what}: {text or 'is loaded'}")


def check_row(schema):
    least, fewest = schema.min_input, schema.min_output
    kept = {name: right_value(a) for name, a in schema.attributes.items() if a.required}
    refused(schema, "with another attribute", "has no attribute 'bogus'", least, fewest, {**kept, "bogus": 1})
    for name, attribute in schema.attributes.items():
        wrong = KINDS.get(kind_of(attribute), 1.5)
        refused(schema, f"with {name} of another kind", f"attribute '{name}' is of type", least, fewest,
                {**kept, name: wrong})
        if attribute.required:
            refused(schema, f"without {name}", f"attribute '{name}' is missing", least, fewest,
                    {n: v for n, v in kept.items() if n != name})
    if least and schema.name not in LATER:
        refused(schema, "with an input less", f"{least - 1} input", least - 1, fewest, kept)
    if schema.max_input < MANY:
        refused(schema, "with an input more", f"{schema.max_input + 1} input", schema.max_input + 1, fewest, kept)
    if schema.max_output < MANY:
        refused(schema, "with an output more", f"{schema.max_output + 1} output", least, schema.max_output + 1, kept)


def check_table(ours):
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "proto"))
    import attributes
    for schema in [*defs.get_all_schemas_with_history(), *attributes.runtime_schemas()]:
        if (schema.domain, schema.name, schema.since_version) in ours and not schema.deprecated:
            check_row(schema)


# ---- Types ------------------------------------------------------------------------------------------------------


def run(model, feeds):
    """The status of a run on (array, type name), or on messages of values."""
    loaded = session = None
    try:
        loaded = oxlib.Model(model.SerializeToString())
        session = oxlib.Session(loaded)
        for i, (array, type_name) in enumerate(feeds):
            session.set_input(i, arrays.to_input(array, type_name))
        session.run()
        for i in range(len(model.graph.output)):
            session.output(i)
        return oxlib.OK
    except oxlib.OxError as error:
        return error.status
    finally:
        if session:
            session.close()
        if loaded:
            loaded.close()


def feed_of(path):
    tensor = onnx.load_tensor(path)
    name = arrays.BY_NUMBER[tensor.data_type][0]
    array = numpy_helper.to_array(tensor)
    if name == "string":
        array = arrays.pairs_of(np.array([t if isinstance(t, bytes) else str(t).encode() for t in array.reshape(-1)],
                                         object).reshape(array.shape))
    return np.ascontiguousarray(array).reshape(tuple(tensor.dims)), name


def allowed(schema, k):
    """The types of input k, in any version: ox takes those of newer ones, too. The last of a schema is that of all
    further ones, if it is variadic."""
    found = set()
    for version in HISTORY[schema.domain, schema.name]:
        parameters = version.inputs
        if k < len(parameters) or parameters and parameters[-1].option == VARIADIC:
            found |= set(parameters[min(k, len(parameters) - 1)].types)
    return found


def other_types(types):
    """Types that are not among some: the first of few, so that every kind of a type comes."""
    likely = ["float", "int32", "int64", "string", "bool", "double", "uint8", "float16"]
    return [t for t in likely if f"tensor({t})" not in types]


def in_type(array, name, target):
    if target == "string":
        return arrays.pairs_of(np.array([b"1"] * array.size, object).reshape(array.shape))
    plain = np.ones(array.shape, np.int64) if name == "string" else array
    with np.errstate(all="ignore"):
        return np.asarray(plain.astype(np.float64) if plain.dtype.kind == "V" else plain).astype(arrays.DTYPES[target][1])


def check_case(folder, ours):
    model = onnx.load(folder / "model.onnx")
    (node,) = model.graph.node
    opset = next((o.version for o in model.opset_import if o.domain == node.domain), 0)
    try:
        schema = defs.get_schema(node.op_type, opset, node.domain)
        feeds = [feed_of(folder / "test_data_set_0" / f"input_{i}.pb") for i in range(len(model.graph.input))]
    except Exception:  # operators of no schema; values that are no tensors
        return False
    key = (schema.domain, schema.name, schema.since_version)
    if key not in ours or any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
        return False
    if run(model, feeds):
        return False
    title = f"{folder.name}, {schema.name}-{schema.since_version}"
    for i, info in enumerate(model.graph.input):
        places = [k for k, name in enumerate(node.input) if name == info.name]
        types = set.intersection(*[allowed(schema, k) for k in places]) if places else set()
        for target in other_types(types)[:3] if places else []:
            wrong = onnx.ModelProto.FromString(model.SerializeToString())
            wrong.graph.input[i].type.tensor_type.elem_type = arrays.DTYPES[target][0]
            for output in wrong.graph.output:
                output.ClearField("type")
            array, name = feeds[i]
            status = run(wrong, feeds[:i] + [(in_type(array, name, target), target)] + feeds[i + 1:])
            judge(status, f"{title}: input {info.name} of type {target} gives a result")
    for i, info in enumerate(model.graph.output):
        if info.type.HasField("tensor_type") and info.type.tensor_type.elem_type:
            wrong = onnx.ModelProto.FromString(model.SerializeToString())
            other = 1 if info.type.tensor_type.elem_type != 1 else 7
            wrong.graph.output[i].type.tensor_type.elem_type = other
            judge(run(wrong, feeds), f"{title}: output {info.name}, stated to be of another type, is a result")
    return True


def check_types(folders, ours):
    """Two cases of each operator and version at most, so that this does not take long."""
    seen = {}
    for folder in folders:
        model = onnx.load(folder / "model.onnx", load_external_data=False)
        if len(model.graph.node) != 1 or model.functions or model.graph.initializer:
            continue
        node = model.graph.node[0]
        opset = next((o.version for o in model.opset_import if o.domain == node.domain), 0)
        key = (node.domain, node.op_type, opset, len(node.input))
        if seen.get(key, 0) < 2 and check_case(folder, ours):
            seen[key] = seen.get(key, 0) + 1
    return len({key[:2] for key in seen})


def main():
    warnings.simplefilter("ignore")
    ox, *roots = sys.argv[1:]
    sys.path[:0] = [str(pathlib.Path(__file__).parent.parent / folder) for folder in ("versions", "proto")]
    import attributes
    import versions
    ours = set(versions.listed(ox, [*versions.DOMAINS, "com.microsoft"]))
    ours |= {(schema.domain, schema.name, schema.since_version) for schema in attributes.runtime_schemas()}
    check_table(ours)
    folders = [folder for root in roots for folder in sorted(pathlib.Path(root).glob("*/")) if
               (folder / "model.onnx").exists()]
    count = check_types(folders, ours)
    if count < 100:
        judge(False, f"only {count} operators have a case")
    return tally.finish(*results)


if __name__ == "__main__":
    sys.exit(main())
