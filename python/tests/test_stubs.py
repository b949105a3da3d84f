"""What is said about the package: stubs and docstrings. The part pages runs the examples of the pages."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_stubs_name_what_there_is():
    import oxrt
    text = (ROOT / "python/oxrt/__init__.pyi").read_text()
    stated = set(re.findall(r"(\w+) as \1", text)) - {"backend", "__version__"}
    assert stated == set(oxrt.__all__)
    methods = re.findall(r"^    def (\w+)\(", (ROOT / "python/oxrt/_ox.pyi").read_text(), re.M)
    assert all(hasattr(oxrt.Model, name) or name == "SerializeToString" for name in methods)


def test_every_public_thing_says_what_it_is():
    import inspect
    import oxrt
    model = [getattr(oxrt.Model, name) for name in vars(oxrt.Model) if not name.startswith("_")]
    things = [oxrt, oxrt.Model, *model, *(getattr(oxrt, name) for name in oxrt.__all__ if name[0].isupper())]
    assert not [thing for thing in things if not inspect.getdoc(thing)]
    assert str(inspect.signature(oxrt.Model.run)) == "(self, feeds, outputs=None, flag=None, into=None, /)"
    assert "plugins" in inspect.signature(oxrt.Model).parameters
