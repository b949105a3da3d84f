"""score.py: scores a table with a model on Apache Spark.

    python score.py --model model.onnx --table images.parquet --column image --out scores.parquet
    python score.py --digits 20000 --master 'local-cluster[2,1,1024]'

The model's file is shipped to each executor once and mapped there; each task has a model of its own, one thread, and
reads the columns of Arrow batches where they lie. A row is a list of numbers, as many as the model's input has behind
its first dimension; the result has the partition and index of each row, the place of the largest output and its value.
A row that fails ends the job with its partition and index; with --keep the job goes on, and the row gets the text of the
error. --runtime onnxruntime does the same with that, to compare.
"""

import argparse
import importlib
import math
import os
import sys
import time

import numpy as np

TYPES = {"tensor(float)": "float32", "tensor(double)": "float64"}
SCHEMA = "partition int, index long, label long, value float, error string"


def load(runtime, path):
    """(function from an array of rows to scores, shape of a row, its element type) of a model's file. The scores are
    the first output of floats: classifiers of scikit-learn have their labels in front."""
    runtime = importlib.import_module(runtime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    shape = given.shape[1:]
    if any(not isinstance(dim, int) for dim in shape) or given.type not in TYPES:
        raise ValueError(f"input {given.name} is {given.type} {given.shape}, not rows of numbers of one shape")
    outputs = [output.name for output in session.get_outputs() if output.type in TYPES]
    return lambda rows: session.run(outputs[:1], {given.name: rows})[0], shape, np.dtype(TYPES[given.type])


def rows_in_place(column, shape, dtype):
    """The lists of a column as one array, over Arrow's memory if their type is the model's; ValueError unless all of
    them fit the model."""
    size = math.prod(shape)
    lengths = np.diff(column.offsets.to_numpy(zero_copy_only=True))
    if column.null_count or (lengths != size).any():
        raise ValueError(f"rows of other than {size} numbers")
    numbers = column.flatten().to_numpy(zero_copy_only=True)
    return numbers.astype(dtype, copy=False).reshape(-1, *shape)


def score_one(run, column, at, shape, dtype):
    """(label, value, error) of a row by itself."""
    try:
        given = column[at].as_py()
        size = math.prod(shape)
        if given is None or len(given) != size:
            raise ValueError(f"{0 if given is None else len(given)} numbers instead of {size}")
        scores = run(np.asarray(given, dtype).reshape(1, *shape))
        return int(scores.argmax()), float(scores.max()), None
    except Exception as error:  # whatever is wrong with the row is its result
        return None, None, str(error)


def scorer(runtime, name, field, keep):
    """The function that Spark calls for each partition, with batches."""
    def score(batches):
        import pyarrow as pa
        from pyspark import SparkFiles, TaskContext
        partition, first = TaskContext.get().partitionId(), 0
        run, shape, dtype = load(runtime, SparkFiles.get(name))
        for batch in batches:
            column = batch.column(batch.schema.get_field_index(field))
            count = len(column)
            try:
                scores = run(rows_in_place(column, shape, dtype)).reshape(count, -1)
                labels, values, errors = scores.argmax(axis=1), scores.max(axis=1), pa.nulls(count, pa.string())
            except Exception:  # some row is wrong: which one is found out row by row
                labels, values, errors = zip(*(score_one(run, column, at, shape, dtype) for at in range(count)))
                for at, error in enumerate(errors):
                    if error is not None and not keep:
                        raise RuntimeError(f"partition {partition}, row {first + at}: {error}") from None
            yield pa.RecordBatch.from_arrays(
                [pa.array(np.full(count, partition, np.int32)), pa.array(np.arange(first, first + count)),
                 pa.array(labels, pa.int64()), pa.array(values, pa.float32()), pa.array(errors, pa.string())],
                names=["partition", "index", "label", "value", "error"])
            first += count
    return score


def score(table, model, column, runtime="oxrt", keep=False):
    """A data frame of SCHEMA: the scores of a table's column of lists by a model's file."""
    table.sparkSession.sparkContext.addFile(os.path.abspath(model))
    return table.select(column).mapInArrow(scorer(runtime, os.path.basename(model), column, keep), SCHEMA)


def digits(spark, count, partitions, broken=()):
    """A table of images of 8x8, drawn by row number; rows in `broken` have too few numbers."""
    broken = list(broken)

    def draw(batches):
        import pyarrow as pa
        for batch in batches:
            numbers = batch.column(0).to_numpy()
            pixels = ((numbers[:, None] * 7919 + np.arange(64) * 104729) % 256).astype(np.float32)
            lists = pa.ListArray.from_arrays(np.arange(len(numbers) + 1, dtype=np.int32) * 64, pixels.reshape(-1))
            if np.isin(numbers, broken).any():
                lists = pa.array([row[:63] if number in broken else row for number, row in zip(numbers, lists.to_pylist())],
                                 pa.list_(pa.float32()))
            yield pa.RecordBatch.from_arrays([lists], names=["image"])
    return spark.range(0, count, 1, partitions).mapInArrow(draw, "image array<float>")


def session(master):
    from pyspark.sql import SparkSession
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (SparkSession.builder.master(master).appName("score").config("spark.ui.enabled", "false")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "4096")
            .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", "")).getOrCreate())


def measure(spark, options):
    """Prints rows per second over a table that is in memory already; runtimes take turns."""
    table = digits(spark, options.digits, options.partitions).cache()
    table.count()
    for runtime in options.runtime.split(",") * options.turns:
        begin = time.monotonic()
        found = score(table, options.model, "image", runtime, options.keep).selectExpr(
            "count(*) AS rows", "sum(label) AS labels", "sum(value) AS total", "count(error) AS errors").first()
        seconds = time.monotonic() - begin
        print(f"{runtime}: {found.rows} rows, {found.errors} failed, labels {found.labels}, values {found.total:.3f}, "
              f"{found.rows / seconds:.0f} rows/s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--model", default=os.path.join(here, "../digits/model.onnx"))
    parser.add_argument("--table", help="a Parquet file")
    parser.add_argument("--column", default="image")
    parser.add_argument("--out", help="the Parquet file to write")
    parser.add_argument("--digits", type=int, help="score so many drawn images in place of a table, and say how fast")
    parser.add_argument("--partitions", type=int, default=8, help="of the drawn images")
    parser.add_argument("--turns", type=int, default=3, help="how often the drawn images are scored by each runtime")
    parser.add_argument("--runtime", default="oxrt", help="oxrt, onnxruntime, or both with a comma")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--keep", action="store_true", help="keep what succeeded when rows fail")
    options = parser.parse_args()
    if not options.digits and not (options.table and options.out):
        parser.error("give --table and --out, or --digits")
    spark = session(options.master)
    if options.digits:
        measure(spark, options)
    else:
        table = spark.read.parquet(options.table)
        score(table, options.model, options.column, options.runtime, options.keep).write.parquet(options.out)
    spark.stop()


if __name__ == "__main__":
    main()
