"""graph_lists.py: how nodes of operators on sequences, optionals and maps are drawn."""

import arrays
import graph_draw
import graph_held
import numpy as np
from graph_draw import ALL, NUMBERS
from graph_held import Held

LISTED = [t for t in ALL if t not in graph_draw.NEWEST and t not in graph_draw.TINY + graph_draw.FLOAT8 + ["bfloat16"]]
VOCABULARY = list(range(-2, 6))


def source(d, type_name, value):
    """A new input that is no tensor."""
    return d.give(value, type_name, d.case.inputs)


def pick(d, kind, suits=lambda value: True):
    """A value of the kind; None if there is none. A sequence of a few tensors is made where none suits."""
    found = [n for n in d.held if d.type_of(n).startswith(kind + "(") and suits(d.known[n])]
    if found and not d.chance(0.1):
        return found[-1 - min(int(d.rng.geometric(0.4)) - 1, len(found) - 1)]
    if kind != "seq":
        return d.choose(found) if found else None
    type_name = d.choose(LISTED)
    dims = [[int(n) for n in d.rng.integers(1, 4, int(d.rng.integers(0, 3)))] for _ in range(int(d.rng.integers(0, 4)))]
    items = [graph_draw.random_array(d.rng, type_name, shape, d.tame) for shape in dims]
    made = Held(graph_held.around("seq", type_name), items)
    return source(d, made.type, made) if suits(made) else None


def of_tensors(value):
    return graph_held.inner_type(value.type) in arrays.DTYPES


def place(d, low, high):
    """A position as a tensor of either type; [] for none."""
    if high < low or d.chance(0.3):
        return []
    return [d.source(d.choose(["int32", "int64"]), (), np.array(int(d.rng.integers(low, high + 1))))]


def construct(d, op):
    a = d.pick(LISTED)
    if a is not None:
        same = [n for n in d.names if d.type_of(n) == d.type_of(a)]
        d.add(op, [a, *[d.choose(same) for _ in range(int(d.rng.integers(0, 4)))]])


def empty(d, op):
    d.add(op, [], dtype=arrays.DTYPES[d.choose(LISTED)][0])


def insert(d, op):
    s = pick(d, "seq", of_tensors)
    item = s and d.pick([graph_held.inner_type(d.type_of(s))])
    if item:
        count = len(d.known[s].items)
        d.add(op, [s, item, *place(d, -count, count)])


def erase(d, op):
    s = pick(d, "seq", lambda x: of_tensors(x) and x.items)
    if s:
        count = len(d.known[s].items)
        d.add(op, [s, *place(d, -count, count - 1)])


def at(d, op):
    s = pick(d, "seq", lambda x: of_tensors(x) and x.items)
    if s:
        count = len(d.known[s].items)
        d.add(op, [s, *(place(d, -count, count - 1) or [d.ints(-1)])])


def length(d, op):
    d.add(op, [pick(d, "seq", of_tensors)])


def split(d, op):
    a = d.pick(LISTED, lambda x: x.ndim > 0)
    if a is None:
        return
    axis = int(d.rng.integers(-d.array(a).ndim, d.array(a).ndim))
    size, parts = d.shape(a)[axis], []
    if size > 8 or d.chance(0.6):
        cut = int(d.rng.integers(0, size + 1))
        parts = [d.ints([cut, size - cut]) if d.chance(0.5) else d.ints(-(-size // int(d.rng.integers(1, 4))) or 1)]
    d.add(op, [a, *parts], axis=axis, keepdims=int(d.chance(0.6)))


def concat(d, op):
    """Of equal items, or of whatever there is."""
    s = pick(d, "seq", lambda x: of_tensors(x) and x.items and all(i.ndim for i in x.items))
    if s is None or d.chance(0.3):
        a = d.pick(LISTED, lambda x: 0 < x.ndim < 7)
        made = a and d.add("SequenceConstruct", [a] * int(d.rng.integers(1, 4)))
        s = made and made[0]
    if s:
        rank, new = d.known[s].items[0].ndim, int(d.chance(0.4))
        d.add(op, [s], axis=int(d.rng.integers(-rank - new, rank + new)), new_axis=new)


def optional(d, op):
    s = pick(d, "seq", of_tensors) if d.chance(0.5) else d.pick(LISTED)
    d.add(op, [s])


def of_optional(d, op):
    """Since version 18 of anything."""
    a = pick(d, "optional", lambda x: x.items or op == "OptionalHasElement")
    if a is None and d.opset >= 18:
        a = pick(d, "seq", of_tensors) if d.chance(0.5) else d.pick(LISTED)
    if op == "OptionalHasElement" and d.opset >= 18 and d.chance(0.1):
        d.add(op, d.choose([[], [""]]))
    else:
        d.add(op, [a])


def hand_on(d, op):
    d.add(op, [d.choose(d.held) if d.held else None])


def map_of(d, key, type_name):
    words = VOCABULARY if key == "string" else VOCABULARY[2:]
    keys = [int(k) for k in d.rng.permutation(words)[:int(d.rng.integers(0, 5))]]
    made = (arrays.pairs_of(np.array([f"k{k}".encode() for k in keys], object)) if key == "string" else
            np.array(keys, np.int64))
    items = [graph_draw.random_array(d.rng, type_name, [], True) for _ in keys]
    value = Held(f"map({key},tensor({type_name}))", items, made)
    return source(d, value.type, value)


def cast_map(d, op):
    texts = d.chance(0.3)
    to = "TO_STRING" if texts else d.choose(["TO_FLOAT", "TO_INT64"])
    form = {"map_form": "SPARSE", "max_map": 9} if d.chance(0.5) else {}
    d.add(op, [map_of(d, "int64", "string" if texts else "float")], cast_to=to, **form)


def vectorize(d, op):
    key, type_name = d.choose(["int64", "string"]), d.choose(["float", "double", "int64"])
    words = [f"k{k}" for k in VOCABULARY] if key == "string" else VOCABULARY
    d.add(op, [map_of(d, key, type_name)], **{f"{key}_vocabulary": words})


def zip_map(d, op):
    a = d.pick(["float"], lambda x: 0 < x.ndim < 3 and 0 < x.shape[-1] < 8)
    if a is not None:
        keys = list(range(d.shape(a)[-1]))
        labels = {"classlabels_int64s": keys} if d.chance(0.5) else {"classlabels_strings": [f"c{k}" for k in keys]}
        d.add(op, [a], **labels)


LISTS = {
    "SequenceConstruct": (13, construct), "SequenceEmpty": (13, empty), "SequenceInsert": (13, insert),
    "SequenceErase": (13, erase), "SequenceAt": (13, at), "SequenceLength": (13, length),
    "SplitToSequence": (13, split), "ConcatFromSequence": (13, concat), "Optional": (15, optional),
    "OptionalHasElement": (15, of_optional), "OptionalGetElement": (15, of_optional),
    "ai.onnx.ml.CastMap": (13, cast_map), "ai.onnx.ml.DictVectorizer": (13, vectorize),
    "ai.onnx.ml.ZipMap": (13, zip_map),
}
