"""amalgamate.py TO PROTO RUNTIME CC: writes TO/ox.c, the library as one file, and TO/ox.h.

PROTO is the folder with onnx.pb-c.h and onnx.pb-c.c, RUNTIME that of protobuf-c.h and protobuf-c.c, CC the compiler whose preprocessor helps
to find names. The files come one after the other, each header where it is included first. Three things differ from files that are
compiled by themselves:

- Names. Two files may have static functions, types and enumerators of the same name. The preprocessor finds all names of a file, those that
  macros make, too; where two files share one, the later has it with its own name behind.
- Macros of a file end with it.
- Flags. Loops are compiled again for newer processors, and sums of products are fused in some files alone. Each such section has what headers
  of src/loops say of the processor once more, under names of its own: functions, vectors, macros.

The folder amalgamation has the parts: sources as text (text.py, lists.py, tree.py), names (names.py, rename.py), and what is written (segment.py,
target.py, foreign.py, whole.py).
"""
import pathlib
import re
import sys

from amalgamation import target
from amalgamation.foreign import generated, protobuf_c, wrapped
from amalgamation.lists import ROOT
from amalgamation.names import find_names
from amalgamation.whole import Amalgamation


def main():
    to, proto, runtime = map(pathlib.Path, sys.argv[1:4])
    target.COMPILER[:] = sys.argv[4].split()

    def whole(names):
        made = Amalgamation(proto, names)
        text = made.text(protobuf_c(runtime), generated(proto))
        return re.sub(r"\b(onnx__|Onnx__|ONNX__)", r"ox_\1", text)

    to.mkdir(parents=True, exist_ok=True)
    names = find_names(whole({}), to)
    text = "\n".join(wrapped(line) for line in whole(names).split("\n") if not line.startswith("#pragma ox_"))
    (to / "ox.c").write_text(text)
    (to / "ox.h").write_text((ROOT / "src/ox.h").read_text())


sys.exit(main())
