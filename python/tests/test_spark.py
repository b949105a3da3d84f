"""examples/spark/score.py on a cluster of a master and two workers on this machine."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("OXRT_BUILD", ROOT / "build")) / "spark-venv/bin/python"
SCORE = ROOT / "examples/spark/score.py"
ROWS = os.environ.get("OXRT_SPARK_ROWS", "20000")

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no pyspark (make spark-venv)")

def run(*arguments):
    done = subprocess.run([PYTHON, *arguments], capture_output=True, text=True, timeout=1500,
                          env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_scores_are_those_of_onnxruntime():
    text = run(SCORE, "--digits", ROWS, "--master", "local-cluster[2,1,1024]", "--runtime", "oxrt,onnxruntime")
    print(text)
    found = re.findall(r"^(\w+): (\d+) rows, (\d+) failed, labels (\d+), values ([\d.]+), (\d+) rows/s$", text, re.M)
    assert len(found) == 6
    assert {row[:1] for row in found} == {("oxrt",), ("onnxruntime",)}
    assert {row[1:4] for row in found} == {(ROWS, "0", found[0][3])}
    for row in found:
        assert float(row[4]) == pytest.approx(float(found[0][4]), rel=1e-4)
