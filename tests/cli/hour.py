"""hour.py OX DIR: what a stranger types in a first hour with the command: names that are nearly right, tables, archives,
pictures of other kinds, files that must not be written over, the shell's completions, and everything as JSON.

The models are written into DIR.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, save
from tally import check, finish

import progress_terminal

OX = os.path.abspath(sys.argv[1])
DIR = pathlib.Path(sys.argv[2]) / "hour"
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def ox(*arguments, status=0, says="", stdin=subprocess.DEVNULL):
    done = subprocess.run([OX, *map(str, arguments)], cwd=DIR, capture_output=True, text=True, timeout=120, stdin=stdin)
    name = f"ox {' '.join(map(str, arguments))}"
    check(f"{name}: status", done.returncode == status, (done.returncode, done.stderr[:300]))
    check(f"{name}: says {says!r}", says in done.stdout + done.stderr, (done.stdout[:300], done.stderr[:300]))
    return done


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def write(name, nodes, inputs, outputs, initializers=(), ir=10, opset=21, domain=None):
    graph = helper.make_graph(nodes, name, inputs, outputs, initializer=list(initializers))
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 3)] if domain else [])
    save(helper.make_model(graph, opset_imports=opsets, ir_version=ir), DIR / f"{name}.onnx")


def same(op="Identity", **ends):
    return [helper.make_node(op, [name], [f"{name}_out"]) for name in ends]


def write_models():
    write("add", [helper.make_node("Add", ["image", "b"], ["y"])], [value("image", FLOAT, ["rows", 3]), value("b", FLOAT, [3])],
          [value("y", FLOAT, ["rows", 3])])
    for name, dtype, shape in (("word", STRING, []), ("words", STRING, [1, "n"]), ("whole", INT64, ["n", 2]),
                               ("list", FLOAT, ["n"]), ("cube", FLOAT, [2, 2, 2]), ("strings", STRING, ["n", 2])):
        write(name, same(x=0), [value("x", dtype, shape)], [value("x_out", dtype, None)])
    write("columns", same(age=0, height=0), [value("age", FLOAT, ["n", 1]), value("height", FLOAT, ["n"])],
          [value("age_out", FLOAT, None), value("height_out", FLOAT, None)])
    write("photo", same(x=0), [value("x", FLOAT, [1, 3, "h", "w"])], [value("x_out", FLOAT, None)])
    write("last", same(x=0), [value("x", FLOAT, ["n", "h", "w", 3])], [value("x_out", FLOAT, None)])
    weight = numpy_helper.from_array(np.ones((3, 3), np.float32), "w")
    write("old", [helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", FLOAT, [1, 3]), value("w", FLOAT, [3, 3])],
          [value("y", FLOAT, [1, 3])], [weight], ir=3, opset=8)
    write("constants", [helper.make_node("Constant", [], ["c"], value=weight), helper.make_node("Constant", [], ["d"], value_floats=[1.0, 2, 3]),
                        helper.make_node("MatMul", ["x", "c"], ["m"]), helper.make_node("Add", ["m", "d"], ["y"])],
          [value("x", FLOAT, [1, 3])], [value("y", FLOAT, [1, 3])])
    write("linear", [helper.make_node("LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", coefficients=[1.0, 2, 3],
                                      intercepts=[0.5], targets=1)],
          [value("x", FLOAT, [1, 3])], [value("y", FLOAT, [1, 1])], domain="ai.onnx.ml")


# ---- Names that are nearly right ------------------------------------------------------------------------------------


def names():
    ox("rnu", status=2, says="no subcommand 'rnu'; did you mean 'run'?")
    ox("help", "benhc", status=2, says="did you mean 'bench'?")
    ox("versoin", status=2, says="did you mean 'version'?")
    for sub, wrong, right in (("run", "--thread", "--threads"), ("run", "--thread=2", "--threads"), ("bench", "--jsno", "--json"),
                              ("info", "--node", "--nodes"), ("test", "--quite", "--quiet"), ("ops", "--markdwon", "--markdown")):
        ox(sub, wrong, status=2, says=f"unknown option '{wrong}'; did you mean '{right}'")
    ox("run", "add.onnx", "-i", "imgae=@ones", status=1, says="unknown input 'imgae'; did you mean 'image'? the model has 'image'")
    ox("run", "add.onnx", "-i", "q=@ones", status=1, says="unknown input 'q': the model has")
    ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "-d", "row=2", status=1, says="unknown dimension 'row'; did you mean 'rows'?")
    # A model in place of a subcommand is run; a file in place of an option is an input that lacks one.
    ox("add.onnx", "-i", "[[1,2,3]]", "-i", "[1,1,1]", says="[[2. 3. 4.]]")
    ox("none.onnx", status=1, says="none.onnx: No such file")
    shutil.copy(DIR / "add.onnx", DIR / "renamed")
    ox("renamed", "-i", "[[1,2,3]]", "-i", "[1,1,1]", says="[[2. 3. 4.]]")
    ox("run", "add.onnx", "x.npy", status=2, says="one model at a time: 'add.onnx' and 'x.npy'; an input is given with -i: -i x.npy")
    for sub in ("run", "bench", "info"):
        ox(sub, "", status=2, says="the model's name is empty")
    ox("run", "add.onnx", "-i", ".", "-i", "@ones", status=1, says="'.' is a folder")
    # Values that stand right behind an option, and what is no option any more.
    ox("run", "add.onnx", "-iimage=[[1,2,3]]", "-ib=[1,1,1]", "-drows=1", says="[[2. 3. 4.]]")
    ox("run", "-iimage=[[1,2,3]]", "-ib=@ones", "--", "add.onnx", says="[[2. 3. 4.]]")
    ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "--", says="y: float [1,3]")
    shutil.copy(DIR / "add.onnx", DIR / "--json")
    ox("run", "-i", "@ones", "-i", "@ones", "--", "--json", says="y: float [1,3]")
    (DIR / "text.onnx").write_text("weights of my network: see the wiki\n")
    ox("run", "text.onnx", status=1, says="text.onnx: this is a text file, not an ONNX model")
    ox("info", "text.onnx", status=1, says="this is a text file")
    for sub in ("run", "bench", "info", "embed", "test", "ops", "completion"):
        ox("help", sub, says="\nExamples:\n  ")
    ox("help", says="\nExamples:\n  ")


def usages_are_true():
    """Each option that a usage lists is taken, and none is unknown."""
    for sub in ("run", "bench", "info", "test", "embed", "ops"):
        usage = ox("help", sub).stdout.split("\n\n")[0]
        options = re.findall(r"[\[ ](--?[a-z0-9-]+)( [A-Z\[])?", usage)
        check(f"options of {sub}", options, usage)
        for option, takes in options:
            done = subprocess.run([OX, sub, option, *(["1"] if takes else [])], cwd=DIR, capture_output=True, text=True)
            check(f"ox {sub} {option}", "unknown option" not in done.stderr and "needs a value" not in done.stderr, done.stderr)


# ---- Sizes that nothing gives -----------------------------------------------------------------------------------------


def sizes():
    for fill in ("@zeros", "@ones", "@random"):
        ox("run", "add.onnx", "-i", fill, "-i", fill, says="took rows=1: give -d rows=N for other sizes")
    done = ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "-q")
    check("quiet", not done.stderr, done.stderr)
    ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "-d", "rows=2", says="y: float [2,3]")
    for sub in (("run", "photo.onnx", "-i", "@zeros"), ("bench", "photo.onnx"), ("info", "photo.onnx")):
        ox(*sub, says="h=224, w=224")
    ox("run", "last.onnx", "-i", "@zeros", says="x_out: float [1,224,224,3]")
    ox("bench", "photo.onnx", "-d", "h=8", says="took w=224")
    found = json.loads(ox("bench", "add.onnx", "--json", "--profile").stdout)
    check("sizes as JSON", found["sizes_taken"] == "rows=1", found)
    check("a profile as JSON", [s["nodes"][0]["op"] for s in found["profile"]["steps"]] == ["Add"], found["profile"])


# ---- Tables and archives ------------------------------------------------------------------------------------------------


def result(*arguments):
    outputs = json.loads(ox("run", *arguments, "--json").stdout or '{"outputs": []}')["outputs"]
    return {o["name"]: o["values"] for o in outputs}


def tables():
    files = {"plain.csv": "1,2\n3,4\n", "named.csv": "p,q\r\n1,2\r\n3,4\r\n", "semi.csv": "p;q\n1;2\n3;4", "tab.tsv": "1\t2\n3\t4\n",
             "spaced.csv": "\ufeff 1 , 2 \n\n3,4\n\n", "quoted.csv": '"p","q, ""r"""\n"1","2"\n3,4\n'}
    for name, text in files.items():
        (DIR / name).write_text(text)
        check(f"the table {name}", result("whole.onnx", "-i", name) == {"x_out": [[1, 2], [3, 4]]})
    (DIR / "one.csv").write_text("1.5\nnan\n\n-2\n")
    check("a list, and NaN", result("list.onnx", "-i", "one.csv") == {"x_out": [1.5, "NaN", -2]} or
          result("list.onnx", "-i", "one.csv") == {"x_out": [1.5, "NaN", "NaN", -2]})
    (DIR / "gap.csv").write_text("1,2,3\n4,,6\n")
    check("an empty field is NaN", result("add.onnx", "-i", "gap.csv", "-i", "@zeros") == {"y": [[1, 2, 3], [4, "NaN", 6]]})
    (DIR / "people.csv").write_text("name,age,height\nAnn,30,1.7\nBob,40,1.8\n")
    wanted = {"age_out": [[30], [40]], "height_out": [np.float32(1.7), np.float32(1.8)]}
    for given in (["-i", "people.csv"], ["-i", "age=people.csv", "-i", "height=people.csv"],
                  ["-i", "age=people.csv,column=age", "-i", "height=people.csv,column=height"]):
        got = result("columns.onnx", *given)
        check(f"columns {given}", got.get("age_out") == wanted["age_out"] and
              np.array_equal(np.float32(got["height_out"]), wanted["height_out"]), got)
    check("another column", result("columns.onnx", "-i", "age=people.csv,column=height", "-i", "height=people.csv")["age_out"][0][0] > 1.6)
    (DIR / "texts.csv").write_text('a,"b ""c"" d"\n,x\n')
    check("strings", result("strings.onnx", "-i", "texts.csv") == {"x_out": [["a", 'b "c" d'], ["", "x"]]})
    ox("run", "whole.onnx", "-i", "gap.csv", status=1, says="row 2, column 2: '' does not fit the type int64")
    (DIR / "ragged.csv").write_text("1,2\n3\n")
    ox("run", "whole.onnx", "-i", "ragged.csv", status=1, says="row 2 has 1 fields but the first row has 2")
    (DIR / "open.csv").write_text('"1,2\n')
    ox("run", "whole.onnx", "-i", "open.csv", status=1, says="row 1: quotes that do not end")
    (DIR / "empty.csv").write_text("")
    ox("run", "whole.onnx", "-i", "empty.csv", status=1, says="the table is empty")
    (DIR / "bytes.csv").write_bytes(b"1,2\0\n")
    ox("run", "whole.onnx", "-i", "bytes.csv", status=1, says="this is no text")
    # What is in a file is said where its name says something else.
    (DIR / "array.csv").write_bytes(b"\x93NUMPY\1\0")
    ox("run", "whole.onnx", "-i", "array.csv", status=1, says="this is no text, but a numpy array (.npy)")
    (DIR / "table.txt").write_text("1,2\n")
    ox("run", "whole.onnx", "-i", "table.txt", status=1, says="this is a text file; ox reads those whose names end in .csv")
    np.savez(DIR / "archive.npz", x=np.zeros((1, 2)))
    (DIR / "archive.npz").rename(DIR / "archive.npy")
    ox("run", "whole.onnx", "-i", "archive.npy", status=1, says="arrays (.npz); ox reads those whose names end in .npz")
    (DIR / "halves.csv").write_text("1.5,2\n")
    ox("run", "whole.onnx", "-i", "halves.csv", status=1, says="row 1, column 1: '1.5' does not fit the type int64")
    check("a table that is cast", result("whole.onnx", "-i", "halves.csv,cast") == {"x_out": [[1, 2]]})
    ox("run", "cube.onnx", "-i", "plain.csv", status=1, says="a table of 2 rows and 2 columns is no tensor of 3 dimensions")
    ox("run", "columns.onnx", "-i", "age=people.csv,column=agee", "-i", "height=people.csv", status=1, says="no column 'agee'")
    ox("run", "columns.onnx", "-i", "age=people.csv,resize=4", "-i", "height=people.csv", status=1, says="a table has the options")
    ox("run", "whole.onnx", "-i", "none.csv", status=1, says="No such file")


def writes():
    x = np.array([[0.1, 2, -3], [np.inf, np.nan, 1e-30]], np.float32)
    np.save(DIR / "x.npy", x)
    ox("run", "add.onnx", "-i", "x.npy", "-i", "@zeros", "-o", "y=y.csv", "-o", "b=b.csv", "-q")
    lines = (DIR / "y.csv").read_text().splitlines()
    check("a .csv", np.array_equal(np.array([line.split(",") for line in lines], np.float32), x, equal_nan=True), lines)
    check("a list is a column", (DIR / "b.csv").read_text().split() == ["0.0"] * 3, (DIR / "b.csv").read_text())
    ox("run", "add.onnx", "-i", "y.csv", "-i", "@zeros", "--expect", "y=x.npy", says="as expected")
    ox("run", "strings.onnx", "-i", "texts.csv", "-o", "x_out=again.csv", "-q")
    check("strings come back", result("strings.onnx", "-i", "again.csv") == {"x_out": [["a", 'b "c" d'], ["", "x"]]})
    ox("run", "cube.onnx", "-i", "@ones", "-o", "x_out=cube.csv", status=1, says="a table has two dimensions")
    ox("run", "add.onnx", "-i", "x.npy", "-i", "@ones", "-o", "y=all.npz", "-o", "b=all.npz", "-o", "image=one.npz", "-q")
    both = np.load(DIR / "all.npz")
    check("an .npz of two", sorted(both) == ["b", "y"] and np.array_equal(both["y"], x + 1, equal_nan=True), sorted(both))
    check("an .npz of one", list(np.load(DIR / "one.npz")) == ["image"])
    ox("run", "add.onnx", "-i", "one.npz", "-i", "@zeros", "--expect", "y=x.npy", says="as expected")
    for wrong in ("y.txt", "y", "y.onnx", "y.np"):
        ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "-o", f"y={wrong}", status=1, says=f"the format of '{wrong}' is not known: its name must end in .npy")
        check(f"{wrong} is not written", not (DIR / wrong).exists())
    for other in ("two.npy", "./two.npy", "../hour/two.npy"):
        ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "-o", "y=two.npy", "-o", f"b={other}", status=1, says="cannot hold both")
    ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "-o", "y=a.npy", "-o", "y=b.npy", status=1, says="-o takes one file for each")
    # The model stays, whatever it is called and by whatever way it would be written over.
    for name, *option in (("add.onnx", "-o", "y=add.onnx"), ("m.pb", "-o", "y=m.pb"), ("m.pb", "-o", "y=link.pb"),
                          ("m.pb", "--trace", "m.pb"), ("out/output_0.npy", "--save", "out")):
        (DIR / "out").mkdir(exist_ok=True)
        shutil.copy(DIR / "renamed", DIR / name)
        if not (DIR / "link.pb").exists():
            (DIR / "link.pb").symlink_to("m.pb")
        ox("run", name, "-i", "@ones", "-i", "@ones", *option, status=1, says="is the model: it is not written over")
        check(f"{name} stays", (DIR / name).read_bytes() == (DIR / "renamed").read_bytes())


def words():
    for given, wanted in (("hello", "hello"), ("x=hello", "hello"), ("7", "7"), ("true", "true"), ("two words", "two words")):
        check(f"-i {given}", result("word.onnx", "-i", given) == {"x_out": wanted})
    check("a word for a list", result("words.onnx", "-i", "hello") == {"x_out": [["hello"]]})
    ox("run", "word.onnx", "-i", "hello.npy", status=1, says="No such file")


# ---- Pictures of other kinds ---------------------------------------------------------------------------------------------


def pictures():
    node = pathlib.Path(sys.argv[1]).resolve().parent / "node"
    cases = {kind: node / f"test_image_decoder_decode_{kind}_rgb" for kind in ("jpeg", "webp", "bmp", "tiff", "jpeg2k")}
    if not (pathlib.Path(OX).parent / "plugins" / "image.so").exists() or not cases["jpeg"].is_dir():
        return 1
    for kind, case in cases.items():
        data = case / "test_data_set_0"
        encoded = numpy_helper.to_array(onnx.TensorProto.FromString((data / "input_0.pb").read_bytes()))
        decoded = numpy_helper.to_array(onnx.TensorProto.FromString((data / "output_0.pb").read_bytes()))
        (DIR / f"cat.{kind}").write_bytes(encoded.tobytes())
        np.save(DIR / "cat.npy", decoded.transpose(2, 0, 1)[None].astype(np.float32))
        height, width = decoded.shape[:2]
        ox("run", "photo.onnx", "-i", f"cat.{kind}", "--expect", "x_out=cat.npy", "--atol", 1, "-q")
        out = ox("run", "photo.onnx", "-i", f"x=cat.{kind},resize=40x30,crop=20,mean=0.5,std=0.5,channels=bgr", "--stats").stdout
        check(f"a {kind} with options", out.startswith("x_out: float [1,3,20,20]\nmin -"), out)
        ox("run", f"cat.{kind}", status=1, says="this is ")
    # Without the plug-in: a command that lies elsewhere.
    alone = DIR / "alone"
    alone.mkdir()
    shutil.copy(OX, alone / "ox")
    done = subprocess.run([alone / "ox", "run", "photo.onnx", "-i", "cat.jpeg"], cwd=DIR, capture_output=True, text=True)
    check("without the plug-in", done.returncode == 1 and "this is a JPEG, which ox reads by a plug-in" in done.stderr and
          "libturbojpeg0-dev" in done.stderr, done.stderr)
    (DIR / "broken.jpg").write_bytes(b"\xff\xd8\xff" + bytes(40))
    ox("run", "photo.onnx", "-i", "broken.jpg", status=1, says="broken.jpg: the picture is broken")
    return 0


# ---- What is said --------------------------------------------------------------------------------------------------------


def info():
    shown = ox("info", "old.onnx", says="  and 1 initializers, which are inputs too in this IR version").stdout
    check("weights are no inputs", "  x  float [1,3]\n" in shown and "  w  " not in shown, shown)
    found = json.loads(ox("info", "old.onnx", "--json").stdout)
    check("the same as JSON", [i["name"] for i in found["inputs"]] == ["x"] and found["initializer_inputs"] == 1, found)
    ox("info", "constants.onnx", says="parameters  12 in 48 bytes")
    ox("info", "linear.onnx", says="parameters  4 in 16 bytes")
    ox("info", "old.onnx", says="parameters  9 in 36 bytes")
    model = onnx.load(DIR / "old.onnx")
    save(model, DIR / "outside.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    os.unlink(DIR / "weights.bin")
    ox("info", "outside.onnx", says="weights.bin")
    ox("info", "outside.onnx", "--nodes", says="MatMul")
    ox("run", "outside.onnx", "-i", "@ones", status=1, says="weights.bin")


def times():
    done = ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "--repeat", 1000, "--quiet", says="1000 runs: ")
    check("nothing else", not done.stdout, done.stdout)
    found = json.loads(ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "--repeat", 3, "--json", "--profile").stdout)
    check("times as JSON", found["runs"] == 3 and 0 < found["least_ns"] <= found["mean_ns"], found)
    check("a profile as JSON", found["profile"]["runs"] == 3 and found["profile"]["steps"][0]["kind"] in ("pass", "kernel"), found)
    table = ox("run", "add.onnx", "-i", "@ones", "-i", "@ones", "--profile", "-q").stderr
    shares = [float(s) for s in re.findall(r"^ *[\d.]+ +([\d.]+)%", table, re.M)]
    check("shares add up to the whole", len(shares) == 3 and abs(sum(shares[:-1]) - 100) < 0.3 and shares[-1] == 100, table)
    check("what is between has a row", "between the steps" in table, table)
    fast = ox("bench", "cube.onnx").stdout + ox("bench", "photo.onnx", "-d", "h=64", "-d", "w=64", "-i", "@zeros").stdout
    for line in re.findall(r"^.* of memcpy .*$", fast, re.M):
        share = int(re.search(r"(\d+) % of memcpy", line)[1])
        check("more than memcpy is explained", share == 100 or ("stays in the caches" in line) == (share > 100), line)


def terminals():
    text = progress_terminal.on_terminal([OX, "bench", "add.onnx"], DIR)
    check("bench shows its progress", b"measuring" in text, text[-300:])
    check("no tenth of ten runs while it goes on", b"run 10 of 10" not in text, text[-300:])
    for arguments in (["run", "-"], ["info", "-"], ["run", "add.onnx", "-i", "image=-", "-i", "@ones"]):
        asked = progress_terminal.ask([OX, *arguments], DIR, 1.5)
        check(f"{arguments}: the terminal is waited for", b"waiting for standard input, which is this terminal" in asked, asked)
        check(f"{arguments}: nothing is loading", b"loading" not in asked, asked)


def as_json():
    ops = json.loads(ox("ops", "--json").stdout)["operators"]
    check("ops as JSON", any(o["name"] == "Add" and 14 in o["versions"] and "float" in o["types"] for o in ops))
    ops = json.loads(ox("ops", "--json", "ai.onnx.ml.Scaler", "Add").stdout)["operators"]
    check("some operators as JSON", {o["name"] for o in ops} == {"Add", "Scaler"}, ops)
    lacking = ox("ops", "Add", "Ad", "--json", status=1)
    check("an unknown one beside them", "did you mean 'Add'" in lacking.stderr and len(json.loads(lacking.stdout)["operators"]) >= 1,
          lacking.stderr)
    ox("ops", "--json", "--markdown", status=2)
    facts = json.loads(ox("version", "--json").stdout)
    check("the version as JSON", facts["name"] == "ox" and facts["version"] in ox("version").stdout, facts)
    check("a version of something", "takes --json or nothing, not 'x'" in ox("version", "x", status=2).stderr)
    check("an option in front", "unknown option '--verison'; did you mean '--version'?" in ox("--verison", status=2).stderr)
    cases = pathlib.Path(sys.argv[2]) / "cases"
    found = json.loads(ox("test", cases, "--json", status=1).stdout)
    check("test as JSON", (found["passed"], found["failed"], found["skipped"]) == (1, 3, 0) and
          {c["case"]: c["result"] for c in found["cases"]}["test_good"] == "passed", found)


# ---- Completions ---------------------------------------------------------------------------------------------------------


def complete(*line):
    script = f"eval \"$('{OX}' completion bash)\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _ox; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", script, "bash", *line], cwd=DIR, capture_output=True, text=True)
    check(f"completing {line}", done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout.split()


def completions():
    check("subcommands", complete("ox", "b") == ["bench"], complete("ox", "b"))
    check("models", "add.onnx" in complete("ox", "a"), complete("ox", "a"))
    check("options", complete("ox", "run", "--no-") == ["--no-fuse", "--no-winograd", "--no-integer"], complete("ox", "run", "--no-"))
    check("options with values", complete("ox", "run", "--thr") == ["--threads"])
    check("options of another", complete("ox", "info", "--no") == ["--nodes"])
    check("files", "x.npy" in complete("ox", "run", "add.onnx", "-i", "x.n"))
    check("folders", complete("ox", "run", "--save", "ou") == ["out"], complete("ox", "run", "--save", "ou"))
    check("nothing for a number", not complete("ox", "run", "--threads", ""))
    check("shells", complete("ox", "completion", "z") == ["zsh"])
    for shell in ("bash", "zsh", "fish"):
        script = ox("completion", shell, says="--threads" if shell != "fish" else "-l threads").stdout
        if shutil.which(shell):
            done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
            check(f"{shell} reads it", done.returncode == 0, done.stderr)
    if shutil.which("fish"):
        for line, wanted in (("ox be", "bench"), ("ox run --thr", "--threads"), ("ox info --no", "--nodes"), ("ox run ad", "add.onnx")):
            done = subprocess.run(["fish", "--no-config", "-c", f"'{OX}' completion fish | source; complete -C '{line}'"], cwd=DIR,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": str(DIR)})
            check(f"fish completes {line}", wanted in done.stdout.split(), (done.stdout, done.stderr))
    ox("completion", "tcsh", status=2, says="no completion for 'tcsh', only for bash, zsh and fish")
    ox("completion", status=2, says="for which shell?")


# ---- Lists for devices ---------------------------------------------------------------------------------------------------


def lists_for_devices():
    """An operator needs the same element types whether its inputs are given or constant; constants are computed, too."""
    i32, i8, f16 = np.int32, np.int8, np.float16
    cases = [("DequantizeLinear", [np.ones(4, i32), np.float32(0.5), i32(1)], {}), ("DequantizeLinear", [np.ones(4, i32), np.float32(0.5)], {}),
             ("DequantizeLinear", [np.ones(4, i8), np.float32(0.5), i8(1)], {}), ("QuantizeLinear", [np.ones(4, np.float32), np.float32(0.5), i8(1)], {}),
             ("Cast", [np.ones(4, i32)], {"to": TensorProto.FLOAT16}), ("Pow", [np.ones(4, np.float32), np.ones(4, np.int64)], {}),
             ("Sqrt", [np.ones(4, f16)], {}), ("Mod", [np.ones(4, f16), np.ones(4, f16)], {"fmod": 1}), ("Softmax", [np.ones((2, 3), f16)], {}),
             ("ReduceMean", [np.ones((2, 3), f16)], {}), ("Clip", [np.ones(4, f16)], {}), ("Mish", [np.ones(4, f16)], {})]
    for op, arrays, attributes in cases:
        lists = {}
        for constant in (False, True):
            tensors = [numpy_helper.from_array(np.asarray(a), f"a{i}") for i, a in enumerate(arrays)]
            ends = [value(t.name, t.data_type, list(t.dims)) for t in tensors]
            write("device", [helper.make_node(op, [t.name for t in tensors], ["y"], **attributes)], [] if constant else ends,
                  [helper.make_empty_tensor_value_info("y")],
                  tensors if constant else [])
            ox("embed", "device.onnx", "-o", "device")
            lists[constant] = (DIR / "device" / "ops.txt").read_text()
        check(f"{op} of {[a.dtype.name for a in map(np.asarray, arrays)]} needs the same types",
              lists[False] == lists[True].replace("with constants\n", "", 1) != lists[True], lists)


def main():
    DIR.mkdir()
    write_models()
    skipped = pictures()
    for test in (names, usages_are_true, sizes, tables, writes, words, info, times, terminals, as_json, completions,
                 lists_for_devices):
        test()
    if skipped:
        print("skipped: pictures of other kinds: there is no plug-in image.so, or no node case")
    return finish(skipped=skipped)


sys.exit(main())
