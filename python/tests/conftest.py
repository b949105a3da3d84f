"""conftest.py: models for the tests, and the line that tests/check.sh adds up."""

import onnx
import pytest
from onnx import TensorProto, helper


def make_model(nodes, inputs, outputs, opset=21, initializers=(), **facts):
    """A model of nodes; inputs and outputs are triples of name, element type and shape."""
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, **facts)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


@pytest.fixture
def add(tmp_path):
    """The path of y = a + b over [n, 3]."""
    model = make_model([node("Add", "a,b", "y")], [("a", TensorProto.FLOAT, ["n", 3]), ("b", TensorProto.FLOAT, ["n", 3])],
                       [("y", TensorProto.FLOAT, ["n", 3])])
    model.model_version = 3
    helper.set_model_props(model, {"classes": "cat,dog", "empty": ""})
    path = tmp_path / "add.onnx"
    onnx.save(model, path)
    return str(path)


def identity(dtype, shape=("n",)):
    """A model that gives back what it gets."""
    return make_model([node("Identity", "x", "y")], [("x", dtype, list(shape))], [("y", dtype, list(shape))])


def pytest_terminal_summary(terminalreporter):
    count = {kind: len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "failed", "error", "skipped")}
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
        terminalreporter.write_line(f"skipped: {report.nodeid}: {reason}")
    terminalreporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed, "
                                f"{count['skipped']} skipped")
