"""Operators in shared objects: those of ox that need libraries, and files that are none."""

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx.parser
import oxrt
import oxrt._plugins
import pytest

REGEX = Path(os.environ.get("OXRT_BUILD", Path(__file__).resolve().parents[2] / "build")) / "plugins/regex.so"
PROTO = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 20]>
g (string[n] x) => (bool[n] y) { y = RegexFullMatch <pattern = "o+x"> (x) }""")

OX_H = Path(__file__).resolve().parents[2] / "src"
# Drift gives x, and at the first of three calls 1 more in the last element; Spoil 2 * x, and writes 99 into x, once.
FAULTS = """
#include <string.h>
#include "ox.h"
static int calls, spoilt;
static int drift(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    for (int64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, arg[1] + i * step[1], sizeof x);
        x += i == n - 1 && calls % 3 == 0;
        memcpy(arg[0] + i * (int64_t)sizeof x, &x, sizeof x);
    }
    calls++;
    return 0;
}
static ox_status infer(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}
static ox_status spoil(ox_call *call) {
    float *x = ox_call_input(call, 0)->data, *y = ox_call_result(call, 0)->data;
    for (int64_t i = 0; i < ox_tensor_count(ox_call_input(call, 0)); i++)
        y[i] = 2 * x[i];
    if (!spoilt++)
        x[1] = 99;
    return OX_OK;
}
#define NAMED(text) .domain = "com.test", .name = text, .since = 1, .min_inputs = 1, .max_inputs = 1, \\
    .min_outputs = 1, .max_outputs = 1
static const ox_typed_lane lanes[] = {{OX_FLOAT, OX_FLOAT, drift}};
static const ox_operator operators[] = {{NAMED("Drift"), .lanes = lanes, .lane_count = 1},
                                        {NAMED("Spoil"), .infer = infer, .run = spoil}};
OX_API const ox_plugin *ox_plugin_entry(void) {
    static const ox_plugin plugin = {OX_PLUGIN_ABI, "faults", operators, 2};
    return &plugin;
}
"""

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


@pytest.mark.skipif(not shutil.which("cc") or not (OX_H / "ox.h").exists(), reason="no compiler, or no ox.h")
@pytest.mark.parametrize("nodes, texts", [
    ("a = Neg(x) b = com.test.Drift(a) y = Abs(b)",
     ("step 2 is Neg Drift Abs", "'y'", "element [1,2] is 5 (0x", "but 6 (0x", "by the node alone")),
    ("a = Neg(x) b = com.test.Spoil(a) y = Add(a, b)",
     ("step 2 is Add", "value 'a', element [0,1] is 99 (0x", "but -2 (0x", "when it was written")),
])
def test_a_fault_is_found_by_the_check(nodes, texts, tmp_path):
    (tmp_path / "faults.c").write_text(FAULTS)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{OX_H}", "-o", "faults.so", "faults.c"], cwd=tmp_path, check=True)
    proto = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 20, "com.test": 1]>
g (float[2,3] x) => (float[2,3] y) {{ {nodes} }}""")
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    with pytest.raises(oxrt.CheckError) as found:
        oxrt.Model(proto, plugins=[tmp_path / "faults.so"], check=True)(x)
    for text in texts:
        assert text in str(found.value)
    oxrt.Model(proto, plugins=[tmp_path / "faults.so"])(x)
