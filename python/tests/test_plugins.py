"""Operators in shared objects: those of ox that need libraries, and files that are none."""

import os
import pickle
from pathlib import Path

import numpy as np
import onnx.parser
import oxrt
import oxrt._plugins
import pytest

REGEX = Path(os.environ.get("OXRT_BUILD", Path(__file__).resolve().parents[2] / "build")) / "plugins/regex.so"
PROTO = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 20]>
g (string[n] x) => (bool[n] y) { y = RegexFullMatch <pattern = "o+x"> (x) }""")

needs_regex = pytest.mark.skipif(not REGEX.exists(), reason="no plug-in regex.so")


@needs_regex
def test_a_model_that_needs_a_plug_in():
    for plugin in (REGEX, str(REGEX)):
        model = oxrt.Model(PROTO, plugins=[plugin])
        for twin in (model, pickle.loads(pickle.dumps(model))):
            assert twin(np.array(["ooox", "cow"], object)).tolist() == [True, False]
    with pytest.raises(oxrt.ArgumentError, match="given twice"):
        oxrt.Model(PROTO, plugins=[REGEX, REGEX])


@needs_regex
def test_plug_ins_of_ox_are_found(monkeypatch, tmp_path):
    """As the command finds them, beside the package."""
    for model in (oxrt.Model(PROTO), pickle.loads(pickle.dumps(oxrt.Model(PROTO)))):
        assert model(np.array(["ooox", "cow"], object)).tolist() == [True, False]
    broken = tmp_path / "regex.so"
    broken.write_text("no shared object")
    for paths in ([], [str(broken)]):
        monkeypatch.setattr(oxrt._plugins, "find", lambda _: paths)
        with pytest.raises(oxrt.UnsupportedError, match="RegexFullMatch"):
            oxrt.Model(PROTO)


def test_files_that_are_none(tmp_path, monkeypatch):
    text = tmp_path / "text.so"
    text.write_text("no shared object")
    for path, reason in ((text, "cannot load the plug-in"), (tmp_path / "none.so", "cannot load the plug-in"),
                         (oxrt._ox.__file__, "no function ox_plugin_entry")):
        with pytest.raises(oxrt.FileError, match=reason):
            oxrt.Model(PROTO, plugins=[path])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(oxrt.FileError, match="./libm.so.6"):
        oxrt.Model(PROTO, plugins=["libm.so.6"])
    for wrong in ("libm.so.6", b"libm.so.6", [3], 3):
        with pytest.raises(TypeError):
            oxrt.Model(PROTO, plugins=wrong)
    monkeypatch.setattr(oxrt._plugins, "find", lambda _: [])
    with pytest.raises(oxrt.UnsupportedError):
        oxrt.Model(PROTO, plugins=())
