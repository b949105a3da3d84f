"""graph_run.py: random graphs as models, and what ox makes of them: node by node, and whole in one configuration. Nodes
with subgraphs are taken apart: their bodies run node by node, too, round by round."""

import copy
import dataclasses
import functools

import arrays
import graph_held
import graph_models
import numpy as np
import oxlib
import same
import values
from graph_held import Held


@dataclasses.dataclass
class Node:
    """Attributes are Python values, or a Branch for a subgraph. An input that is left out is "". A node stays as it is
    once something is kept of it: its bytes, models, what the reference says. A copy keeps nothing."""
    op: str
    inputs: list
    outputs: list
    attributes: dict
    kept: dict = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def __deepcopy__(self, memo):
        return Node(self.op, list(self.inputs), list(self.outputs), copy.deepcopy(self.attributes, memo))

    def stated(self):
        """The values whose types its subgraphs state."""
        if "stated" not in self.kept:
            names = []
            for branch in self.attributes.values():
                if isinstance(branch, Branch):
                    names += [*branch.inputs, *branch.outputs, *(n for node in branch.nodes for n in node.stated())]
            self.kept["stated"] = names
        return self.kept["stated"]

    def reads(self):
        """Every value that the node wants, those that subgraphs take from outside among them."""
        if "reads" not in self.kept:
            names = [name for name in self.inputs if name]
            for branch in self.attributes.values():
                if isinstance(branch, Branch):
                    names += branch.captures()
            self.kept["reads"] = list(dict.fromkeys(names))
        return self.kept["reads"]

    def makes(self):
        return [name for name in self.outputs if name]


@dataclasses.dataclass
class Branch:
    """A subgraph; its outputs are results of its nodes, or its inputs."""
    nodes: list
    outputs: list
    inputs: list = dataclasses.field(default_factory=list)

    def captures(self):
        made = {name for node in self.nodes for name in node.outputs} | set(self.inputs)
        return [name for node in self.nodes for name in node.reads() if name not in made]


@dataclasses.dataclass
class Case:
    """A graph with data: arrays by name. Types are those of all values."""
    opset: int
    inputs: dict
    constants: dict
    nodes: list
    types: dict
    kept: dict = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def made(self):
        return [name for node in self.nodes for name in node.outputs if name]

    def of(self, key, value, make):
        """make(value), once for each value and key; the value is not to change."""
        found = self.kept.get((key, id(value)))
        if found is None:
            found = self.kept[key, id(value)] = value, make(value)
        return found[1]

    def inputs_by(self, key, change=lambda value: value):
        """What sessions are given for the inputs as `change` gives them; one way is never given twice in turn."""
        if key not in self.kept:
            given = {name: graph_held.mapped(value, change) for name, value in self.inputs.items()}
            self.kept[key] = same.Given([(value, self.types[name]) for name, value in given.items()])
        return self.kept[key].turned()


TENSOR_BYTES = 1 << 28


@dataclasses.dataclass(frozen=True)
class Config:
    """How a whole graph is run. `layout` is the seed of the strides of the inputs, 0 for packed ones. `constant`: inputs
    that are tensors are initializers, so that nodes are computed while a plan is made."""
    isa: str = "base"
    threads: int = 1
    no_fuse: bool = False
    layout: int = 0
    outputs: tuple = ()
    constant: bool = False
    check: bool = False
    plans: int = 0

    def options(self):
        return options_of(self.isa, self.threads, self.no_fuse, self.check, self.plans)


@functools.lru_cache(None)
def options_of(isa, threads, no_fuse, check, plans):
    # What a node gives while a graph is drawn may be far larger than what a graph keeps.
    limits = oxlib.Limits(tensor_bytes=TENSOR_BYTES, plans=plans)
    return oxlib.Options(isa=isa.encode(), threads=threads, no_fuse=no_fuse, check=check, limits=limits)


# ---- Models -----------------------------------------------------------------------------------------------------


def model_of(case, outputs):
    """The bytes of a model."""
    constants = {name: case.of(("constant", name), array, lambda a: graph_models.constant_bytes(name, a, case.types[name]))
                 for name, array in case.constants.items()}
    return graph_models.model_bytes(case.opset, case.nodes, case.types, case.inputs, constants, outputs)


class Loaded(oxlib.Model):
    """A model that is freed with this."""

    def __del__(self):
        if self.handle:
            self.close()


# ---- Runs -------------------------------------------------------------------------------------------------------


class Running:
    """A model and a session of it."""

    def __init__(self, case, config):
        if config.constant:
            case = with_constants(case)
        self.case, self.config = case, config
        self.model = Loaded(model_of(case, config.outputs))
        self.session = oxlib.Session(self.model, config.options())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()

    def outputs(self):
        """(type name, array) of each output."""
        return [graph_held.output(self.session, i) for i in range(len(self.config.outputs))]

    def differs(self, known):
        """None, or how an output differs from these values."""
        names, types = self.config.outputs, self.case.types
        wanted = [self.case.of("wanted", known[name], lambda value: same.wanted(value, types[name])) for name in names]
        for i in same.differing(self.session, wanted):
            text = differs(names[i], known[names[i]], graph_held.output(self.session, i), types[names[i]])
            if text:
                return text
        return None


def with_constants(case):
    """The case with inputs that are tensors as initializers."""
    tensors = {name: value for name, value in case.inputs.items() if not isinstance(value, Held)}
    return dataclasses.replace(case, constants=dict(case.constants, **tensors),
                               inputs={name: v for name, v in case.inputs.items() if name not in tensors})


def model_of_node(node, types, opset):
    """The model of one node whose operands are inputs; loaded once."""
    reads = node.reads()
    key = ("model", opset, *map(types.get, reads), *map(types.get, node.outputs), *map(types.get, node.stated()))
    if key not in node.kept:
        node.kept[key] = Loaded(graph_models.model_bytes(opset, [node], types, reads, {}, node.makes()))
    return node.kept[key]


def run_node(node, known, types, opset, isa, constant=False):
    """(type name, array) of each output of one node by itself, on arrays by name: inputs, or constants."""
    reads, outputs = node.reads(), node.makes()
    if constant:
        case = with_constants(Case(opset, {name: known[name] for name in reads}, {}, [node], types))
        model, reads = Loaded(model_of(case, outputs)), case.inputs
    else:
        model = model_of_node(node, types, opset)
    session = oxlib.Session(model, Config(isa).options())
    try:
        same.Given([(known[name], types[name]) for name in reads]).run(session)
        return [graph_held.output(session, i) for i in range(len(outputs))]
    finally:
        session.close()


def run_nodes(case, isa, other=None):
    """All values of a case: arrays by name, computed node by node. `other` has the values of another build: a node that
    has run in this one on the same operands does not run once more (kept_results)."""
    known = dict(case.inputs, **case.constants)
    run_into(case.nodes, known, case.types, case.opset, isa, other)
    return known


def keep_results(node, known, isa, results):
    """What a node by itself gave in a build, for its operands."""
    node.kept["results", isa] = [known[name] for name in node.reads()], results


def kept_results(node, known, isa):
    operands, results = node.kept.get(("results", isa), ([], None))
    return results if all(known[name] is x for name, x in zip(node.reads(), operands)) else None


def same_bits(a, b):
    return not isinstance(a, Held) and a.dtype == b.dtype and a.dtype.names is None and a.shape == b.shape and \
        a.tobytes() == b.tobytes()


def run_into(nodes, known, types, opset, isa, other=None):
    """Without items, a sequence may not tell what it would hold: then it is of the type that it was drawn with."""
    for node in nodes:
        results = kept_results(node, known, isa) or run_apart(node, known, types, opset, isa)
        for name, (type_name, array) in zip([name for name in node.outputs if name], results):
            known[name] = other[name] if other and same_bits(array, other[name]) else array
            if "undefined" not in type_name or not types.get(name):
                types[name] = type_name


# ---- Subgraphs, node by node ------------------------------------------------------------------------------------


class NoRounds(Exception):
    """Nobody but ox knows what shape stacks of no rounds would have had; it tells the more, the more is constant."""


def run_apart(node, known, types, opset, isa):
    """(type name, value) of each output; nodes with subgraphs are taken apart."""
    if node.op not in APART:
        return run_node(node, known, types, opset, isa)

    def run_body(key, *given):
        body = node.attributes[key]
        scope = dict(known, **dict(zip(body.inputs, given)))
        run_into(body.nodes, scope, types, opset, isa)
        return [scope[name] for name in body.outputs]

    results = APART[node.op](node, known, run_body)
    if results is None:
        raise NoRounds
    body = next(value for value in node.attributes.values() if isinstance(value, Branch))
    found = [types[name] for name in (body.outputs[1:] if node.op == "Loop" else body.outputs)]
    if node.op == "SequenceMap":
        found = [graph_held.around("seq", t) for t in found]
        results = [Held(t, items) for t, items in zip(found, results)]
    return list(zip(found, results))


def if_apart(node, known, run_body):
    return run_body("then_branch" if known[node.inputs[0]].reshape(-1)[0] else "else_branch")


def loop_apart(node, known, run_body):
    most, going = [known[name] if name else None for name in node.inputs[:2]]
    has_condition, turn, rows = going is not None, 0, []
    carried = [known[name] for name in node.inputs[2:]]
    going = np.array(True) if going is None else going
    while (most is None or turn < most.reshape(-1)[0]) and going.reshape(-1)[0]:
        results = run_body("body", np.array(turn, np.int64), going, *carried)
        going = results[0] if has_condition else going
        carried, row = results[1:1 + len(carried)], results[1 + len(carried):]
        rows.append(row)
        turn += 1
    if not rows and len(node.outputs) > len(carried):
        return None
    return carried + [np.stack(stack) for stack in zip(*rows)]


def scan_apart(node, known, run_body):
    count = node.attributes["num_scan_inputs"]
    states = [known[name] for name in node.inputs[:-count]]
    scanned = [known[name] for name in node.inputs[-count:]]
    setting = lambda name, n: node.attributes.get(name, [0] * n)
    axes = setting("scan_input_axes", count)
    back = setting("scan_input_directions", count)
    length, rows = scanned[0].shape[axes[0]], []
    for turn in range(length):
        slices = [np.take(x, length - 1 - turn if b else turn, axis) for x, axis, b in zip(scanned, axes, back)]
        results = run_body("body", *states, *map(np.asarray, slices))
        states, row = results[:len(states)], results[len(states):]
        rows.append(row)
    stacks = len(node.outputs) - len(states)
    if not rows and stacks:
        return None
    made, axes, back = [], setting("scan_output_axes", stacks), setting("scan_output_directions", stacks)
    for stack, axis, b in zip(zip(*rows), axes, back):
        made.append(np.stack(stack[::-1] if b else stack, axis))
    return states + made


def map_apart(node, known, run_body):
    first, *others = [known[name] for name in node.inputs]
    rows = [run_body("body", item, *(x.items[i] if isinstance(x, Held) else x for x in others))
            for i, item in enumerate(first.items)]
    return [[row[k] for row in rows] for k in range(len(node.outputs))]


APART = {"If": if_apart, "Loop": loop_apart, "Scan": scan_apart, "SequenceMap": map_apart}


# ---- Comparing --------------------------------------------------------------------------------------------------


def comparable(array):
    """Texts, or bits with every NaN the same: which of two NaN an operation passes on depends on the loop."""
    if array.dtype.names:
        return arrays.texts_of(array)
    if array.dtype.kind in "fcV":
        unordered = array != array
        if unordered.any():
            array = array.copy()
            array[unordered] = np.nan
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def differs(name, wanted, got, type_name):
    """None, or how an output differs from the (value, type) that is wanted."""
    got_type, got_array = got
    if isinstance(wanted, Held):
        return held_differs(name, wanted, got_array, type_name, got_type)
    if got_type != type_name or got_array.shape != wanted.shape:
        return f"{name} is {got_type}{list(got_array.shape)}, not {type_name}{list(wanted.shape)}"
    if wanted.dtype.names is None and wanted.tobytes() == got_array.tobytes():
        return None
    if np.array_equal(comparable(wanted), comparable(got_array)):
        return None
    flat = zip(wanted.reshape(-1).tolist(), got_array.reshape(-1).tolist())
    for i, pair in enumerate(flat):
        if repr(pair[0]) != repr(pair[1]):
            return f"{name}: element {i} is {pair[1]!r}, node by node {pair[0]!r}"
    return f"{name} differs"


def held_differs(name, wanted, got, type_name, got_type):
    """The same of values that are no tensors, item by item."""
    if not graph_held.agree(got_type, type_name) or len(got.items) != len(wanted.items):
        return f"{name} is {got_type} of {len(got.items)} items, not {type_name} of {len(wanted.items)}"
    inner = graph_held.inner_type(type_name)
    pairs = [(f"{name}[{i}]", a, b, inner) for i, (a, b) in enumerate(zip(wanted.items, got.items))]
    if wanted.keys is not None:
        pairs.append((f"keys of {name}", wanted.keys, got.keys, graph_held.key_type(type_name)))
    return next(filter(None, (differs(n, a, (t, b), t) for n, a, b, t in pairs)), None)


def other_data(array):
    """The same elements in other places: what a run leaves in memory is then of no use to the next."""
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def given(case, config):
    """The inputs of a run; of one layout, what is given is made once."""
    if not config.layout:
        return case.inputs_by("packed")
    rng = np.random.default_rng(config.layout)
    return case.inputs_by(config.layout, lambda array: values.lay_out(rng, array))


def examine(case, config, known=None):
    """None, or how a run of the whole graph differs from its nodes one by one: the first run of a session, and one
    after a run on other data, which may end in an error."""
    if known is None:
        known = run_nodes(case, config.isa)
    try:
        with Running(case, config) as running:
            for turn in range(2):
                given(running.case, config).run(running.session)
                text = running.differs(known)
                if text:
                    return f"run {turn}: {text}"
                try:
                    running.case.inputs_by("other data", other_data).run(running.session)
                except oxlib.OxError:
                    pass
    except oxlib.OxError as error:
        return f"status {error.status}: {error}, where the nodes one by one give results"
    return None


def builds():
    """The names of the builds that this processor runs; a build that it does not is refused, or is a lower one."""
    found = []
    for isa in map(bytes.decode, oxlib.builds()):
        case = Case(21, {"x": np.zeros(1, np.float32)}, {}, [Node("Neg", ["x"], ["y"], {})],
                    {"x": "float", "y": "float"})
        try:
            with Running(case, Config(isa, outputs=("y",))):
                found.append(isa)
        except oxlib.OxError:
            continue
    return found
