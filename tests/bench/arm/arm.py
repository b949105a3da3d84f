"""arm.py --folder DIR --page FILE: counts the instructions that kernels take on aarch64 under qemu's user mode, by the
plug-in and the builds of ox in DIR, and writes a page."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import quantized as built

RUNS = 4
BUILDS = ("gcc", "clang")
BYTES = ("neon_dot", "neon_i8mm")  # builds of the loops that have other products of bytes
# ONNX Runtime 1.23.2's wheel for aarch64, counted by the same plug-in: 150 runs less 50, divided by 100, or 3 less 1 of
# networks. Each run has some 0.2 to 0.4 million instructions of Python in it.
PEER = {
    "gemm 256³": 5226386, "gemm 256³, float16": 5438457, "gemm 256³, u8 by s8": 1130165,
    "conv 1x1": 2162054, "depthwise 3x3": 1698485, "QLinearConv 1x1": 885504,
    "softmax": 578110, "add and relu": 405805, "exp": 616706, "sigmoid": 540171, "tanh": 479468, "erf": 1337273,
    "conv 3x3": 10868319, "mobilenet v2": 216602861, "mobilenet v2, int8": 58242262,
    "encoder 128x384": 307543499, "encoder 128x384, int8": 71731922, "resnet18": 665345900, "resnet18, int8": 196623834,
}  # fmt: skip

# Networks of quantized.py, with weights drawn at random, and how often they run.
NETWORKS = {
    "mobilenet v2": "mobilenet-v2-like, float", "mobilenet v2, int8": "mobilenet-v2-like, QDQ u8s8",
    "encoder 128x384": "encoder 128x384, float", "encoder 128x384, int8": "encoder 128x384, QDQ u8s8",
    "resnet18": "resnet18-like, float", "resnet18, int8": "resnet18-like, QDQ u8s8",
}  # fmt: skip

FLOAT, HALF, BYTE, INT = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8, TensorProto.INT32


def model(nodes, inputs, output, constants=None):
    values = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
    result = helper.make_tensor_value_info("y", *output)
    weights = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "kernel", values, [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def product(op, kind, result, weights):
    return model([helper.make_node(op, ["x", "w"], ["y"])], {"x": (kind, [256, 256])}, (result, [256, 256]), {"w": weights})


def convolution(rng, outputs, size, group):
    weights = {"w": rng.standard_normal((outputs, 64 // group, size, size), np.float32), "b": rng.standard_normal(outputs, np.float32)}
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[size // 2] * 4, group=group)
    return model([node], {"x": (FLOAT, [1, 64, 28, 28])}, (FLOAT, [1, outputs, 28, 28]), weights)


def quantized(rng):
    weights = {
        "xs": np.float32(0.02), "xz": np.uint8(128), "w": rng.integers(-127, 128, (128, 64, 1, 1)).astype(np.int8),
        "ws": np.full(128, 0.01, np.float32), "wz": np.zeros(128, np.int8), "ys": np.float32(0.05), "yz": np.uint8(120),
    }  # fmt: skip
    node = helper.make_node("QLinearConv", ["x", *weights], ["y"])
    return model([node], {"x": (BYTE, [1, 64, 28, 28])}, (BYTE, [1, 128, 28, 28]), {k: np.asarray(v) for k, v in weights.items()})


def elements(*nodes, inputs=("x",)):
    return model(list(nodes), {name: (FLOAT, [256, 256]) for name in inputs}, (FLOAT, [256, 256]))


def kernels():
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((256, 256), np.float32)
    node = helper.make_node
    return {
        "gemm 256³": product("MatMul", FLOAT, FLOAT, weights),
        "gemm 256³, float16": product("MatMul", HALF, HALF, weights.astype(np.float16)),
        "gemm 256³, u8 by s8": product("MatMulInteger", BYTE, INT, rng.integers(-127, 128, (256, 256)).astype(np.int8)),
        "conv 1x1": convolution(rng, 128, 1, 1),
        "conv 3x3": convolution(rng, 64, 3, 1),
        "depthwise 3x3": convolution(rng, 64, 3, 64),
        "QLinearConv 1x1": quantized(rng),
        "softmax": elements(node("Softmax", ["x"], ["y"], axis=-1)),
        "add and relu": elements(node("Add", ["x", "z"], ["a"]), node("Relu", ["a"], ["y"]), inputs=("x", "z")),
        **{op.lower(): elements(node(op, ["x"], ["y"])) for op in ("Exp", "Sigmoid", "Tanh", "Erf")},
    }


def network(name):
    case = next(case for case in built.CASES if case.whole and case.name == NETWORKS[name])
    return onnx.load_model_from_string(case.model(None))


def has_bytes(graph):
    return any(node.op_type in ("MatMulInteger", "QLinearConv", "DequantizeLinear") for node in graph.graph.node)


def count(folder, build, path, runs, isa="base"):
    command = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-plugin", folder / "instructions.so", folder / build / "runs", path, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "OX_ISA": isa})
    return int(re.search(r"^instructions (\d+)$", done.stderr, re.MULTILINE).group(1))


def taken(folder, path, runs, isa):
    """Instructions of a run of each build."""
    return [(count(folder, build, path, 2 * runs, isa) - count(folder, build, path, runs, isa)) // runs for build in BUILDS]


def row_of(folder, name, graph, runs):
    path = folder / "kernel.onnx"
    onnx.save(graph, path)
    plain = taken(folder, path, runs, "base")
    best = [min(taken(folder, path, runs, isa)) for isa in BYTES] if has_bytes(graph) else [None] * len(BYTES)
    peer = PEER.get(name)
    ratio = f"{peer / min(plain + [number for number in best if number]):.2f}" if peer else "–"
    return f"| {name} | {' | '.join(map(millions, [*plain, *best, peer]))} | {ratio} |"


def millions(number):
    return f"{number / 1e6:.2f}" if number else "–"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--cases", default="", help="those that are counted, with ; between them: all. The others keep their rows")
    args = parser.parse_args()
    small = kernels()
    every = [*small, *NETWORKS]
    wanted = [name.strip() for name in args.cases.split(";") if name.strip()] or every
    unknown = [name for name in wanted if name not in every]
    if unknown:
        sys.exit(f"arm.py: there is no case {unknown[0]!r}; the cases are: {'; '.join(every)}")
    rows = rows_of(args.page, every)
    for name in (name for name in every if name in wanted):
        rows[name] = row_of(args.folder, name, small[name], RUNS) if name in small else row_of(args.folder, name, network(name), 1)
        print(rows[name], flush=True)
        write_page(args.page, every, rows)


def rows_of(page, every):
    """The rows that the page has."""
    lines = page.read_text().splitlines() if page.exists() else []
    return {name: line for line in lines for name in every if line.startswith(f"| {name} |")}


def write_page(page, every, rows):
    """After each row, as all take long."""
    left = [name for name in every if name not in rows]
    end = f"\nNot counted: {'; '.join(left)}.\n" if left else ""
    page.write_text(TEXT + "\n".join(rows[name] for name in every if name in rows) + "\n" + end)


TEXT = """# Instructions on aarch64

Millions of instructions of one run, one thread, counted by a plug-in of qemu's user mode (`make bench-arm`, which writes
this page): the difference between 4 and 8 runs, of networks between one and two, so that loading does not count. They
repeat to the digit, and are no times: nothing here was measured on a processor. The last column is ONNX Runtime's number
over that of the best build: above 1, ox takes fewer. Of bytes there are builds of the loops for processors that have the
instructions of dotprod (`neon_dot`) and I8MM (`neon_i8mm`); their columns have the better of both compilers. ONNX Runtime
takes all that the emulated processor has, which is I8MM.

ONNX Runtime 1.23.2 was counted once, by the same plug-in, from Python with bound inputs and outputs: some 0.2 to 0.4
million instructions of each run are Python's, which is much of the elementwise rows. XNNPACK takes 5.4 and OpenBLAS 5.8
million for the product of floats (revision 88509cf). Convolutions have 64 channels of 28 x 28, 128 outputs for 1x1 and
64 otherwise; elementwise cases have 256 x 256 elements. Networks are those of `make bench`, with weights drawn at
random; int8 are those in QDQ form.

| case | NEON, gcc 12 | NEON, clang 14 | dotprod | I8MM | ONNX Runtime | ONNX Runtime / ox |
|---|---|---|---|---|---|---|
"""


if __name__ == "__main__":
    main()
