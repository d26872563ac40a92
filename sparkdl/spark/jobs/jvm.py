"""Handling of a killed driver JVM: after that every call fails, even in pyspark's cleanup."""

import os
from contextlib import contextmanager

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from sparkdl.errors import WorkerError

GONE = "the driver's JVM is gone: it was killed, or had no memory left; begin a new session"


@contextmanager
def living_jvm(doing):
    """Raises a WorkerError if the JVM no longer answers Python's calls."""
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        if not is_of_jvm(error):
            raise
        raise WorkerError(f"{doing} failed: {GONE}") from error


def is_of_jvm(error):
    """Returns whether an error means that the JVM does not answer."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else trace.tb_frame.f_code.co_filename
    return isinstance(error, Py4JNetworkError) or f"{os.sep}py4j{os.sep}" in place


def forget_jvm():
    """Lets this process start another session; pyspark would otherwise keep using the dead JVM."""
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
