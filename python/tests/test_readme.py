"""The examples of the README, one behind the other, as they stand there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_examples(monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "python/README.md").read_text(), re.M | re.S)
    assert len(blocks) == 6
    names = {}
    for block in blocks:
        exec(compile(block, "python/README.md", "exec"), names)


def test_stubs_name_what_there_is():
    import oxrt
    text = (ROOT / "python/oxrt/__init__.pyi").read_text()
    stated = set(re.findall(r"(\w+) as \1", text)) - {"backend", "__version__"}
    assert stated == set(oxrt.__all__)
    methods = re.findall(r"^    def (\w+)\(", (ROOT / "python/oxrt/_ox.pyi").read_text(), re.M)
    assert all(hasattr(oxrt.Model, name) or name == "SerializeToString" for name in methods)
