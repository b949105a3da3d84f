"""sequences.py [--seed N] [--cases N]: random chains of operators on sequences and optionals, against Python's lists.

A chain begins with tensors; each node makes a new sequence of any of those before, so that sequences share their items
in every way. Lengths and items by position are the outputs, twice in one session with other data.
"""

import sys

import arrays
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper

TYPES = {"float": np.float32, "int64": np.int64, "uint8": np.uint8, "double": np.float64, "bool": np.bool_}


class Chain:
    """A graph while it is drawn; makers[name] computes a value out of a dictionary of values."""

    def __init__(self, rng):
        self.rng = rng
        self.type_name = list(TYPES)[int(rng.integers(0, len(TYPES)))]
        self.nodes, self.inputs, self.outputs, self.tensors, self.sequences = [], {}, [], [], []
        self.steps = []

    def name(self):
        return f"v{len(self.steps) + len(self.inputs)}"

    def pick(self, names):
        return names[int(self.rng.integers(0, len(names)))]

    def add(self, op, inputs, compute, domain_kind, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.steps.append((name, compute, list(inputs)))
        {"tensor": self.tensors, "sequence": self.sequences, "other": []}[domain_kind].append(name)
        if domain_kind != "sequence":
            self.outputs.append((name, TYPES[self.type_name] if domain_kind == "tensor" else None))
        return name

    def input(self, array):
        name = self.name()
        self.inputs[name] = array
        return name

    def position(self, least, most):
        kind = np.int64 if self.rng.random() < 0.5 else np.int32
        return self.input(np.array(int(self.rng.integers(least, most + 1)), kind))


def new_tensor(rng, chain):
    dims = [int(d) for d in rng.integers(0 if rng.random() < 0.1 else 1, 4, int(rng.integers(1, 3)))]
    data = rng.integers(0, 2 if chain.type_name == "bool" else 100, dims).astype(TYPES[chain.type_name])
    name = chain.input(data)
    chain.tensors.append(name)
    return name


def construct(rng, chain, lengths):
    parts = [chain.pick(chain.tensors) for _ in range(int(rng.integers(1, 5)))]
    name = chain.add("SequenceConstruct", parts, lambda v, *p: list(p), "sequence")
    lengths[name] = len(parts)


def empty(rng, chain, lengths):
    kind = int(helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[chain.type_name])))
    lengths[chain.add("SequenceEmpty", [], lambda v: [], "sequence", dtype=kind)] = 0


def insert(rng, chain, lengths):
    s, t = chain.pick(chain.sequences), chain.pick(chain.tensors)
    n = lengths[s]
    at = [] if rng.random() < 0.5 else [chain.position(-n, n)]

    def compute(v, items, item, at=None):
        k = len(items) if at is None else int(at)
        k += len(items) if k < 0 else 0
        return items[:k] + [item] + items[k:]
    lengths[chain.add("SequenceInsert", [s, t, *at], compute, "sequence")] = n + 1


def erase(rng, chain, lengths):
    filled = [s for s in chain.sequences if lengths[s]]
    if not filled:
        return
    s = chain.pick(filled)
    n = lengths[s]
    at = [] if rng.random() < 0.4 else [chain.position(-n, n - 1)]

    def compute(v, items, at=None):
        k = (len(items) - 1 if at is None else int(at)) % len(items)
        return items[:k] + items[k + 1:]
    lengths[chain.add("SequenceErase", [s, *at], compute, "sequence")] = n - 1


def item(rng, chain, lengths):
    filled = [s for s in chain.sequences if lengths[s]]
    if filled:
        s = chain.pick(filled)
        chain.add("SequenceAt", [s, chain.position(-lengths[s], lengths[s] - 1)],
                  lambda v, items, at: items[int(at)], "tensor")


def length(rng, chain, lengths):
    chain.add("SequenceLength", [chain.pick(chain.sequences)], lambda v, items: np.array(len(items), np.int64), "other")


def same(rng, chain, lengths):
    """Identity, or into an optional and out of it."""
    s = chain.pick(chain.sequences)
    if rng.random() < 0.5:
        lengths[chain.add("Identity", [s], lambda v, items: items, "sequence")] = lengths[s]
        return
    o = chain.add("Optional", [s], lambda v, items: [items], "other")
    chain.outputs.pop()
    chain.add("OptionalHasElement", [o], lambda v, held: np.array(True), "other")
    lengths[chain.add("OptionalGetElement", [o], lambda v, held: held[0], "sequence")] = lengths[s]


def split(rng, chain, lengths):
    """Parts of an input, whose shape is known here."""
    x = chain.pick([t for t in chain.tensors if t in chain.inputs])
    dims = chain.inputs[x].shape
    axis = int(rng.integers(-len(dims), len(dims)))
    size = dims[axis]
    how, keep = rng.random(), int(rng.random() < 0.5)
    if how < 0.4:
        def compute(v, x):
            return [np.squeeze(p, axis) if not keep else p for p in split_at(x, [1] * size, axis)]
        name = chain.add("SplitToSequence", [x], compute, "sequence", axis=axis, keepdims=keep)
        lengths[name] = size
    else:
        part = int(rng.integers(1, size + 2)) if size else 1
        parts = [part] * (size // part) + ([size % part] if size % part else [])
        given = chain.input(np.array(part, np.int64) if how < 0.7 else np.array(parts, np.int32))
        name = chain.add("SplitToSequence", [x, given], lambda v, x, p: split_at(x, parts, axis), "sequence",
                         axis=axis, keepdims=keep)
        lengths[name] = len(parts)


def split_at(x, parts, axis):
    ends = np.cumsum(parts)
    return [np.take(x, range(end - part, end), axis) for end, part in zip(ends, parts)]


def concat(rng, chain, lengths):
    """Of equal parts, on the axis that they have or on a new one."""
    t = chain.pick(chain.tensors)
    count = int(rng.integers(1, 4))
    s = chain.add("SequenceConstruct", [t] * count, lambda v, *p: list(p), "sequence")
    lengths[s] = count
    rank = 0 if t not in chain.inputs else chain.inputs[t].ndim
    if not rank:
        return
    new = int(rng.random() < 0.5)
    axis = int(rng.integers(-rank - new, rank + new))

    def compute(v, items):
        return np.stack(items, axis) if new else np.concatenate(items, axis)
    chain.add("ConcatFromSequence", [s], compute, "tensor", axis=axis, new_axis=new)


STEPS = [construct, empty, insert, insert, insert, erase, erase, item, item, length, same, split, concat]


def draw(rng):
    chain, lengths = Chain(rng), {}
    for _ in range(int(rng.integers(1, 4))):
        new_tensor(rng, chain)
    construct(rng, chain, lengths)
    for _ in range(int(rng.integers(1, 20))):
        STEPS[int(rng.integers(0, len(STEPS)))](rng, chain, lengths)
    length(rng, chain, lengths)
    return chain


def wanted(chain, inputs):
    values = dict(inputs)
    for name, compute, sources in chain.steps:
        values[name] = compute(values, *(values[s] for s in sources))
    return values


def model_of(chain):
    info = helper.make_tensor_value_info
    kind = helper.np_dtype_to_tensor_dtype
    given = [info(name, kind(a.dtype), None) for name, a in chain.inputs.items()]
    given_out = [helper.make_value_info(name, helper.make_tensor_type_proto(TensorProto.UNDEFINED, None))
                 for name, _ in chain.outputs]
    for value in given_out:
        value.ClearField("type")
    graph = helper.make_graph(chain.nodes, "graph", given, given_out)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()


def feeds_of(chain, rng):
    """Tensors with other data; positions stay."""
    feeds = {}
    for name, array in chain.inputs.items():
        is_data = array.dtype == TYPES[chain.type_name] and array.ndim and name in chain.tensors
        feeds[name] = rng.permutation(array.reshape(-1)).reshape(array.shape) if is_data else array
    return feeds


def check(rng, number):
    chain = draw(rng)
    model = oxlib.Model(model_of(chain))
    session = oxlib.Session(model, oxlib.Options(threads=1 + number % 2))
    try:
        for feeds in (chain.inputs, feeds_of(chain, rng), chain.inputs):
            values = wanted(chain, feeds)
            for i, array in enumerate(feeds.values()):
                name = next(k for k in [*TYPES, "int32"] if np.dtype(TYPES.get(k, np.int32)) == array.dtype)
                session.set_input(i, arrays.to_input(array, name))
            session.run()
            for k, (name, _) in enumerate(chain.outputs):
                got = arrays.from_tensor(session.output(k))[1]
                if got.shape != values[name].shape or got.tobytes() != np.ascontiguousarray(values[name]).tobytes():
                    return f"case {number}: {name} is {got!r}, not {values[name]!r}: {chain.nodes}"
    finally:
        session.close()
        model.close()
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 1000))
