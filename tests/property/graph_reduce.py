"""graph_reduce.py: the smallest form of a graph that still fails, and its text."""

import copy
import dataclasses

import arrays
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
            if isinstance(branch, Branch):
                nodes = copy.deepcopy(branch.nodes)
                for inner in nodes:
                    inner.outputs = [node.outputs[0] if n == branch.output else n for n in inner.outputs]
                    inner.inputs = [node.outputs[0] if n == branch.output else n for n in inner.inputs]
                yield dataclasses.replace(case, nodes=case.nodes[:i] + nodes + case.nodes[i + 1:],
                                          types=dict(case.types)), config


def with_less(case, config):
    """Inputs cut to fewer elements in every dimension of one size."""
    sizes = {n for a in [*case.inputs.values(), *case.constants.values()] for n in a.shape if n > 1}
    for size in sorted(sizes, reverse=True):
        for less in sorted({1, 2, size // 2}):
            if less >= size:
                continue
            cut = lambda a: np.ascontiguousarray(a[tuple(slice(less if n == size else None) for n in a.shape)])
            yield dataclasses.replace(case, inputs={n: cut(a) for n, a in case.inputs.items()},
                                      constants={n: cut(a) for n, a in case.constants.items()},
                                      types=dict(case.types)), config


def with_less_of_one(case, config):
    for name, array in case.inputs.items():
        for axis, size in enumerate(array.shape):
            if size > 1:
                cut = np.ascontiguousarray(np.take(array, [0], axis))
                inputs = dict(case.inputs, **{name: cut})
                yield dataclasses.replace(case, inputs=inputs, types=dict(case.types)), config


def plainer(case, config):
    for change in ({"layout": 0}, {"threads": 1}, {"isa": "base"}):
        if any(getattr(config, k) != v for k, v in change.items()):
            yield case, dataclasses.replace(config, **change)


STEPS = [without_dead, with_earlier_outputs, with_cuts, with_fewer_outputs, with_branches, plainer, with_less,
         with_less_of_one]


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
                except (oxlib.OxError, KeyError, ValueError, IndexError):
                    failed = None  # it is no graph any more
                if failed:
                    (case, config), text, found = smaller, failed, True
                    break
    return case, config, text


def size_of(case, config):
    """Smaller graphs first, then fewer outputs, plainer runs, and less data."""
    data = sum(a.size for a in [*case.inputs.values(), *case.constants.values()])
    inner = sum(len(b.nodes) for n in case.nodes for b in n.attributes.values() if isinstance(b, Branch))
    return (len(case.nodes) + inner, len(config.outputs), config.layout != 0, config.threads, config.isa, data)


def written(case, config):
    """ONNX text and inputs."""
    lines = [onnx.printer.to_text(graph_run.model_of(case, config.outputs))]
    for name, array in {**case.inputs, **case.constants}.items():
        shown = arrays.texts_of(array) if case.types[name] == "string" else array
        with np.printoptions(threshold=64, floatmode="unique"):
            lines.append(f"{name} = {case.types[name]}{list(array.shape)} {shown.reshape(-1)}")
    return "\n".join(lines)
