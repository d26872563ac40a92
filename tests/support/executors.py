"""Executors of the tests, which start late when other processes keep the cores busy."""

from sparkdl.spark.jobs import slots


def all_awaited():
    """Makes fits of this process wait much longer for the executors they requested."""
    slots.EXECUTOR_TIMEOUT = 200.0  # seconds
