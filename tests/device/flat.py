"""Trees that `ox embed` lays out give the bits that their attributes give; and damaged ones an error, or some result.

    flat.py OX FOLDER [--cases N] [--seed N]
"""
import argparse
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))

import ml  # noqa: E402
import ml_trees  # noqa: E402
import oxlib  # noqa: E402
import tally  # noqa: E402
from slim import bytes_of  # noqa: E402


def run(data, case):
    """What the model gives, or the status of its error."""
    try:
        return ml.run_ox(data, case, 1)
    except oxlib.OxError as error:
        return error.status


def same(a, b):
    return all(x.dtype == y.dtype and x.shape == y.shape and (x.tobytes() == y.tobytes() or list(x) == list(y))
               for x, y in zip(a, b))


def shaped(data, case):
    """ox embed wants to know the inputs' shapes."""
    model = onnx.load_from_string(data)
    for value, (_, array) in zip(model.graph.input, case.inputs):
        for size in array.shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
    return model.SerializeToString()


def damage(rng, data):
    """The model with other bytes where its trees are."""
    model = onnx.load_from_string(data)
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "__trees":
            raw = bytearray(attribute.t.raw_data)
            at = int(rng.integers(0, len(raw) if rng.random() < 0.7 else min(24, len(raw))))
            raw[at] = int(rng.choice([0, 1, 0x7f, 0x80, 0xff, raw[at] ^ 1 << int(rng.integers(0, 8))]))
            attribute.t.raw_data = bytes(raw)
    return model.SerializeToString()


def buffer_of(ox, folder, data):
    """How large a buffer `ox embed` gives a model."""
    path = folder / "trees.onnx"
    path.write_bytes(data)
    subprocess.run([ox, "embed", str(path), "-o", str(folder)], check=True, capture_output=True)
    return int(re.search(r"BUFFER_BYTES (\d+)", (folder / "trees.h").read_text())[1])


def check_places(ox, folder):
    """Trees are walked where they lie, so that their buffer is smaller than they are, wherever the file has them."""
    case = ml_trees.regressor(np.random.default_rng([1, 6]))
    model = onnx.load_from_string(shaped(ml.build(case), case))
    for length in range(8):
        model.producer_name = "x" * length
        data = model.SerializeToString()
        buffer = buffer_of(ox, folder, data)
        tally.check("trees stay where they are", buffer < len(data), f"{buffer} bytes for a model of {len(data)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ox")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    laid_out = 0
    for number in range(options.cases):
        rng = np.random.default_rng([options.seed, number])
        case = (ml_trees.classifier if number % 2 else ml_trees.regressor)(rng)
        data = shaped(ml.build(case), case)
        path = options.folder / "trees.onnx"
        path.write_bytes(data)
        done = subprocess.run([options.ox, "embed", str(path), "-o", str(options.folder)], capture_output=True, text=True)
        tally.check(f"case {number} is embedded", done.returncode == 0, done.stderr)
        if done.returncode:
            continue
        found = bytes_of(options.folder / "trees.c")
        flat = b"__trees" in found
        laid_out += flat
        listed = "with trees" in (options.folder / "ops.txt").read_text()
        tally.check(f"case {number} has nodes in attributes or not", (b"nodes_modes" in found) != flat and listed != flat)
        wanted, got = run(data, case), run(found, case)
        tally.check(f"case {number} gives the same", not isinstance(got, int) and same(wanted, got), case.said())
        for _ in range(20 if flat else 0):
            run(damage(rng, found), case)
    check_places(options.ox, options.folder)
    tally.check("trees were laid out", laid_out > options.cases // 2, laid_out)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
