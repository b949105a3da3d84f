"""graph_draw.py: a random graph while it grows. Each node is run by itself when it is added, so that types, shapes and
data of its results are known, whatever they depend on; a node that ends in an error is left out again."""

import functools

import arrays
import graph_held
import graph_run
import numpy as np
import oxlib
import values
from graph_run import Branch, Case, Node

MOST_ELEMENTS = 4000
LARGE = 120000  # of a graph with results that are split over threads

FLOATS = ["float", "double", "float16", "bfloat16"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS
FLOAT8 = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
TINY = ["uint4", "int4", "float4e2m1"]
NEWEST = {"float8e8m0": 24, "uint2": 25, "int2": 25, "float6e2m3": 28, "float6e3m2": 28}
ALL = NUMBERS + ["bool", "string", "complex64", "complex128"] + FLOAT8 + TINY + list(NEWEST)
NARROW = {"uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1)}
# Elementwise operators that may change nothing: what they give is what they are given.
HANDING_ON = ["Cast", "CastLike", "Clip", "Max", "Mean", "Min", "Sum"]
# What numbers are made of, where a graph is to have few infinities and the like.
TAME = {"float": 8.0, "double": 8.0, "float16": 4.0, "bfloat16": 4.0}


def since_of(type_name):
    """The opset that brought a type to operators for all types."""
    return NEWEST.get(type_name) or (21 if type_name in TINY else 19 if type_name in FLOAT8 else 13)


def random_array(rng, type_name, dims, tame):
    dtype = arrays.DTYPES[type_name][1]
    if type_name in TAME and tame:
        return np.asarray(rng.normal(scale=TAME[type_name], size=dims)).astype(dtype)
    if type_name in NARROW:  # ox wants them sign-extended, numpy does not care
        low, high = NARROW[type_name]
        return rng.integers(low, high + 1, dims, np.int8).view(dtype) if dims else np.array(high, np.int8).view(dtype)
    if type_name in FLOAT8 + TINY or type_name in NEWEST:
        with np.errstate(all="ignore"):
            return np.asarray(rng.integers(-8 if type_name[0] != "u" else 0, 9, dims)).astype(np.float32).astype(dtype)
    return np.asarray(values.random_values(rng, type_name, dims, small=tame and dtype.kind in "iu"))


class Draft:
    """`known` has the arrays of all values; `records` what each node made of what, for the oracle."""

    def __init__(self, rng, opset, isa, outer=None):
        self.rng, self.outer = rng, outer
        self.nodes, self.records = [], []
        self.names = list(outer.names) if outer else []  # of tensors
        self.held = list(outer.held) if outer else []  # of other values
        self.depth = outer.depth + 1 if outer else 0
        self.case = outer.case if outer else Case(opset, {}, {}, self.nodes, {})
        self.known = outer.known if outer else {}
        self.isa, self.opset = isa, opset
        self.first = outer.first if outer else {}  # the first name of a value that was handed on
        self.few = outer.few if outer else False  # values, of one shape mostly
        self.flows = outer.flows if outer else False  # many subgraphs and values that are no tensors
        if outer is None:
            self.tame = rng.random() < 0.6
            self.most = LARGE if rng.random() < 0.04 else MOST_ELEMENTS
            self.dims = self.draw_dims()
            self.type_name = self.choose(NUMBERS if rng.random() < 0.4 else ["float", "float", "double", "float16"])
        else:
            self.tame, self.most, self.dims, self.type_name = outer.tame, outer.most, outer.dims, outer.type_name

    # ---- Choosing -----------------------------------------------------------------------------------------------

    def choose(self, items):
        return items[int(self.rng.integers(0, len(items)))]

    def chance(self, share):
        return self.rng.random() < share

    def draw_dims(self):
        """The dims that most values broadcast to: small, or larger than a tile."""
        if self.most > MOST_ELEMENTS:
            return values.large_dims(self.rng)
        kind = self.rng.random()
        if kind < 0.1:
            return [int(self.rng.integers(50, 64)), int(self.rng.integers(50, 64))]
        if kind < 0.2:
            return [int(self.rng.integers(1, 4)), int(self.rng.choice([17, 64, 100, 255, 300, 1000]))]
        return values.output_dims(self.rng, 512)

    def array(self, name):
        return self.known[name]

    def shape(self, name):
        return self.known[name].shape

    def type_of(self, name):
        return self.case.types[name]

    def types_in(self, types):
        return [t for t in types if since_of(t) <= self.opset]

    def pick(self, types, suits=None):
        """A value of one of the types, recent ones preferred; sometimes, or if there is none, a new one."""
        found = [n for n in self.names if self.type_of(n) in types and (not suits or suits(self.array(n)))]
        if found and not self.chance(0.02 if self.few else 0.08):
            return self.choose(self.twins(found[-1 - min(int(self.rng.geometric(0.3)) - 1, len(found) - 1)]))
        types = self.types_in(types)
        type_name = self.type_name if self.type_name in types and self.chance(0.8) else self.choose(types)
        for _ in range(20):
            dims = self.dims if self.few or self.chance(0.6) else values.operand_dims(self.rng, self.dims)
            array = random_array(self.rng, type_name, dims, self.tame)
            if not suits or suits(array):
                return self.source(type_name, dims, array)
        return None

    def partner(self, name):
        """A value that broadcasts with another one, of its type."""
        shape, type_name = self.shape(name), self.type_of(name)
        found = [n for n in self.names if self.type_of(n) == type_name and self.fits(shape, self.shape(n))]
        if self.chance(0.2):
            return self.choose(self.twins(name))
        if found and not self.chance(0.05 if self.few else 0.2):
            return self.choose(found)
        return self.source(type_name, values.operand_dims(self.rng, list(shape)))

    def twins(self, name):
        """All names of a value that nodes have handed on."""
        first = self.first.get(name, name)
        return [n for n in self.names if self.first.get(n, n) == first]

    def hands_on(self, source, name):
        a, b = self.array(source), self.array(name)
        return (self.type_of(source) == self.type_of(name) and a.shape == b.shape and
                np.array_equal(graph_run.comparable(a), graph_run.comparable(b)))

    def fits(self, *shapes):
        try:
            return int(np.prod(np.broadcast_shapes(*shapes), dtype=np.int64)) <= self.most
        except ValueError:
            return False

    # ---- Adding -------------------------------------------------------------------------------------------------

    def source(self, type_name, dims, array=None):
        """A new input or initializer."""
        if array is None:
            array = random_array(self.rng, type_name, dims, self.tame)
        array = np.asarray(array, arrays.DTYPES[type_name][1])
        constant = self.chance(0.35) and int(np.prod(dims, dtype=np.int64)) <= 4096
        return self.give(array, type_name, self.case.constants if constant else self.case.inputs)

    def constant(self, array, type_name):
        """What shapes depend on: mostly an initializer, sometimes an input, sometimes the result of a node."""
        kind = self.rng.random()
        name = self.give(np.asarray(array, arrays.DTYPES[type_name][1]), type_name,
                         self.case.constants if kind < 0.7 else self.case.inputs)
        if kind > 0.9:
            made = self.add("Identity", [name])
            return made[0] if made else name
        return name

    def ints(self, numbers):
        return self.constant(np.array(numbers, np.int64), "int64")

    def give(self, value, type_name, among):
        name = f"{'w' if among is self.case.constants else 'x'}{len(self.case.constants) + len(self.case.inputs)}"
        among[name] = value
        draft = self
        while draft:  # subgraphs take it from the outermost graph
            draft.see(name, type_name, value)
            draft = draft.outer
        return name

    def add(self, op, inputs, count=1, **attributes):
        """The names of the results; None if the node ends in an error, or gives too much."""
        if None in inputs:
            return None
        outputs = [f"v{len(self.known) + i}" for i in range(count)]
        node = Node(op, list(inputs), outputs, attributes)
        try:
            results = graph_run.run_node(node, self.known, self.case.types, self.opset, self.isa)
            if op in graph_run.APART:
                graph_run.run_apart(node, self.known, self.case.types, self.opset, self.isa)
        except (oxlib.OxError, graph_run.NoRounds):
            return None
        if any(graph_held.size_of(value) > self.most or "undefined" in type_name for type_name, value in results):
            return None
        for name, (type_name, value) in zip(outputs, results):
            self.see(name, type_name, value)
            if name in self.names and inputs and inputs[0] in self.names and self.hands_on(inputs[0], name):
                self.first[name] = self.first.get(inputs[0], inputs[0])
        self.nodes.append(node)
        self.records.append(node)
        return outputs

    def see(self, name, type_name, value):
        self.known[name], self.case.types[name] = value, type_name
        (self.held if graph_held.is_held(type_name) else self.names).append(name)

    def port(self, type_name, value, is_read=True):
        """An input of a subgraph, which has this value in its first round."""
        name = f"v{len(self.known)}"
        self.see(name, type_name, value)
        if not is_read:
            self.names.remove(name)
        return name

    def inner(self):
        return Draft(self.rng, self.opset, self.isa, self)

    def close(self, inner, inputs, outputs):
        """The subgraph that an inner draft has become."""
        self.records += inner.records
        return Branch(inner.nodes, outputs, inputs)


@functools.lru_cache(None)
def shares_of(weights, dense, flows):
    """Up to which number below 1 each list of rules is meant."""
    weights = np.array(weights, float)
    if dense:
        weights[1:] *= 0.2
    if flows:
        weights[-2:] *= 5
    return weights.cumsum() / weights.sum()


def grow(draft, rules, dense):
    """One more node. `rules` is a list of (weight, rules by operator): one of the lists is chosen, then one of it. The
    last two have subgraphs and values that are no tensors."""
    shares = shares_of(tuple(weight for weight, _ in rules), dense, draft.flows)
    names = rules[int(shares.searchsorted(draft.rng.random(), "right"))][1]
    op = draft.choose(sorted(names))
    since, rule = names[op]
    if draft.opset >= since:
        rule(draft, op)


def second_of(draft, first):
    """What a pass may read a value by once more: its name from a node that hands it on, or its difference from the mean
    of its rows."""
    op = draft.choose(["Cast", "Max", "Clip", "Sub"])
    if op != "Sub":
        return draft.add(op, [first], **({"to": arrays.DTYPES[draft.type_of(first)][0]} if op == "Cast" else {}))
    axes = [draft.ints([-1])] if draft.opset >= 18 else []
    mean = draft.add("ReduceMean", [first, *axes], **({} if axes else {"axes": [-1]}))
    return mean and draft.add("Sub", [first, mean[0]])


def read_again(draft, elementwise):
    """A number that lies in memory, for no elementwise node makes it; a result of it; and, of that, one for which it is
    read again."""
    made = [n for node in draft.nodes if node.op not in elementwise for n in node.outputs
            if draft.type_of(n) in NUMBERS]
    if not made or draft.opset < 14:
        return
    first = draft.choose(made)
    second = second_of(draft, first)
    other = second[0] if second and draft.chance(0.5) else draft.partner(first)
    result = draft.add(draft.choose(["Add", "Sub", "Mul"]), [other, first])
    if second and result and draft.fits(draft.shape(result[0]), draft.shape(second[0])):
        draft.add(draft.choose(["Add", "Sub", "Mul"]), [result[0], second[0]])


def few_of(rng, rules):
    """The rules with few of the first list's, so that in many graphs together each stands beside each other often. Some
    are of those that hand on what they are given."""
    (weight, first), *others = rules
    kept = [*rng.choice(sorted(first), 7), *rng.choice(HANDING_ON, 3)]
    return [(weight, {op: first[op] for op in map(str, kept)}), *others]


def draw(rng, rules, isa):
    """A draft of 3 to 30 nodes."""
    opset = int(rng.choice([13, 17, 18, 20, 21, 23, 24, 26, 28]))
    draft = Draft(rng, opset, isa)
    wanted, dense = int(np.clip(3 + rng.geometric(0.12), 3, 30)), rng.random() < 0.4
    draft.flows = not dense and rng.random() < 0.5
    if dense:
        draft.few = True
        for _ in range(2):  # what passes read, and may write over
            grow(draft, rules[1:], False)
        few = few_of(rng, rules)
    for _ in range(4 * wanted):
        if dense and draft.chance(0.1):
            read_again(draft, rules[0][1])
        grow(draft, few if dense else rules, dense)
        if len(draft.nodes) >= wanted:
            break
    return draft
