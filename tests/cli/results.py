"""results.py OX DIR: inner values, comparing, saving, statistics, JSON and the nodes of models.

The models are written into DIR.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from tally import check, finish

OX = os.path.abspath(sys.argv[1])
DIR = pathlib.Path(sys.argv[2]) / "results"
X = np.array([[-1, 2, np.nan], [np.inf, -np.inf, 0.1]], np.float32)


def ox(status, *arguments):
    done = subprocess.run([OX, *map(str, arguments)], cwd=DIR, capture_output=True, text=True, timeout=60)
    check(f"ox {' '.join(map(str, arguments))}: status", done.returncode == status, (done.returncode, done.stderr[:400]))
    return done.stdout, done.stderr


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def write(name, nodes, inputs, outputs, initializers=(), functions=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, initializer=list(initializers))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions)), DIR / f"{name}.onnx")


def write_models():
    flt, i64 = TensorProto.FLOAT, TensorProto.INT64
    twice = helper.make_function("own", "Twice", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["inner"]),
                                 helper.make_node("Sub", ["a", "inner"], ["b"])], [helper.make_opsetid("", 21)])
    nodes = [helper.make_node("Relu", ["x"], ["layer/relu"], name="relu"),
             helper.make_node("Add", ["layer/relu", "bias"], ["mid"], name="sum"),
             helper.make_node("Twice", ["mid"], ["t"], name="call", domain="own"),
             helper.make_node("Neg", ["t"], ["y"])]
    bias = numpy_helper.from_array(np.array([1, 2, 3], np.float32), "bias")
    write("inner", nodes, [value("x", flt, ["n", 3])], [value("y", flt, ["n", 3])], [bias], [twice])
    table = numpy_helper.from_array(np.arange(14, dtype=np.float32).reshape(7, 2), "table")
    write("lookup", [helper.make_node("Gather", ["table", "ids"], ["rows"]),
                     helper.make_node("Gather", ["data", "at"], ["picked"], axis=-1),
                     helper.make_node("Gather", ["table", "both"], ["more"]),
                     helper.make_node("Gather", ["data", "both"], ["points"]),
                     helper.make_node("Neg", ["free"], ["minus"])],
          [value("ids", i64, [500]), value("at", i64, [4, 300]), value("both", i64, [300, 2]),
           value("free", i64, [500]), value("data", flt, [4, 3])],
          [value(name, flt, None) for name in ("rows", "picked", "points")] + [value("minus", i64, [500])], [table])
    for kind in ("float", "double", "float16", "bfloat16", "int64", "uint64", "bool", "string", "complex64"):
        number = TensorProto.DataType.Value(kind.upper())
        write(f"same_{kind}", [helper.make_node("Identity", ["x"], ["y"])], [value("x", number, None)],
              [value("y", number, None)])
    branches = {f"{name}_branch": helper.make_graph([helper.make_node(op, ["x"], ["r"])], name, [],
                                                    [value("r", flt, None)])
                for name, op in (("then", "Neg"), ("else", "Abs"))}
    write("branch", [helper.make_node("If", ["c"], ["y"], name="choice", **branches)],
          [value("c", TensorProto.BOOL, []), value("x", flt, [2])], [value("y", flt, None)])


def check_inner():
    np.save(DIR / "x.npy", X)
    relu = np.maximum(X, 0)
    given = ["inner.onnx", "-i", "x.npy"]
    out, _ = ox(0, "run", *given, "-o", "mid=mid.npy", "-o", "layer/relu=relu.npy", "-o", "bias=bias.npy", "-o",
                "x=again.npy")
    check("the outputs are still printed", out.startswith("y: float [2,3]\n"), out)
    for name, wanted in (("mid", relu + np.float32([1, 2, 3])), ("relu", relu), ("again", X),
                         ("bias", np.float32([1, 2, 3]))):
        check(f"the value {name}", np.array_equal(np.load(DIR / f"{name}.npy"), wanted, equal_nan=True))
    ox(0, "run", *given, "-o", "mid=unfused.npy", "--no-fuse")
    check("the same without passes", (DIR / "mid.npy").read_bytes() == (DIR / "unfused.npy").read_bytes())
    out, _ = ox(0, "run", *given, "-o", "mid")
    check("a value alone", out.startswith("mid: float [2,3]\n") and "y:" not in out, out)
    out, _ = ox(0, "run", *given, "-o", "call/inner", "-o", "y")
    check("a function's value", out.startswith("y: ") and "\ncall/inner: float" in out, out)
    for wanted, text in (("mdi", "did you mean 'mid'?"), ("relu", "it is a node, which gives 'layer/relu'"),
                         ("y2", "unknown output 'y2': the model has 'y' (float [n,3])")):
        _, err = ox(1, "run", *given, "-o", f"{wanted}=no.npy")
        check(f"what {wanted} is taken for", text in err, err)
    out, _ = ox(0, "run", "branch.onnx", "-i", "true", "-i", "[1,-2]", "-o", "c")
    check("an input", out == "c: bool []\nTrue\n", out)


def check_left_out():
    """Values of the model that a session leaves out otherwise, and none that it makes for itself."""
    weights = np.arange(-64, 64, dtype=np.int8).reshape(32, 4)
    kept = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.full((2, 4), 0.5, np.float32), "s")]
    write("blocks", [helper.make_node("DequantizeLinear", ["w", "s"], ["floats"], "widen", axis=0, block_size=16),
                     helper.make_node("MatMul", ["a", "floats"], ["y"])],
          [value("a", TensorProto.FLOAT, [1, 32])], [value("y", TensorProto.FLOAT, [1, 4])], kept)
    ox(0, "run", "blocks.onnx", "-i", "@ones", "--save-all", "blocks", "--quiet")
    index = json.loads((DIR / "blocks" / "index.json").read_text())
    check("all values of the model", [e["name"] for e in index] == ["y", "floats"], index)
    check("a value that is left out", np.array_equal(np.load(DIR / "blocks" / "floats.npy"), weights * np.float32(0.5)))
    out, _ = ox(0, "run", "blocks.onnx", "-i", "@ones", "-o", "floats", "--stats")
    check("such a value alone", out.startswith("floats: float [32,4]\n"), out)
    _, err = ox(1, "run", "blocks.onnx", "-i", "@ones", "-o", "widen")
    check("the node that gives it", "it is a node, which gives 'floats'" in err, err)


def check_saved():
    ox(0, "run", "inner.onnx", "-i", "x.npy", "--save-all", "all", "--save-inputs", "inputs", "--quiet")
    index = json.loads((DIR / "all" / "index.json").read_text())
    check("all values", [e["name"] for e in index] == ["y", "layer/relu", "mid", "call/inner", "t"], index)
    for entry in index:
        array = np.load(DIR / "all" / entry["file"])
        check(f"{entry['name']} in the index", list(array.shape) == entry["shape"] and entry["dtype"] == "float")
    check("a name with a slash", (DIR / "all" / "layer%2Frelu.npy").exists())
    check("the input", np.array_equal(np.load(DIR / "inputs" / "input_0.npy"), X, equal_nan=True))
    ox(0, "run", "lookup.onnx", *["-i", "@random"] * 5, "--save-inputs", "filled", "--save", "first", "--quiet")
    again = [f"filled/input_{i}.npy" for i in range(5)]
    ox(0, "run", "lookup.onnx", *[a for file in again for a in ("-i", file)], "--save", "second", "--quiet")
    for i in range(4):
        name = f"output_{i}.npy"
        check("inputs that were saved", (DIR / "first" / name).read_bytes() == (DIR / "second" / name).read_bytes())


def check_expected():
    given = ["inner.onnx", "-i", "[[1,2,3]]"]
    out, _ = ox(0, "run", *given, "--expect", "y=[[-4,-8,-12]]", "--expect", "mid=[[2,4,6]]")
    check("what is as expected", out.count("as expected, the largest difference is 0\n") == 2, out)
    np.save(DIR / "wide.npy", np.array([[-4.001, -8, -12]]))
    out, err = ox(0, "run", *given, "--expect", "y=wide.npy", "--quiet")
    check("nothing is said", not out and not err, (out, err))
    for tolerance, status in (((), 0), (("--rtol", "0", "--atol", "0.01"), 0), (("--rtol", "1e-5"), 1),
                              (("--rtol", "0"), 1), (("--atol=1e-2", "--rtol=0"), 0)):
        ox(status, "run", *given, "--expect", "y=wide.npy", *tolerance)
    _, err = ox(1, "run", *given, "--expect", "y=[[-4,0,-12]]", "--expect", "mid=[2]", "-o", "y=kept.npy")
    check("what differs", "ox: output 'y' at [0,1]: -8., expected 0. (1 of 3 differ)\n" in err, err)
    check("the other shape", "ox: output 'mid' shape [1,3], expected [1]\n" in err, err)
    check("results are written all the same", (DIR / "kept.npy").exists())
    ox(0, "run", "inner.onnx", "-i", "x.npy", "--save", "recorded", "--quiet")
    ox(0, "run", "inner.onnx", "-i", "x.npy", "--expect", "y=recorded/output_0.npy", "--rtol", "0", "--atol", "0")
    for wrong, text in (("z=1", "unknown output 'z'"), ("y", "has no '='"), ("y=none.npy", "names no file")):
        _, err = ox(1, "run", *given, "--expect", wrong)
        check(f"--expect {wrong}", text in err, err)
    for wrong in ("-1", "x", "nan", "inf", ""):
        for option in ("--rtol", "--atol"):
            _, err = ox(2, "run", *given, option, wrong)
            check(f"{option} {wrong}", f"{option} wants a number" in err, err)


def check_json():
    text, _ = ox(0, "run", "inner.onnx", "-i", "x.npy", "--json", "-o", "layer/relu")
    found = json.loads(text)["outputs"]
    check("one value", [(o["name"], o["dtype"], o["shape"]) for o in found] == [("layer/relu", "float", [2, 3])], text)
    check("no numbers of JSON", found[0]["values"] == [[0.0, 2.0, "NaN"], ["Infinity", 0.0, 0.1]], text)
    rng = np.random.default_rng(1)
    for kind, numpy_kind in (("float", "f4"), ("double", "f8"), ("float16", "f2"), ("int64", "i8"), ("uint64", "u8")):
        bits = rng.integers(0, 256, 400 * np.dtype(numpy_kind).itemsize, np.uint8)
        array = np.frombuffer(bits.tobytes(), numpy_kind).reshape(4, 5, 20)
        np.save(DIR / "bits.npy", array)
        text, _ = ox(0, "run", f"same_{kind}.onnx", "-i", "bits.npy", "--json")
        back = json.loads(text)["outputs"][0]["values"]
        back = np.array([[[float(v) if numpy_kind[0] == "f" else v for v in row] for row in rows] for rows in back],
                        numpy_kind)
        check(f"{kind} goes through JSON", np.array_equal(back, array, equal_nan=numpy_kind[0] == "f"))
    for kind, literal, wanted in (("bool", "[true,false]", [True, False]), ("float", "7", 7.0),
                                  ("string", '["a\\"b","é"]', ['a"b', "é"]), ("complex64", "[1+2j]", [[1.0, 2.0]]),
                                  ("float", "[[],[]]", []), ("bfloat16", "[0.1]", [0.1]), ("float", "[-0.0]", [-0.0]),
                                  ("double", "[1e22,1e-7,123456.5,1e15]", [1e22, 1e-7, 123456.5, 1e15])):
        text, _ = ox(0, "run", f"same_{kind}.onnx", "-i", literal, "--json")
        check(f"{literal} as JSON", json.loads(text)["outputs"][0]["values"] == wanted, text)


def check_stats():
    out, _ = ox(0, "run", "inner.onnx", "-i", "x.npy", "--stats", "-o", "x")
    check("statistics", out == "x: float [2,3]\nmin -1.0, max 2.0, mean 0.3666667, 1 NaN, 2 inf of 6\n", out)
    out, _ = ox(0, "run", "same_int64.onnx", "-i", "[9223372036854775807,-9223372036854775808]", "--stats")
    check("exact integers", "min -9223372036854775808, max 9223372036854775807, mean -0.5, 0 NaN" in out, out)
    out, _ = ox(0, "run", "same_float.onnx", "-i", "[nan]", "--stats")
    check("nothing finite", out.endswith("1 NaN, 0 inf of 1\n") and "min" not in out, out)
    out, _ = ox(0, "run", "same_string.onnx", "-i", '["a","b"]', "--stats")
    check("strings", out.endswith("2 strings\n"), out)
    text, _ = ox(0, "run", "inner.onnx", "-i", "x.npy", "--stats", "--json", "-o", "x")
    stats = json.loads(text)["outputs"][0]["stats"]
    check("statistics as JSON", stats["count"] == 6 and stats["nan"] == 1 and stats["inf"] == 2 and stats["min"] == -1
          and stats["max"] == 2 and abs(stats["mean"] - 1.1 / 3) < 1e-6, text)


def filled(model, rule, count=1):
    sizes = ["-d", "n=400"] if model == "inner.onnx" else []
    ox(0, "run", model, *["-i", rule] * count, *sizes, "--save-inputs", "range", "--quiet")
    return [np.load(DIR / "range" / f"input_{i}.npy") for i in range(count)]


def check_random():
    ids, at, both, free, _ = filled("lookup.onnx", "@random", 5)
    check("indices of Gather", set(ids) == set(range(7)), sorted(set(ids)))
    check("indices along an axis", set(at.ravel()) == set(range(3)), sorted(set(at.ravel())))
    check("indices of two nodes", set(both.ravel()) == set(range(4)), sorted(set(both.ravel())))
    check("other integers", set(free) == set(range(10)), sorted(set(free)))
    (x,) = filled("inner.onnx", "@random:-2.5..1.5")
    check("floats of a range", x.min() >= -2.5 and x.max() <= 1.5 and x.min() < -2.3 and x.max() > 1.3)
    (again,) = filled("inner.onnx", "@random:-2.5..1.5:0")
    (other,) = filled("inner.onnx", "@random:-2.5..1.5:7")
    check("seeds of a range", np.array_equal(x, again) and not np.array_equal(x, other))
    ids, _, _, free, _ = filled("lookup.onnx", "@random:0..2", 5)
    check("integers of a range", set(free) == {0, 1, 2} and set(ids) == {0, 1, 2})
    for rule in ("@random:3..2", "@random:1..", "@random:..", "@random:0..nan", "@random:0..1:x", "@random:1e99..1e99"):
        _, err = ox(1, "run", "inner.onnx", "-i", rule, "-d", "n=2")
        check(f"{rule} is refused", "must be @random:LO..HI with float values" in err, err)
    _, err = ox(1, "run", "lookup.onnx", *["-i", "@random:0..1.5"] * 5)
    check("a fraction for integers", "with int64 values" in err, err)


def check_nodes():
    out, _ = ox(0, "info", "inner.onnx", "--nodes", "-d", "n=2")
    check("a line a node", out.split("in the order of a run\n")[1].split("\n")[:4] == [
        "  Relu-14 'relu': x float [2,3] -> layer/relu float [2,3]",
        "  Add-14 'sum': layer/relu float [2,3], bias float [3] -> mid float [2,3]",
        "  Neg-13: mid float [2,3] -> call/inner float [2,3]",
        "  Sub-14: mid float [2,3], call/inner float [2,3] -> t float [2,3]"] or "call" in out, out)
    check("shapes of all", "-> y float [2,3]\n" in out, out)
    out, _ = ox(0, "info", "branch.onnx", "--nodes")
    check("subgraphs are indented", "\n  If-21 'choice': c bool [] -> y" in out and "\n    Neg-13: x -> r\n" in out, out)
    text, _ = ox(0, "info", "inner.onnx", "--nodes", "--json", "-d", "n=2")
    nodes = json.loads(text)["node_list"]
    check("nodes as JSON", [n["op"] for n in nodes] == ["Relu", "Add", "Neg", "Sub", "Neg"] and
          nodes[1]["inputs"][1] == {"name": "bias", "type": "float", "shape": [3]}, text)
    check("no nodes unless asked for", "node_list" not in ox(0, "info", "inner.onnx", "--json")[0])


def check_operators():
    out, _ = ox(0, "ops", "Conv", "Clip")
    check("an operator", out.startswith("Conv\nversions 1 11 22\n  inputs     2 to 3\n  outputs    1\n  types      "), out)
    check("another meaning", "\nClip\n" in out and "with another meaning than before" in out, out)
    out, _ = ox(0, "ops", "AveragePool", "Clip", "Relu")
    check("attributes", "  attribute  kernel_shape: ints, required\n" in out and
          "  attribute  ceil_mode: int, since 10\n" in out, out)
    check("attributes that later versions lack", out.count("  attribute  max: float\n") == 1, out)
    for wrong, near in (("Covn", "'Conv'"), ("relu", "'Relu'"), ("reducemx", "'ReduceMax'")):
        _, err = ox(1, "ops", wrong)
        check(f"what is near {wrong}", f"ox has no operator '{wrong}'; did you mean {near}" in err, err)
    _, err = ox(1, "ops", "qqqqqqqq")
    check("nothing near", err == "ox: ox has no operator 'qqqqqqqq'\n", err)
    ox(2, "ops", "Conv", "--markdown")


def check_cases():
    folder = DIR / "case" / "test_data_set_0"
    folder.mkdir(parents=True, exist_ok=True)
    (DIR / "case" / "model.onnx").write_bytes((DIR / "same_float.onnx").read_bytes())
    for name, array in (("input_0", [1, 2]), ("output_0", [1.0005, 2])):
        (folder / f"{name}.pb").write_bytes(numpy_helper.from_array(np.float32(array)).SerializeToString())
    ox(0, "test", "case")
    ox(1, "test", "case", "--rtol", "1e-4")
    ox(0, "test", "case", "--rtol", "1e-4", "--atol", "1e-3")
    (DIR / "case" / "data.json").write_text('{"rtol": 0.1}')
    ox(1, "test", "case", "--rtol", "1e-4")
    ox(2, "test", "case", "--atol", "-1")


def main():
    DIR.mkdir(exist_ok=True)
    write_models()
    for test in (check_inner, check_saved, check_left_out, check_expected, check_json, check_stats, check_random, check_nodes,
                 check_operators, check_cases):
        test()
    finish()


main()
