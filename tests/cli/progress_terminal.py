"""progress_terminal.py: commands whose streams are terminals."""

import os
import pty
import signal
import subprocess
import time


def read_all(handle):
    """What was written to a terminal until its other side is closed."""
    text = b""
    while True:
        try:
            part = os.read(handle, 65536)
        except OSError:
            return text
        if not part:
            return text
        text += part


def on_terminal(command, folder):
    """What a command writes to standard error where that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = read_all(ours)
    process.wait()
    os.close(ours)
    return text


def ask(command, folder, seconds):
    """The same where standard input is that terminal, without a key pressed; the command is interrupted after a while."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    os.close(theirs)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    text = read_all(ours)
    process.wait()
    os.close(ours)
    return text
