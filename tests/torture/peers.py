"""peers.py [--every N] MODEL_FOLDER...: the damaged models of `make torture`, as given to ONNX Runtime.

Each model gets the tries 0, N, 2N, ... of the 250 of tests/torture/torture.c, the same bytes, in a process that is
started anew when it dies or takes more than 10 seconds for a try. Prints what became of them. Needs the packages onnx
and onnxruntime.
"""

import argparse
import collections
import pathlib
import select
import signal
import subprocess
import sys

FLIPS, TRIES, SECONDS = 200, 250, 10
MASK = (1 << 64) - 1


class Draw:
    """splitmix64, as in subject.c."""

    def __init__(self, seed):
        self.state = seed & MASK

    def __call__(self, bound):
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % bound


def damage(name, data, number):
    """subject_damage of subject.c."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    draw = Draw(seed + (number << 32))
    if number >= FLIPS:
        return data[:draw(len(data))]
    made = bytearray(data)
    for _ in range(1 if number % 2 else 1 + draw(8)):
        at = draw(len(made))
        made[at] ^= 1 + draw(255)
    return bytes(made)


def attempt(runtime, data, feeds):
    """What becomes of one file: "not loaded", "not run" or "run"."""
    try:
        session = runtime.InferenceSession(data, OPTIONS, providers=["CPUExecutionProvider"])
    except Exception:  # any Python exception is a clear refusal
        return "not loaded"
    try:
        session.run(None, {value.name: feed for value, feed in zip(session.get_inputs(), feeds)})
    except Exception:
        return "not run"
    return "run"


def read_feeds(onnx, folder):
    """The inputs of the first data set up to one that is no tensor: the run then says that some are missing."""
    feeds = []
    for path in sorted(folder.glob("test_data_set_0/input_*.pb")):
        try:
            feeds.append(onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())))
        except Exception:
            break
    return feeds


def serve():
    """Tries one file per line, "FOLDER NUMBER", and answers with a line."""
    global OPTIONS
    import onnx
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    OPTIONS = onnxruntime.SessionOptions()
    # The package prints to the standard output too.
    answers, sys.stdout = sys.stdout, sys.stderr
    OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
    for line in sys.stdin:
        folder, number = line.rsplit(" ", 1)
        folder = pathlib.Path(folder)
        feeds = read_feeds(onnx, folder)
        data = damage(folder.name, (folder / "model.onnx").read_bytes(), int(number))
        print(attempt(onnxruntime, data, feeds), file=answers, flush=True)


class Server:
    def __init__(self):
        self.process = None

    def ask(self, folder, number):
        """What became of the try, or how the process ended."""
        if not self.process:
            self.process = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdin.write(f"{folder} {number}\n")
        self.process.stdin.flush()
        ready = select.select([self.process.stdout], [], [], SECONDS)[0]
        answer = self.process.stdout.readline().strip() if ready else ""
        if answer:
            return answer
        process, self.process = self.process, None
        if not ready:
            process.kill()
            process.wait()
            return f"takes more than {SECONDS} s"
        status = process.wait()
        return f"ends by {signal.Signals(-status).name}" if status < 0 else f"ends with status {status}"


def main():
    if sys.argv[1:] == ["--serve"]:
        return serve()
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    server, counts = Server(), collections.Counter()
    for folder in options.folders:
        for number in range(0, TRIES, options.every):
            answer = server.ask(folder, number)
            counts[answer] += 1
            if answer.startswith(("ends", "takes")):
                print(f"{folder} {number}: {answer}", flush=True)
    for answer, count in counts.most_common():
        print(f"{count:8} {answer}")


if __name__ == "__main__":
    main()
