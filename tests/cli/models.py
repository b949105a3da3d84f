"""models.py DIR: writes the small models that the tests of the command run."""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def write(folder, name, nodes, inputs, outputs, initializers=(), opset=25):
    graph = helper.make_graph(nodes, name, inputs, outputs, initializer=list(initializers))
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="a\x1b[31mb", ir_version=10)
    save(model, folder / f"{name}.onnx")
    return model


def write_case(folder, name, model, tensors):
    """A case of ONNX's backend tests; tensors: file name to array."""
    data = folder / "cases" / name / "test_data_set_0"
    data.mkdir(parents=True)
    save(model, data.parent / "model.onnx")
    for file, array in tensors.items():
        (data / f"{file}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def main():
    folder = pathlib.Path(sys.argv[1])
    flt, i64, text = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
    add = helper.make_node("Add", ["a", "b"], ["y"])
    model = write(folder, "add", [add], [value("a", flt, ["n", 3]), value("b", flt, [3])], [value("y", flt, ["n", 3])])
    default = numpy_helper.from_array(np.ones(3, np.float32), "b")
    write(folder, "default", [add], [value("b", flt, [3]), value("a", flt, ["n", 3])], [value("y", flt, ["n", 3])],
          [default])
    write(folder, "two", [helper.make_node("Identity", [a], [b]) for a, b in ("ap", "bq")],
          [value("a", i64, [2]), value("b", text, [2])], [value("p", i64, [2]), value("q", text, [2])])
    write(folder, "divide", [helper.make_node("Div", ["a", "b"], ["y"])],
          [value("a", i64, [2]), value("b", i64, [2])], [value("y", i64, [2])])
    missing = write(folder, "missing", [helper.make_node("NoSuchOp", ["x"], ["y"])], [value("x", flt, [1])],
                    [value("y", flt, [1])])
    write(folder, "stated", [helper.make_node("Relu", ["x"], ["y"])], [value("x", flt, ["n"])], [value("y", flt, [9])])
    for number in range(1, 29):
        write(folder, f"identity{number}", [helper.make_node("Identity", ["x"], ["y"])], [value("x", number, None)],
              [value("y", number, None)])
    for name, shape in {"hw": [2, 3], "nchw": ["n", 3, 2, 3], "nhwc": [1, 2, 3, 3], "n1hw": [1, 1, 2, 3],
                        "chw": [3, 2, 3], "n4hw": [1, 4, 2, 3]}.items():
        write(folder, f"image_{name}", [helper.make_node("Identity", ["x"], ["y"])], [value("x", flt, shape)],
              [value("y", flt, None)])

    steps = [helper.make_node("Expand", ["a", "shape"], ["e"], name="a\tview"),
             helper.make_node("Add", ["e", "b"], ["s"], name="sum"), helper.make_node("Relu", ["s"], ["y"]),
             helper.make_node("Transpose", ["b"], ["t"], name="turned")]
    shape = numpy_helper.from_array(np.array([4, 8]), "shape")
    write(folder, "steps", steps, [value("a", flt, [4, 1]), value("b", flt, [4, 8])],
          [value("y", flt, None), value("t", flt, None)], [shape])
    dense = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Conv", ["r", "z"], ["d"], group=16, pads=[1, 1, 1, 1]),
             helper.make_node("MaxPool", ["d"], ["p"], kernel_shape=[3, 3]),
             helper.make_node("ConvTranspose", ["x", "u"], ["v"]),
             helper.make_node("MatMul", ["m", "m"], ["mm"]), helper.make_node("Gemm", ["g", "h"], ["gh"], transA=1),
             helper.make_node("LSTM", ["s", "lw", "lr"], ["l"], hidden_size=24),
             helper.make_node("Attention", ["q", "k", "k"], ["a"])]
    shapes = {"x": [1, 20, 40, 40], "w": [16, 20, 3, 3], "z": [16, 1, 3, 3], "u": [20, 4, 3, 3],
              "m": [2, 96, 96], "g": [128, 64], "h": [128, 80], "s": [50, 4, 32], "lw": [1, 96, 32],
              "lr": [1, 96, 24], "q": [1, 2, 60, 32], "k": [1, 2, 90, 32]}
    write(folder, "dense", dense, [value(name, flt, dims) for name, dims in shapes.items()],
          [value(name, flt, None) for name in ("r", "p", "v", "mm", "gh", "l", "a")])
    branches = {f"{name}_branch": helper.make_graph([helper.make_node(op, ["x"], ["r"])], name, [],
                                                    [value("r", flt, None)])
                for name, op in (("then", "Neg"), ("else", "Abs"))}
    write(folder, "branch", [helper.make_node("If", ["c"], ["y"], **branches)],
          [value("c", TensorProto.BOOL, []), value("x", flt, [4, 8])], [value("y", flt, None)])

    one = np.ones((1, 3), np.float32)
    write_case(folder, "test_good", model, {"input_0": one, "input_1": one[0], "output_0": one * 2.001})
    write_case(folder, "test_wrong", model, {"input_0": one, "input_1": one[0], "output_0": one * [2, 3, 2]})
    wrong = (one * [[2, 3, 2]]).astype(np.float32)
    write_case(folder, "test_value", model, {"input_0": one, "input_1": one[0], "output_0": wrong})
    write_case(folder, "test_missing", missing, {"input_0": one[0, :1], "output_0": one[0, :1]})


main()
