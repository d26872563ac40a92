"""Spark without sparkdl, and pyarrow without Spark: a row's figure as a line of JSON."""

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.benchmarks.session import spark_session

EXECUTORS = "local-cluster[2,1,1024]"


def trivial_job(folder):
    """Runs a map over 2 partitions in a fresh session, then again."""
    with spark_session(EXECUTORS) as sc:
        return cold_and_warm(lambda: sc.parallelize(range(2), 2).map(lambda n: n + 1).collect())


def scan_frame(folder):
    """Converts a DataFrame's rows to numpy in mapInArrow, cold and then warm."""
    with spark_session(EXECUTORS):
        spark = SparkSession.builder.getOrCreate()
        frame = spark.read.parquet(str(Path(folder) / "rows.parquet"))
        return cold_and_warm(lambda: frame.mapInArrow(sums_of_batches, "total double").collect())


def copy_frame(folder):
    """Copies a DataFrame's rows through Python unchanged: the minimum cost of adding a column."""
    with spark_session(EXECUTORS):
        spark = SparkSession.builder.getOrCreate()
        frame = spark.read.parquet(str(Path(folder) / "rows.parquet"))
        copy = frame.mapInArrow(lambda batches: batches, frame.schema)
        return cold_and_warm(lambda: copy.write.format("noop").mode("overwrite").save())


def scan_files(folder):
    """Reads the same rows with pyarrow in two processes, cold and then warm."""
    paths = sorted(Path(folder, "rows.parquet").iterdir())
    with ProcessPoolExecutor(2) as pool:
        return cold_and_warm(lambda: list(pool.map(sum_of_file, paths)))


def cold_and_warm(action):
    """Returns the seconds of a first call, and the least of three more."""
    cold, *warm = (seconds_of(action) for _ in range(4))
    return {"cold": cold, "warm": min(warm)}


def seconds_of(action):
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def sums_of_batches(batches):
    for batch in batches:
        yield pa.record_batch({"total": [total(batch.column(0))]})


def sum_of_file(path):
    return sum(total(batch.column(0)) for batch in pq.ParquetFile(path).iter_batches())


def total(column):
    """Returns the sum of an array of lists, through a numpy array of its rows."""
    rows = column.flatten().to_numpy().reshape(len(column), -1)
    return float(rows.astype(np.float32, copy=False).sum())


SIDES = {side.__name__: side for side in (trivial_job, scan_frame, copy_frame, scan_files)}

if __name__ == "__main__":
    print(json.dumps(SIDES[sys.argv[1]](*sys.argv[2:])), flush=True)
