"""tokens.py OX [--seed N] [--cases N]: Tokenizer by the plug-in regex.so, with random patterns of RE2, beside
onnxruntime, whose operator it is. Many nodes of a model share a text, so that each model is loaded once."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
import tally
from onnx import TensorProto, helper

NODES = 25
ATOMS = ["a", "b", "ab", "\u00e9", "\u4e2d", " ", ",", "x", "7", ".", "\\.", "\\d", "\\w", "\\s", "\\W", "\\b", "^", "$",
         "[a-c]", "[^a-z]", "[[:alpha:]]", "[\u00e9x]", "\\pL", "\\PL", "(?i:A)", "", "\\x{4e2d}"]
REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}", "{2,}"]
PIECES = ["a", "b", "c", "ab", "x", "\u00e9", "\u4e2d", "\U0001f600", " ", " ", ",", ".", "7", "42", "A", "_", "\n", ""]


def pattern(rng, depth=0):
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        if depth < 2 and rng.random() < 0.3:
            atom = str(rng.choice(["(", "(?:"])) + pattern(rng, depth + 1) + ")"
        else:
            atom = str(rng.choice(ATOMS))
        repeat = str(rng.choice(REPEATS))
        parts.append(f"(?:{atom}){repeat}" if repeat else atom)
    return "".join(parts) + ("|" + pattern(rng, depth + 1) if depth < 2 and rng.random() < 0.25 else "")


def attributes(rng):
    given = {"mark": int(rng.integers(0, 2)), "mincharnum": int(rng.integers(1, 4)),
             "pad_value": str(rng.choice(["#", "", "\u00e9"]))}
    if rng.random() < 0.5:
        given["separators"] = [pattern(rng) for _ in range(int(rng.integers(1, 4)))]
    else:
        given["tokenexp"] = pattern(rng) or "a|b"
    if given.get("separators") == [""] or given.get("tokenexp") == ".":
        given["mincharnum"] = 1  # tokens are characters
    return given


def model_of(nodes, dims):
    made = [helper.make_node("Tokenizer", ["x"], [f"y{i}"], domain="com.microsoft", **given)
            for i, given in enumerate(nodes)]
    x = helper.make_tensor_value_info("x", TensorProto.STRING, dims)
    ys = [helper.make_tensor_value_info(f"y{i}", TensorProto.STRING, [None] * (len(dims) + 1)) for i in range(len(nodes))]
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(made, "g", [x], ys)
    return helper.make_model(graph, opset_imports=domains, ir_version=10).SerializeToString()


def check(ox, rng):
    dims = [int(d) for d in rng.integers(1, 4, int(rng.integers(1, 3)))]
    x = np.array(["".join(rng.choice(PIECES, int(rng.integers(0, 12)))) for _ in range(int(np.prod(dims)))], object)
    x = x.reshape(dims)
    nodes = [attributes(rng) for _ in range(NODES)]
    nodes[0] = {"mark": 0, "mincharnum": 1, "pad_value": "", "tokenexp": "a|b"}  # which the library itself refuses
    data = model_of(nodes, dims)
    wanted = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "m.onnx").write_bytes(data)
        tensor = helper.make_tensor("x", TensorProto.STRING, dims, [text.encode() for text in x.reshape(-1)])
        (path / "x.pb").write_bytes(tensor.SerializeToString())
        done = subprocess.run([ox, "run", path / "m.onnx", "-i", path / "x.pb", "--json"],
                              capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return f"{x.tolist()}: {done.stderr[:400]}"
    said = {output["name"]: output for output in json.loads(done.stdout)["outputs"]}
    for i, node in enumerate(nodes):
        got = said[f"y{i}"]
        if got["shape"] != list(wanted[i].shape) or (wanted[i].size and got["values"] != wanted[i].tolist()):
            return f"{x.tolist()} {node}: {got}, not {wanted[i].tolist()}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ox")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("OX_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--cases", type=int, default=20)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng = np.random.default_rng(options.seed)
    failures = [text for text in (check(options.ox, rng) for _ in range(options.cases)) if text]
    for text in failures[:25]:
        print(text)
    return tally.finish(options.cases - len(failures), len(failures))


if __name__ == "__main__":
    sys.exit(main())
