"""mapped.py: models in files, whose weights are given back to the system once they are laid out for products. Sessions
of one such model, one after the other and at the same time, with other shapes, options, builds and threads, some of
which read the same weights as they lie, give the bits of a model in memory that no other session has used."""

import os
import sys
import tempfile
import threading

import arrays
import numpy as np
import oxlib
import tally
import trials
from convs import ISAS, number
from onnx import TensorProto, helper, numpy_helper

LARGE = 256  # channels, for weights that show in the memory of this process


def value(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def model_of(rng, ins, outs):
    """The bytes of a model whose convolutions read the same weights by several algorithms, and its products two more."""
    weights = {"w": [outs, ins, 3, 3], "v": [outs, ins, 1, 1], "m": [outs, 40], "g": [33, outs]}
    given = [numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32), name) for name, dims in weights.items()]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
             helper.make_node("Conv", ["x", "w"], ["b"], pads=[2] * 4, dilations=[2, 2]),
             helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4, strides=[2, 2]),
             helper.make_node("Conv", ["x", "v"], ["d"]),
             helper.make_node("Sum", ["a", "b", "d"], ["s"]),
             helper.make_node("GlobalAveragePool", ["s"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("MatMul", ["f", "m"], ["y"]),
             helper.make_node("Gemm", ["f", "g"], ["z"], transB=1)]
    graph = helper.make_graph(nodes, "graph", [value("x")], [value(name) for name in "csyz"], given)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString()


def run(model, x, options):
    session = oxlib.Session(model, oxlib.Options(**options))
    try:
        session.set_input(0, arrays.to_input(x, "float"))
        session.run()
        return [arrays.from_tensor(session.output(i))[1].tobytes() for i in range(4)]
    finally:
        session.close()


def alone(data, x, options):
    model = oxlib.Model(data)
    try:
        return run(model, x, options)
    finally:
        model.close()


def uses(rng, ins):
    """(image, options) of some sessions."""
    for _ in range(4):
        x = rng.standard_normal([number(rng, 1, 3), ins, number(rng, 3, 20), number(rng, 3, 20)]).astype(np.float32)
        yield x, {"isa": ISAS[number(rng, 0, len(ISAS) - 1)], "threads": number(rng, 1, 3),
                  "no_winograd": rng.random() < 0.4}


def check_sessions(rng, path, data, ins):
    """None, or what is wrong with sessions of one model, in turn and then in threads of their own."""
    given = list(uses(rng, ins))
    wanted = [alone(data, x, options) for x, options in given]
    model = oxlib.ModelFile(path)
    try:
        for (x, options), bits in zip(given, wanted):
            if run(model, x, options) != bits:
                return f"{x.shape} {options}: other bits"
    finally:
        model.close()
    model, found = oxlib.ModelFile(path), [None] * len(given)

    def work(i):
        found[i] = run(model, *given[i])
    threads = [threading.Thread(target=work, args=[i]) for i in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model.close()
    return None if found == wanted else f"{[(x.shape, options) for x, options in given]}: other bits at the same time"


def check(rng, _):
    """None, or what is wrong with one random model."""
    ins, outs = number(rng, 8, 80), number(rng, 8, 120)
    data = model_of(rng, ins, outs)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(data)
        wrong = check_sessions(rng, path, data, ins)
    return wrong and f"{ins} to {outs} channels: {wrong}"


def resident(path):
    """Bytes of a mapped file that are in the memory of this process. Parts that were given back are mappings of their own."""
    with open("/proc/self/smaps") as file:
        lines = file.read().splitlines()
    starts = [i for i, line in enumerate(lines) if line.endswith(path)]
    return sum(next(int(line.split()[1]) << 10 for line in lines[at:] if line.startswith("Rss:")) for at in starts)


def left_by_run(data, tensor, watched=True):
    """Bytes of a model's file that are in memory after a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.realpath(os.path.join(folder, "model.onnx"))
        with open(path, "wb") as file:
            file.write(data)
        model = oxlib.ModelFile(path)
        session = oxlib.Session(model)
        session.set_input(0, tensor)
        session.run(watched=watched)
        left = resident(path)
        session.close()
        model.close()
        return left


def check_memory():
    """None, or what is wrong where weights are only read to be laid out: their file is not in memory, though each run
    reads what lies between them."""
    given, nodes = [], []
    for i in range(3):
        given.append(numpy_helper.from_array(np.ones([LARGE, LARGE, 3, 3], np.float32), f"w{i}"))
        given.append(numpy_helper.from_array(np.ones(LARGE, np.float32), f"b{i}"))
        nodes.append(helper.make_node("Conv", [f"x{i}", f"w{i}", f"b{i}"], [f"x{i + 1}"]))
    graph = helper.make_graph(nodes, "graph", [value("x0")], [value("x3")], given)
    data = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString()
    left = left_by_run(data, arrays.to_input(np.ones([1, LARGE, 14, 14], np.float32), "float"))
    return None if left < len(data) / 4 else f"{left} of {len(data)} bytes are still in memory"


def main():
    wrong = check_memory() if os.path.exists("/proc/self/smaps") else None
    if wrong:
        print(wrong)
        return tally.finish(0, 1)
    return trials.run(check, 60)


if __name__ == "__main__":
    sys.exit(main())
