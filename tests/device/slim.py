"""Models as `ox embed` writes them compute what they did: cases of the node suite, whose models get names and documentation
that should go, and two equal initializers.

    slim.py OX NODE FOLDER [--every N]
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnx

import tally

ALWAYS = re.compile("loop|_if_|scan|gradient|sequence_map")
WEIGHT = numpy.arange(12.0)


def bytes_of(path):
    """The model in a C file."""
    return bytes(int(number, 16) for number in re.findall(r"0x([0-9a-f]{2}),", path.read_text().split("= {", 1)[1]))


def is_nested(model):
    return any(attribute.HasField("g") or attribute.graphs for node in model.graph.node for attribute in node.attribute)


def load(path):
    """The model, with more to leave out."""
    model = onnx.load(path)
    model.doc_string = model.graph.doc_string = "what it does"
    for number, node in enumerate(model.graph.node):
        node.name, node.doc_string = f"node of some length {number}", "what it does"
    for name in ("one of two", "two of two"):
        model.graph.initializer.append(onnx.numpy_helper.from_array(WEIGHT, name))
        model.graph.node.append(onnx.helper.make_node("Identity", [name], [name + " again"]))
    return model


def slim(ox, case, folder):
    """Makes a copy of a case whose model went through `ox embed`. None, or what is wrong with the model."""
    model, made, copy = load(case / "model.onnx"), folder / "made" / case.name, folder / "cases" / case.name
    made.mkdir(parents=True)
    (made / "model.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([ox, "embed", str(made / "model.onnx"), "-o", str(made)], capture_output=True, text=True)
    if done.returncode:  # it asks for dimensions, or refuses zeros
        return None
    shutil.copytree(case, copy)
    found = bytes_of(made / "model.c")
    (copy / "model.onnx").write_bytes(found)
    if b"some length" in found or b"what it does" in found:
        return "names of nodes or documentation are left"
    if not is_nested(model) and (b"one of two" in found or found.count(WEIGHT.tobytes()) != 1):
        return "equal initializers are left, or their names"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ox")
    parser.add_argument("node", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=15)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    cases = sorted(path.parent for path in options.node.glob("*/model.onnx"))
    cases = [case for i, case in enumerate(cases) if i % options.every == 0 or ALWAYS.search(case.name)]
    cases = [case for case in cases if "bernoulli" not in case.name]  # it gives random numbers
    with ThreadPoolExecutor() as pool:
        problems = list(pool.map(lambda case: slim(options.ox, case, options.folder), cases))
    for case, problem in zip(cases, problems):
        tally.check(case.name, problem is None, problem)
    done = subprocess.run([options.ox, "test", str(options.folder / "cases"), "--pending", "tests/node/pending.txt"],
                          capture_output=True, text=True)
    last = done.stdout.splitlines()[-1]
    print(done.stdout if done.returncode else last)
    tally.check("the models compute what they did", done.returncode == 0 and int(last.split()[0]) > len(cases) // 2, last)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
