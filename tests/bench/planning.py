"""planning.py: what planning costs where shapes change from run to run, beside ONNX Runtime.

Every case is a model and some lists of inputs that a session gets in turns: one, two, or more than a session keeps
plans of. A step sets all inputs and runs, or only plans. Small sizes leave little but what a node costs in each run.
"""

import argparse
import ctypes as C
import json
import os
import statistics
import time

import arrays
import machine
import numpy as np
import onnx
import onnxruntime as ort
import oxlib
import report
import texts
from contender import batch_of
from onnx import TensorProto, helper

TURN_NS, TURNS = 20_000_000, 15
WIDTH = 8
ALIGN = 64
CHAINS = (100, 1_000, 10_000)
LAYERS, HEADS, HEAD, CACHED = 12, 4, 16, range(16, 80)
LONGEST = {"grows": 1.3, "two": 1.1, "decoder": 1.5, "peer": 1.0}


class Steps(C.Structure):
    """bench_steps of timer.c."""
    _fields_ = [("set", C.c_void_p), ("run", C.c_void_p), ("session", C.c_void_p), ("inputs", C.POINTER(oxlib.Tensor)),
                ("ninputs", C.c_int64), ("nlists", C.c_int64), ("error", C.POINTER(oxlib.Error))]


class Decoder(C.Structure):
    """bench_decoder of timer.c."""
    _fields_ = [("steps", Steps), ("output", C.c_void_p), ("memory", C.c_void_p), ("room", C.c_int64), ("length", C.c_int64),
                ("step", C.c_int64)]


def round_up(size):
    return size + -size % ALIGN


def finished(nodes, inputs, outputs, weights):
    infos = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in group.items()]
             for group in (inputs, outputs)]
    initializers = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "planning", *infos, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def chain(count):
    """x times one matrix after the other."""
    rng = np.random.default_rng(count)
    weights = {f"w{i}": np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0].astype(np.float32) for i in range(count)}
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    return finished(nodes, {"x0": ["n", WIDTH]}, {f"x{count}": ["n", WIDTH]}, weights)


class Layer:
    """The nodes of one layer of a decoder, and its weights."""

    def __init__(self, number, rng):
        self.prefix, self.rng, self.nodes, self.weights = f"l{number}_", rng, [], {}

    def add(self, op, inputs, name, **attributes):
        output = self.prefix + name
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def weight(self, name, *dims):
        name = self.prefix + name
        self.weights[name] = (self.rng.standard_normal(dims) * 0.1).astype(np.float32)
        return name

    def product(self, x, name, rows, columns):
        return self.add("MatMul", [x, self.weight("w" + name, rows, columns)], name)

    def norm(self, x, name):
        width = HEADS * HEAD
        return self.add("LayerNormalization", [x, self.weight("s" + name, width), self.weight("b" + name, width)], name)

    def heads(self, x, name, *order):
        split = self.add("Reshape", [self.product(x, name, HEADS * HEAD, HEADS * HEAD), "split"], name + "_split")
        return self.add("Transpose", [split], name + "_heads", perm=order)

    def attention(self, x):
        query = self.heads(x, "q", 0, 2, 1, 3)
        key, value = (self.add("Concat", [self.prefix + "past_" + name, self.heads(x, name, 0, 2, 1, 3)],
                               "present_" + name, axis=2) for name in "kv")
        scores = self.add("MatMul", [query, self.add("Transpose", [key], "k_turned", perm=[0, 1, 3, 2])], "scores")
        weights = self.add("Softmax", [self.add("Mul", [scores, "scale"], "scaled")], "weights", axis=-1)
        read = self.add("Transpose", [self.add("MatMul", [weights, value], "read")], "read_rows", perm=[0, 2, 1, 3])
        return self.product(self.add("Reshape", [read, "join"], "joined"), "o", HEADS * HEAD, HEADS * HEAD)

    def gate(self, x):
        width = HEADS * HEAD
        up = self.product(x, "up", width, 2 * width)
        return self.product(self.add("Mul", [up, self.add("Sigmoid", [up], "open")], "gated"), "down", 2 * width, width)

    def build(self, x):
        y = self.add("Add", [x, self.attention(self.norm(x, "before"))], "attended")
        return self.add("Add", [y, self.gate(self.norm(y, "behind"))], "out")


def decoder():
    """A step of a decoder: one more token, with keys and values of those before."""
    rng, x, nodes = np.random.default_rng(12), "x", []
    weights = {"split": np.array([1, 1, HEADS, HEAD]), "join": np.array([1, 1, HEADS * HEAD]),
               "scale": np.float32(HEAD ** -0.5)}
    inputs, outputs = {"x": [1, 1, HEADS * HEAD]}, {}
    for number in range(LAYERS):
        layer = Layer(number, rng)
        x = layer.build(x)
        nodes += layer.nodes
        weights |= layer.weights
        inputs |= {f"{layer.prefix}past_{name}": [1, HEADS, "n", HEAD] for name in "kv"}
        outputs |= {f"{layer.prefix}present_{name}": [1, HEADS, "m", HEAD] for name in "kv"}
    return finished(nodes, inputs, {x: [1, 1, HEADS * HEAD]} | outputs, weights)


def rows(*counts):
    return [[np.ones((count, WIDTH), np.float32)] for count in counts]


def caches(lengths):
    rng = np.random.default_rng(1)
    return [[rng.standard_normal((1, 1, HEADS * HEAD)).astype(np.float32)] +
            [rng.standard_normal((1, HEADS, length, HEAD)).astype(np.float32) for _ in range(2 * LAYERS)]
            for length in lengths]


class Ox:
    def __init__(self, timer, model, lists, planning):
        self.model = oxlib.Model(model)
        self.session = oxlib.Session(self.model, oxlib.Options(threads=1))
        self.kept = [[arrays.to_tensor(array, "float") for array in given] for given in lists]
        flat = [tensor for given in self.kept for tensor in given]
        run = oxlib.library.ox_session_prepare if planning else oxlib.library.ox_session_run
        self.steps = Steps(C.cast(oxlib.library.ox_session_set_input, C.c_void_p), C.cast(run, C.c_void_p),
                           self.session.handle, (oxlib.Tensor * len(flat))(*flat), len(lists[0]), len(lists),
                           C.pointer(self.session.error))
        self.timer, self.lists = timer, lists

    def batch(self, count):
        ns = self.timer.bench_session_steps(self.steps, count)
        oxlib.check(oxlib.OK if ns >= 0 else self.session.error.status, self.session.error)
        return ns

    def output(self, number):
        for i, tensor in enumerate(self.kept[number]):
            self.session.set_input(i, tensor)
        self.session.run()
        return arrays.from_tensor(self.session.output(0))[1].copy()

    def close(self):
        self.session.close()
        self.model.close()


class OxDecoder(Ox):
    """Outputs are inputs of the next step; they are written to memory of the caller."""

    def __init__(self, timer, model, lists, planning):
        super().__init__(timer, model, lists[:1], planning)
        slots, room = 2 * len(lists[0]), round_up(2 * max(array.nbytes for array in lists[-1]))
        self.memory = np.zeros(slots * room + ALIGN, np.uint8)
        start = self.memory.ctypes.data
        self.decoder = Decoder(self.steps, C.cast(oxlib.library.ox_session_output, C.c_void_p), round_up(start), room,
                               len(lists), 0)
        oxlib.check(oxlib.library.ox_session_set_outputs(self.session.handle, timer.bench_decoder_memory,
                                                         C.byref(self.decoder), C.byref(self.session.error)),
                    self.session.error)

    def batch(self, count):
        ns = self.timer.bench_session_decoder(C.byref(self.decoder), count)
        oxlib.check(oxlib.OK if ns >= 0 else self.session.error.status, self.session.error)
        return ns

    def output(self, number):
        self.batch(number + 1)
        return arrays.from_tensor(self.session.output(0))[1].copy()


def values_of(given):
    return [ort.OrtValue.ortvalue_from_numpy(array) for array in given]


class Ort:
    """Inputs are bound in advance; the memory of outputs, whose dims change, is the session's."""

    def __init__(self, model, lists):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = session = ort.InferenceSession(model, options, ["CPUExecutionProvider"])
        self.bindings = [self.bind(values_of(given)) for given in lists]
        self.next = 0

    def bind(self, values):
        binding = self.session.io_binding()
        for value, given in zip(self.session.get_inputs(), values):
            binding.bind_ortvalue_input(value.name, given)
        for value in self.session.get_outputs():
            binding.bind_output(value.name)
        return binding

    def step(self):
        self.session.run_with_iobinding(self.bindings[self.next])
        self.next = (self.next + 1) % len(self.bindings)

    def batch(self, count):
        self.next = 0
        return batch_of(self.step)(count)

    def output(self, number):
        self.session.run_with_iobinding(self.bindings[number])
        return self.bindings[number].get_outputs()[0].numpy()

    def close(self):
        self.session = self.bindings = None


class OrtDecoder(Ort):
    """The same as OxDecoder; what binding takes is not counted."""

    def __init__(self, model, lists):
        super().__init__(model, lists[:1])
        self.length = len(lists)
        self.first = values_of(lists[0])

    def batch(self, count):
        ns, values = 0, self.first
        for i in range(count):
            binding = self.bind(values)
            start = time.perf_counter_ns()
            self.session.run_with_iobinding(binding)
            ns += time.perf_counter_ns() - start
            self.out = binding.get_outputs()
            values = self.first if (i + 1) % self.length == 0 else self.first[:1] + self.out[1:]
        return ns

    def output(self, number):
        self.batch(number + 1)
        return self.out[0].numpy()


def check_outputs(name, ox, peer, count):
    for number in range(count):
        ours, theirs = ox.output(number), peer.output(number)
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-3, atol=1e-4):
            raise SystemExit(f"{name}: ox and ONNX Runtime disagree for list {number}")


def calibrate(contender, lists):
    """The number of steps that fill a turn: each list as often as any other."""
    contender.batch(lists)
    return lists * max(1, round(TURN_NS / contender.batch(lists)))


class Case:
    def __init__(self, name, model, lists, nodes, planning=False, kinds=(Ox, Ort)):
        self.name, self.model, self.lists, self.nodes, self.planning = name, model, lists, nodes, planning
        self.kinds = kinds

    def measure(self, timer, turns):
        """Nanoseconds of a step, by the contender's name."""
        model, lists = self.model(), self.lists()
        ours, peer = self.kinds
        present = {"ox": ours(timer, model, lists, self.planning)}
        if not self.planning:
            present["ort"] = peer(model, lists)
            check_outputs(self.name, present["ox"], present["ort"], len(lists))
        counts = {name: calibrate(contender, len(lists)) for name, contender in present.items()}
        times = {name: [] for name in present}
        for _ in range(turns):
            for name, contender in present.items():
                times[name].append(contender.batch(counts[name]) / counts[name])
        for contender in present.values():
            contender.close()
        return {"name": self.name, "nodes": self.nodes, "ns": {name: statistics.median(ns) for name, ns in times.items()}}


def cases():
    made = []
    for count in CHAINS:
        def model(count=count):
            return chain(count)
        made += [Case(f"{count} MatMul, planning alone", model, lambda: rows(*range(4, 12)), count, True),
                 Case(f"{count} MatMul, one shape", model, lambda: rows(5), count),
                 Case(f"{count} MatMul, two shapes", model, lambda: rows(4, 6), count),
                 Case(f"{count} MatMul, eight shapes", model, lambda: rows(*range(2, 10)), count)]
    nodes = LAYERS * len(onnx.load_from_string(decoder()).graph.node) // LAYERS
    middle = CACHED[len(CACHED) // 2]
    return [*made, Case("decoder, one length", decoder, lambda: caches([middle]), nodes),
            Case("decoder, caches of all lengths", decoder, lambda: caches(CACHED), nodes),
            Case("decoder, a growing cache", decoder, lambda: caches(CACHED), nodes, kinds=(OxDecoder, OrtDecoder))]


TITLES = ["case", "nodes", "ox us", "ns a node", "ORT us", "ORT/ox"]


def cells(case):
    ox, peer = case["ns"]["ox"], case["ns"].get("ort")
    return [case["name"], str(case["nodes"]), report.number(ox / 1e3, 1), report.number(ox / case["nodes"], 0),
            report.number(peer / 1e3 if peer else None, 1), report.number(peer / ox if peer else None)]


def judge(record):
    """[(met, text)]; of cases that were not measured nothing."""
    times = {case["name"]: case["ns"] for case in record["cases"]}
    shares = [("grows", f"planning {CHAINS[-1]} nodes, for a node, beside {CHAINS[0]}",
               f"{CHAINS[-1]} MatMul, planning alone", f"{CHAINS[0]} MatMul, planning alone", CHAINS[0] / CHAINS[-1])]
    shares += [("two", f"{count} nodes, two shapes in turns beside one", f"{count} MatMul, two shapes",
                f"{count} MatMul, one shape", 1) for count in CHAINS]
    shares += [("decoder", "a growing cache beside one length", "decoder, a growing cache", "decoder, one length", 1)]
    found = []
    for bar, text, name, other, scale in shares:
        if name in times and other in times:
            share = times[name]["ox"] / times[other]["ox"] * scale
            found.append((share <= LONGEST[bar], f"{text}: {share:.2f}, at most {LONGEST[bar]}"))
    if "decoder, a growing cache" in times:
        ns = times["decoder, a growing cache"]
        share = ns["ox"] / ns["ort"]
        found.append((share < LONGEST["peer"], f"a growing cache beside ONNX Runtime: {share:.2f}, below {LONGEST['peer']}"))
    return found


def section(record, command):
    goals = "\n".join(f"- {'met' if met else '**not met**'}: {text}" for met, text in judge(record))
    return "\n\n".join([texts.facts(record, command, f"medians of {record['turns']} turns"),
                        report.markdown_table(TITLES, map(cells, record["cases"])), f"Goals:\n\n{goals}"]) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description="planning where shapes change, beside ONNX Runtime")
    parser.add_argument("--filter", default="", metavar="WORD", help="only cases whose name has that in it")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--quick", action="store_true", help="3 turns: for a look, not for a record")
    parser.add_argument("--timer", default="build/bench/timer.so", help="the library built from timer.c")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured")
    parser.add_argument("--page", help="the page whose section is replaced")
    parser.add_argument("--command", default="make bench", help="how the page says it was made")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    timer = C.CDLL(arguments.timer)
    timer.bench_session_steps.restype = timer.bench_session_decoder.restype = C.c_int64
    timer.bench_session_steps.argtypes = [C.POINTER(Steps), C.c_int64]
    timer.bench_session_decoder.argtypes = [C.POINTER(Decoder), C.c_int64]
    turns = 3 if arguments.quick else arguments.turns
    record = {"table": "planning", "machine": machine.describe(), "versions": machine.versions(None),
              "turns": turns, "cases": []}
    print(TITLES[0].ljust(30) + "".join(title.rjust(12) for title in TITLES[1:]))
    for case in cases():
        if arguments.filter in case.name:
            record["cases"].append(case.measure(timer, turns))
            name, *others = cells(record["cases"][-1])
            print(name.ljust(30) + "".join(cell.rjust(12) for cell in others), flush=True)
    print("\n".join(f"{'met' if met else 'NOT MET':8}{text}" for met, text in judge(record)))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(record, file, indent=1)
    if arguments.page:
        page = report.read(arguments.page) if os.path.exists(arguments.page) else texts.HEAD
        with open(arguments.page, "w") as file:
            file.write(report.replace_section(page, section(record, arguments.command)))


if __name__ == "__main__":
    main()
