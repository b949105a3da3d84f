"""_plugins.py: where the plug-ins that belong to ox lie."""

import sys
from pathlib import Path


def find(_=None):
    """Paths of the plug-ins: those beside this package first, then those of an installed command. Of two files with
    one name the first counts."""
    folders = [Path(__file__).parent / "plugins", *(Path(root) / "lib/ox" for root in (sys.prefix, "/usr/local", "/usr"))]
    found = {}
    for folder in folders:
        for path in sorted(folder.glob("*.so")):
            found.setdefault(path.name, str(path))
    return list(found.values())
