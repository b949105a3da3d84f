"""python -m oxrt: the command ox."""

import signal
import sys

from . import _ox


def main():
    """Runs the command with the words of the command line; it ends the process."""
    if any(word.startswith("--plugin") for word in sys.argv):
        import ctypes
        ctypes.CDLL(_ox.__file__, mode=ctypes.RTLD_GLOBAL)  # plug-ins find the functions of ox.h there
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    _ox._command("ox", *sys.argv[1:])


if __name__ == "__main__":
    main()
