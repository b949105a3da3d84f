"""graphs.py [--cases N] [--seed N] [--only N] [--jobs N]: random whole graphs over all operators that ox has.

Each node runs by itself while the graph is drawn; one with subgraphs has to give what the nodes of its bodies give one
by one, round by round. Then the graph runs whole: fused and not, on 1, 2 and 3 threads, with
packed and strided inputs, with some values as outputs, with all of them, and, where there are few, with each of them in
turn; twice in a session, with other data between. The steps of every fourth graph are checked (ox_options.check) in one
of these ways. Every result is that of the nodes one by one, bit for bit. So it is
in one way, fused, in every other build of the loops that the processor runs. The nodes are compared with numpy and
onnx.reference by graph_oracle.py, in the build that they were drawn with and in another one, or, if that is the same,
with constants in place of inputs, so that they are computed while a plan is made: both may differ by what an operator's
tolerance allows there, and EXACT operators not at all. A part of
the graphs runs in fixed buffers, too (graph_fixed.py), and a part in a session that sees other shapes, strides and types
in turns (graph_turns.py). What fails is reduced to its smallest form. A
graph has the seed "SEED:NUMBER": --seed SEED --only NUMBER draws it again."""

import collections
import gc
import multiprocessing
import subprocess
import sys
import time
import traceback

import graph_control
import graph_draw
import graph_fixed
import graph_held
import graph_oracle
import graph_reduce
import graph_rules
import graph_run
import graph_turns
import numpy as np
import tally
import trials
from graph_run import Config

FEW_NODES = 6
CHECKED = 4  # of so many graphs, one runs with a check of every step
MOST_REPORTS = 25
IN_BUFFERS = 3  # one graph of so many runs in fixed buffers
IN_TURNS = 4  # one of so many sees other shapes in turns
ENOUGH = 2000  # graphs, so that every operator comes
RULED = {op for _, rules in graph_rules.RULES for op in rules}
BUILDS = graph_run.builds()


def some(rng, names):
    kept = [n for n in names if rng.random() < 0.3]
    return tuple(kept or [names[-1]])


def configs(rng, made, isa, number):
    """The ways in which one graph is run; each way comes often enough over many graphs."""
    layout = lambda: int(rng.integers(1, 1 << 30)) if rng.random() < 0.5 else 0
    outputs = some(rng, made)
    yield Config(isa, outputs=outputs, layout=layout(), check=number % CHECKED == 0)
    yield Config(isa, no_fuse=True, outputs=outputs, layout=layout())
    yield Config(isa, threads=2 + number % 2, outputs=some(rng, made), layout=layout())
    yield Config(isa, outputs=tuple(made))
    yield Config(isa, outputs=(made[-1],), layout=layout())
    if len(made) <= FEW_NODES:
        for name in made[:-1]:
            yield Config(isa, outputs=(name,))
    else:
        for _ in range(2):
            yield Config(isa, outputs=some(rng, made))


def ways(rng, draft, isa, number):
    """(configuration, values of the nodes one by one in its build) of each run of a whole graph."""
    made = draft.case.made()
    for config in configs(rng, made, isa, number):
        yield config, draft.known
    for build in BUILDS:
        if build != isa:
            config = Config(build, threads=1 + number % 3, outputs=some(rng, made), layout=int(rng.integers(1 << 30)))
            yield config, graph_run.run_nodes(draft.case, build, draft.known)


def check_nodes(draft, isa, other):
    """(node, text, check) of the first node that is wrong, or None; `check` finds it in a graph of that node alone."""
    for node in draft.records:
        text = judge(node, draft.known, draft.case.types, draft.opset, isa)
        if text:
            return node, text, check_alone
        if node.op not in graph_run.APART:
            text = differing_way(node, draft.known, draft.case.types, draft.opset, other, other == isa)
            if text:
                return node, text, lambda case, config: differing_way(
                    case.nodes[0], graph_run.run_nodes(case, isa), case.types, case.opset, other, other == isa)
    return None


def judge(node, known, types, opset, isa):
    if node.op in graph_run.APART:
        return graph_control.judge(node, known, types, opset, isa)
    return graph_oracle.judge(node, known, types, opset)


def check_alone(case, config):
    known, node = dict(case.inputs, **case.constants), case.nodes[0]
    results = graph_run.run_node(node, known, case.types, case.opset, config.isa)
    for name, (type_name, value) in zip(node.outputs, results):
        known[name], case.types[name] = value, type_name
    return judge(node, known, case.types, case.opset, config.isa)


def differing_way(node, known, types, opset, isa, constant):
    way = f"constants in build {isa}" if constant else f"build {isa}"
    results = graph_run.run_node(node, known, types, opset, isa, constant)
    if not constant:
        graph_run.keep_results(node, known, isa, results)
    if node.op not in graph_oracle.EXACT and node.op not in graph_held.OPERATORS:
        text = graph_oracle.judge(node, known, types, opset, [array for _, array in results])
        return text and f"{way}: {text}"
    for name, result in zip([n for n in node.outputs if n], results):
        text = graph_run.differs(name, known[name], result, types[name])
        if text:
            return f"{way}: {text}"
    return None


def node_case(draft, node):
    """A graph of one node, for a report."""
    inputs = {name: draft.known[name] for name in node.reads()}
    return graph_run.Case(draft.opset, inputs, {}, [node], dict(draft.case.types))


def report(seed, number, text, case, config):
    return f"graph {seed}:{number}: {text}\n{config}\n{graph_reduce.written(case, config)}\n"


def check_graph(seed, number, drawn):
    """None, or the report of one random graph. Counts its operators in `drawn`."""
    rng = np.random.default_rng([seed, number])
    isa, other = str(rng.choice(BUILDS)), str(rng.choice(BUILDS))
    draft = graph_draw.draw(rng, graph_rules.RULES, isa)
    drawn.update(node.op for node in draft.records)
    made = draft.case.made()
    if not made:
        return None
    wrong = check_nodes(draft, isa, other)
    if wrong:
        node, text, check = wrong
        case, config = node_case(draft, node), Config(isa, outputs=tuple(n for n in node.outputs if n))
        case, config, text = graph_reduce.reduce(case, config, check)
        return report(seed, number, text, case, config)
    for config, known in ways(rng, draft, isa, number):
        if graph_run.examine(draft.case, config, known):
            case, config, text = graph_reduce.reduce(draft.case, config, graph_run.examine)
            return report(seed, number, text, case, config)
    text = graph_fixed.examine(rng, draft.case, isa) if number % IN_BUFFERS == 0 else None
    if text:
        return report(seed, number, text, draft.case, Config(isa, outputs=(made[-1],)))
    text = graph_turns.examine(rng, draft.case, isa) if number % IN_TURNS == 1 else None
    if text:
        return report(seed, number, text, draft.case, Config(isa, outputs=(made[-1],)))
    return None


# ---- Many graphs ------------------------------------------------------------------------------------------------


def work(seed, numbers, place, queue):
    """A process's share of the graphs; `place` says which one it is at."""
    drawn = collections.Counter()
    gc.freeze()
    gc.set_threshold(20000)  # most of what a graph takes hangs in no circle
    for number in numbers:
        place.value = number
        try:
            failed = check_graph(seed, number, drawn)
        except Exception:  # a fault of the test is one, and the other graphs are drawn all the same
            failed = f"graph {seed}:{number}: {traceback.format_exc()}"
        if failed:
            queue.put(failed)
    queue.put(drawn)
    place.value = -1


def run_all(seed, cases, jobs):
    """How many graphs failed; prints the reports of the first. A process that ends halfway is one of them."""
    queue, failures, drawn = multiprocessing.SimpleQueue(), 0, collections.Counter()
    places = [multiprocessing.Value("q", 0) for _ in range(jobs)]
    workers = [multiprocessing.Process(target=work, args=(seed, range(i, cases, jobs), places[i], queue))
               for i in range(jobs)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers) or not queue.empty():
        while not queue.empty():
            said = queue.get()
            if isinstance(said, collections.Counter):
                drawn += said
                continue
            failures += 1
            if failures <= MOST_REPORTS:
                print(said, flush=True)
        time.sleep(0.1)
    for worker, place in zip(workers, places):
        if worker.exitcode or place.value >= 0:
            failures += 1
            print(f"graph {seed}:{place.value}: the process ended with {worker.exitcode}")
    for op in sorted(RULED - set(drawn)) if cases >= ENOUGH else []:
        failures += 1
        print(f"no node of {op} came about: what its rule draws is refused")
    return failures


def wrong_rules(command):
    """What is said of operators that ox has, by its own list, and this test has not; and of the other way round."""
    listed = {line.split()[0] for line in subprocess.check_output([command, "ops"], text=True).splitlines()[1:]}
    ruled = RULED | set(graph_rules.WITHOUT)
    return ([f"{op} has no rule in tests/property/graph_rules.py" for op in sorted(listed - ruled)] +
            [f"{op} has a rule, and is no operator of ox" for op in sorted(ruled - listed)])


def main():
    options = trials.parse(3000, "--only", "--jobs", "--ox")
    if options.only is not None:
        text = check_graph(options.seed, int(options.only), collections.Counter())
        print(text or "it passes")
        return 1 if text else 0
    wrong = wrong_rules(options.ox or "build/ox")
    for text in wrong:
        print(text)
    failures = run_all(options.seed, options.cases, int(options.jobs or 2))
    return tally.finish(options.cases - failures, failures + len(wrong))


if __name__ == "__main__":
    sys.exit(main())
