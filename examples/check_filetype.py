"""Compares the filetype example with the package magika: check_filetype.py FILETYPE MODEL_FOLDER SCRATCH_FOLDER.

Files of many types are made in the scratch folder, those of this repository are used as they are, and label and score
of each must be what the package says. Runs from the top folder.
"""

import bz2
import gzip
import io
import json
import lzma
import pathlib
import pickle
import random
import sqlite3
import struct
import subprocess
import sys
import tarfile
import wave
import zipfile
import zlib

import tally

TOLERANCE = 1e-3
REPOSITORY = ["README.md", "CONTRIBUTING.md", "Makefile", "LICENSE", "src/ox.h", "src/tensor.c", "tools/setup.sh"]
REPOSITORY += ["examples/digits/" + name for name in ("train.py", "digits.c", "check.sh", "model.onnx", "expected.tsv")]
REPOSITORY += ["examples/digits/images/0_0725.pgm", ".clang-format", "examples"]

TEXTS = {
    "page.html": "<!DOCTYPE html>\n<html><head><title>One</title></head>\n<body><h1>One</h1></body></html>\n",
    "feed.xml": '<?xml version="1.0" encoding="UTF-8"?>\n<feed>\n  <entry id="1"><title>one</title></entry>\n</feed>\n',
    "style.css": "body { margin: 0; font-family: serif; }\nh1 > a:hover { color: #a00; text-decoration: none; }\n",
    "sum.js": "function sum(list) {\n  return list.reduce((a, b) => a + b, 0);\n}\nmodule.exports = { sum };\n",
    "Hello.java": "public class Hello {\n    public static void main(String[] args) {\n"
    '        System.out.println("hello");\n    }\n}\n',
    "sum.rs": "fn main() {\n    let v = vec![1, 2, 3];\n    let s: i32 = v.iter().map(|x| x * 2).sum();\n"
    '    println!("{}", s);\n}\n',
    "table.sql": "CREATE TABLE digits (id INTEGER PRIMARY KEY, label TEXT);\nINSERT INTO digits VALUES (1, 'one');\n",
    "rows.csv": "id,label,score\n" + "".join(f"{i},digit {i % 10},0.{i}\n" for i in range(40)),
    "build.yml": "name: build\non: [push]\njobs:\n  test:\n    runs-on: debian\n    steps:\n      - run: make check\n",
    "settings.ini": "[server]\nport = 8080\nhost = localhost\n\n[log]\nlevel = warn\n",
    "plain.txt": "It rained all morning. In the afternoon we walked to the harbour and watched the boats.\n" * 3,
    "unsure.txt": "a b c d 1 2 3 ; x",
    "tiny.txt": "hi\n",
    "seven.txt": "seven77",
    "eight.txt": "eight888",
    "accents.txt": "\u00e9\u20ac",
    "padded.c": "\n \t" * 1200 + '#include <stdio.h>\n\nint main(void) {\n    puts("hi");\n}\n' + "\n" * 900,
    "blank.txt": " \n" * 2500,
    "mostly_blank.txt": " " * 5000 + "the end",
    "long.py": "import os\n\n\ndef name(path):\n    return os.path.basename(path)\n\n" * 100,
}


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * y) & 255 for x in range(16)) for y in range(16))
    header = struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pdf():
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"]
    objects += ["<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>"]
    text, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(text))
        text += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF\n"
    return (text + "xref\n0 4\n0000000000 65535 f \n" + table + trailer).encode()


def in_memory(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def zipped(buffer):
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", TEXTS["plain.txt"] * 10)
        archive.writestr("rows.csv", TEXTS["rows.csv"])


def tarred(buffer):
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("plain.txt", "rows.csv"):
            entry = tarfile.TarInfo(name)
            entry.size = len(TEXTS[name])
            archive.addfile(entry, io.BytesIO(TEXTS[name].encode()))


def waved(buffer):
    with wave.open(buffer, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(b"".join(struct.pack("<h", (i * 331) % 20000 - 10000) for i in range(4000)))


def binaries():
    text = (TEXTS["plain.txt"] * 20).encode()
    noise = random.Random(1)
    size = 24 * 24 * 3
    pixels = bytes(noise.randrange(256) for _ in range(size))
    return {
        "picture.png": png(),
        "picture.bmp": b"BM" + struct.pack("<4I2i2H6I", 54 + size, 0, 54, 40, 24, 24, 1, 24, *[0] * 6) + pixels,
        "page.pdf": pdf(),
        "notes.gz": gzip.compress(text, mtime=0),
        "notes.bz2": bz2.compress(text),
        "notes.xz": lzma.compress(text),
        "notes.zip": in_memory(zipped),
        "notes.tar": in_memory(tarred),
        "tone.wav": in_memory(waved),
        "list.pickle": pickle.dumps([{"id": i, "label": str(i)} for i in range(30)]),
        "table.json": json.dumps([{"id": i, "label": f"digit {i}"} for i in range(9)], indent=1).encode(),
        "noise.bin": bytes(noise.randrange(256) for _ in range(9000)),
        "exact.bin": bytes(noise.randrange(256) for _ in range(4096)),
        "zeros.bin": bytes(5000),
        "empty": b"",
        "tiny.bin": b"\xff\xfe\xfd",
        "overlong.bin": b"a\xc0\x80b",
        "surrogate.bin": b"\xed\xa0\x80",
        "cut.bin": b"abc\xe2\x82",
    }


def make_files(folder):
    """Writes the files; the paths to look at, those of the repository included."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {name: text.encode() for name, text in TEXTS.items()} | binaries()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    database = folder / "table.sqlite"
    database.unlink(missing_ok=True)
    with sqlite3.connect(database) as connection:
        connection.executescript(TEXTS["table.sql"])
    connection.close()
    return [str(folder / name) for name in sorted(contents)] + [str(database)]


def identify(program, models, paths):
    """Label and score for each path, as the example prints them."""
    done = subprocess.run([program, "-m", models, *paths], stdout=subprocess.PIPE, text=True)
    answers = {}
    for line in done.stdout.splitlines():
        label, score, path = line.split(None, 2)
        answers[path] = (label, float(score))
    return answers


def main():
    program, models, scratch = sys.argv[1:4]
    paths = [path for path in REPOSITORY if pathlib.Path(path).exists()] + [program]
    paths += make_files(pathlib.Path(scratch))
    missing = None if pathlib.Path(models).is_dir() else "the model is not there (make models)"
    try:
        from magika import Magika
    except ImportError:
        missing = "no Python package magika"
    if missing:
        print(f"skipped: check-filetype: {missing}")
        print(f"0 passed, 0 failed, {len(paths)} skipped")
        return 0
    answers = identify(program, models, paths)
    failed, types = 0, set()
    magika = Magika()
    for path in paths:
        # One by one: in a batch, onnxruntime sums in another order, and scores of small files move by more than 1e-3.
        result = magika.identify_path(path)
        label, score = answers.get(path, ("nothing", 0.0))
        types.add(str(result.output.label))
        if label != result.output.label or not abs(score - result.score) <= TOLERANCE:
            print(f"{path}: {label} {score}, magika says {result.output.label} {result.score:.4f}")
            failed += 1
    print(f"{len(paths)} files of {len(types)} types: {' '.join(sorted(types))}")
    return tally.finish(len(paths) - failed, failed)


if __name__ == "__main__":
    sys.exit(main())
