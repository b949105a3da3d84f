"""graph_control.py: how nodes with subgraphs are drawn: If, Loop, Scan and SequenceMap, in each other. A body is drawn
on what its inputs hold in the first round; what does not hold in the others is an error, and the node is left out."""

import graph_draw
import graph_held
import graph_run
import numpy as np
from graph_draw import ALL, NUMBERS

MOST_DEPTH = 2
MOST_NODES = 4
CARRIED = [t for t in ALL if t not in graph_draw.NEWEST]


class Body:
    """A subgraph while it is drawn; `d` is its inner draft."""

    def __init__(self, outer, rules):
        self.outer, self.d, self.rules, self.inputs = outer, outer.inner(), rules, []

    def port(self, type_name, value, is_read=True):
        self.inputs.append(self.d.port(type_name, value, is_read))
        return self.inputs[-1]

    def grow(self, base=None):
        """Some nodes, the first of them on a value that is to be used."""
        if base:
            self.d.add("Identity", [base])
        for _ in range(int(self.d.rng.integers(0, MOST_NODES + 1))):
            graph_draw.grow(self.d, self.rules, not self.d.flows)

    def made(self):
        return [name for node in self.d.nodes for name in node.outputs]

    def result(self, source, same_shape):
        """An output in the place of an input: of its type, and mostly of its shape; itself at times."""
        d, type_name = self.d, self.d.type_of(source)
        suits = lambda n: graph_held.is_held(type_name) or not same_shape or d.shape(n) == d.shape(source)
        found = [n for n in self.made() if d.type_of(n) == type_name and suits(n)]
        if found and d.chance(0.8):
            return found[-1 - min(int(d.rng.geometric(0.5)) - 1, len(found) - 1)]
        if source in self.inputs and d.chance(0.5):
            return source
        made = d.add("Identity", [source])
        return made and made[0]

    def stacks(self, most=2):
        """Tensors whose values in all rounds are stacked."""
        found = [n for n in self.made() if n in self.d.names]
        return [self.d.choose(found) for _ in range(int(self.d.rng.integers(0, most + 1)))] if found else []

    def close(self, outputs):
        return None if None in outputs else self.outer.close(self.d, self.inputs, outputs)


def any_value(d, types):
    """A tensor, or some of the time a value that is none."""
    if d.held and d.chance(0.4):
        return d.held[-1 - min(int(d.rng.geometric(0.4)) - 1, len(d.held) - 1)]
    return d.pick(types)


def choice(rules):
    """Branches of a few nodes each, on values from outside and their own."""

    def rule(d, op):
        condition = d.pick(["bool"], lambda x: x.size == 1)
        sources = [any_value(d, NUMBERS) for _ in range(d.choose([1, 1, 2]))]
        if None in sources or d.depth > MOST_DEPTH:
            return
        branches = {}
        for key in ("then_branch", "else_branch"):
            body = Body(d, rules())
            body.grow(sources[0])
            branches[key] = body.close([body.result(s, d.chance(0.7)) for s in sources])
        if all(branches.values()):
            d.add(op, [condition], len(sources), **branches)

    return 16, rule


def loop(rules):

    def rule(d, op):
        if d.depth >= MOST_DEPTH:
            return
        carried = [any_value(d, CARRIED) for _ in range(int(d.rng.integers(0, 4)))]
        condition = d.choose(["", "", d.source("bool", (), np.array(d.chance(0.85)))])
        if None in carried:
            return
        body = Body(d, rules())
        turn = body.port("int64", np.array(0, np.int64))
        going = body.port("bool", np.array(True), bool(condition))
        ports = [body.port(d.type_of(n), d.known[n]) for n in carried]
        body.grow(d.choose(ports) if ports else None)
        ends = condition and d.chance(0.6)
        last = body.d.add("Less", [turn, d.constant(int(d.rng.integers(0, 4)), "int64")]) if ends else None
        outputs = [body.result(port, d.chance(0.8)) for port in ports]
        stacks = body.stacks()
        stopped = last[0] if last else going if d.chance(0.5) else body.result(going, True) if condition else going
        graph = body.close([stopped, *outputs, *stacks])
        if graph and outputs + stacks:
            trips = d.constant(int(d.rng.integers(0, 5)), "int64") if not last or d.chance(0.5) else ""
            d.add(op, [trips, condition, *carried], len(outputs + stacks), body=graph)

    return 16, rule


def scan(rules):

    def rule(d, op):
        first = d.pick(CARRIED, lambda x: x.ndim > 0 and 0 < min(x.shape) <= 6)
        if first is None or d.depth >= MOST_DEPTH:
            return
        short = [axis for axis, n in enumerate(d.shape(first)) if n <= 6]
        length = d.shape(first)[d.choose(short)]
        found = [(n, axis) for n in d.names for axis, size in enumerate(d.shape(n)) if size == length]
        scanned = [d.choose([pair for pair in found if pair[0] == first])]
        scanned += [d.choose(found) for _ in range(d.choose([0, 0, 1]))]
        states = [d.pick(CARRIED) for _ in range(int(d.rng.integers(0, 3)))]
        if None in states:
            return
        back = [int(d.chance(0.4)) for _ in scanned]
        body = Body(d, rules())
        ports = [body.port(d.type_of(n), d.known[n]) for n in states]
        slices = [body.port(d.type_of(n), np.asarray(np.take(d.known[n], length - 1 if b else 0, axis)))
                  for (n, axis), b in zip(scanned, back)]
        body.grow(d.choose(ports + slices))
        outputs, stacks = [body.result(port, True) for port in ports], body.stacks(3)
        graph = body.close(outputs + stacks)
        if graph is None or not outputs + stacks:
            return
        ranks = [d.known[n].ndim + 1 for n in stacks]
        axes = [axis - (d.array(n).ndim if d.chance(0.3) else 0) for n, axis in scanned]
        settings = {"scan_input_axes": axes, "scan_input_directions": back,
                    "scan_output_axes": [int(d.rng.integers(-r, r)) if d.chance(0.4) else 0 for r in ranks],
                    "scan_output_directions": [int(d.chance(0.3)) for _ in stacks]}
        given = {k: v for k, v in settings.items() if any(v) or v and d.chance(0.3)}
        d.add(op, states + [n for n, _ in scanned], len(outputs + stacks), body=graph,
              num_scan_inputs=len(scanned), **given)

    return 16, rule


def sequence_map(rules):

    def rule(d, op):
        lists = [n for n in d.held if d.type_of(n).startswith("seq(tensor(") and 0 < len(d.known[n].items) < 6]
        if not lists or d.depth >= MOST_DEPTH:
            return
        first = d.choose(lists)
        same = [n for n in lists if len(d.known[n].items) == len(d.known[first].items)]
        others = [d.choose(same) if d.chance(0.5) else d.pick(CARRIED) for _ in range(d.choose([0, 0, 1, 2]))]
        if None in others:
            return
        body = Body(d, rules())
        for name in [first, *others]:
            value, type_name = d.known[name], d.type_of(name)
            is_list = graph_held.is_held(type_name)
            body.port(graph_held.inner_type(type_name) if is_list else type_name, value.items[0] if is_list else value)
        body.grow(body.inputs[0])
        outputs = [n for n in [body.result(body.inputs[0], False), *body.stacks(1)] if n]
        graph = body.close(outputs)
        if graph and outputs:
            d.add(op, [first, *others], len(outputs), body=graph)

    return 17, rule


def judge(node, known, types, opset, isa):
    """None, or how a node's results differ from those of its bodies, node by node; where these were drawn, they are
    compared with the reference."""
    wanted = graph_run.run_apart(node, known, dict(types), opset, isa)
    for name, (type_name, value) in zip([n for n in node.outputs if n], wanted):
        text = graph_run.differs(name, value, (types[name], known[name]), type_name)
        if text:
            return f"{node.op}: {text}"
    return None
