"""draw.py: random operands for each broadcasting operator, with the result that the reference gives.

A drawer takes (rng, scenario) and returns (operands, expected): a list of arrays, None for one that is left out, and
an array or the status that ox must answer with.
"""

import numpy as np
import oxlib
import reference
import values
from values import operand_dims, random_values


def expect(scenario, operands, shaped=None, **attributes):
    """What the reference gives for the operands, or for `shaped`, the operands as numpy is to see them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(reference.FUNCTIONS[scenario.op](*(shaped or operands), **attributes))
    except reference.DivisionByZero:
        return oxlib.VALUE


def filled(rng, type_name, dims, small=False):
    array = random_values(rng, type_name, dims, small)
    return values.repeated(rng, array) if rng.random() < 0.1 else array


def divisor(rng, scenario, array):
    """Mostly without zeros, which are an error for integers."""
    if scenario.op not in ("Div", "Mod") or array.dtype.kind not in "iu" or rng.random() < 0.1:
        return array
    return np.where(array == 0, np.array(3, array.dtype), array)


def binary_attributes(scenario):
    return {"fmod": scenario.attributes.get("fmod", 0)} if scenario.op == "Mod" else {}


def draw_binary(rng, scenario):
    dims = values.output_dims(rng)
    types = scenario.types
    a, b = (filled(rng, t, operand_dims(rng, dims)) for t in types)
    if rng.random() < 0.04 and (bad := values.misfit(rng, dims)):
        return [filled(rng, types[0], dims), filled(rng, types[1], bad)], oxlib.SHAPE
    b = divisor(rng, scenario, b)
    return [a, b], expect(scenario, [a, b], **binary_attributes(scenario))


def draw_alias(rng, scenario):
    a = divisor(rng, scenario, filled(rng, scenario.types[0], values.output_dims(rng)))
    return [a], expect(scenario, [a, a], **binary_attributes(scenario))


def legacy_shapes(rng, scenario):
    """Dims of A and B, and B's dims as numpy sees them, by the rules of versions 1 and 6."""
    axis = scenario.attributes.get("axis")
    dims = values.output_dims(rng)
    if not scenario.attributes.get("broadcast"):
        return dims, dims, dims
    if axis is not None:
        while len(dims) <= axis:
            dims = dims + [2]
        length = int(rng.integers(1, len(dims) - axis + 1))
        other = dims[axis:axis + length]
        return dims, other, other + [1] * (len(dims) - axis - length)
    if rng.random() < 0.3:
        other = [1] * int(rng.integers(0, len(dims) + 1))
    else:
        other = dims[int(rng.integers(0, len(dims) + 1)):]
    return dims, other, other


def draw_legacy(rng, scenario):
    dims, other, seen = legacy_shapes(rng, scenario)
    small = scenario.op == "Pow"
    a, b = filled(rng, scenario.types[0], dims, small), filled(rng, scenario.types[1], other, small)
    if small:
        a = np.abs(a)
    b = divisor(rng, scenario, b)
    return [a, b], expect(scenario, [a, b], [a, b.reshape(seen)])


def draw_pow(rng, scenario):
    dims = values.output_dims(rng)
    base_type, exponent_type = scenario.types
    exponent = np.abs(filled(rng, exponent_type, operand_dims(rng, dims), small=True).astype(np.float64))
    if base_type in reference.FLOATS:
        base = filled(rng, base_type, operand_dims(rng, dims))
        return power_of(scenario, base, exponent / 2 if exponent_type in reference.FLOATS else exponent)
    base = filled(rng, base_type, operand_dims(rng, dims), small=exponent_type in reference.FLOATS)
    return power_of(scenario, base, np.minimum(exponent, 4))


def power_of(scenario, base, exponent):
    operands = [base, exponent.astype(scenario.dtypes[1])]
    return operands, expect(scenario, operands)


def draw_variadic(rng, scenario):
    dims = values.output_dims(rng)
    same = scenario.since < 8
    # Sums of numbers of very different size lose digits in ways that depend on the order.
    operands = [filled(rng, t, dims if same else operand_dims(rng, dims)) for t in scenario.types]
    return operands, expect(scenario, operands)


def draw_where(rng, scenario):
    dims = values.output_dims(rng)
    operands = [filled(rng, t, operand_dims(rng, dims)) for t in scenario.types]
    if scenario.types[1] != "string":
        return operands, expect(scenario, operands)
    # np.where copies (pointer, length) pairs like any other element.
    condition, x, y = np.broadcast_arrays(*operands)
    result = y.copy()
    result[condition] = x[condition]
    return operands, result


def draw_prelu(rng, scenario):
    dims = values.output_dims(rng)
    type_name = scenario.types[0]
    if scenario.since >= 7:
        x, slope = filled(rng, type_name, dims), filled(rng, type_name, operand_dims(rng, dims))
        if rng.random() < 0.05 and dims and dims[0] == 1:
            return [x, filled(rng, type_name, [3] + dims[1:])], oxlib.SHAPE
        return [x, slope], expect(scenario, [x, slope])
    dims = (dims + [2, 3])[:max(2, len(dims))]
    x = filled(rng, type_name, dims)
    channels = 1 if rng.random() < 0.3 else dims[1]
    slope = filled(rng, type_name, [channels])
    return [x, slope], expect(scenario, [x, slope], [x, slope.reshape([channels] + [1] * (len(dims) - 2))])


def draw_gemm(rng, scenario):
    attributes, type_name = scenario.attributes, scenario.types[0]
    m, n, k = (int(d) for d in rng.choice([0, 1, 2, 3, 5, 8, 19], 3, p=[0.05, 0.2, 0.2, 0.2, 0.15, 0.15, 0.05]))
    a = filled(rng, type_name, [k, m] if attributes.get("transA") else [m, k], small=True)
    b = filled(rng, type_name, [n, k] if attributes.get("transB") else [k, n], small=True)
    settings = {name: v for name, v in attributes.items() if name != "broadcast"}
    if len(scenario.types) == 2:
        return [a, b], expect(scenario, [a, b], **settings)
    shapes = [[m, n]]
    if scenario.since >= 7:
        shapes += [[1, n], [m, 1], [n], [1], [], [1, 1]]
        if rng.random() < 0.04 and m == 1:
            return [a, b, filled(rng, type_name, [3, n], small=True)], oxlib.SHAPE
    elif attributes.get("broadcast"):
        shapes += [[n], [1]]
    c = filled(rng, type_name, shapes[int(rng.integers(0, len(shapes)))], small=True)
    return [a, b, c], expect(scenario, [a, b, c], **settings)


def draw_matmul(rng, scenario):
    m, n, k = (int(d) for d in rng.choice([0, 1, 2, 3, 5, 8], 3, p=[0.05, 0.2, 0.25, 0.2, 0.15, 0.15]))
    batch = values.output_dims(rng, 32)
    a_dims, b_dims = operand_dims(rng, batch) + [m, k], operand_dims(rng, batch) + [k, n]
    if rng.random() < 0.1:
        a_dims = [k]
    if rng.random() < 0.1:
        b_dims = [k]
    # Whole numbers make sums of floats exact; wrap-around makes those of integers so.
    small = scenario.types[0] in reference.FLOATS
    a, b = filled(rng, scenario.types[0], a_dims, small), filled(rng, scenario.types[1], b_dims, small)
    return [a, b], expect(scenario, [a, b])


def draw_shift(rng, scenario):
    dims = values.output_dims(rng)
    x = filled(rng, scenario.types[0], operand_dims(rng, dims))
    amount = filled(rng, scenario.types[0], operand_dims(rng, dims), small=rng.random() < 0.7)
    return [x, amount], expect(scenario, [x, amount], direction=scenario.attributes["direction"])


def draw_clip(rng, scenario):
    x = filled(rng, scenario.types[0], values.output_dims(rng))
    if scenario.since < 11:
        # From opset 6 on, attributes that are left out are the last numbers of float.
        ends = {"min": -3.4028234663852886e38, "max": 3.4028234663852886e38} if scenario.since >= 6 else {}
        bounds = [scenario.attributes.get(name, ends.get(name)) for name in ("min", "max")]
        with np.errstate(over="ignore"):
            bounds = [None if b is None else np.asarray(b).astype(scenario.dtypes[0]) for b in bounds]
        return [x], expect(scenario, [x], [x, *bounds])
    bounds = [np.asarray(random_values(rng, scenario.types[0], [], small=True)) if given else None
              for given in scenario.given]
    return [x, *bounds], expect(scenario, [x, *bounds])


def draw_expand(rng, scenario):
    dims = values.output_dims(rng)
    x = filled(rng, scenario.types[0], operand_dims(rng, dims))
    shape = operand_dims(rng, dims)
    if rng.random() < 0.04 and (bad := values.misfit(rng, dims)):
        return [filled(rng, scenario.types[0], dims), np.array(bad, np.int64)], oxlib.SHAPE
    result = np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))
    return [x, np.array(shape, np.int64)], result
