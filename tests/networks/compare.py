"""compare.py [--filter RE]: networks built here and those that `make models` fetches, against ONNX Runtime.

Every output has to be within a thousandth of ONNX Runtime's, relative to the largest, for inputs of several sizes and
batches, in every build of the loops, on one thread and on two with the same bits, and with the nodes one by one. One
session of each kind sees all sizes, the first one again at the end: plans are made anew and kept. Then a session checks
each of its steps (ox_options.check), with batches of 1, 2 and 3.

OX_SANITIZED leaves out what would take the sanitizers minutes: the large networks, and all builds but the best.
"""

import argparse
import os
import re
import sys
import time

import arrays
import built
import networks
import numpy as np
import onnxruntime
import oxlib

TOLERANCE = 1e-3
TYPE_NAMES = {dtype: name for name, (_, dtype) in arrays.DTYPES.items()}
SANITIZED = "OX_SANITIZED" in os.environ
SLOW = ["vgg19", "resnet50"]  # are checked with one image: the plain ways take a minute for three
LARGE = ["rapidocr det", "rapidocr rec", *networks.LIGHT]


class Reference:
    """ONNX Runtime's results of a network, for each of its sizes or only for the smallest inputs."""

    def __init__(self, network, data, smallest=False):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self.inputs = [size() for size in network.sizes]
        if smallest:
            self.inputs = [min(self.inputs, key=lambda given: sum(array.size for array in given.values()))]
        self.names = [value.name for value in session.get_inputs()]
        self.results = [session.run(None, given) for given in self.inputs]


def ways():
    """(what it is called, options, whether its bits are those of the way before)"""
    yield "the best build, nodes one by one", oxlib.Options(no_fuse=True), False
    for isa in [None] if SANITIZED else oxlib.builds():
        for threads in (1, 2):
            build = f"build {isa.decode()}" if isa else "the best build"
            yield f"{build}, {threads} threads", oxlib.Options(isa=isa, threads=threads), threads == 2


def run(session, reference, turn):
    """All outputs of ox for one of the sizes."""
    given = reference.inputs[turn]
    for i, name in enumerate(reference.names):
        session.set_input(i, arrays.to_tensor(given[name], TYPE_NAMES[given[name].dtype]))
    session.run()
    return [arrays.from_tensor(session.output(i))[1] for i in range(len(reference.results[turn]))]


def difference(ours, theirs):
    """What is wrong with an output, None if nothing is."""
    if ours.shape != theirs.shape:
        return f"has shape {ours.shape}, ONNX Runtime's {theirs.shape}"
    largest, apart = np.abs(theirs).max(), np.abs(ours.astype(np.float64) - theirs).max()
    if apart <= TOLERANCE * largest:
        return None
    return f"is off by {apart:.3g}, where the largest is {largest:.3g}"


def compare(reference, model, options, before):
    """(what is wrong, the outputs of all sizes); `before` has outputs that must be the same, bit for bit."""
    session = oxlib.Session(model, options)
    found, outputs = [], []
    turns = list(range(len(reference.inputs)))
    for turn in turns + turns[:1] if len(turns) > 1 else turns:
        ours = run(session, reference, turn)
        sizes = ", ".join(str(list(array.shape)) for array in reference.inputs[turn].values())
        for i, (mine, theirs) in enumerate(zip(ours, reference.results[turn])):
            wrong = difference(mine, theirs)
            if not wrong and before and mine.tobytes() != before[len(outputs)][i].tobytes():
                wrong = "has other bits than on 1 thread"
            if wrong:
                found.append(f"inputs {sizes}: output {i} {wrong}")
        outputs.append(ours)
    session.close()
    return found, outputs


def self_check(network, model):
    """[what is wrong where every step of a run is computed in other ways, too], in small batches of all counts up to 3."""
    found, session = [], oxlib.Session(model, oxlib.Options(check=True))
    for count in (1,) if network.name in SLOW or SANITIZED else (1, 2, 3):
        try:
            for i, array in enumerate(network.batch(count).values()):
                session.set_input(i, arrays.to_tensor(array, TYPE_NAMES[array.dtype]))
            session.run()
        except oxlib.OxError as error:
            found.append(f"{network.name}, checked, a batch of {count}: {error}")
    session.close()
    return found


def check(network):
    """[what is wrong with a network]"""
    data = network.model()
    reference, model = Reference(network, data), oxlib.Model(data)
    found, before = [], None
    for name, options, same in ways():
        wrong, before = compare(reference, model, options, before if same else None)
        found += [f"{network.name}, {name}, {text}" for text in wrong]
    found += self_check(network, model)
    model.close()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", default="", metavar="RE")
    wanted = parser.parse_args().filter
    passed, failed, skipped, missing = 0, 0, 0, []
    for network in built.NETWORKS + networks.NETWORKS:
        if not network.path():
            missing.append(network.name)
        elif not re.search(wanted, network.name) or (SANITIZED and network.name in LARGE):
            skipped += 1
        else:
            start, wrong = time.monotonic(), check(network)
            print("\n".join(wrong + [f"{network.name}: {time.monotonic() - start:.1f} s"]), flush=True)
            passed, failed = passed + (not wrong), failed + bool(wrong)
    if missing:
        print(f"skipped: models-check: not fetched (make models): {', '.join(missing)}")
    if skipped:
        print(f"skipped: models-check: {skipped} networks: not asked for, or large, under the sanitizers")
    print(f"{passed} passed, {failed} failed, {skipped + len(missing)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
