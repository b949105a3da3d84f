"""corpus.py NODES IMAGES DIR: what the fuzzers start from: DIR/models, DIR/inputs and DIR/values.

NODES has node cases of ONNX (generate.py), IMAGES some pictures. Needs numpy and onnx.
"""

import io
import pathlib
import shutil
import struct
import sys
import zlib

import numpy as np
import onnx

import seeds

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "versions"))
import written  # noqa: E402
import written_ml  # noqa: E402

MOST_BYTES = 4000
FORMATS = NPY, PROTO, IMAGE, LITERAL, NPZ, FITTED = range(6)  # the first byte of an input, plus 6 times a variant
FITS = ["resize=3", "resize=5x2,crop=2", "mean=[0.1,0.2,0.3],std=0.5,range=1,layout=nchw", "crop=1x2,channels=bgr",
        "mean=0.5,layout=hwc,resize=8"]
LITERALS = ["7", "-3", "1e3", "nan", "true", "[]", "[[1,2],[3,4]]", "[1.5, -inf, 2]", "[1+2j, 3j]", '["a","b\\n"]',
            "[[[1],[2]],[[3],[4]]]", "0x1p-3", "[18446744073709551615]", "['it']"]
# Literals of values, by the types of fuzz_values.c.
VALUES = ["[[1,2],3]", '["a",["b","c"]]', "[[[1,2]],[]]", "[{1:2,3:[4]},{}]", "none", "[[1,0],[0]]",
          "{1: 0.5, -2: [1,2]}", """{"a,]}:": ["x","]y,"], 'b': "q"}""", "{7: [[true]]}"]
KINDS = {"seq": (0, 1, 2, 3), "optional": (4, 5), "map": (6, 7, 8)}
DTYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16", ">f4", ">i8", "U3", "S2",
          "V2"]


def write(folder, name, data):
    (folder / name).write_bytes(data)


def models(nodes, folder):
    folder.mkdir(parents=True)
    for path in sorted(nodes.glob("*/model.onnx")):
        if path.stat().st_size <= MOST_BYTES:
            shutil.copy(path, folder / path.parent.name)
    for name, data in seeds.models():
        write(folder, "seed_" + name, data)
    for case in (*written.cases(), *written_ml.cases()):
        write(folder, f"written_{case.name}", case.model.SerializeToString())


def npy(array, order="C"):
    stream = io.BytesIO()
    np.save(stream, np.asarray(array, order=order))
    return stream.getvalue()


def npz(packed, **arrays):
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **arrays)
    return stream.getvalue()


def png(width, height, depth, kind, interlaced=False):
    """A picture of zeros: kind is PNG's colour type."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    row = (width * channels * depth + 7) // 8
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    palette = chunk(b"PLTE", bytes(range(12))) if kind == 3 else b""
    data = zlib.compress(bytes((row + 1) * height) * (2 if interlaced else 1))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + palette + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def inputs(nodes, images, folder):
    folder.mkdir(parents=True)
    for i, text in enumerate(LITERALS):
        for variant in (0, 6, 7, 13):
            write(folder, f"literal{i}_{variant}", bytes([LITERAL + len(FORMATS) * variant]) + text.encode())
    for i, dtype in enumerate(DTYPES):
        array = np.zeros((2, 3), dtype)
        write(folder, f"npy{i}", bytes([NPY]) + npy(array))
        write(folder, f"npy{i}f", bytes([NPY + len(FORMATS) * i]) + npy(array, "F"))
        write(folder, f"npz{i}", bytes([NPZ]) + npz(i % 2, x=array, y=array))
    pictures = [path.read_bytes() for path in sorted(images.glob("*.pgm"))[:2]]
    pictures += [b"P3 2 1 255 1 2 3 4 5 6", b"P2\n# c\n2 1 15\n1 15\n", b"P6 1 1 65535\n" + bytes(6)]
    pictures += [png(3, 2, depth, kind) for depth, kind in ((1, 0), (8, 0), (16, 0), (8, 2), (16, 2), (4, 3), (8, 4),
                                                           (8, 6))]
    pictures.append(png(9, 9, 8, 2, True))
    for i, data in enumerate(pictures):
        write(folder, f"image{i}", bytes([IMAGE + len(FORMATS) * (i % 3)]) + data)
        options = FITS[i % len(FITS)].encode() + b"\n"
        write(folder, f"fitted{i}", bytes([FITTED + len(FORMATS) * (i % 3)]) + options + data)
    for i, path in enumerate(sorted(nodes.glob("*/test_data_set_0/input_0.pb"))[::12]):
        if path.stat().st_size <= MOST_BYTES:
            write(folder, f"proto{i}", bytes([PROTO]) + path.read_bytes())


def kind_of(message):
    """The kind of an .pb of the node cases; None for a tensor."""
    return next((k for k in KINDS if message.HasField({"seq": "sequence_type"}.get(k, f"{k}_type"))), None)


def values(nodes, folder):
    """Messages and literals; the first byte is twice the number of a type, plus 1 for literals."""
    folder.mkdir(parents=True)
    for i, text in enumerate(VALUES):
        write(folder, f"literal{i}", bytes([2 * i + 1]) + text.encode())
    for path in sorted(nodes.glob("*/model.onnx")):
        graph = onnx.load(path, load_external_data=False).graph
        for way, infos in (("input", graph.input), ("output", graph.output)):
            for i, info in enumerate(infos):
                data = path.parent / "test_data_set_0" / f"{way}_{i}.pb"
                kind = kind_of(info.type)
                if kind and data.exists() and data.stat().st_size <= MOST_BYTES:
                    write(folder, f"{path.parent.name}_{way}{i}", bytes([2 * KINDS[kind][0]]) + data.read_bytes())
    for case in (*written.cases(), *written_ml.cases()):
        for i, message in enumerate(map(written.message_of, (*case.inputs, *case.outputs))):
            kind = {"SequenceProto": "seq", "OptionalProto": "optional", "MapProto": "map"}.get(type(message).__name__)
            if kind:
                write(folder, f"written_{case.name}_{i}", bytes([2 * KINDS[kind][0]]) + message.SerializeToString())


def main():
    nodes, images, target = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(target, ignore_errors=True)
    models(nodes, target / "models")
    inputs(nodes, images, target / "inputs")
    values(nodes, target / "values")
    for folder in ("models", "inputs", "values"):
        print(f"{len(list((target / folder).iterdir()))} files in {target / folder}")


if __name__ == "__main__":
    main()
