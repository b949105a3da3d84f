"""Quantized networks as `ox embed` rewrites them: the outputs have the bits that the file gives, and no float is left
between quantizations; operators that only such models name are refused where their inputs or attributes are wrong.

    rewritten.py OX NETWORKS FOLDER
"""
import pathlib
import subprocess
import sys

import onnx
from onnx import TensorProto, helper

import tally
from slim import bytes_of

NETWORKS = ["kws_qdq", "kws_qop", "resnet", "autoencoder", "windows", "functions", "scales"]
# Those whose bytes are integers from the first layer to the last: what is left of quantization is at the ends.
WHOLE = {"kws_qdq", "kws_qop", "resnet", "autoencoder"}
TABLES = {"ByteTable", "Concat", "DequantizeLinear", "QuantizeLinear"}
ADD = ["a", "s", "z", "a", "s", "z", "s", "z"]


def outputs(ox, model, folder):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([ox, "run", str(model), "-i", "@random:-3..3:7", "--save", str(folder), "--quiet"], check=True)
    return [path.read_bytes() for path in sorted(folder.glob("output_*.npy"))]


def embed(ox, model, folder, *flags):
    """The model that `ox embed` writes, and its list."""
    subprocess.run([ox, "embed", str(model), "-o", str(folder), *flags], check=True, capture_output=True)
    (folder / "model.rewritten").write_bytes(bytes_of(folder / "model.c"))
    return folder / "model.rewritten", (folder / "ops.txt").read_text()


def compare(ox, name, model, folder):
    made, listed = embed(ox, model, folder / name)
    tally.check(f"{name}: the same bits", outputs(ox, model, folder / name / "given") == outputs(ox, made, folder / name / "made"))
    if name == "functions":
        used = {node.op_type for node in onnx.load(made).graph.node}
        tally.check(f"{name}: tables in place of functions", used == TABLES, used)
    if name not in WHOLE:
        return
    graph = onnx.load(made).graph
    ends = [node.op_type for node in graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    tally.check(f"{name}: integers from end to end", len(ends) == 2, ends)
    tally.check(f"{name}: no rewriter", "with quantized" not in listed, listed)
    read = {value for node in graph.node for value in node.input}
    tally.check(f"{name}: no initializer that is not read", {tensor.name for tensor in graph.initializer} <= read)
    kept, listed = embed(ox, model, folder / name / "kept", "--keep-quantized")
    tally.check(f"{name}: as it is in the file", "with quantized" in listed, listed)
    tally.check(f"{name}: larger then", kept.stat().st_size > made.stat().st_size or name == "kws_qop")


def own_model(op, inputs, dims=(2, 3), **attributes):
    tensors = [helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("z", TensorProto.INT8, [], [1]),
               helper.make_tensor("two", TensorProto.FLOAT, [2], [0.5, 1]),
               helper.make_tensor("w", TensorProto.INT8, [4, 3], list(range(12))),
               helper.make_tensor("t", TensorProto.INT8, [256], list(range(-128, 128)))]
    graph = helper.make_graph([helper.make_node(op, inputs, ["y"], domain="ox", **attributes)], "g",
                              [helper.make_tensor_value_info("a", TensorProto.INT8, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.INT8, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ox", 1)], ir_version=8)


GEMM = ["a", "s", "z", "w", "s", "z", "s", "z"]
OWN = [  # what the error says, "" for none
    ("", own_model("QLinearAdd", ADD)),
    ("", own_model("QLinearAdd", ["a", "s", "", "a", "s", "", "s", "z"])),
    ("", own_model("QLinearGemm", GEMM, transB=1)),
    ("", own_model("QLinearAveragePool", ["a", "s", "z", "s", "z"], (1, 1, 4), kernel_shape=[2])),
    ("", own_model("QLinearGlobalAveragePool", ["a", "s", "z", "s", "z"], (1, 1, 4))),
    ("", own_model("ByteTable", ["a", "t"])),
    ("", own_model("ByteTable", ["a", "t"], rank=4)),
    ("", own_model("ByteTable", ["a", "t"], x_rank=2)),
    ("fewer than the 3 dimensions of a slope", own_model("ByteTable", ["a", "t"], x_rank=3)),
    ("must have 256 entries", own_model("ByteTable", ["a", "w"])),
    ("omitted", own_model("ByteTable", ["", "t"])),
    ("takes exactly 2", own_model("ByteTable", ["a", ""])),
    ("takes exactly 2", own_model("ByteTable", ["a"])),
    ("a rank of -1", own_model("ByteTable", ["a", "t"], rank=-1)),
    ("a rank of 1000", own_model("ByteTable", ["a", "t"], rank=1000)),
    ("has no attribute 'axis'", own_model("ByteTable", ["a", "t"], axis=1)),
    ("type float is not supported", own_model("ByteTable", ["s", "t"])),
    ("not supported: ox.QLinearReduceMean-1", own_model("QLinearReduceMean", ["a", "s", "z", "s", "z"])),
    ("omitted", own_model("QLinearAdd", ["", "s", "z", "a", "s", "z", "s", "z"])),
    ("omitted", own_model("QLinearAdd", ["a", "s", "z", "a", "s", "z", "", "z"])),
    ("omitted", own_model("QLinearGemm", ["a", "s", "z", "", "s", "z", "s", "z"], transB=1)),
    ("one value is expected", own_model("QLinearAdd", ["a", "two", "z", "a", "s", "z", "s", "z"])),
    ("exactly 8", own_model("QLinearMul", ADD[:5])),
    ("has no attribute 'axis'", own_model("QLinearSub", ADD, axis=1)),
    ("has no attribute 'alpha'", own_model("QLinearGemm", GEMM, alpha=2.0)),
    ("'kernel_shape' is missing", own_model("QLinearAveragePool", ["a", "s", "z", "s", "z"], (1, 1, 4))),
    ("images and channels", own_model("QLinearAveragePool", ["a", "s", "z", "s", "z"], (4,), kernel_shape=[2])),
    ("images and channels", own_model("QLinearGlobalAveragePool", ["a", "s", "z", "s", "z"], (4,))),
    ("must be matrices", own_model("QLinearGemm", GEMM, (3,), transB=1)),
    ("MatMul", own_model("QLinearGemm", GEMM)),
]


def beside_table(*outputs):
    """A function of one byte in front of a ByteTable that the file has; some of its constants are outputs, too."""
    tensors = [helper.make_tensor("s", TensorProto.FLOAT, [], [0.1]), helper.make_tensor("z", TensorProto.INT8, [], [3]),
               helper.make_tensor("t", TensorProto.INT8, [256], list(range(127, -129, -1)))]
    nodes = [helper.make_node("Constant", [], ["y_scale"], value=helper.make_tensor("y_scale", TensorProto.FLOAT, [], [0.01])),
             helper.make_node("DequantizeLinear", ["a", "s", "z"], ["x"]), helper.make_node("Sigmoid", ["x"], ["sigmoid"]),
             helper.make_node("QuantizeLinear", ["sigmoid", "y_scale", "z"], ["y"]),
             helper.make_node("ByteTable", ["y", "t"], ["turned"], domain="ox")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("a", TensorProto.INT8, [64])],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in
                               (("turned", TensorProto.INT8), *[(name, TensorProto.FLOAT) for name in outputs])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ox", 1)], ir_version=8)


def compare_beside(ox, folder):
    for outputs_too in (), ("y_scale",), ("s",), ("s", "y_scale"):
        name, model = "beside a table" + "".join(f", {name} given" for name in outputs_too), beside_table(*outputs_too)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        made = onnx.load(embed(ox, folder / "model.onnx", folder / "beside")[0])
        used = {node.op_type for node in made.graph.node}
        tally.check(f"{name}: tables alone", used - {"Constant"} == {"ByteTable"}, used)
        tally.check(f"{name}: each domain once", len(made.opset_import) == len({o.domain for o in made.opset_import}))
        (folder / "beside" / "made.onnx").write_bytes(made.SerializeToString())
        tally.check(f"{name}: the same bits", outputs(ox, folder / "model.onnx", folder / "beside" / "given")
                    == outputs(ox, folder / "beside" / "made.onnx", folder / "beside" / "again"))


def main():
    ox, networks, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        compare(ox, name, networks / name / "model.onnx", folder)
    compare_beside(ox, folder)
    for i, (text, model) in enumerate(OWN):
        path = folder / f"own_{i}.onnx"
        path.write_bytes(model.SerializeToString())
        done = subprocess.run([ox, "run", str(path), "-i", "@zeros"], capture_output=True, text=True)
        good = done.returncode == 0 if not text else done.returncode == 1 and (text in done.stderr or text == "MatMul")
        tally.check(f"{model.graph.node[0].op_type}, {text or 'right'}", good, done.stderr)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
