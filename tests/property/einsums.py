"""einsums.py: Einsum with random equations, types and shapes against numpy, which also says what is no diagonal."""

import sys

import arrays
import numpy as np
import one_node
import oxlib
import trials

TYPES = ["float", "double", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
         "uint64"]
LETTERS = "abcdXYZ"


def draw(rng):
    """(equation, shapes): every letter has one size, which an operand may have as 1; one that has a letter twice may
    have both."""
    letters = [str(c) for c in rng.permutation(list(LETTERS))[:int(rng.integers(1, 6))]]
    sizes = {c: int(rng.integers(1, 6)) for c in letters}
    if rng.random() < 0.05:
        sizes[letters[0]] = 0
    hidden = [int(d) for d in rng.integers(1, 4, int(rng.integers(1, 3)))] if rng.random() < 0.4 else []
    terms, shapes = [], []
    for _ in range(int(rng.choice([1, 2, 2, 2, 3, 4]))):
        term = [str(c) for c in rng.choice(letters, int(rng.integers(0, 4)))]
        shape = [sizes[c] for c in term]
        if hidden and rng.random() < 0.7:
            at = int(rng.integers(0, len(term) + 1))
            shape[at:at] = hidden
            term[at:at] = ["..."]
        if rng.random() < 0.2:
            shape = [1 if rng.random() < 0.4 else d for d in shape]
        terms.append("".join(term))
        shapes.append(shape)
    equation = ",".join(terms)
    if rng.random() < 0.7:
        used = [c for c in letters if c in equation]
        out = [str(c) for c in rng.permutation(used)[:int(rng.integers(0, len(used) + 1))]] if used else []
        if "..." in equation:
            out.insert(int(rng.integers(0, len(out) + 1)), "...")
        equation += "->" + "".join(out)
    return equation, shapes


def refused(type_name, equation, operands):
    """None if it is an error of shapes."""
    inputs = [(type_name, a) for a in operands]
    try:
        one_node.results(one_node.model("Einsum", 28, inputs, set(), [type_name], {"equation": equation}), inputs, set(), 1)
    except oxlib.OxError as error:
        return None if error.status == oxlib.SHAPE else f"'{equation}' {[a.shape for a in operands]}: {error}"
    return f"'{equation}' {[a.shape for a in operands]}: has a result"


def case(rng, turn):
    type_name = TYPES[turn % len(TYPES)]
    equation, shapes = draw(rng)
    kind = arrays.DTYPES[type_name][1]
    low = 0 if type_name.startswith("uint") else -2
    operands = [np.asarray(rng.integers(low, 3, shape)).astype(kind) for shape in shapes]
    wide = np.int64 if "int" in type_name else np.float64
    try:
        exact = np.asarray(np.einsum(equation, *(a.astype(wide) for a in operands)))
    except ValueError:
        exact = None
    if exact is None:
        return refused(type_name, equation, operands)
    right = exact.astype(kind) if "int" in type_name else exact
    if type_name == "bfloat16":
        right = exact.astype(kind).astype(np.float64)
    inputs = [(type_name, a) for a in operands]
    fixed = {k for k in range(len(inputs)) if rng.random() < 0.2}
    spaced = equation.replace(",", " , ").replace("->", " -> ") if rng.random() < 0.2 else equation
    version = 28 if type_name == "bfloat16" else int(rng.choice([12, 28]))
    data = one_node.model("Einsum", version, inputs, fixed, [type_name], {"equation": spaced})
    try:
        wrong = one_node.problem(data, inputs, fixed, [right], [type_name])
    except oxlib.OxError as error:
        wrong = str(error)
    return wrong and f"{type_name} '{spaced}' {shapes}: {wrong}"


if __name__ == "__main__":
    sys.exit(trials.run(case, 800))
