"""graph_run.py: random graphs as models, and what ox makes of them: node by node, and whole in one configuration."""

import dataclasses

import arrays
import numpy as np
import oxlib
import values
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass
class Node:
    """Attributes are Python values, or a Branch for a subgraph. An input that is left out is ""."""
    op: str
    inputs: list
    outputs: list
    attributes: dict

    def reads(self):
        """Every value that the node wants, those that subgraphs take from outside among them."""
        names = [name for name in self.inputs if name]
        for branch in self.attributes.values():
            if isinstance(branch, Branch):
                names += branch.captures()
        return list(dict.fromkeys(names))


@dataclasses.dataclass
class Branch:
    nodes: list
    output: str

    def captures(self):
        made = {name for node in self.nodes for name in node.outputs}
        return [name for node in self.nodes for name in node.reads() if name not in made]


@dataclasses.dataclass
class Case:
    """A graph with data: arrays by name. Types are those of all values."""
    opset: int
    inputs: dict
    constants: dict
    nodes: list
    types: dict

    def made(self):
        return [name for node in self.nodes for name in node.outputs if name]


TENSOR_BYTES = 1 << 28


@dataclasses.dataclass(frozen=True)
class Config:
    """How a whole graph is run. `layout` is the seed of the strides of the inputs, 0 for packed ones."""
    isa: str = "base"
    threads: int = 1
    no_fuse: bool = False
    layout: int = 0
    outputs: tuple = ()

    def options(self):
        # What a node gives while a graph is drawn may be far larger than what a graph keeps.
        limits = oxlib.Limits(tensor_bytes=TENSOR_BYTES)
        return oxlib.Options(isa=self.isa.encode(), threads=self.threads, no_fuse=self.no_fuse, limits=limits)


# ---- Models -----------------------------------------------------------------------------------------------------


def kind_of(type_name):
    return arrays.DTYPES[type_name][0]


def tensor_of(name, array, type_name):
    if type_name == "string":
        return helper.make_tensor(name, TensorProto.STRING, array.shape, list(arrays.texts_of(array).reshape(-1)))
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def info_of(name, type_name):
    """Without a type where nobody knows it yet."""
    if type_name is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, kind_of(type_name), None)


def node_proto(node, types):
    attributes = {}
    for key, value in node.attributes.items():
        if isinstance(value, Branch):
            made = [node_proto(inner, types) for inner in value.nodes]
            value = helper.make_graph(made, key, [], [info_of(value.output, types[value.output])])
        attributes[key] = value
    return helper.make_node(node.op, node.inputs, node.outputs, name=f"make_{node.outputs[0]}", **attributes)


def model_of(case, outputs):
    graph = helper.make_graph([node_proto(node, case.types) for node in case.nodes], "graph",
                              [info_of(name, case.types[name]) for name in case.inputs],
                              [info_of(name, case.types[name]) for name in outputs],
                              [tensor_of(name, array, case.types[name]) for name, array in case.constants.items()])
    return helper.make_model(graph, ir_version=13, opset_imports=[helper.make_opsetid("", case.opset)])


# ---- Runs -------------------------------------------------------------------------------------------------------


def take(tensor):
    """(type name, array) of a result, which outlives the session."""
    name, array = arrays.from_tensor(tensor)
    return name, arrays.pairs_of(arrays.texts_of(array)) if name == "string" else array


class Running:
    """A model and a session of it."""

    def __init__(self, case, config):
        self.case, self.config = case, config
        self.model = oxlib.Model(model_of(case, config.outputs).SerializeToString())
        try:
            self.session = oxlib.Session(self.model, config.options())
        except oxlib.OxError:
            self.model.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()
        self.model.close()

    def run(self, change):
        """(type name, array) of each output, for the inputs as `change` gives them."""
        for i, (name, array) in enumerate(self.case.inputs.items()):
            self.session.set_input(i, arrays.to_input(change(array), self.case.types[name]))
        self.session.run()
        return [take(self.session.output(i)) for i in range(len(self.config.outputs))]


def run_node(node, known, types, opset, isa):
    """(type name, array) of each output of one node by itself, on arrays by name."""
    reads = node.reads()
    case = Case(opset, {name: known[name] for name in reads}, {}, [node],
                dict(types, **{name: types.get(name) for name in node.outputs}))
    with Running(case, Config(isa, outputs=tuple(name for name in node.outputs if name))) as running:
        return running.run(lambda array: array)


def run_nodes(case, isa):
    """All values of a case: arrays by name, computed node by node."""
    known = dict(case.inputs, **case.constants)
    for node in case.nodes:
        results = run_node(node, known, case.types, case.opset, isa)
        for name, (type_name, array) in zip([name for name in node.outputs if name], results):
            known[name], case.types[name] = array, type_name
    return known


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
    """None, or how an output differs from the (array, type) that is wanted."""
    got_type, got_array = got
    if got_type != type_name or got_array.shape != wanted.shape:
        return f"{name} is {got_type}{list(got_array.shape)}, not {type_name}{list(wanted.shape)}"
    if np.array_equal(comparable(wanted), comparable(got_array)):
        return None
    flat = zip(wanted.reshape(-1).tolist(), got_array.reshape(-1).tolist())
    for i, pair in enumerate(flat):
        if repr(pair[0]) != repr(pair[1]):
            return f"{name}: element {i} is {pair[1]!r}, node by node {pair[0]!r}"
    return f"{name} differs"


def other_data(array):
    """The same elements in other places: what a run leaves in memory is then of no use to the next."""
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def strided(config):
    rng = np.random.default_rng(config.layout)
    return (lambda array: values.lay_out(rng, array)) if config.layout else (lambda array: array)


def examine(case, config, known=None):
    """None, or how a run of the whole graph differs from its nodes one by one: the first run of a session, and one
    after a run on other data, which may end in an error."""
    if known is None:
        known = run_nodes(case, config.isa)
    try:
        with Running(case, config) as running:
            for turn in range(2):
                results = running.run(strided(config))
                for name, result in zip(config.outputs, results):
                    text = differs(name, known[name], result, case.types[name])
                    if text:
                        return f"run {turn}: {text}"
                try:
                    running.run(other_data)
                except oxlib.OxError:
                    pass
    except oxlib.OxError as error:
        return f"status {error.status}: {error}, where the nodes one by one give results"
    return None


def builds():
    """The names of the builds that this processor runs; a build that it does not is refused, or is a lower one."""
    found = []
    for isa in ("base", "v3", "v4"):
        case = Case(21, {"x": np.zeros(1, np.float32)}, {}, [Node("Neg", ["x"], ["y"], {})],
                    {"x": "float", "y": "float"})
        try:
            with Running(case, Config(isa, outputs=("y",))):
                found.append(isa)
        except oxlib.OxError:
            continue
    return found
