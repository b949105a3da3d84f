"""ONNX's own test class over oxrt.backend: every node case that the command passes. OXRT_BACKEND_SHARE=N runs each N-th
case only."""

import os
import unittest
from pathlib import Path

import onnx.backend.test
from onnx.backend.test.loader import load_model_tests
from oxrt import backend

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / "tests/node"
PLUGINS = sorted((Path(os.environ.get("OXRT_BUILD", ROOT / "build")) / "plugins").glob("*.so"))
SHARE = int(os.environ.get("OXRT_BACKEND_SHARE", "1"))


def left_out():
    """Names of cases that ox lacks an operator for, or that no right result passes."""
    for name in ("pending.txt", "broken.txt"):
        for line in (NODE / name).read_text().splitlines():
            if line and not line.startswith(("#", "debian:")):
                yield line.removeprefix("newest:").split()[0]


def of_plugins():
    """Names of cases of operators in plug-ins, which need libraries that this machine may lack."""
    for case in load_model_tests(kind="node"):
        model = case.model or onnx.load(Path(case.model_dir) / "model.onnx")
        if any(node.op_type in ("ImageDecoder", "RegexFullMatch") for node in model.graph.node):
            yield case.name


class WithPlugins(backend.OxBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return super().prepare(model, device, plugins=PLUGINS, **kwargs)


class Tests(onnx.backend.test.BackendTest):
    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, *arguments, **named):
        """ONNX's own compares items of sequences like lists of outputs, and fails for those without dimensions."""
        if getattr(ref_outputs, "shape", None) == ():
            assert outputs.shape == ()
            ref_outputs, outputs = [ref_outputs], [outputs]
        super().assert_similar_outputs(ref_outputs, outputs, *arguments, **named)


tests = Tests(WithPlugins, __name__)

# The other kinds are whole networks that would be fetched, and models of other frameworks' releases.
OnnxBackendNodeModelTest = tests.test_cases["OnnxBackendNodeModelTest"]
assert issubclass(OnnxBackendNodeModelTest, unittest.TestCase)
excluded = {f"{case}_cpu" for case in [*left_out(), *(of_plugins() if len(PLUGINS) < 2 else [])]}
names = sorted(name for name in vars(OnnxBackendNodeModelTest) if name.startswith("test_"))
for at, case in enumerate(names):
    if not case.endswith("_cpu") or case in excluded or at // 2 % SHARE:
        delattr(OnnxBackendNodeModelTest, case)
