"""one_node.py: a node by itself, with some of its inputs as weights of the model, against what it has to give."""

import ml_dtypes
import nodes
import numpy as np
import oxlib
from onnx import helper, numpy_helper

LIMITS = {"double": 1e-9, "float": 2e-4, "float16": 2e-3, "bfloat16": 2e-2}


def constant(name, type_name, array):
    if type_name in ("int4", "uint4"):
        return numpy_helper.from_array(np.array(array, getattr(ml_dtypes, type_name), order="C"), name)
    return helper.make_tensor(name, nodes.kind_of(type_name), array.shape, np.ascontiguousarray(array).tobytes(), True)


def model(op, version, inputs, fixed, outputs, attributes, domain=""):
    """inputs: a list of None or (type name, array); `fixed` are the numbers of those that are weights; outputs: a list
    of None or type names."""
    names = ["" if i is None else f"x{k}" for k, i in enumerate(inputs)]
    results = ["" if o is None else f"y{k}" for k, o in enumerate(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    ends = {f"x{k}": i[0] for k, i in enumerate(inputs) if i is not None and k not in fixed}
    weights = [constant(f"x{k}", *i) for k, i in enumerate(inputs) if i is not None and k in fixed]
    outs = {f"y{k}": o for k, o in enumerate(outputs) if o}
    return nodes.model_around([node], ends, outs, 21 if domain else version, weights, [domain] if domain else [])


def results(data, inputs, fixed, threads, **options):
    """What two runs of a session give, one list for each."""
    given = [(np.array(i[1], order="C"), i[0]) for k, i in enumerate(inputs) if i is not None and k not in fixed]
    return nodes.runs(data, given, 2, threads=threads, **options)


def same(a, b):
    return all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b))


def steady(data, inputs, fixed, check=False):
    """What a run gives, and None; or nothing, and what is wrong: an error, or other bits by another run or threads. `check`:
    the library checks itself, too."""
    try:
        first, again = results(data, inputs, fixed, 1)
        other = results(data, inputs, fixed, 3)[0]
        if check:
            results(data, inputs, fixed, 1, check=True)
    except oxlib.OxError as error:
        return None, str(error)
    if not same(first, again) or not same(first, other):
        return None, "another run or three threads give other bits"
    return first, None


def problem(data, inputs, fixed, right, type_names):
    """What is wrong with the outputs, of which `right` are the exact ones; None if nothing is. With other inputs as
    constants they are the same, or near where weights may have been laid out for the one and not for the other."""
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
