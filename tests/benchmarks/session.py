"""A quiet Spark session for a benchmark."""

import os
import sys
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def spark_session(master, **config):
    """The SparkContext of a session that ends with the block."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("benchmark")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    for key, value in {**quiet, **config}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session.sparkContext
    finally:
        session.stop()
