"""allocations.py --nodes DIR: every allocation fails once, and once with all later ones, and nothing breaks.

The models are one case of ONNX's node suite for each operator that ox has, models with subgraphs and model-local
functions among them, one with a product and its epilogue, one with external data, and one with packed weights. For each of them, and for every
n, the n-th allocation of loading, preparing and running it fails: that is an OX_ERROR_MEMORY with a text, nothing
leaks, every block is given back with its size, and the same step works when it is tried again, with the results of a
run in which nothing fails. Needs the Python package onnx.
"""

import argparse
import ctypes as C
import os
import pathlib
import sys
import tempfile

import onnx
import onnx.parser
import oxlib
import tally
from onnx import TensorProto, helper

LEAST_MODELS = 25
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
MOST_BYTES = 100000  # of a model file: larger ones have the same allocations, and take longer
# The sanitizers are slow: every one of the first allocations fails, then every 7th.
ALL, STRIDE = (40, 7) if "OX_SANITIZED" in os.environ else (sys.maxsize, 1)

libc = C.CDLL(None)
libc.realloc.restype, libc.realloc.argtypes = C.c_void_p, [C.c_void_p, C.c_size_t]
libc.free.argtypes = [C.c_void_p]


class Memory:
    """Options with an allocator that counts, checks what it is given back, and fails on demand."""

    def __init__(self, threads=1):
        self.blocks = {}  # address: size
        self.calls = self.fail_at = 0
        self.and_later = False
        self.wrong = None
        resize = oxlib.Allocator._fields_[0][1](self.resize)
        self.allocator = oxlib.Allocator(resize, None)
        self.options = oxlib.Options(C.pointer(self.allocator))
        self.options.threads = threads

    def fails(self):
        self.calls += 1
        return self.calls == self.fail_at or (self.and_later and 0 < self.fail_at < self.calls)

    def resize(self, _context, block, old_size, new_size):
        if block and self.blocks.get(block) != old_size:
            self.wrong = f"a block of {self.blocks.get(block)} bytes is said to have {old_size}"
        if not new_size:
            self.blocks.pop(block, None)
            libc.free(block)
            return None
        if self.fails():
            return None
        self.blocks.pop(block, None)
        moved = libc.realloc(block, new_size)
        self.blocks[moved] = new_size
        return moved


class Case:
    """A model and its inputs. path: of a model file, otherwise the model is loaded from memory."""

    def __init__(self, name, inputs, data=None, path=None):
        self.name, self.inputs, self.data, self.path = name, inputs, data, path

    def load(self, options):
        return oxlib.ModelFile(self.path, options) if self.path else oxlib.Model(self.data, options)

    def run(self, session):
        for index, tensor in enumerate(self.inputs):
            session.set_input(index, tensor)
        session.run()
        count = oxlib.library.ox_model_output_count(session.model.handle)
        return [contents(session.output(k)) for k in range(count)]


def contents(tensor):
    """Type, shape and bytes of a packed tensor; of strings only the number, as their bytes lie elsewhere."""
    shape = tuple(tensor.dims[:tensor.rank])
    size = oxlib.library.ox_dtype_size(tensor.dtype)
    for dim in shape:
        size *= dim
    data = C.string_at(tensor.data, size) if size and tensor.dtype != TensorProto.STRING else b""
    return tensor.dtype, shape, data


class Broken(Exception):
    pass


def attempt(memory, what, step):
    """step(), which fails if the allocator did, and then works on the next try with all the memory there is."""
    try:
        return step()
    except oxlib.OxError as error:
        if error.status != oxlib.MEMORY or not memory.fail_at or memory.calls < memory.fail_at:
            raise Broken(f"{what}: status {error.status}: {error}") from error
        if not str(error):
            raise Broken(f"{what}: no text") from error
    memory.fail_at = 0
    try:
        return step()
    except oxlib.OxError as error:
        raise Broken(f"{what} fails on the next try: {error}") from error


def live(case, memory):
    """The outputs of a whole life under this allocator."""
    model = attempt(memory, "load", lambda: case.load(memory.options))
    try:
        session = attempt(memory, "create", lambda: oxlib.Session(model, memory.options))
        try:
            return attempt(memory, "run", lambda: case.run(session))
        finally:
            session.close()
    finally:
        model.close()
        if memory.blocks and not memory.wrong:
            memory.wrong = f"{len(memory.blocks)} blocks leak"


def problem(case, threads):
    """(allocations, None), or what is wrong."""
    memory = Memory(threads)
    wanted = live(case, memory)
    total = memory.calls
    for n in [n for n in range(1, total + 1) if n <= ALL or n % STRIDE == 0]:
        for and_later in (False, True):
            memory = Memory(threads)
            memory.fail_at, memory.and_later = n, and_later
            where = f"allocation {n} of {total}{' and all later ones' if and_later else ''}"
            try:
                outputs = live(case, memory)
            except Broken as broken:
                return total, f"{where}: {broken}"
            if memory.wrong or outputs != wanted:
                return total, f"{where}: {memory.wrong or 'other results on the next try'}"
    return total, None


def external_case(folder):
    """y = x + w, w in a file of its own."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="weights.bin")
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", value[:1], value[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (folder / "weights.bin").write_bytes(bytes(16))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    data = (C.c_float * 4)(1, 2, 3, 4)
    case = Case("external data", [oxlib.make_tensor(1, [4], None, C.addressof(data))], path=folder / "model.onnx")
    case.keeps = data
    return case


def epilogue_case():
    """y = relu(a * w + r), which is one step; w is a weight that is laid out once."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "ary"]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 8], [0.5] * 64)
    nodes = [helper.make_node("MatMul", ["a", "w"], ["p"]), helper.make_node("Add", ["p", "r"], ["s"]),
             helper.make_node("Relu", ["s"], ["y"])]
    graph = helper.make_graph(nodes, "g", value[:2], value[2:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    data = (C.c_float * 64)(*range(-32, 32))
    case = Case("a product and what follows", [oxlib.make_tensor(1, [8, 8], None, C.addressof(data))] * 2,
                model.SerializeToString())
    case.keeps = data
    return case


def packed_case():
    """Weights of 4 bits that stay packed, behind a node that reads them before it is there; and some that do not."""
    weights = [helper.make_tensor(name, TensorProto.INT4, [256, 512], bytes(range(256)) * 256, raw=True) for name in "wv"]
    scales = helper.make_tensor("s", TensorProto.FLOAT, [8, 512], [0.25] * 4096)
    nodes = [helper.make_node("MatMul", ["a", "d"], ["y"]),
             helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32),
             helper.make_node("DequantizeLinear", ["v", "s"], ["e"], axis=0, block_size=32),
             helper.make_node("Cast", ["v"], ["z"], to=TensorProto.FLOAT)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yez"]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("a", TensorProto.FLOAT, [1, 256])], values, [*weights, scales])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    data = (C.c_float * 256)(*range(-128, 128))
    case = Case("packed weights", [oxlib.make_tensor(1, [1, 256], None, C.addressof(data))], model.SerializeToString())
    case.keeps = data
    return case


def text_case(name, text, *shapes):
    """A model in ONNX's own words, with inputs of float."""
    data = (C.c_float * 64)(*(k / 32 - 1 for k in range(64)))
    model = onnx.parser.parse_model(text).SerializeToString()
    case = Case(name, [oxlib.make_tensor(1, list(shape), None, C.addressof(data)) for shape in shapes], model)
    case.keeps = data
    return case


def preview_cases():
    """What no node case has: gradients, and both graphs of FlexAttention."""
    head = '<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1]> g '
    gradient = 'ai.onnx.preview.training.Gradient<xs = ["w", "x"], y = "v">'
    yield text_case("a gradient", head + "(float[2,3] x, float[3] w, float[3] other) => (float[3] g, float[2,3] h) {"
                    f" t = MatMul(x, w) u = Tanh(t) v = ReduceSum(u) g, h = {gradient}(other, x) }}", (2, 3), (3,), (3,))
    yield text_case("a graph for scores and one for weights", head + "(float[1,2,3,4] q) => (float[1,2,3,4] y) {"
                    " y = ai.onnx.preview.FlexAttention<score_mod = s (float[B,H,L,S] a) => (float[B,H,L,S] b)"
                    " { b = Tanh(a) }, prob_mod = p (float[B,H,L,S] a) => (float[B,H,L,S] b) { b = Mul(a, a) }>(q, q, q)"
                    " }", (1, 2, 3, 4))


def operators(model):
    """The operators of a model, and what else it has."""
    names = {"a function" for _ in model.functions}
    pending = [model.graph.node, *(function.node for function in model.functions)]
    while pending:
        for node in pending.pop():
            names.add((node.domain, node.op_type))
            for attribute in node.attribute:
                graphs = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
                pending += [graph.node for graph in graphs]
                names |= {"a subgraph" for _ in graphs}
    return names


def seeded(data):
    """The model with a seed in each node that draws random numbers, so that its results stay the same."""
    model = onnx.load_from_string(data)
    drawing = [node for part in (model.graph, *model.functions) for node in part.node if node.op_type in RANDOM]
    for node in drawing:
        if not any(attribute.name == "seed" for attribute in node.attribute):
            node.attribute.append(helper.make_attribute("seed", 1.0))
    return model.SerializeToString() if drawing else data


def read_case(folder):
    """The case of a folder, if ox runs it."""
    data = seeded((folder / "model.onnx").read_bytes())
    try:
        inputs = [oxlib.read_tensor(path.read_bytes()) for path in
                  sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))]
        case = Case(folder.name, inputs, data)
        live(case, Memory())
        return case
    except (oxlib.OxError, Broken):
        return None


def node_cases(folder):
    """Cases that between them have every operator that ox runs."""
    seen = set()
    for path in sorted(folder.glob("*/model.onnx")):
        data = path.read_bytes()
        if len(data) > MOST_BYTES:
            continue
        names = operators(onnx.load_from_string(data))
        if names <= seen:
            continue
        case = read_case(path.parent)
        if case:
            seen |= names
            yield case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", required=True, type=pathlib.Path)
    options = parser.parse_args()
    passed = failed = allocations = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in [epilogue_case(), external_case(pathlib.Path(folder)), packed_case(), *preview_cases(),
                     *node_cases(options.nodes)]:
            threads = 2 if passed % 10 == 0 else 1
            count, wrong = problem(case, threads)
            allocations += count
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print(f"{case.name}: {wrong}")
    if passed + failed < LEAST_MODELS:
        print(f"only {passed + failed} models, {LEAST_MODELS} are wanted")
        failed += 1
    print(f"{allocations} allocations of {passed + failed} models")
    return tally.finish(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
