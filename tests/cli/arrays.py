"""arrays.py OX DIR: arrays that go through `ox run` and back compared with numpy; pictures; what is printed.

DIR holds the models that models.py writes. Ends with a line "N passed, N failed, N skipped".
"""

import io
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np
from tally import check, finish

OX, DIR = sys.argv[1], pathlib.Path(sys.argv[2])
TYPES = {"f4": 1, "u1": 2, "i1": 3, "u2": 4, "i2": 5, "i4": 6, "i8": 7, "b1": 9, "f2": 10, "f8": 11, "u4": 12,
         "u8": 13, "c8": 14, "c16": 15}


def run(model, *arguments, stdin=b""):
    done = subprocess.run([OX, "run", DIR / f"{model}.onnx", *arguments], input=stdin, capture_output=True)
    if done.returncode:
        print(done.stderr.decode())
    return done.stdout


def saved(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def back(array, number, version=None):
    """The array after a model that gives it back, by standard input and output."""
    out = run(f"identity{number}", "-i", "-", "-o", "y=-", stdin=saved(array, version))
    return np.load(io.BytesIO(out))


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def check_types(rng):
    for kind, number in TYPES.items():
        for shape in [(), (0,), (1,), (3, 0, 2), (2, 3, 4), (1,) * 20]:
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            data = rng.integers(0, 2 if kind == "b1" else 256, size, np.uint8).tobytes()
            array = np.frombuffer(data, kind).reshape(shape)
            check(f"{kind} {shape}", same(back(array, number), array))
        array = np.frombuffer(rng.integers(0, 2, 60 * np.dtype(kind).itemsize, np.uint8).tobytes(), kind)
        array = array[:60].reshape(3, 4, 5)
        check(f"{kind}, Fortran order", same(back(np.asfortranarray(array), number), array))
        swapped = array.astype(np.dtype(kind).newbyteorder(">"))
        check(f"{kind}, big-endian", same(back(swapped, number), array))
        for version in [(1, 0), (2, 0), (3, 0)]:
            check(f"{kind}, version {version}", same(back(array, number, version), array))


def check_strings():
    for array in [np.array(["a", "", "ünï", "日本語", "😀"]), np.array([["x", "yz"]] * 3), np.array("scalar")]:
        check(f"strings {array}", (back(array, 8) == array).all())
        check(f"strings in Fortran order {array}", (back(np.asfortranarray(array), 8) == array).all())
        check(f"big-endian strings {array}", (back(array.astype(array.dtype.newbyteorder(">")), 8) == array).all())
    array = np.array([b"a\xff\x01", b"", b"abc"])
    check("byte strings that are no UTF-8", same(back(array, 8), array))


def check_small_types():
    raw = np.arange(256, dtype=np.uint8)
    for number in range(17, 21):
        check(f"type {number} as raw bytes", same(back(raw, number), raw))
    half = np.arange(0, 65536, 7, dtype=np.uint16).view("V2")
    check("bfloat16 as raw bytes", back(half, 16).tobytes() == half.tobytes())
    check("int4", same(back(np.arange(-8, 8, dtype=np.int8), 22), np.arange(-8, 8, dtype=np.int8)))


def check_conversions():
    wide = np.array([1.1, -2.5e38, np.inf, np.nan])
    check("double to float", same(back(wide, 1), wide.astype("f4")))
    check("double to float16", same(back(wide[:1], 10), wide[:1].astype("f2")))
    check("int64 to int8", same(back(np.array([-128, 127]), 3), np.array([-128, 127], "i1")))


def check_print(rng):
    arrays = [rng.standard_normal((3, 4)), rng.standard_normal(2000).astype("f4"), np.array([1e-5, 1, np.nan]),
              rng.integers(-99, 99, (2, 3, 4)), rng.random((40, 50)) < 0.5, np.array([1 + 2j, -0.5]),
              rng.random((30, 40)).astype("f2"), np.array(["a", "it's"]), np.array(2.5, "f4"),
              rng.standard_normal(50) * 10.0 ** rng.integers(-9, 9, 50)]
    numbers = {np.dtype(kind): number for kind, number in TYPES.items()}
    for array in arrays:
        out = run(f"identity{numbers.get(array.dtype, 8)}", "-i", "-", stdin=saved(array)).decode()
        check(f"printed {array}\n{out}", out.partition("\n")[2] == np.array2string(array) + "\n")


def png(width, height, depth, kind, rows, extra=b""):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows)))
    return b"\x89PNG\r\n\x1a\n" + header + extra + data + chunk(b"IEND", b"")


def picture(name, data, model):
    path = DIR / name
    path.write_bytes(data)
    out = run(f"image_{model}", "-i", path, "-o", "y=-")
    return np.load(io.BytesIO(out)) if out else np.zeros(0)


def check_pictures():
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3) * 50
    colour = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 14
    first = colour.transpose(2, 0, 1)
    grey_png = png(3, 2, 8, 0, [row.tobytes() for row in grey])
    wide_png = png(3, 2, 16, 0, [np.repeat(row, 2).tobytes() for row in grey])
    bits_png = png(3, 2, 1, 0, [b"\xa0", b"\x40"])
    colour_png = png(3, 2, 8, 2, [row.tobytes() for row in colour])
    palette = struct.pack(">I", 18) + b"PLTE" + colour.tobytes()
    palette += struct.pack(">I", zlib.crc32(palette[4:]))
    palette_png = png(3, 2, 8, 3, [b"\0\1\2", b"\3\4\5"], palette)
    colour_pgm = b"P6\n# a comment\n3 2\n255\n" + colour.tobytes()
    luma = (first.astype(float) * np.array([0.299, 0.587, 0.114]).reshape(3, 1, 1)).sum(0)

    def equal(name, data, model, expected, slack=0):
        got = picture(name, data, model)
        check(f"{name} as {model}: {got}", got.shape == expected.shape and (abs(got - expected) <= slack).all())

    equal("grey.png", grey_png, "hw", grey)
    equal("grey.png", grey_png, "n1hw", grey[None, None])
    equal("grey.png", grey_png, "nchw", np.stack([grey] * 3)[None])
    equal("wide.png", wide_png, "hw", grey)
    equal("bits.png", bits_png, "hw", np.array([[255, 0, 255], [0, 255, 0]]))
    equal("colour.png", colour_png, "nchw", first[None])
    equal("colour.png", colour_png, "nhwc", colour[None])
    equal("colour.png", colour_png, "chw", first)
    equal("colour.png", colour_png, "hw", luma, 1)
    equal("colour.png", colour_png, "n4hw", np.concatenate([first, np.full((1, 2, 3), 255)])[None])
    equal("palette.png", palette_png, "chw", first)
    equal("colour.ppm", colour_pgm, "chw", first)
    equal("plain.ppm", b"P3 3 2 255 " + " ".join(map(str, colour.ravel())).encode(), "chw", first)
    equal("grey.pgm", b"P5 3 2 255\n" + grey.tobytes(), "hw", grey)
    equal("low.pgm", b"P2 3 2 16 1 2 3 4 5 16", "hw", np.array([[1, 2, 3], [4, 5, 16]]))
    equal("wide.pgm", b"P5 3 2 65535\n" + np.repeat(grey.ravel(), 2).tobytes(), "hw", grey)


def check_broken_pictures(rng):
    """Damaged pictures: an error or a result, and never a crash."""
    files = [DIR / name for name in ("grey.png", "palette.png", "colour.ppm", "plain.ppm", "wide.pgm")]
    for path in files:
        good = path.read_bytes()
        for _ in range(30):
            data = bytearray(good)
            for _ in range(rng.integers(1, 4)):
                data[rng.integers(0, len(data))] = rng.integers(0, 256)
            bad = DIR / f"bad{path.suffix}"
            bad.write_bytes(bytes(data[: rng.integers(1, len(data) + 1)]))
            done = subprocess.run([OX, "run", DIR / "image_chw.onnx", "-i", bad, "--quiet"], capture_output=True)
            check(f"{path.name} damaged: {done.returncode} {done.stderr[:500]}", done.returncode in (0, 1))


def main():
    rng = np.random.default_rng(3)
    check_types(rng)
    check_strings()
    check_small_types()
    check_conversions()
    check_print(rng)
    check_pictures()
    check_broken_pictures(rng)
    finish()


main()
