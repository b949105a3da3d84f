"""endings.py OX DIR: signals, full disks and closed pipes leave no half file, say so, and give a status that is not 0.

DIR has the models of models.py.
"""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

OX = os.path.abspath(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).resolve() / "add.onnx"
ROWS = 2000000  # of 12 bytes: long enough to be interrupted


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, truth, detail=""):
        self.passed += bool(truth)
        self.failed += not truth
        if not truth:
            print(f"failed: {what} {detail}")


def arguments(rows, *more):
    return [OX, "run", str(MODEL), "-i", "@ones", "-i", "@ones", "-d", f"n={rows}", "--quiet", *more]


def attend():
    """Signals end the process even where the tests themselves run in the background and ignore some."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(folder, rows, *more, preexec_fn=attend):
    return subprocess.Popen(arguments(rows, *more), cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                            preexec_fn=preexec_fn)


def interrupt_while_writing(folder, number):
    """The process, ended by a signal while its file was unfinished; None if it was always too fast."""
    for _ in range(50):
        process = start(folder, ROWS, "-o", "y=y.npy")
        while process.poll() is None and not os.listdir(folder):
            time.sleep(0.0001)
        process.send_signal(number)
        text = process.communicate()[1]
        if process.returncode == -number:
            return process.returncode, text
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
    return None


def signals(tally):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with tempfile.TemporaryDirectory() as folder:
            ended = interrupt_while_writing(folder, number)
            tally.check(f"signal {number} while a file is written", ended)
            tally.check(f"signal {number} says so", ended and ended[1] == b"ox: interrupted\n", ended)
            tally.check(f"signal {number} leaves nothing", not os.listdir(folder), os.listdir(folder))


def ignored_signal(tally):
    """What nohup asks for stays ignored."""
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, ROWS, "-o", "y=y.npy", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while process.poll() is None and not os.listdir(folder):
            time.sleep(0.0001)
        process.send_signal(signal.SIGHUP)
        process.communicate()
        tally.check("an ignored signal", process.returncode == 0 and os.listdir(folder) == ["y.npy"], process.returncode)


def keeps_what_was_there(tally):
    """A write that fails leaves the file of the last time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    for option, name in (("-o", "y.npy"), ("--save", "saved")):
        with tempfile.TemporaryDirectory() as folder:
            value = f"y={name}" if option == "-o" else name
            path = os.path.join(folder, name) if option == "-o" else os.path.join(folder, name, "output_0.npy")
            start(folder, 10, option, value).communicate()
            before = pathlib.Path(path).read_bytes()
            process = start(folder, 100000, option, value, preexec_fn=limit)
            text = process.communicate()[1]
            tally.check(f"{option}: a file that grows too large", process.returncode == 1, process.returncode)
            tally.check(f"{option}: says so", b"File too large" in text, text)
            tally.check(f"{option}: the old file is there", pathlib.Path(path).read_bytes() == before)
            tally.check(f"{option}: nothing beside it", len(os.listdir(os.path.dirname(path))) == 1)


def full_disk(tally):
    """A file system of 64 KB, where a user may mount one."""
    if not shutil.which("unshare"):
        print("skipped: a full disk: there is no command unshare")
        tally.skipped += 1
        return
    with tempfile.TemporaryDirectory() as folder:
        script = 'mount -t tmpfs -o size=64k none "$0" || exit 99; cd "$0"; "$@"; echo "status $?"; ls -A; exit 0'
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script, folder, *arguments(100000, "-o", "y=y.npy")],
                              capture_output=True)
        if done.returncode:
            print("skipped: a full disk: no file system can be mounted here")
            tally.skipped += 1
            return
        tally.check("a full disk", done.stdout == b"status 1\n", done.stdout)
        tally.check("a full disk says so", b"No space left" in done.stderr, done.stderr)


def closed_pipe(tally):
    for more in (["-o", "y=-"], []):
        command = [a for a in arguments(100000, *more) if a != "--quiet" or more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        text = process.stderr.read()
        tally.check(f"a closed pipe {more} ends as the signal does", process.wait() == -signal.SIGPIPE, process.returncode)
        tally.check(f"a closed pipe {more} says nothing", b"ox:" not in text, text)
        process.stderr.close()


def main():
    tally = Tally()
    for test in (signals, ignored_signal, keeps_what_was_there, full_disk, closed_pipe):
        test(tally)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")


main()
