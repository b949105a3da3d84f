"""spark_rows.py FOLDER: rows that fail, and columns of other types, in examples/spark/score.py. It runs where pyspark is
(test_spark.py), and prints what it found as JSON."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/spark"))

import score  # noqa: E402: its folder is no package's

MODEL = str(ROOT / "examples/digits/model.onnx")
BROKEN = {13: "null", 77: "array(1.5F)"}


def rows_of(frame):
    return sorted(list(row) for row in frame.select("partition", "index", "label", "error").collect())


def main():
    spark = score.session("local[2]")
    spark.sparkContext.addPyFile(score.__file__)
    spark.sparkContext.setLogLevel("OFF")
    whole = score.digits(spark, 100, 2)
    broken = whole.selectExpr("monotonically_increasing_id() % 8589934592 AS at", "spark_partition_id() AS part", "image")
    for row, value in BROKEN.items():
        broken = broken.selectExpr("at", "part", f"IF(part * 50 + at = {row}, {value}, image) AS image")
    found = {"whole": rows_of(score.score(whole, MODEL, "image")),
             "double": rows_of(score.score(whole.selectExpr("CAST(image AS array<double>) AS image"), MODEL, "image")),
             "kept": rows_of(score.score(broken, MODEL, "image", keep=True))}
    try:
        score.score(broken.where("part = 1"), MODEL, "image").collect()
        found["failed"] = "nothing"
    except Exception as error:
        found["failed"] = str(error)
    whole.write.parquet(f"{sys.argv[1]}/digits.parquet")
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
