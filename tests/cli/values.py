"""values.py OX DIR: sequences, optionals and maps as inputs and outputs of the command.

The models are written into DIR. Ends with a line "N passed, N failed, N skipped".
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper, save
from tally import check, finish

OX = os.path.abspath(sys.argv[1])
DIR = pathlib.Path(sys.argv[2]) / "values"
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def ox(status, *arguments, stdin=b""):
    done = subprocess.run([OX, *map(str, arguments)], cwd=DIR, input=stdin, capture_output=True, timeout=60)
    check(f"ox {' '.join(map(str, arguments))}: status", done.returncode == status, (done.returncode, done.stderr[:400]))
    return done.stdout, done.stderr.decode()


def fails(text, *arguments, stdin=b""):
    _, err = ox(1, *arguments, stdin=stdin)
    check(f"ox {' '.join(map(str, arguments))}: {text!r}", text in err and err.count("\n") <= 2, err)


def tensor(dtype, shape=None):
    return helper.make_tensor_type_proto(dtype, shape)


sequence, optional, mapping = helper.make_sequence_type_proto, helper.make_optional_type_proto, helper.make_map_type_proto


def write(name, nodes, inputs, outputs):
    graph = helper.make_graph(nodes, name, [helper.make_value_info(*i) for i in inputs],
                              [helper.make_value_info(*o) for o in outputs])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), DIR / f"{name}.onnx")


def write_models():
    types = {"seq": sequence(tensor(FLOAT)), "opt": optional(tensor(FLOAT)), "optseq": optional(sequence(tensor(INT64))),
             "map": mapping(INT64, tensor(FLOAT)), "texts": mapping(STRING, tensor(STRING)),
             "tiny": mapping(TensorProto.INT8, tensor(FLOAT)), "nested": sequence(sequence(tensor(FLOAT))),
             "maps": sequence(mapping(INT64, tensor(FLOAT)))}
    for number in range(1, 29):
        types[f"seq{number}"] = sequence(tensor(number))
    for name, of in types.items():
        write(name, [helper.make_node("Identity", ["x"], ["y"])], [("x", of)], [("y", of)])
    write("insert", [helper.make_node("SequenceInsert", ["s", "t"], ["r"]),
                     helper.make_node("SequenceLength", ["r"], ["n"])],
          [("s", sequence(tensor(INT64))), ("t", tensor(INT64, ["k"]))], [("n", tensor(INT64, []))])
    write("zip", [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "d\to"])],
          [("x", tensor(FLOAT, ["n", 2]))], [("y", sequence(mapping(STRING, tensor(FLOAT, []))))])
    for to, kind in (("FLOAT", FLOAT), ("INT64", INT64), ("STRING", STRING)):
        for name, of in (("texts", STRING), ("numbers", FLOAT)):
            write(f"{name}_to_{to}", [helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", cast_to=f"TO_{to}")],
                  [("x", mapping(INT64, tensor(of)))], [("y", tensor(kind, [1, "n"]))])
    write("split", [helper.make_node("SplitToSequence", ["x"], ["y"], keepdims=0)], [("x", tensor(FLOAT, ["n"]))],
          [("y", sequence(tensor(FLOAT, [])))])


def check_text():
    for model, given, wanted in (
            ("seq", "[[1,2],[[3,4],[5,6]],7]", "seq(tensor(float)), 3 items\n  0: float [2]\n    [1. 2.]\n"
             "  1: float [2,2]\n    [[3. 4.]\n     [5. 6.]]\n  2: 7.\n"),
            ("seq", "[[1]]", "seq(tensor(float)), 1 item\n  0: float [1]\n    [1.]\n"),
            ("opt", "[1,2]", "optional(tensor(float))\n  float [2]\n    [1. 2.]\n"),
            ("opt", "0.5", "optional(tensor(float))\n  0.5\n"),
            ("optseq", " [ [1] , 2 ] ", "optional(seq(tensor(int64)))\n  seq(tensor(int64)), 2 items\n"
             "    0: int64 [1]\n      [1]\n    1: 2\n"),
            ("map", "{1: 0.5, -2: [1,2]}", "map(int64,tensor(float)), 2 items\n  1: 0.5\n  -2: float [2]\n    [1. 2.]\n"),
            ("texts", """{"a,]}:": ["x","]y,"], 'b\\"\\'': "q"}""", "map(string,tensor(string)), 2 items\n"
             "  'a,]}:': string [2]\n    ['x' ']y,']\n  'b\"\\'': 'q'\n"),
            ("nested", "[[[1,2]],[],[3]]", "seq(seq(tensor(float))), 3 items\n  0: seq(tensor(float)), 1 item\n"
             "    0: float [2]\n      [1. 2.]\n  1: seq(tensor(undefined)), 0 items\n"
             "  2: seq(tensor(float)), 1 item\n    0: 3.\n"),
            ("maps", "[{1:2,3:[4]},{5:6}]", "seq(map(int64,tensor(float))), 2 items\n  0: map(int64,tensor(float)), 2 "
             "items\n    1: 2.\n    3: float [1]\n      [4.]\n  1: map(int64,tensor(float)), 1 item\n    5: 6.\n"),
            ("zip", "[[0.25,0.75]]", "seq(map(string,tensor(float))), 1 item\n  0: map(string,tensor(float)), 2 items\n"
             "    'cat': 0.25\n    'd\\to': 0.75\n")):
        out, _ = ox(0, "run", f"{model}.onnx", "-i", given)
        check(f"text of {model} {given}", out.decode() == "y: " + wanted, out)
    for model, given, wanted in (("seq", "[]", ", 0 items\n"), ("opt", "none", ", none\n"), ("optseq", "none", ", none\n"),
                                 ("map", "{}", ", 0 items\n")):
        out, _ = ox(0, "run", f"{model}.onnx", "-i", given)
        check(f"text of {model} {given}", out.decode().endswith(wanted) and out.count(b"\n") == 1, out)
    out, _ = ox(0, "run", "insert.onnx", "-i", "[[1],[2]]", "-i", "[3,4]", "-o", "r")
    check("a value inside the model", out.startswith(b"r: seq(tensor(int64)), 3 items\n") and b"[3 4]" in out, out)
    out, _ = ox(0, "run", "split.onnx", "-i", "@zeros[1001]")
    check("many items", out.count(b"\n") == 8 and b"\n  2: 0.\n  ...\n  998: 0.\n" in out, out)
    out, _ = ox(0, "run", "split.onnx", "-i", "@zeros[1000]")
    check("not so many items", out.count(b"\n") == 1001 and b"..." not in out)
    out, _ = ox(0, "run", "seq.onnx", "-i", "[[1,nan]]", "--stats")
    check("statistics", b"  0: float [2]\n    min 1.0, max 1.0, mean 1, 1 NaN, 0 inf of 2\n" in out, out)
    out, _ = ox(0, "info", "nested.onnx")
    check("types", out.count(b"seq(seq(tensor(float)))\n") == 2, out)


def check_json():
    def result(model, given, *more):
        out, _ = ox(0, "run", f"{model}.onnx", "-i", given, "--json", *more)
        return json.loads(out)["outputs"][0]

    def item(values, shape, dtype="float"):
        return {"dtype": dtype, "shape": shape, "values": values}

    two = {"name": "y", "type": "seq(tensor(float))", "items": [item([1, 2], [2]), item(3, [])]}
    check("a sequence", result("seq", "[[1,2],3]") == two, result("seq", "[[1,2],3]"))
    check("an empty sequence", result("seq", "[]")["items"] == [])
    check("an optional", result("opt", "[1]")["item"] == item([1], [1]))
    check("none", result("opt", "none")["item"] is None)
    inner = result("optseq", "[4]")["item"]
    check("an optional sequence", inner == {"type": "seq(tensor(int64))", "items": [item(4, [], "int64")]}, inner)
    found = result("texts", '{"a":"b"}')
    check("a map", found["keys"] == ["a"] and found["values"] == [item("b", [], "string")], found)
    check("statistics", result("seq", "[[1,3]]", "--stats")["items"][0]["stats"]["mean"] == 2)


def read(path, kind):
    return kind.FromString((DIR / path).read_bytes())


def check_saved():
    given = [np.float32([[1, 2]]), np.float32(3)]
    ox(0, "run", "seq.onnx", "-i", "[[[1,2]],3]", "--save", "saved", "--save-all", "all", "--save-inputs", "in", "-o",
       "y=y.pb", "--quiet")
    for path, name in (("saved/output_0.pb", "y"), ("all/y.pb", "y"), ("in/input_0.pb", "x"), ("y.pb", "y")):
        proto = read(path, onnx.SequenceProto)
        found = numpy_helper.to_list(proto)
        good = len(found) == 2 and all(map(np.array_equal, found, given))
        check(path, good and proto.name == name, (proto.name, found))
    index = json.loads((DIR / "all" / "index.json").read_text())
    check("the index", index == [{"name": "y", "file": "y.pb", "type": "seq(tensor(float))"}], index)
    ox(0, "run", "map.onnx", "-i", "{-1: [1], 2: 3}", "-o", "y=map.pb")
    check("a map", {k: v.tolist() for k, v in numpy_helper.to_dict(read("map.pb", onnx.MapProto)).items()} ==
          {-1: [1], 2: 3})
    ox(0, "run", "texts.onnx", "-i", '{"k": ["\u00e4"]}', "-o", "y=texts.pb")
    proto = read("texts.pb", onnx.MapProto)
    check("texts", list(proto.string_keys) == [b"k"] and proto.key_type == STRING and
          list(proto.values.tensor_values[0].string_data) == ["\u00e4".encode()], proto)
    ox(0, "run", "opt.onnx", "-i", "[1.5]", "-o", "y=opt.pb")
    check("an optional", numpy_helper.to_optional(read("opt.pb", onnx.OptionalProto)).tolist() == [1.5])
    ox(0, "run", "opt.onnx", "-i", "none", "-o", "y=none.pb")
    check("none", numpy_helper.to_optional(read("none.pb", onnx.OptionalProto)) is None)
    ox(0, "run", "optseq.onnx", "-i", "[[1,2]]", "-o", "y=optseq.pb")
    found = numpy_helper.to_optional(read("optseq.pb", onnx.OptionalProto))
    check("an optional sequence", len(found) == 1 and found[0].tolist() == [1, 2], found)
    for model, given in (("nested", "[[[1,2],3],[],[4]]"), ("maps", "[{1:2,3:[4]},{}]"), ("tiny", "{-128:1,127:2}"),
                         ("optseq", "none"), ("seq", "[]"), ("map", "{}"), ("texts", "{}")):
        ox(0, "run", f"{model}.onnx", "-i", given, "--save", model, "--quiet")
        again = (f"{model}.onnx", "-i", f"x={model}/output_0.pb")
        out, _ = ox(0, "run", *again, "--expect", f"y={given}", "--expect", f"y={model}/output_0.pb", "--quiet")
        check(f"{model}: the same twice", ox(0, "run", *again)[0] == ox(0, "run", f"{model}.onnx", "-i", given)[0])
    ox(0, "run", "insert.onnx", "-i", "[[1]]", "-i", "[2,3]", "-o", "n=n.pb", "-o", "t=t.PB")
    check("tensors as messages", numpy_helper.to_array(read("n.pb", TensorProto)) == 2 and
          numpy_helper.to_array(read("t.PB", TensorProto)).tolist() == [2, 3])
    proto, _ = ox(0, "run", "seq.onnx", "-i", "[[1,2]]", "-o", "y=-")
    out, _ = ox(0, "run", "seq.onnx", "-i", "-", stdin=proto)
    check("through a pipe", b"[1. 2.]" in out, out)
    fails("output 'y' is seq(tensor(float)), which only a .pb holds, not 'y.npy'", "run", "seq.onnx", "-i", "[[1]]", "-o",
          "y=y.npy")
    check("no file is made", not (DIR / "y.npy").exists())


def check_types():
    """Every element type, packed ones with a rest of bits, written and read again."""
    given = {STRING: '["a","bc"]', TensorProto.BOOL: "[true,false]", TensorProto.COMPLEX64: "[1+2j,3]",
             TensorProto.COMPLEX128: "[1+2j,3]", 24: "[1,2,4,8,16]", 25: "[1,3,2,0,1]", 26: "[1,-2,0,-1,1]"}
    for number in range(1, 29):
        literal = f"[{given.get(number, '[1,2,3,4,1]')},[]]"
        ox(0, "run", f"seq{number}.onnx", "-i", literal, "--save", f"type{number}", "--quiet")
        out, _ = ox(0, "run", f"seq{number}.onnx", "-i", f"type{number}/output_0.pb", "--expect", f"y={literal}", "--rtol",
                    0, "--atol", 0)
        check(f"type {number}", out.endswith(b"as expected, the largest difference is 0\n"), out)
    for number in (FLOAT, TensorProto.INT4, TensorProto.UINT4, TensorProto.BFLOAT16):
        array = numpy_helper.to_list(read(f"type{number}/output_0.pb", onnx.SequenceProto))[0]
        check(f"type {number} as ONNX reads it", array.astype(np.float32).tolist() == [1, 2, 3, 4, 1], array)


def check_expected():
    out, _ = ox(0, "run", "seq.onnx", "-i", "[[1,2],[3]]", "--expect", "y=[[1,2],[3.001]]")
    check("what is near", b"y: as expected, the largest difference is 0.001\n" in out, out)
    for model, given, wanted, text in (
            ("seq", "[[1,2],[3]]", "[[1,2],[4]]", "output 'y' item 1: at [0]: 3., expected 4. (1 of 1 differ)"),
            ("seq", "[[1]]", "[[1],[2]]", "output 'y' 1 items, expected 2"), ("opt", "none", "[1]", "0 items, expected 1"),
            ("map", "{1:2}", "{2:2}", "at [0]: 1, expected 2 (1 of 1 differ) among the keys"),
            ("seq", "[]", "none", "--expect y: literal 'none': expected '['")):
        fails(text, "run", f"{model}.onnx", "-i", given, "--expect", f"y={wanted}", "--quiet")
    ox(0, "run", "insert.onnx", "-i", "[[1]]", "-i", "[2]", "--expect", "r=[[1],[2]]", "--expect", "n=2")
    fails("item 1: at [0]: 2, expected 5", "run", "insert.onnx", "-i", "[[1]]", "-i", "[2]", "--expect", "r=[[1],[5]]")


def check_errors():
    np.save(DIR / "x.npy", np.float32([1, 2]))
    out, _ = ox(0, "run", "opt.onnx", "-i", "x.npy")
    check("a tensor for an optional", b"  float [2]\n    [1. 2.]\n" in out, out)
    proto = onnx.SequenceProto(name="x", elem_type=1, tensor_values=[numpy_helper.from_array(np.array([1, 2]))])
    (DIR / "ints.pb").write_bytes(proto.SerializeToString())
    (DIR / "bad.pb").write_bytes(b"\x1a\xff")
    for model, given, text in (
            ("seq", "[[1],[2", "input 'x': item 1: literal '[2': expected ',' or ']'"),
            ("seq", '[[1],"x"]', "item 1: literal '\"x\"': expected a number at character 1"),
            ("seq", "[[1],[[2],[3,4]]]", "item 1: literal '[[2],[3,4]]': lists of different length"),
            ("seq", "[1,]", "item 1: literal ''"), ("seq", "[1", "expected ',' or ']' at character 3"),
            ("seq", "[1] 2", "text after the end at character 5"), ("seq", "{1:2}", "expected '['"),
            ("seq", "7", "expected '['"), ("seq", "none", "expected '['"), ("map", "[1]", "expected '{'"),
            ("map", "{1 2}", "expected a key and ':'"), ("map", "{1:2", "expected ',' or '}'"),
            ("map", '{"a":2}', "the keys: literal '[\"a\"]': expected a number"), ("map", "{[1]:2}", "[1,1]"),
            ("map", "{:2}", "expected a key and ':' at character 2"), ("tiny", "{128:1}", "does not fit the type int8"),
            ("seq", "@ones", "it is seq(tensor(float)), which comes from a .pb or is a list of its items"),
            ("seq", "x.npy", "not 'x.npy'"), ("opt", "@ones", "or is none or its item, not '@ones'"),
            ("map", "what", "or is a literal such as '{1: 0.5, 2: 3}', not 'what'"), ("seq", "no.pb", "No such file"),
            ("seq", "bad.pb", "input 'x': bad.pb: "), ("seq", "ints.pb", "seq(tensor(int64))")):
        fails(text, "run", f"{model}.onnx", "-i", f"x={given}")
    fails("missing input 'x' (seq(tensor(float)))", "run", "seq.onnx")
    fails("not '@random'", "bench", "seq.onnx")
    fails("--top wants an output of floats of shape [C] or [N,C]: 'y' is seq(map(string,tensor(float)))", "run", "zip.onnx",
          "-i", "[[0,1]]", "--top", "1")
    out, _ = ox(0, "bench", "insert.onnx", "-i", "[[1]]", "-i", "[2]", "--json")
    check("measuring", json.loads(out)["runs"] > 0)


# Time and memory that no work for each round, item or element together would stay within: an endless loop, a trip count
# of 2^62, a list that grows, and the transform of a length that is a prime.
ROUNDS = """<ir_version: 10, opset_import: ["": 21]> g (int64 m) => ({type} r) {{
  c = Constant<value = bool {{1}}>() x = Constant<value = float {{1.5}}>() e = SequenceEmpty()
  one = Constant<value = int64 {{1}}>()
  {result} = Loop({trips}, c, {first}) <body = round (int64 i, bool k, {type} v) => (bool k2, {type} w{stack}) {{
    k2 = Identity(k) {body} }}>
}}"""


def check_bounds_of(arguments):
    """A subcommand that runs a model has the bounds of ox run."""
    if arguments[0] == "test":
        (DIR / "endless" / "test_data_set_0").mkdir(parents=True)
        given = numpy_helper.from_array(np.int64(1), "m").SerializeToString()
        (DIR / "endless" / "test_data_set_0" / "input_0.pb").write_bytes(given)
        (DIR / "endless.onnx").rename(DIR / "endless" / "model.onnx")
    for bound, text in (("--timeout=0.3", "cancelled"), ("--max-memory=4K", "beyond the limit of 4096 bytes")):
        said = subprocess.run([OX, *arguments, bound], cwd=DIR, capture_output=True, timeout=60, text=True)
        check(f"{arguments[0]} {bound}", said.returncode == 1 and text in said.stdout + said.stderr, said)


def check_bounds():
    models = {
        "endless": ("float", "", "x", "w = Add(v, x)", False), "counted": ("float", "m", "x", "w = Add(v, x)", False),
        "stacked": ("float", "m", "x", "w = Add(v, x)", True),
        "grows": ("seq(float)", "m", "e", "w = SequenceInsert(v, x)", False),
        "grows_ahead": ("seq(float)", "m", "e", "z = Sub(one, one) w = SequenceInsert(v, x, z)", False),
    }
    for name, (kind, trips, first, body, stacks) in models.items():
        text = ROUNDS.format(type=kind, trips=trips or '""', first=first, body=body, stack=f", {kind} w" if stacks else "",
                             result="r, s" if stacks else "r")
        save(onnx.parser.parse_model(text), DIR / f"{name}.onnx")
    for name in ("endless", "counted"):
        fails("cancelled: the time of --timeout is over", "run", f"{name}.onnx", "-i", str(2**62), "--timeout", "0.3",
              "--max-memory", "256K")
    for arguments in (["bench", "endless.onnx"], ["embed", "endless.onnx", "-o", "firmware"], ["test", "endless"]):
        check_bounds_of(arguments)
    fails("beyond the limit of 4096 bytes of memory", "info", "counted.onnx", "--max-memory", "4K")
    fails("beyond the limit of 262144 bytes of memory", "run", "stacked.onnx", "-i", str(2**62), "--timeout", "60", "--max-memory", "256K")
    for name in ("grows", "grows_ahead"):
        out, _ = ox(0, "run", f"{name}.onnx", "-i", "30000", "--max-memory", "40M", "--json")
        check(f"30,000 items of {name}", len(json.loads(out)["outputs"][0]["items"]) == 30000)
    write("prime", [helper.make_node("DFT", ["x"], ["y"])], [("x", tensor(FLOAT, [1, "n", 1]))],
          [("y", tensor(FLOAT, [1, "n", 2]))])
    ox(0, "run", "prime.onnx", "-d", "n=1000003", "-i", "@ones", "--stats", "--timeout", "59")


def check_casts():
    """Maps of numbers and of texts as tensors of each other."""
    for model, given, wanted in (("texts_to_FLOAT", '{2: "1e-3", -1: "inf"}', "float [1,2]\n[[  inf 0.001]]\n"),
                                 ("texts_to_INT64", '{5: "-7.9"}', "int64 [1,1]\n[[-7]]\n"),
                                 ("numbers_to_STRING", "{1: 0.5, 0: -3}", "string [1,2]\n[['-3.0' '0.5']]\n")):
        out, _ = ox(0, "run", f"{model}.onnx", "-i", given)
        check(f"{model} {given}", out.decode() == "y: " + wanted, out)
    for to, given in (("FLOAT", "1,5"), ("INT64", "9223372036854775808"), ("INT64", "nan")):
        fails(f"'{given}' is not a number of type {to.lower()}", "run", f"texts_to_{to}.onnx", "-i", f'{{1: "{given}"}}')


def main():
    DIR.mkdir()
    write_models()
    for test in (check_text, check_json, check_saved, check_types, check_expected, check_errors, check_casts, check_bounds):
        test()
    finish()


main()
