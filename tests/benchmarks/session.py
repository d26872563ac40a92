"""A quiet Spark for a benchmark."""

from contextlib import contextmanager

from sparkdl.spark.session import session


@contextmanager
def spark_session(master, **config):
    """The SparkContext of a session that ends with the block and leaves nothing behind."""
    with session(master, config, "benchmark") as spark:
        yield spark.sparkContext
