"""graph_reduce.py: the smallest form of a graph that still fails, and its text."""

import copy
import dataclasses

import arrays
import graph_held
import graph_run
import numpy as np
import oxlib
import onnx.printer
from graph_run import Branch


def live(case, outputs):
    """The case without what its outputs do not need."""
    wanted, nodes = set(outputs), []
    for node in reversed(case.nodes):
        if wanted & set(node.outputs):
            nodes.insert(0, node)
            wanted |= set(node.reads())
    return dataclasses.replace(case, nodes=nodes, types=dict(case.types),
                               inputs={n: a for n, a in case.inputs.items() if n in wanted},
                               constants={n: a for n, a in case.constants.items() if n in wanted})


def without_dead(case, config):
    yield live(case, config.outputs), config


def with_fewer_outputs(case, config):
    for name in config.outputs:
        if len(config.outputs) > 1:
            yield case, dataclasses.replace(config, outputs=tuple(n for n in config.outputs if n != name))


def with_earlier_outputs(case, config):
    """What an output is made of, in its place."""
    made = set(case.made())
    for node in case.nodes:
        for name in node.outputs:
            others = tuple(n for n in config.outputs if n != name)
            for source in node.reads() if len(others) < len(config.outputs) else []:
                if source in made:
                    outputs = tuple(dict.fromkeys([*others, source]))
                    yield live(case, outputs), dataclasses.replace(config, outputs=outputs)


def with_cuts(case, config):
    """A node's results become inputs."""
    known = graph_run.run_nodes(case, config.isa)
    for node in reversed(case.nodes):
        outputs = tuple(n for n in config.outputs if n not in node.outputs)
        cut = dataclasses.replace(case, nodes=[n for n in case.nodes if n is not node], types=dict(case.types),
                                  inputs=dict(case.inputs, **{n: known[n] for n in node.outputs if n}))
        if outputs:
            yield cut, dataclasses.replace(config, outputs=outputs)


def with_branches(case, config):
    """The nodes of a branch in the place of an If."""
    for i, node in enumerate(case.nodes):
        for branch in node.attributes.values():
            if isinstance(branch, Branch) and node.op == "If":
                nodes = copy.deepcopy(branch.nodes)
                names = dict(zip(branch.outputs, node.outputs))
                for inner in nodes:
                    inner.outputs = [names.get(n, n) for n in inner.outputs]
                    inner.inputs = [names.get(n, n) for n in inner.inputs]
                yield dataclasses.replace(case, nodes=case.nodes[:i] + nodes + case.nodes[i + 1:],
                                          types=dict(case.types)), config


def inner_nodes(nodes):
    """(list, index) of every node of a subgraph, the last first."""
    for node in nodes:
        for branch in branches_of(node):
            for i in reversed(range(len(branch.nodes))):
                yield branch.nodes, i
            yield from inner_nodes(branch.nodes)


def with_smaller_bodies(case, config):
    """A node of a subgraph less; what read its results reads its inputs, as far as these have the same types."""
    for k in range(sum(1 for _ in inner_nodes(case.nodes))):
        smaller = dataclasses.replace(case, nodes=copy.deepcopy(case.nodes), types=dict(case.types))
        nodes, i = list(inner_nodes(smaller.nodes))[k]
        gone = nodes.pop(i)
        names = {}
        for output in gone.outputs:
            names[output] = next((n for n in gone.inputs if case.types.get(n) == case.types[output]), output)
        rename(smaller.nodes, names)
        yield smaller, config


def rename(nodes, names):
    """Inputs of nodes and outputs of subgraphs by other names."""
    for node in nodes:
        node.inputs = [names.get(n, n) for n in node.inputs]
        for branch in branches_of(node):
            branch.outputs = [names.get(n, n) for n in branch.outputs]
            rename(branch.nodes, names)


def with_less(case, config):
    """Inputs cut to fewer elements in every dimension of one size."""
    given = [*case.inputs.values(), *case.constants.values()]
    sizes = {n for value in given for a in graph_held.leaves(value) for n in a.shape if n > 1}
    for size in sorted(sizes, reverse=True):
        for less in sorted({1, 2, size // 2}):
            if less >= size:
                continue
            cut = lambda a: np.ascontiguousarray(a[tuple(slice(less if n == size else None) for n in a.shape)])
            yield dataclasses.replace(case, inputs={n: graph_held.mapped(a, cut) for n, a in case.inputs.items()},
                                      constants={n: cut(a) for n, a in case.constants.items()},
                                      types=dict(case.types)), config


def with_less_of_one(case, config):
    for name, array in case.inputs.items():
        for axis, size in enumerate([] if graph_held.is_held(case.types[name]) else array.shape):
            if size > 1:
                cut = np.ascontiguousarray(np.take(array, [0], axis))
                inputs = dict(case.inputs, **{name: cut})
                yield dataclasses.replace(case, inputs=inputs, types=dict(case.types)), config


def plainer(case, config):
    for change in ({"layout": 0}, {"threads": 1}, {"isa": "base"}):
        if any(getattr(config, k) != v for k, v in change.items()):
            yield case, dataclasses.replace(config, **change)


STEPS = [without_dead, with_earlier_outputs, with_cuts, with_fewer_outputs, with_branches, with_smaller_bodies,
         plainer, with_less, with_less_of_one]


def reduce(case, config, check):
    """(case, config, text) of a smallest form: no step makes it smaller so that check(case, config) still gives a text.
    """
    text = check(case, config)
    found = True
    while found:
        found = False
        for step in STEPS:
            for smaller in step(case, config):
                if size_of(*smaller) >= size_of(case, config):
                    continue
                try:
                    failed = check(*smaller)
                except (oxlib.OxError, graph_run.NoRounds, KeyError, ValueError, IndexError):
                    failed = None  # it is no graph any more
                if failed:
                    (case, config), text, found = smaller, failed, True
                    break
    return case, config, text


def branches_of(node):
    return [value for value in node.attributes.values() if isinstance(value, Branch)]


def count_nodes(nodes):
    return len(nodes) + sum(count_nodes(branch.nodes) for node in nodes for branch in branches_of(node))


def size_of(case, config):
    """Smaller graphs first, then fewer outputs, plainer runs, and less data."""
    data = sum(graph_held.size_of(a) for a in [*case.inputs.values(), *case.constants.values()])
    return (count_nodes(case.nodes), len(config.outputs), config.layout != 0, config.threads, config.isa, data)


def written(case, config):
    """ONNX text and inputs."""
    lines = [onnx.printer.to_text(onnx.ModelProto.FromString(graph_run.model_of(case, config.outputs)))]
    for name, array in {**case.inputs, **case.constants}.items():
        if graph_held.is_held(case.types[name]):
            lines.append(f"{name} = {array}")
            continue
        shown = arrays.texts_of(array) if case.types[name] == "string" else array
        with np.printoptions(threshold=64, floatmode="unique"):
            lines.append(f"{name} = {case.types[name]}{list(array.shape)} {shown.reshape(-1)}")
    return "\n".join(lines)
