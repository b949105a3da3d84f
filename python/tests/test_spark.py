"""examples/spark on a cluster of a master and two workers on this machine."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("OXRT_BUILD", ROOT / "build")) / "spark-venv"
SPARK = ROOT / "examples/spark"
ROWS = os.environ.get("OXRT_SPARK_ROWS", "20000")
TURNS = os.environ.get("OXRT_SPARK_TURNS", "1")

pytestmark = [pytest.mark.skipif(not (VENV / ".stamp").exists(), reason="no pyspark (make spark-venv)"),
              pytest.mark.skipif(not shutil.which("java"), reason="no Java")]


# Spark's usual compression takes the library of another system where musl is installed beside glibc.
SETTINGS = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": "--conf spark.sql.parquet.compression.codec=gzip pyspark-shell"}


def run(*arguments):
    done = subprocess.run([VENV / "bin/python", *arguments], capture_output=True, text=True, timeout=3000,
                          env={**os.environ, **SETTINGS})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("spark") / "forest.onnx")
    run(SPARK / "forest.py", path, "30")
    return path


@pytest.mark.parametrize("model", ["digits", "forest"])
def test_scores_are_those_of_onnxruntime(model, request):
    path = request.getfixturevalue("forest") if model == "forest" else ROOT / "examples/digits/model.onnx"
    text = run(SPARK / "score.py", "--model", path, "--digits", ROWS, "--master", "local-cluster[2,1,1024]",
               "--runtime", "oxrt,onnxruntime", "--turns", TURNS)
    print(text)
    found = re.findall(r"^(\w+): (\d+) rows, (\d+) failed, labels (\d+), values ([\d.]+), (\d+) rows/s$", text, re.M)
    assert len(found) == 2 * int(TURNS)
    assert {row[0] for row in found} == {"oxrt", "onnxruntime"}
    assert {row[1:4] for row in found} == {(ROWS, "0", found[0][3])}
    for row in found:
        assert float(row[4]) == pytest.approx(float(found[0][4]), rel=1e-4)


def commands_of_the_page():
    """The calls of score.py in docs/spark.md, as lists of arguments."""
    return [shlex.split(line)[1:] for line in (ROOT / "docs/spark.md").read_text().splitlines() if line.startswith("python score.py ")]


def test_the_page(tmp_path):
    run(ROOT / "python/tests/spark_rows.py", str(tmp_path))
    known = {"model.onnx": str(ROOT / "examples/digits/model.onnx"), "rows.parquet": str(tmp_path / "digits.parquet"),
             "scores.parquet": str(tmp_path / "scores.parquet"), "spark://...": "local[2]", "1000000": ROWS}
    table, drawn = [[known.get(word, word) for word in command] for command in commands_of_the_page()]
    run(SPARK / table[0], *table[1:])
    assert (tmp_path / "scores.parquet").exists()
    text = run(SPARK / drawn[0], *drawn[1:], "--turns", TURNS)
    assert len(re.findall(rf"^(?:oxrt|onnxruntime): {ROWS} rows, 0 failed", text, re.M)) == 2 * int(TURNS), text


def test_rows_that_fail(tmp_path):
    found = json.loads(run(ROOT / "python/tests/spark_rows.py", str(tmp_path)).splitlines()[-1])
    whole, kept = found["whole"], found["kept"]
    assert len(whole) == 100 and all(row[3] is None for row in whole) and found["double"] == whole
    errors = {(partition, index): error for partition, index, _, error in kept if error}
    assert errors == {(0, 13): "0 numbers instead of 64", (1, 27): "1 numbers instead of 64"}
    assert [row for row in kept if not row[3]] == [row for row in whole if tuple(row[:2]) not in errors]
    assert re.search(r"partition \d+, row 27: 1 numbers instead of 64", found["failed"])

    out = tmp_path / "scores.parquet"
    run(SPARK / "score.py", "--table", tmp_path / "digits.parquet", "--out", out, "--master", "local[2]")
    program = "import sys, pyarrow.parquet as p; t = p.read_table(sys.argv[1]); print(t.num_rows, *t.column_names)"
    assert run("-c", program, out).split() == ["100", "partition", "index", "label", "value", "error"]
