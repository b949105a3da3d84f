"""progress.py OX DIR: the line that shows how far a command is: on a terminal alone, after a second, and gone at the end.

DIR has the models of models.py.
"""

import io
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
from tally import check, finish

OX = os.path.abspath(sys.argv[1])
DIR = pathlib.Path(sys.argv[2])
CLEARED = b"\r\x1b[K"
LONG = ["run", "add.onnx", "-i", "@ones", "-i", "@ones", "-d", "n=1000000", "--repeat", "100000000"]


def drain(handle):
    """All that was written to a terminal, until its other side is closed."""
    text = b""
    while True:
        try:
            part = os.read(handle, 65536)
        except OSError:
            return text
        if not part:
            return text
        text += part


def attend():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(arguments, **more):
    """ox with a terminal for standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([OX, *arguments], cwd=DIR, stdout=subprocess.PIPE, stderr=theirs, preexec_fn=attend,
                               **more)
    os.close(theirs)
    return process, ours


def on_terminal(arguments, meanwhile=lambda process: None, **more):
    process, ours = start(arguments, **more)
    meanwhile(process)
    text = drain(ours)
    out = process.stdout.read()
    process.stdout.close()
    process.wait()
    os.close(ours)
    return process.returncode, out, text


def check_run():
    status, out, text = on_terminal(LONG + ["--timeout", "2.5"])
    drawn, _, rest = text.rpartition(CLEARED)
    check("a run that is cancelled", status == 1 and not out, (status, out[:80]))
    check("the line names run, share and node",
          re.search(rb"\rrunning, run \d+ of 100000000: 0 %, 0 of 1 nodes, [12] s, Add -> y\x1b\[K", drawn), drawn[:200])
    check("the message stands alone", rest.startswith(b"ox: ") and b"cancelled" in rest, rest)
    check("a line moves", 3 <= drawn.count(b"\r") <= 40, drawn.count(b"\r"))
    status, _, text = on_terminal(LONG + ["--timeout", "2", "--quiet"])
    check("--quiet shows no line", text.startswith(b"ox: "), text[:80])
    done = subprocess.run([OX, *LONG, "--timeout", "2"], cwd=DIR, capture_output=True)
    check("a pipe gets no line", done.stderr.startswith(b"ox: ") and b"\r" not in done.stderr, done.stderr[:80])
    status, out, text = on_terminal(LONG[:6] + ["-d", "n=2"])
    check("a short run shows no line", status == 0 and not text and out.startswith(b"y: float [2,3]"), (status, text))


def check_reading():
    """Input that does not come is waited for on the line."""
    def wait(process):
        time.sleep(1.6)
        process.stdin.close()

    status, _, text = on_terminal(["run", "default.onnx", "-i", "-"], wait, stdin=subprocess.PIPE)
    check("loading is shown", b"\rloading: 1 s\x1b[K" in text, text)
    check("an error comes on a line of its own", status == 1 and CLEARED + b"ox: " in text, (status, text))


def check_warning():
    """A warning in the midst of a run stands on a line of its own."""
    def write(process):
        time.sleep(1.6)
        file = io.BytesIO()
        np.save(file, np.ones(2, np.float32))
        process.stdin.write(file.getvalue())
        process.stdin.close()

    status, out, text = on_terminal(["run", "stated.onnx", "-i", "-"], write, stdin=subprocess.PIPE)
    check("a warning", status == 0 and out.startswith(b"y: float [2]") and CLEARED + b"ox: warning: stated.onnx: " in text
          and b"[9]\r\n" in text, (status, text))


def check_interrupt():
    def interrupt(process):
        time.sleep(1.6)
        process.send_signal(signal.SIGINT)

    status, _, text = on_terminal(LONG, interrupt)
    check("an interrupt takes the line away", text.endswith(CLEARED + b"ox: interrupted\r\n"), text[-80:])
    check("an interrupt ends the command", status == -signal.SIGINT, status)


def check_bench():
    status, out, text = on_terminal(["bench", "add.onnx", "-d", "n=1000000"])
    check("bench says what it does", status == 0 and re.search(rb"\rmeasuring[^\r]*: \d+", text), (status, text[:200]))
    check("bench leaves nothing on the terminal", text.endswith(CLEARED), text[-80:])
    check("bench prints its result", b"median " in out, out)


def main():
    for test in (check_run, check_reading, check_warning, check_interrupt, check_bench):
        test()
    finish()


main()
