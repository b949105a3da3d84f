"""one_node.py: a node by itself, with some of its inputs as weights of the model, against what it has to give."""

import arrays
import numpy as np
import oxlib
from onnx import TensorProto, helper

LIMITS = {"double": 1e-9, "float": 2e-4, "float16": 2e-3, "bfloat16": 2e-2}


def element_type(type_name):
    return TensorProto.DataType.Value(type_name.upper())


def constant(name, type_name, array):
    return helper.make_tensor(name, element_type(type_name), array.shape, np.ascontiguousarray(array).tobytes(), True)


def model(op, version, inputs, fixed, outputs, attributes, domain=""):
    """inputs: a list of None or (type name, array); `fixed` are the numbers of those that are weights; outputs: a list
    of None or type names."""
    names = ["" if i is None else f"x{k}" for k, i in enumerate(inputs)]
    results = ["" if o is None else f"y{k}" for k, o in enumerate(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    ends = [helper.make_tensor_value_info(f"x{k}", element_type(i[0]), None) for k, i in enumerate(inputs)
            if i is not None and k not in fixed]
    outs = [helper.make_tensor_value_info(f"y{k}", element_type(o), None) for k, o in enumerate(outputs) if o]
    weights = [constant(f"x{k}", *i) for k, i in enumerate(inputs) if i is not None and k in fixed]
    imports = [helper.make_opsetid("", version if not domain else 21)]
    imports += [helper.make_opsetid(domain, version)] if domain else []
    return helper.make_model(helper.make_graph([node], "graph", ends, outs, weights), ir_version=10,
                             opset_imports=imports).SerializeToString()


def results(data, inputs, fixed, threads):
    """What two runs of a session give, one list for each."""
    loaded = oxlib.Model(data)
    try:
        session = oxlib.Session(loaded, oxlib.Options(threads=threads))
        given = [i for k, i in enumerate(inputs) if i is not None and k not in fixed]
        for k, (type_name, array) in enumerate(given):
            session.set_input(k, arrays.to_input(np.array(array, order="C"), type_name))
        both = []
        for _ in range(2):
            session.run()
            count = oxlib.library.ox_model_output_count(loaded.handle)
            both.append([arrays.from_tensor(session.output(k))[1].copy() for k in range(count)])
        session.close()
        return both
    finally:
        loaded.close()


def same(a, b):
    return all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b))


def problem(data, inputs, fixed, right, type_names):
    """What is wrong with the outputs, of which `right` are the exact ones; None if nothing is."""
    first, again = results(data, inputs, fixed, 1)
    if not same(first, again):
        return "a second run gives other bits"
    if not same(first, results(data, inputs, fixed, 3)[0]):
        return "three threads give other bits"
    for k, (got, exact, type_name) in enumerate(zip(first, right, type_names)):
        if got.shape != exact.shape:
            return f"output {k} has shape {got.shape} instead of {exact.shape}"
        limit = LIMITS.get(type_name, 0)
        got, exact = (a if a.dtype.kind in "biuc" else a.astype(np.float64) for a in (got, exact))
        if not np.allclose(got, exact, rtol=limit, atol=limit, equal_nan=True):
            away = np.abs(got - exact).max()
            return f"output {k} is off by {away:.3g}"
    return None
