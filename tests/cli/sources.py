"""sources.py OX DIR: where models and inputs come from: pipes, archives, files of other kinds; and open dimensions.

DIR gets models of its own. Ends with a line "N passed, N failed, N skipped".
"""

import gzip
import io
import json
import os
import pathlib
import pickle
import pty
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
from onnx import TensorProto, helper, save
from tally import check, finish

OX, DIR = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]) / "sources"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def ox(*arguments, stdin=b""):
    return subprocess.run([OX, *map(str, arguments)], input=stdin, capture_output=True, cwd=DIR)


def says(status, text, *arguments, stdin=b""):
    """The exit status and a text of both outputs; an error has at most two lines."""
    done = ox(*arguments, stdin=stdin)
    both = (done.stdout + done.stderr).decode(errors="replace")
    short = status == 0 or done.stderr.count(b"\n") <= 2
    check(f"ox {' '.join(map(str, arguments))}:", done.returncode == status and text in both and short,
          f"status {done.returncode}, no {text!r} in: {both[:600]}")
    return done


def write_model(name, nodes, inputs, outputs):
    def values(given):
        return [helper.make_tensor_value_info(label, dtype, shape) for label, dtype, shape in given]

    graph = helper.make_graph(nodes, name, values(inputs), values(outputs))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    save(model, DIR / f"{name}.onnx")
    return model


def write_models():
    add = helper.make_node("Add", ["x", "z"], ["y"])
    write_model("open", [add], [("x", FLOAT, [None, 4]), ("z", FLOAT, ["n", None])], [("y", FLOAT, None)])
    write_model("named", [add], [("x", FLOAT, ["n", 2]), ("z", FLOAT, ["n", 2])], [("y", FLOAT, ["n", 2])])
    write_model("unranked", [helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, None)], [("y", FLOAT, None)])
    write_model("ints", [helper.make_node("Neg", ["x"], ["y"])], [("x", INT64, [None])], [("y", INT64, None)])
    write_model("bools", [helper.make_node("Not", ["x"], ["y"])], [("x", TensorProto.BOOL, [None])],
                [("y", TensorProto.BOOL, None)])
    write_model("evil", [helper.make_node("Add", ["a\nb", "c\x9bd"], ["o\n\x1b[31mp"], name="n\no\x07de")],
                [("a\nb", FLOAT, ["d\nim", 2]), ("c\x9bd", FLOAT, [2])], [("o\n\x1b[31mp", FLOAT, ["d\nim", 2])])
    return write_model("one", [helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, [2])], [("y", FLOAT, [2])])


# ---- Open dimensions ------------------------------------------------------------------------------------------------


def check_dimensions():
    says(0, "y: float [3,4]", "run", "open.onnx", "-i", "@ones", "-i", "@ones", "-d", "x.0=3", "-d", "n=3", "-d",
         "z.1=4")
    says(0, "y: float [3,4]", "run", "open.onnx", "-i", "x=@random[3,4]", "-i", "z=@random:7[1,4]")
    says(0, "y: float [3,4]", "run", "open.onnx", "-i", "x=@ones[3, 4]", "-i", "z=[[1,2,3,4]]")
    says(1, "the shape is [3,5] but the model wants float [?,4]", "run", "open.onnx", "-i", "@ones[3,5]", "-i", "@ones")
    says(1, "'x.1': the model has 'x.0', 'n', 'z.1'", "run", "open.onnx", "-i", "@ones", "-i", "@ones", "-d", "x.1=4")
    says(0, "took x.0=1, n=1, z.1=1: give -d x.0=N -d n=N -d z.1=N", "run", "open.onnx", "-i", "@ones", "-i", "@ones")
    for shape in ("[3,", "[3,4", "[-1]", "[x]", "[3]4", "[99999999999999999999]", "[3,,4]", "[,]"):
        says(1, "is no shape such as [3,4]", "run", "open.onnx", "-i", f"@ones{shape}", "-i", "@ones")
    says(1, "too many elements", "run", "unranked.onnx", "-i", "@ones[4611686018427387904,4]")
    says(1, "is not one of @zeros", "run", "open.onnx", "-i", "@one[3,4]", "-i", "@ones")
    says(0, "y: float [3,2]", "run", "named.onnx", "-i", "@ones", "-i", "@ones", "-d", "x.0=3")
    says(0, "y: float [3,2]", "run", "named.onnx", "-i", "@ones", "-i", "@ones[3,2]")
    says(0, "y: float []", "run", "unranked.onnx", "-i", "@ones[]")
    says(0, "y: float [2,0,2]", "run", "unranked.onnx", "-i", "@ones[2,0,2]")
    says(1, "float of any shape: say how large with -i x=@ones[2,3]", "run", "unranked.onnx", "-i", "@ones")
    says(1, "float of any shape: say how large with -i x=@random[2,3]", "bench", "unranked.onnx")
    done = says(0, "took x.0=1, n=1, z.1=1: give -d x.0=N -d n=N -d z.1=N", "bench", "open.onnx", "--json")
    check("a note leaves the JSON as it is", json.loads(done.stdout)["runs"] > 0)
    says(0, "  with      x.0=1, n=1, z.1=1: give -d x.0=N", "info", "open.onnx")
    says(0, "  with      x.0=1, n=1: give -d x.0=N -d n=N for", "info", "open.onnx", "-d", "z.1=4")
    check("all sizes given", b"with" not in ox("info", "open.onnx", "-d", "x.0=2", "-d", "n=1", "-d", "z.1=4").stdout)
    report = json.loads(ox("info", "open.onnx", "--json").stdout)
    check("info --json", report["sizes_taken"] == "x.0=1, n=1, z.1=1" and report["arena_bytes"] is not None, report)
    says(0, "unknown: an input's shape is open", "info", "unranked.onnx")


# ---- Models from pipes, and help ------------------------------------------------------------------------------------


def check_pipes(model):
    data = model.SerializeToString()
    says(0, "[0. 2.]", "run", "-", "-i", "[-1,2]", stdin=data)
    says(0, "y  float [2]", "info", "-", stdin=data)
    says(0, "median", "bench", "-", stdin=data)
    says(1, "standard input: this is an empty file", "run", "-", "-i", "[-1,2]")
    says(1, "standard input: this is a gzip file", "info", "-", stdin=gzip.compress(data))
    says(1, "standard input: this is not an ONNX model", "run", "-", stdin=data[:-5])
    says(1, "standard input: longer than the limit of 100 bytes", "run", "-", "--max-memory", "100",
         stdin=data + bytes(10**6))
    for name in ("-", "x=-", "x=-,cast"):
        says(1, "standard input is the model", "run", "-", "-i", name, stdin=data)
    done = subprocess.run(["bash", "-c", f"'{OX}' run <(cat one.onnx) -i '[-1,2]'"], cwd=DIR, capture_output=True)
    check("a process substitution", b"[0. 2.]" in done.stdout, done.stderr)
    for sub in ("run", "bench", "info", "test", "embed", "ops", "completion"):
        says(0, f"usage: ox {sub}", sub, "-h")
    says(1, "not both 'z' and 'x'", "run", "open.onnx", "-i", "z=-", "-i", "x=-,cast")
    says(1, "not both 'x' and 'z'", "run", "open.onnx", "-i", "-", "-i", "-")


# ---- Files of other kinds -------------------------------------------------------------------------------------------


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(compressed=False, **arrays):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def check_kinds():
    """Each as a model, and those that are no inputs as an input too."""
    kinds = {
        "m.textproto": (b'# made by hand\nir_version: 8\ngraph {\n}\n', "a model as text (protobuf's text format)"),
        "m.onnxtxt": (b'<\n  ir_version: 8,\n  opset_import: ["" : 21]\n>\n', "a model as text (ONNX's syntax)"),
        "m.json": (b'{"irVersion": "8"}', "JSON"),
        "m.npy": (npy(np.zeros(2, "f4")), "a numpy array (.npy)"),
        "m.npz": (npz(x=np.zeros(2, "f4")), "an archive of numpy arrays (.npz)"),
        "m.pt": (zipped("archive/data.pkl", "archive/data/0"), "a PyTorch checkpoint (.pt)"),
        "old.pth": (pickle.dumps({"a": 1}, 2), "a Python pickle"),
        "m.tflite": (b"\x1c\0\0\0TFL3" + bytes(20), "a TensorFlow Lite model"),
        "m.h5": (b"\x89HDF\r\n\x1a\n" + bytes(20), "an HDF5 file, as Keras writes"),
        "m.keras": (zipped("metadata.json", "config.json", "model.weights.h5"), "a Keras model"),
        "m.safetensors": (struct.pack("<Q", 2) + b"{}", "a safetensors file"),
        "m.gguf": (b"GGUF\3\0\0\0", "a GGUF file"),
        "m.gz": (gzip.compress(b"x"), "a gzip file"),
        "m.zip": (zipped("a", "b"), "a zip archive"),
        "m.ort": (b"\x18\0\0\0ORTM" + bytes(20), "ONNX Runtime's own format"),
        "m.html": (b"<!DOCTYPE html>\n<html>", "a web page"),
        "m.xml": (b'<?xml version="1.0"?><net>', "XML, as OpenVINO writes"),
        "lfs.onnx": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
        "empty.onnx": (b"", "an empty file"),
    }
    for name, (data, text) in kinds.items():
        (DIR / name).write_bytes(data)
        for sub in ("run", "info", "bench"):
            says(1, f"{name}: this is ", sub, name)
        says(1, text, "run", name)
        says(1, "not an ONNX model: ", "run", name)
        if not name.startswith("m.np"):
            says(1, text, "run", "one.onnx", "-i", f"x={name}")
    says(1, "gunzip -c m.gz | ox run -", "run", "m.gz")
    (DIR / "folder").mkdir()
    says(1, "folder: this is a folder: give the .onnx file in it", "run", "folder")
    says(1, "folder: this is a folder", "info", "folder")
    (DIR / "saved").mkdir()
    (DIR / "saved/saved_model.pb").write_bytes(b"x")
    says(1, "a TensorFlow SavedModel", "run", "saved")
    says(1, "cannot read the folder 'nope': No such file", "test", "nope")
    says(1, "'one.onnx' is a file", "test", "one.onnx")
    says(1, "one.onnx: ", "run", "one.onnx", "-i", "@ones", "--max-memory", "100")
    says(1, "one.onnx: beyond the limit of 2000 bytes", "run", "one.onnx", "-i", "@ones", "--max-memory", "2000")


# ---- Archives -------------------------------------------------------------------------------------------------------

A, B = np.arange(12, dtype="f4").reshape(3, 4), np.ones((3, 4), "f4")


def run_npz(data, *more):
    (DIR / "a.npz").write_bytes(data)
    done = ox("run", "open.onnx", *(more or ("-i", "a.npz")), "-o", "y=-", "--quiet")
    return (np.load(io.BytesIO(done.stdout)) if not done.returncode else None), done.stderr.decode(errors="replace")


def check_npz():
    for compressed in (False, True):
        good = npz(compressed, z=B, x=A)
        check("an .npz gives inputs by name", np.array_equal(run_npz(good)[0], A + B))
        check("one array of an .npz", np.array_equal(run_npz(good, "-i", "x=a.npz", "-i", "@ones[1,4]")[0], A + 1))
        check("the rest", np.array_equal(run_npz(npz(compressed, x=A), "-i", "a.npz", "-i", "@ones[1,4]")[0], A + 1))
        check("the only", np.array_equal(run_npz(npz(compressed, q=A), "-i", "x=a.npz", "-i", "@ones[1,4]")[0], A + 1))
        check("cast", np.array_equal(run_npz(npz(compressed, x=A.astype(int), z=B), "-i", "a.npz,cast")[0], A + B))
    file = io.BytesIO()
    np.savez(file, A, B)
    check("arrays without a name go in graph order", np.array_equal(run_npz(file.getvalue())[0], A + B))
    big = npz(True, x=np.ones((300, 4000), "f4")[:, :4].copy(), z=np.ones((1, 4), "f4"))
    check("a packed array of several blocks", run_npz(big)[0].shape == (300, 4))
    for what, data, text, more in [
            ("unknown", npz(x=A, q=B), "unknown input 'q': the model has 'x'", ()),
            ("twice", npz(x=A, z=B), "input 'x' is given twice", ("-i", "x=[[1,2,3,4]]", "-i", "a.npz")),
            ("absent", npz(p=A, q=B), "it holds no array 'x', but 'p', 'q'", ("-i", "x=a.npz", "-i", "@ones")),
            ("none", npz(), "it holds no array", ()),
            ("type", npz(x=A.astype(int), z=B), "-i x=a.npz,cast converts them", ()),
            ("an .npy", npy(A), "not an .npz file, which is a zip archive, but a numpy array", ())]:
        error = run_npz(data, *more)[1]
        check(f"an .npz, {what}:", text in error, error)
    says(1, "No such file", "run", "open.onnx", "-i", "none.npz")


def wide_zip(size=None):
    """An archive whose directory has its sizes in 64 bits, as those beyond 4 GB have."""
    data, name = npy(A), b"x.npy"
    crc = zlib.crc32(data)
    head = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, crc, 2**32 - 1, 2**32 - 1, len(name), 0) + name
    extra = struct.pack("<HHQQQ", 1, 24, len(data) if size is None else size, len(data), 0)
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, crc, 2**32 - 1, 2**32 - 1, len(name),
                        len(extra), 0, 0, 0, 0, 2**32 - 1) + name + extra
    start = len(head) + len(data)
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry), start)
    locator = struct.pack("<IIQI", 0x07064B50, 0, start + len(entry), 1)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    return head + data + entry + wide + locator + end


def check_hostile_npz(rng):
    more = ("-i", "x=a.npz", "-i", "@ones[1,4]")
    check("sizes of 64 bits", np.array_equal(run_npz(wide_zip(), *more)[0], A + 1))
    for size in (2**64 - 1, 2**63, 2**40, 0):
        check(f"a stored size of {size}", "sizes disagree" in run_npz(wide_zip(size), *more)[1])
    packed = npz(True, x=A, z=B)
    at = packed.index(b"PK\1\2")
    for offset, value, text in [(24, b"\xff\xff\xff\x7f", "sizes disagree"), (24, b"\x01\0\0\0", "damaged"),
                                (16, b"\0\0\0\0", "check sum"), (8, b"\1\0", "encrypted"),
                                (10, b"\x0e\0", "packed by method 14"), (42, b"\xff\xff\xff\x7f", "outside the file"),
                                (28, b"\xff\xff", "directory is damaged")]:
        bad = packed[: at + offset] + value + packed[at + offset + len(value):]
        error = run_npz(bad)[1]
        check(f"a directory with {value} at {offset}:", text in error and error.startswith("ox: "), error)
    for good in (packed, npz(x=A, z=B), wide_zip()):
        for length in range(0, len(good), 23):
            check(f"an .npz cut off at {length}", run_npz(good[:length])[1].startswith("ox: "))
        for _ in range(60):
            bad = bytearray(good)
            for place in rng.integers(0, len(bad), rng.integers(1, 4)):
                bad[place] = rng.integers(0, 256)
            (DIR / "a.npz").write_bytes(bytes(bad))
            done = ox("run", "open.onnx", "-i", "a.npz", "--quiet")
            check("a damaged .npz", done.returncode in (0, 1), f"{done.returncode} {done.stderr[:300]}")


# ---- Types ----------------------------------------------------------------------------------------------------------


def cast(model, array):
    done = ox("run", f"{model}.onnx", "-i", "x=-,cast", "-o", "y=-", stdin=npy(array))
    return np.load(io.BytesIO(done.stdout)) if not done.returncode else done.stderr.decode()


def check_casts(rng):
    np.save(DIR / "i.npy", np.array([1, 2]))
    says(1, "i.npy: the values are int64 but the model wants float: -i x=i.npy,cast converts them", "run", "one.onnx",
         "-i", "i.npy")
    says(0, "[1. 2.]", "run", "one.onnx", "-i", "x=i.npy,cast")
    says(0, "[1. 2.]", "run", "one.onnx", "-i", "i.npy,cast")
    says(1, "the values are string but the model wants float", "run", "one.onnx", "-i", "-,cast",
         stdin=npy(np.array(["a", "b"])))
    large = rng.integers(-2**63, 2**63 - 1, 2000)
    check("int64 to float rounds once", np.array_equal(-cast("unranked", large), large.astype("f4")))
    ties = 2**54 + 2**30 + np.array([-1, 0, 1]) + np.array([[0], [2**31], [2**32]])
    check("int64 to float at ties", np.array_equal(-cast("unranked", ties), ties.astype("f4")))
    check("uint64 to float at ties", np.array_equal(-cast("unranked", ties.astype("u8")), ties.astype("f4")))
    check("bool to float", np.array_equal(-cast("unranked", np.array([True, False])), [1, 0]))
    floats = np.array([1.5, -1.5, -0.0, 2.0**62, -2.0**63])
    check("double to int64 cuts fractions off", np.array_equal(cast("ints", floats), np.negative(floats.astype("i8"))))
    check("double to bool", np.array_equal(cast("bools", np.array([0.0, 0.5, np.nan])), [True, False, False]))
    for value in (np.nan, np.inf, 2.0**63, -2.0**65):
        check(f"{value} to int64", "does not fit the model's type int64" in cast("ints", np.array([0, value])))
    check("an imaginary part", "does not fit" in cast("unranked", np.array([1j])))
    check("a complex number that is none", np.array_equal(-cast("unranked", np.array([2 + 0j])), [2]))
    for text in (b"'|xyz'", b"'<fx'", b"7", b"'a\x1b\n"):
        bad = npy(np.zeros(2)).replace(b"'<f8'", text)
        says(1, f"its 'descr' {text.split(b'a')[0].decode()}", "run", "one.onnx", "-i", "-", stdin=bad)
    says(1, "its 'descr' '|xyz' is no type", "run", "one.onnx", "-i", "-",
         stdin=npy(np.zeros(2)).replace(b"'<f8'", b"'|xyz'"))


# ---- Names, terminals, folders --------------------------------------------------------------------------------------


def check_names():
    """Control characters of names reach no terminal."""
    calls = [("info", "evil.onnx"), ("info", "evil.onnx", "--json"), ("run", "evil.onnx"), ("bench", "evil.onnx"),
             ("run", "evil.onnx", "-i", "@ones"), ("run", "evil.onnx", "-i", "@ones", "-i", "@ones"),
             ("run", "evil.onnx", "-i", "@ones", "-i", "@ones", "-d", "x=2"),
             ("run", "evil.onnx", "-i", "@ones", "-i", "@ones", "-d", "d\nim=2"),
             ("run", "evil.onnx", "-i", "[[1,2,3]]", "-i", "@ones"), ("run", "evil.onnx", "-i", "no\nne.npy"),
             ("run", "evil.onnx", "-i", "a\nb=1", "-i", "a\nb=1"), ("run", "evil.onnx", "-i", "\x1b[31m=1"),
             ("run", "evil.onnx", "-o", "z\n=1"), ("run", "no\n\x1b[31mne.onnx"), ("test", "no\nne"),
             ("run", "evil.onnx", "-i", "[[1,2]]", "-i", "[1,2]", "--profile", "--trace", "t.json"),
             ("run", "--o\nx"), ("o\nx",), ("run", "evil.onnx", "-i", "-", "-i", "-")]
    for call in calls:
        done = ox(*call)
        both = done.stdout + done.stderr
        hidden = [c for c in both.decode(errors="replace") if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]
        split = [name for name in (b"a\nb", b"d\nim", b"n\no", b"no\nne", b"o\nx") if name in both]
        check(f"ox {call!r} prints control characters:", not hidden and not split, both[:400])
    says(1, r"missing inputs 'a\nb' (float [d\nim,2]), 'c\x9bd' (float [2])", "run", "evil.onnx")


def check_terminal():
    def on_terminal(*more):
        ours, theirs = pty.openpty()
        done = subprocess.run([OX, "run", "one.onnx", "-i", "@ones", *more], stdout=theirs, stderr=subprocess.PIPE,
                              cwd=DIR, stdin=subprocess.DEVNULL)
        os.close(theirs)
        os.set_blocking(ours, False)
        try:
            shown = os.read(ours, 1000)
        except OSError:
            shown = b""
        os.close(ours)
        return done.returncode, done.stderr, shown

    status, error, shown = on_terminal("-o", "y=-")
    check("a .npy on a terminal is refused", status == 1 and not shown and b"-o y=- twice" in error, error)
    status, error, shown = on_terminal("-o", "y=-", "-o", "y=-")
    check("unless asked for twice", status == 0 and b"NUMPY" in shown, error)
    status, error, shown = on_terminal()
    check("printing is fine", status == 0 and b"y: float" in shown, error)


def check_embed():
    done = says(0, "wrote made/ops.txt", "embed", "one.onnx", "-o", "made")
    lines = done.stdout.decode().splitlines()
    files = [line.split()[1] for line in lines if line.startswith("wrote ")]
    check("embed says what it takes", lines[-1].startswith("one: flash: ") and " RAM: " in lines[-1], lines)
    check("embed says what it wrote", sorted(files) == sorted(f"made/{p.name}" for p in (DIR / "made").iterdir()), files)
    says(0, " of weights and other constants, ", "embed", "--plan", "one.onnx", "-o", "planned")
    check("a plan has no file of its model", "_model[" not in (DIR / "planned/one.c").read_text())
    for kind in (), ("--plan",):
        says(1, "of RAM at once: more than the 1 of --max-ram", "embed", *kind, "one.onnx", "--max-ram", "1", "-o", "unmade")
        says(0, " RAM: ", "embed", *kind, "one.onnx", "--max-ram", "1M", "-o", "planned")
    says(2, "--max-ram wants bytes, such as 64K, not 'x'", "embed", "one.onnx", "--max-ram", "x", "-o", "unmade")
    write_model("long", [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(65536)], [("v0", FLOAT, [1])],
                [("v65536", FLOAT, [1])])
    says(1, "at most 65535 steps and tensors, not 65536", "embed", "--plan", "long.onnx", "-o", "unmade")
    says(2, "--names or --plan, not both", "embed", "one.onnx", "--plan", "--names", "-o", "unmade")
    says(1, "wants a folder, not a file like 'out/x.h'", "embed", "one.onnx", "-o", "out/x.h")
    says(1, "cannot create the folder 'no/folder': No such file", "embed", "one.onnx", "-o", "no/folder")
    says(1, "cannot create the folder 'one.onnx'", "embed", "one.onnx", "-o", "one.onnx")
    says(1, "this is a gzip file", "embed", "m.gz", "-o", "unmade")
    says(1, "give -d n=N", "embed", "named.onnx", "-o", "unmade")
    check("a folder without files is not made", not (DIR / "unmade").exists())


def main():
    rng = np.random.default_rng(5)
    DIR.mkdir()
    model = write_models()
    check_dimensions()
    check_pipes(model)
    check_kinds()
    check_npz()
    check_hostile_npz(rng)
    check_casts(rng)
    check_names()
    check_terminal()
    check_embed()
    finish()


main()
