"""foreign.py OX SCRATCH [--emulator COMMAND] [--seconds N]: the networks that `make models` fetches, run by a command for
another machine, with the smallest of their inputs, against ONNX Runtime on this one.

The cheapest come first, and no network is begun when the time is over: under emulation the large ones take minutes.
Networks whose weights are drawn and would fill hundreds of MB are run as their files are, with equal weights.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys
import time

import compare
import networks
import numpy as np

ORDER = ["silero", "rapidocr cls", "shufflenet", "magika", "squeezenet", "efficientnet", "bvlc_alexnet", "rapidocr det",
         "zfnet512", "inception_v1", "inception_v2", "rapidocr rec", "densenet121", "resnet50", "vgg19"]
HUGE = ["bvlc_alexnet", "zfnet512", "vgg19"]


def check(network, command, folder):
    """What is wrong with the outputs, a text for each."""
    data = pathlib.Path(network.path()).read_bytes() if network.name in HUGE else network.model()
    reference = compare.Reference(network, data, smallest=True)
    (folder / "model.onnx").write_bytes(data)
    words = [*command, "run", str(folder / "model.onnx"), "--quiet", "--save", str(folder)]
    for name, array in reference.inputs[0].items():
        np.save(folder / f"in_{len(words)}.npy", array)
        words += ["-i", f"{name}={folder / f'in_{len(words)}.npy'}"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return [f"status {done.returncode}: {done.stderr.strip()[:300]}"]
    ours = [np.load(folder / f"output_{i}.npy") for i in range(len(reference.results[0]))]
    wrong = [compare.difference(*pair) for pair in zip(ours, reference.results[0])]
    return [f"output {i} {text}" for i, text in enumerate(wrong) if text]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ox")
    parser.add_argument("scratch")
    parser.add_argument("--emulator", default="")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    folder = pathlib.Path(options.scratch)
    folder.mkdir(parents=True, exist_ok=True)
    command = [*shlex.split(options.emulator), options.ox]
    begin, passed, failed, left = time.monotonic(), 0, 0, []
    for network in sorted(networks.NETWORKS, key=lambda network: ORDER.index(network.name)):
        if not network.path() or time.monotonic() - begin > options.seconds:
            left.append(network.name)
            continue
        start, wrong = time.monotonic(), check(network, command, folder)
        print("\n".join([f"{network.name}: {text}" for text in wrong] +
                        [f"{network.name}: {time.monotonic() - start:.1f} s"]), flush=True)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    if left:
        print(f"skipped: models-run: not fetched, or no time after {options.seconds:g} s: {', '.join(left)}")
    print(f"{passed} passed, {failed} failed, {len(left)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
