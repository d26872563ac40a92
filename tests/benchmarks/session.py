"""A Spark session with little output for benchmarks."""

from contextlib import contextmanager

from sparkdl.spark.session import session


@contextmanager
def spark_session(master, **config):
    """Yields the SparkContext of a session that ends with the block and leaves nothing behind."""
    with session(master, config, "benchmark") as spark:
        yield spark.sparkContext
